// SessionSink: where a recording streams to while it runs. core/storage implements it with a file.
// Owner: core/session. Thread: every call comes from the Collector's thread, one at a time.
//
// Rows of the small tables are sent once, in id order, before any span that refers to them. Spans arrive in
// batches in order of completion (a child before its parent); the reader sorts and nests them.
#pragma once

#include "core/base/result.h"
#include "core/session/types.h"

#include <span>

namespace stepscope::session {

// One finished span as the training thread wrote it.
struct SpanRecord {
    TimeNs start = 0;    // ns since the session's origin
    TimeNs duration = 0;
    uint32_t label = 0;  // LabelId.value
    int32_t step = -1;   // StepRow.index, -1 outside steps
};

struct CounterRecord {
    TimeNs time = 0;
    double value = 0;
};

struct SampleRecord {
    TimeNs time = 0;     // ns since the session's origin; 0 in a series without times
    int64_t weight = 0;  // in the unit of the series; may be negative in differences of profiles
    StackId stack;       // none: the stack is not known
    LabelId label;       // what the thread worked on: gives phase, layer and primitive
    TrackId track;       // the thread; none when unknown
    int32_t step = -1;   // StepRow.index, -1 outside steps
};

class SessionSink {
public:
    virtual ~SessionSink() = default;
    virtual void addString(std::string_view text) = 0; // ids count up from 0
    virtual void addTrack(const Track& track) = 0;
    virtual void addLabel(const Label& label) = 0;
    virtual void addLayer(const LayerRow& layer) = 0;
    virtual void addPrimitive(const PrimitiveRow& primitive) = 0;
    virtual void addCounter(const CounterRow& counter) = 0;
    virtual void addEnvironment(const EnvironmentRow& row) = 0;
    virtual void addQuality(const QualityRow& row) = 0;
    virtual void setModelText(std::string_view text) = 0;
    virtual void addStep(const StepRow& step) = 0;
    virtual void addSpans(TrackId track, std::span<const SpanRecord> spans) = 0;
    virtual void addCounterSamples(CounterId counter, std::span<const CounterRecord> samples) = 0;
    virtual void addFrame(const FrameRow& frame) = 0;
    virtual void addStack(const StackRow& stack) = 0; // parents before children
    virtual void addSeries(const SeriesRow& series) = 0;
    virtual void addSamples(SeriesId series, std::span<const SampleRecord> samples) = 0;
    // Makes everything so far durable; called about twice a second. The first failure is kept and returned
    // again by every later call, so that a full disk stops the run with its message.
    virtual base::Status flush() = 0;
    // flush() and mark the session complete. Without it the file counts as cut short.
    virtual base::Status finish() = 0;
};

} // namespace stepscope::session
