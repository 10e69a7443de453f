#include "app/cli/deferred_writer.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include <unistd.h>

namespace stepscope::cli {

using session::SessionSink;

base::Status DeferredWriter::check(const std::string& path)
{
    namespace fs = std::filesystem;
    std::error_code ignored;
    const fs::path folder = fs::path(path).has_parent_path() ? fs::path(path).parent_path() : fs::path(".");
    base::Where where;
    where.file = path;
    if (fs::is_directory(path, ignored))
        return base::fail(base::ErrorCode::io, "cannot write the session: this is a folder", where, "give a file name with -o FILE");
    if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored))
        return base::fail(base::ErrorCode::io, "cannot write the session: this is a device or a pipe", where, "give a file name with -o FILE");
    if (!fs::is_directory(folder, ignored))
        return base::fail(base::ErrorCode::notFound, fmt::format("cannot write the session: there is no folder {}", folder.string()), where,
            "make the folder or choose another place with -o FILE");
    if (::access(folder.c_str(), W_OK | X_OK) != 0)
        return base::fail(base::ErrorCode::io, fmt::format("cannot write the session: {}", std::strerror(errno)), where,
            "choose another place with -o FILE");
    return {};
}

void DeferredWriter::create()
{
    base::Result<std::unique_ptr<storage::SessionWriter>> writer = storage::SessionWriter::create(m_path);
    if (!writer) {
        m_status = base::fail(writer.error());
    } else {
        m_writer = std::move(*writer);
        for (const auto& call : m_waiting)
            call(*m_writer);
    }
    m_waiting.clear();
    m_waiting.shrink_to_fit();
}

void DeferredWriter::addString(std::string_view text)
{
    pass([text = std::string(text)](SessionSink& sink) { sink.addString(text); });
}
void DeferredWriter::addTrack(const session::Track& track)
{
    pass([track](SessionSink& sink) { sink.addTrack(track); });
}
void DeferredWriter::addLabel(const session::Label& label)
{
    pass([label](SessionSink& sink) { sink.addLabel(label); });
}
void DeferredWriter::addLayer(const session::LayerRow& layer)
{
    pass([layer](SessionSink& sink) { sink.addLayer(layer); });
}
void DeferredWriter::addPrimitive(const session::PrimitiveRow& primitive)
{
    pass([primitive](SessionSink& sink) { sink.addPrimitive(primitive); });
}
void DeferredWriter::addCounter(const session::CounterRow& counter)
{
    pass([counter](SessionSink& sink) { sink.addCounter(counter); });
}
void DeferredWriter::addEnvironment(const session::EnvironmentRow& row)
{
    pass([row](SessionSink& sink) { sink.addEnvironment(row); });
}
void DeferredWriter::addQuality(const session::QualityRow& row)
{
    pass([row](SessionSink& sink) { sink.addQuality(row); });
}
void DeferredWriter::setModelText(std::string_view text)
{
    pass([text = std::string(text)](SessionSink& sink) { sink.setModelText(text); });
}
void DeferredWriter::addSpans(base::TrackId track, std::span<const session::SpanRecord> spans)
{
    if (m_writer != nullptr) return m_writer->addSpans(track, spans);
    pass([track, kept = std::vector<session::SpanRecord>(spans.begin(), spans.end())](SessionSink& sink) { sink.addSpans(track, kept); });
}
void DeferredWriter::addCounterSamples(base::CounterId counter, std::span<const session::CounterRecord> samples)
{
    if (m_writer != nullptr) return m_writer->addCounterSamples(counter, samples);
    pass([counter, kept = std::vector<session::CounterRecord>(samples.begin(), samples.end())](SessionSink& sink) {
        sink.addCounterSamples(counter, kept);
    });
}

void DeferredWriter::addFrame(const session::FrameRow& frame)
{
    pass([frame](SessionSink& sink) { sink.addFrame(frame); });
}
void DeferredWriter::addStack(const session::StackRow& stack)
{
    pass([stack](SessionSink& sink) { sink.addStack(stack); });
}
void DeferredWriter::addSeries(const session::SeriesRow& series)
{
    pass([series](SessionSink& sink) { sink.addSeries(series); });
}
void DeferredWriter::addSamples(base::SeriesId series, std::span<const session::SampleRecord> samples)
{
    if (m_writer != nullptr) return m_writer->addSamples(series, samples);
    pass([series, kept = std::vector<session::SampleRecord>(samples.begin(), samples.end())](SessionSink& sink) {
        sink.addSamples(series, kept);
    });
}

void DeferredWriter::addStep(const session::StepRow& step)
{
    if (m_writer == nullptr && m_status) create();
    if (m_writer != nullptr) m_writer->addStep(step);
}

base::Status DeferredWriter::flush() { return m_writer != nullptr ? m_writer->flush() : m_status; }
base::Status DeferredWriter::finish() { return m_writer != nullptr ? m_writer->finish() : m_status; }

} // namespace stepscope::cli
