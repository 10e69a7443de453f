// SessionWriter: the session file of a running recording.
// Owner: core/storage. Thread: one at a time (the Collector's). Units: ns.
//
// What flush() has stored survives the death of the process in one single file. Between two flushes the newest
// rows are in memory only. finish() makes the file durable and marks it complete.
#pragma once

#include "core/session/session_sink.h"
#include "core/storage/file_place.h"

#include <filesystem>
#include <memory>

namespace stepscope::storage {

class SessionWriter final : public session::SessionSink {
public:
    // Creates the file at exactly this path. Errors: notFound (directory), unavailable (another program records
    // into it), io, diskFull.
    static base::Result<std::unique_ptr<SessionWriter>> create(const std::filesystem::path& path,
                                                               Existing existing = Existing::backup);
    ~SessionWriter() override; // stores what is left, without marking the session complete

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

    const std::filesystem::path& path() const;

private:
    struct Impl;
    explicit SessionWriter(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> m_impl;
};

} // namespace stepscope::storage
