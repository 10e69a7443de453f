// Recorder: registers tracks, labels, layers and primitives, owns the span buffers and the Collector thread that
// drains them into a SessionSink about four times a second.
// Owner: core/recording. Thread: registration from any thread (locked, not for the hot path); addStep() from the
// training thread (lock-free); finish() once. Units: ticks for probes, ns in the sink.
#pragma once

#include "core/base/huge_vector.h"
#include "core/base/result.h"
#include "core/recording/clock.h"
#include "core/recording/span_buffer.h"
#include "core/session/session_sink.h"

#include <memory>
#include <string_view>

namespace stepscope::recording {

using base::CounterId;
using base::LabelId;
using base::LayerId;
using base::PrimitiveId;

// A step as the training thread measured it; the Recorder converts the ticks.
struct RawStep {
    session::StepRow row; // start and duration are ignored
    uint64_t startTicks = 0;
    uint64_t endTicks = 0;
};

// Something that adds rows and samples while the recording runs, such as a sampler.
class RecordingSource {
public:
    virtual ~RecordingSource() = default;
    // About four times a second, on the Collector's thread; it may call the Recorder. `clock` converts ticks.
    virtual void collect(const TickClock& clock) = 0;
    // Before the last collect(): adds what is to be said at the end. On the thread that calls Recorder::finish().
    virtual void finish() {}
};

struct AllocationOptions;
class AllocationRecorder;

class Recorder {
public:
    struct Options {
        int drainMilliseconds = 250;
        size_t maxBlocksPerThread = 64;
    };

    // The sink must outlive the Recorder. Starts the Collector's thread. Adds the environment row "start.unix-ns",
    // the wall-clock time of the origin of all times.
    explicit Recorder(session::SessionSink& sink);
    Recorder(session::SessionSink& sink, Options options);
    ~Recorder(); // stops the Collector; without finish() the session counts as cut short

    // Counts what the threads allocate that register their tracks after this. Once, before the first track.
    void countAllocations(const AllocationOptions& options);
    AllocationRecorder* allocations() const noexcept; // null before countAllocations()

    // Buffer for the calling thread's new track. Valid until the Recorder is destroyed.
    SpanBuffer* registerTrack(std::string_view name);

    LabelId label(std::string_view name, session::SpanKind kind, session::Phase phase,
                  LayerId layer = {}, PrimitiveId primitive = {}); // interned
    LayerId addLayer(const session::LayerRow& layer);
    PrimitiveId addPrimitive(const session::PrimitiveRow& primitive);
    CounterId addCounter(std::string_view name, std::string_view unit);
    // Rows of stack samples. Interned: equal rows get the same id.
    base::StringId string(std::string_view text);
    base::FrameId frame(const session::FrameRow& frame);
    base::StackId stack(const session::StackRow& stack);
    base::SeriesId addSeries(const session::SeriesRow& series);
    void addSamples(base::SeriesId series, std::vector<session::SampleRecord> samples);
    // The track of a thread by its serial number in the thread registry: the one it registered, or a new one.
    base::TrackId trackOfThread(uint64_t serial, int64_t threadId, std::string_view name);
    session::Label labelRow(LabelId label) const;        // none for an unknown id
    uint32_t primitiveFlags(PrimitiveId primitive) const; // PrimitiveFlag

    // The source is asked from now on; it must be removed before it is destroyed.
    void addSource(RecordingSource& source);
    void removeSource(RecordingSource& source); // waits while it is being asked

    void addEnvironment(std::string_view key, std::string_view value);
    void addQuality(const session::QualityRow& row);
    void setModelText(std::string_view text);

    void addStep(const RawStep& step) noexcept;
    void addCounterSample(CounterId counter, uint64_t atTicks, double value) noexcept;

    // First failure of the sink so far (a full disk ...); cheap, may be asked once per step.
    bool failed() const noexcept;
    // Drains everything, finishes the sink and stops the Collector. Returns the first failure.
    base::Status finish();

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace stepscope::recording
