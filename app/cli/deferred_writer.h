// DeferredWriter: creates the session file with the first step, so that a run that fails before (no data, wrong
// shapes, a refused backend) leaves older recordings of that name alone.
// Owner: app/cli. Thread: as SessionSink, one at a time; created() and path() after finish().
#pragma once

#include "core/session/session_sink.h"
#include "core/storage/session_writer.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace stepscope::cli {

class DeferredWriter final : public session::SessionSink {
public:
    explicit DeferredWriter(std::string path) : m_path(std::move(path)) {}
    // Whether the file could be made at all, without touching one that is there.
    static base::Status check(const std::string& path);

    void addString(std::string_view text) override;
    void addTrack(const session::Track& track) override;
    void addLabel(const session::Label& label) override;
    void addLayer(const session::LayerRow& layer) override;
    void addPrimitive(const session::PrimitiveRow& primitive) override;
    void addCounter(const session::CounterRow& counter) override;
    void addEnvironment(const session::EnvironmentRow& row) override;
    void addQuality(const session::QualityRow& row) override;
    void setModelText(std::string_view text) override;
    void addStep(const session::StepRow& step) override;
    void addSpans(base::TrackId track, std::span<const session::SpanRecord> spans) override;
    void addCounterSamples(base::CounterId counter, std::span<const session::CounterRecord> samples) override;
    void addFrame(const session::FrameRow& frame) override;
    void addStack(const session::StackRow& stack) override;
    void addSeries(const session::SeriesRow& series) override;
    void addSamples(base::SeriesId series, std::span<const session::SampleRecord> samples) override;
    base::Status flush() override;
    base::Status finish() override;

    bool created() const { return m_writer != nullptr; }

private:
    // Calls the writer, or keeps the call until there is one.
    template <class Call>
    void pass(Call call)
    {
        if (m_writer != nullptr) call(*m_writer);
        else if (m_status) m_waiting.emplace_back(std::move(call));
    }
    void create();

    std::string m_path;
    std::unique_ptr<storage::SessionWriter> m_writer;
    std::vector<std::function<void(session::SessionSink&)>> m_waiting;
    base::Status m_status;
};

} // namespace stepscope::cli
