#include "core/storage/schema.h"
#include "core/storage/session_file.h"
#include "core/storage/session_store.h"

#include <algorithm>

namespace stepscope::storage {

namespace fs = std::filesystem;
using base::ErrorCode;

namespace {

constexpr int64_t kTransactionBytes = int64_t{16} << 20;

void addTables(SessionStore& store, const session::Session& session)
{
    const session::SessionTables& tables = session.tables();
    for (const std::string& text : tables.strings)
        store.addString(text);
    for (const session::Track& row : tables.tracks)
        store.addTrack(row);
    for (const session::LayerRow& row : tables.layers)
        store.addLayer(row);
    for (const session::PrimitiveRow& row : tables.primitives)
        store.addPrimitive(row);
    for (const session::Label& row : tables.labels)
        store.addLabel(row);
    for (const session::CounterRow& row : tables.counters)
        store.addCounter(row);
    for (const session::EnvironmentRow& row : tables.environment)
        store.addEnvironment(row);
    for (const session::QualityRow& row : session.quality())
        store.addQuality(row);
    for (const session::StepRow& row : tables.steps)
        store.addStep(row);
    for (const session::FrameRow& row : tables.frames)
        store.addFrame(row);
    for (const session::SeriesRow& row : tables.series)
        store.addSeries(row);
    if (!tables.modelText.empty()) store.setMeta("model_text", std::string_view(tables.modelText));
}

base::Status addSpans(SessionStore& store, const session::SpanTable& spans, const std::stop_token& stop,
                      const base::Progress& progress)
{
    for (size_t track = 0; track + 1 < spans.trackBegin.size(); ++track) {
        const size_t end = spans.trackBegin[track + 1];
        for (size_t at = spans.trackBegin[track]; at < end; at += kChunkRows) {
            if (stop.stop_requested()) return base::fail(ErrorCode::cancelled, "cancelled");
            const size_t count = std::min(kChunkRows, end - at);
            const int64_t chunk = store.newSpanChunk();
            store.putSpanChunk(chunk, session::TrackId(track),
                               {std::span(spans.start).subspan(at, count), std::span(spans.duration).subspan(at, count),
                                std::span(spans.label).subspan(at, count), std::span(spans.step).subspan(at, count)});
            if (!spans.detail.empty()) store.putSpanDetails(chunk, std::span(spans.detail).subspan(at, count));
            if (store.bytesSinceCommit() > kTransactionBytes)
                if (base::Status status = store.commit(); !status) return status;
            if (progress) progress(static_cast<double>(at + count) / static_cast<double>(spans.size()), "saving spans");
        }
    }
    return store.status();
}

void addCounters(SessionStore& store, const session::Session& session)
{
    for (size_t counter = 0; counter < session.counters().size(); ++counter) {
        const session::CounterSamples& samples = session.counterSamples(session::CounterId(counter));
        for (size_t at = 0; at < samples.time.size(); at += kChunkRows) {
            const size_t count = std::min(kChunkRows, samples.time.size() - at);
            store.putCounterChunk(store.newCounterChunk(), session::CounterId(counter),
                                  std::span(samples.time).subspan(at, count),
                                  std::span(samples.value).subspan(at, count));
        }
    }
}

void addStacks(SessionStore& store, const std::vector<session::StackRow>& stacks)
{
    std::vector<uint32_t> parent, frame;
    for (size_t at = 0; at < stacks.size(); at += kChunkRows) {
        parent.clear();
        frame.clear();
        for (size_t i = at; i < std::min(at + kChunkRows, stacks.size()); ++i) {
            parent.push_back(stacks[i].parent.value);
            frame.push_back(stacks[i].frame.value);
        }
        store.putStackChunk(session::StackId(at), parent, frame);
    }
}

base::Status addSamples(SessionStore& store, const session::Session& session, const std::stop_token& stop,
                        const base::Progress& progress)
{
    size_t done = 0;
    for (size_t series = 0; series < session.series().size(); ++series) {
        const session::SampleTable& rows = session.samples(session::SeriesId(series));
        for (size_t at = 0; at < rows.size(); at += kChunkRows) {
            if (stop.stop_requested()) return base::fail(ErrorCode::cancelled, "cancelled");
            const size_t count = std::min(kChunkRows, rows.size() - at);
            const auto part = [&](const auto& column) { return std::span(column).subspan(at, count); };
            store.putSampleChunk(store.newSampleChunk(), session::SeriesId(series),
                                 {part(rows.time), part(rows.weight), part(rows.stack), part(rows.label),
                                  part(rows.track), part(rows.step)});
            if (store.bytesSinceCommit() > kTransactionBytes)
                if (base::Status status = store.commit(); !status) return status;
            done += count;
            if (progress)
                progress(static_cast<double>(done) / static_cast<double>(session.sampleCount()), "saving samples");
        }
    }
    return store.status();
}

base::Status write(const session::Session& session, const fs::path& path, const std::stop_token& stop,
                   const base::Progress& progress)
{
    auto store = SessionStore::create(path, SessionStore::Purpose::saving);
    if (!store) return base::fail(store.error());
    const session::SpanTable& spans = session.spans(); // first: loading may add to quality
    addTables(**store, session);
    if (base::Status status = addSpans(**store, spans, stop, progress); !status) return status;
    (*store)->putDetails(session.details());
    addCounters(**store, session);
    addStacks(**store, session.stacks());
    if (base::Status status = addSamples(**store, session, stop, progress); !status) return status;
    return (*store)->finish();
}

} // namespace

base::Status saveSession(const session::Session& session, const fs::path& path, Existing existing, std::stop_token stop,
                         const base::Progress& progress)
{
    return writeThenRename(path, existing, [&](const fs::path& part) { return write(session, part, stop, progress); });
}

} // namespace stepscope::storage
