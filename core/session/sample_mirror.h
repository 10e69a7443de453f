// SampleMirror: passes a recording on and keeps a copy of its stack samples, for views of the run while it goes on.
// Owner: core/session. Thread: the sink's functions as SessionSink; snapshot() from any thread at any time.
//
// Spans are passed on without a copy: a run makes megabytes of them per second, and their views open when it is over.
#pragma once

#include "core/session/session.h"
#include "core/session/session_sink.h"

#include <memory>
#include <mutex>

namespace stepscope::session {

class SampleMirror final : public SessionSink {
public:
    // At most this many samples are kept; of a longer run the view shows the first ones, and the file has all.
    static constexpr size_t kMostSamples = size_t{4} << 20;

    explicit SampleMirror(std::unique_ptr<SessionSink> to) : m_to(std::move(to)) {}

    void addString(std::string_view text) override;
    void addTrack(const Track& track) override;
    void addLabel(const Label& label) override;
    void addLayer(const LayerRow& layer) override;
    void addPrimitive(const PrimitiveRow& primitive) override;
    void addCounter(const CounterRow& counter) override { m_to->addCounter(counter); }
    void addEnvironment(const EnvironmentRow& row) override { m_to->addEnvironment(row); }
    void addQuality(const QualityRow& row) override;
    void setModelText(std::string_view text) override { m_to->setModelText(text); }
    void addStep(const StepRow& step) override;
    void addSpans(TrackId track, std::span<const SpanRecord> spans) override { m_to->addSpans(track, spans); }
    void addCounterSamples(CounterId counter, std::span<const CounterRecord> samples) override { m_to->addCounterSamples(counter, samples); }
    void addFrame(const FrameRow& frame) override;
    void addStack(const StackRow& stack) override;
    void addSeries(const SeriesRow& series) override;
    void addSamples(SeriesId series, std::span<const SampleRecord> samples) override;
    base::Status flush() override { return m_to->flush(); }
    base::Status finish() override { return m_to->finish(); }

    // The samples so far as a session without spans; null when nothing came since the last snapshot. Copies.
    SessionPtr snapshot();

private:
    std::unique_ptr<SessionSink> m_to;
    std::mutex m_mutex; // what follows
    SessionTables m_tables;
    std::vector<SampleTable> m_samples; // per series
    size_t m_kept = 0;
    bool m_changed = false;
};

} // namespace stepscope::session
