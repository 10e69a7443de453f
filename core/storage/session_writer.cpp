#include "core/storage/session_writer.h"

#include "core/session/sample_rows.h"
#include "core/session/span_runs.h"
#include "core/storage/schema.h"
#include "core/storage/session_store.h"

#include <algorithm>
#include <exception>
#include <system_error>
#include <vector>

namespace stepscope::storage {

namespace {

// A chunk with fewer rows than this is written again, longer, by the next flush; above it the rewriting would cost
// more than the smaller chunks.
constexpr size_t kCloseRows = kChunkRows / 4;
constexpr int64_t kTransactionBytes = int64_t{16} << 20;

// The newest rows of a track, possibly stored already as a short chunk.
struct OpenSpanChunk {
    std::vector<session::SpanRecord> records;
    int64_t id = -1; // of the stored short chunk
    bool changed = false;
};

struct OpenCounterChunk {
    std::vector<int64_t> time;
    std::vector<double> value;
    int64_t id = -1;
    bool changed = false;
};

struct OpenStackChunk {
    std::vector<uint32_t> parent, frame;
    uint32_t first = 0; // id of the first stack in it
    bool changed = false;
};

struct OpenSampleChunk {
    session::SampleTable rows;
    int64_t id = -1;
    bool changed = false;
};

} // namespace

struct SessionWriter::Impl {
    std::filesystem::path path;
    std::unique_ptr<SessionStore> store;
    std::vector<OpenSpanChunk> spans;       // per track
    std::vector<OpenCounterChunk> counters; // per counter
    OpenStackChunk stacks;
    std::vector<OpenSampleChunk> samples; // per series
    bool finished = false;

    session::SpanSorter sorter;
    std::vector<int64_t> start, duration;
    std::vector<uint32_t> label;
    std::vector<int32_t> step;

    void put(size_t track);
    void putCounter(size_t counter);
    void putStacks();
    void putSamples(size_t series);
    void putAll();
    void commitWhenLarge();
};

void SessionWriter::Impl::put(size_t track)
{
    OpenSpanChunk& open = spans[track];
    if (!open.changed) return;
    const size_t count = open.records.size();
    start.resize(count);
    duration.resize(count);
    label.resize(count);
    step.resize(count);
    sorter.sort(open.records, {start.data(), duration.data(), label.data(), step.data()});
    if (open.id < 0) open.id = store->newSpanChunk();
    store->putSpanChunk(open.id, session::TrackId(track), {start, duration, label, step});
    open.changed = false;
    if (count < kCloseRows) return;
    open.records.clear();
    open.id = -1;
}

void SessionWriter::Impl::putCounter(size_t counter)
{
    OpenCounterChunk& open = counters[counter];
    if (!open.changed) return;
    if (open.id < 0) open.id = store->newCounterChunk();
    store->putCounterChunk(open.id, session::CounterId(counter), open.time, open.value);
    open.changed = false;
    if (open.time.size() < kCloseRows) return;
    open.time.clear();
    open.value.clear();
    open.id = -1;
}

void SessionWriter::Impl::putStacks()
{
    if (!stacks.changed) return;
    store->putStackChunk(session::StackId(stacks.first), stacks.parent, stacks.frame);
    stacks.changed = false;
    if (stacks.parent.size() < kCloseRows) return;
    stacks.first += static_cast<uint32_t>(stacks.parent.size());
    stacks.parent.clear();
    stacks.frame.clear();
}

void SessionWriter::Impl::putSamples(size_t series)
{
    OpenSampleChunk& open = samples[series];
    if (!open.changed) return;
    if (open.id < 0) open.id = store->newSampleChunk();
    const session::SampleTable& rows = open.rows;
    store->putSampleChunk(open.id, session::SeriesId(series),
                          {rows.time, rows.weight, rows.stack, rows.label, rows.track, rows.step});
    open.changed = false;
    if (rows.size() < kCloseRows) return;
    open.rows.clear();
    open.id = -1;
}

void SessionWriter::Impl::commitWhenLarge()
{
    if (store->bytesSinceCommit() <= kTransactionBytes) return;
    putStacks(); // no stored sample refers to a stack that is not stored
    static_cast<void>(store->commit());
}

void SessionWriter::Impl::putAll()
{
    putStacks();
    for (size_t series = 0; series < samples.size(); ++series)
        putSamples(series);
    for (size_t track = 0; track < spans.size(); ++track)
        put(track);
    for (size_t counter = 0; counter < counters.size(); ++counter)
        putCounter(counter);
}

base::Result<std::unique_ptr<SessionWriter>> SessionWriter::create(const std::filesystem::path& path, Existing existing)
{
    try {
        if (base::Status status = clearPlace(path, existing); !status) return base::fail(status.error());
        auto store = SessionStore::create(path, SessionStore::Purpose::recording);
        if (!store) {
            std::error_code ignored;
            std::filesystem::remove(path, ignored); // an empty beginning is of no use to anybody
            return base::fail(store.error());
        }
        auto impl = std::make_unique<Impl>();
        impl->path = path;
        impl->store = std::move(*store);
        return std::unique_ptr<SessionWriter>(new SessionWriter(std::move(impl)));
    } catch (const std::exception& e) {
        return base::fail(base::ErrorCode::internal, e.what(), {.file = path.string()});
    }
}

SessionWriter::SessionWriter(std::unique_ptr<Impl> impl) : m_impl(std::move(impl)) {}

SessionWriter::~SessionWriter()
{
    if (!m_impl->finished) static_cast<void>(flush());
}

const std::filesystem::path& SessionWriter::path() const { return m_impl->path; }

void SessionWriter::addString(std::string_view text) { m_impl->store->addString(text); }
void SessionWriter::addTrack(const session::Track& track) { m_impl->store->addTrack(track); }
void SessionWriter::addLabel(const session::Label& label) { m_impl->store->addLabel(label); }
void SessionWriter::addLayer(const session::LayerRow& layer) { m_impl->store->addLayer(layer); }
void SessionWriter::addPrimitive(const session::PrimitiveRow& primitive) { m_impl->store->addPrimitive(primitive); }
void SessionWriter::addCounter(const session::CounterRow& counter) { m_impl->store->addCounter(counter); }
void SessionWriter::addEnvironment(const session::EnvironmentRow& row) { m_impl->store->addEnvironment(row); }
void SessionWriter::addQuality(const session::QualityRow& row) { m_impl->store->addQuality(row); }
void SessionWriter::setModelText(std::string_view text) { m_impl->store->setMeta("model_text", text); }
void SessionWriter::addStep(const session::StepRow& step) { m_impl->store->addStep(step); }

void SessionWriter::addSpans(base::TrackId track, std::span<const session::SpanRecord> spans)
{
    if (!track.valid() || m_impl->store->failed()) return;
    if (m_impl->spans.size() <= track.index()) m_impl->spans.resize(track.index() + 1);
    while (!spans.empty()) {
        OpenSpanChunk& open = m_impl->spans[track.index()];
        if (open.records.capacity() == 0) open.records.reserve(kChunkRows);
        const auto taken = spans.first(std::min(spans.size(), kChunkRows - open.records.size()));
        open.records.insert(open.records.end(), taken.begin(), taken.end());
        open.changed = true;
        spans = spans.subspan(taken.size());
        if (open.records.size() == kChunkRows) m_impl->put(track.index());
        m_impl->commitWhenLarge();
    }
}

void SessionWriter::addCounterSamples(base::CounterId counter, std::span<const session::CounterRecord> samples)
{
    if (!counter.valid() || m_impl->store->failed()) return;
    if (m_impl->counters.size() <= counter.index()) m_impl->counters.resize(counter.index() + 1);
    for (const session::CounterRecord& sample : samples) {
        OpenCounterChunk& open = m_impl->counters[counter.index()];
        open.time.push_back(sample.time);
        open.value.push_back(sample.value);
        open.changed = true;
        if (open.time.size() == kChunkRows) m_impl->putCounter(counter.index());
    }
}

void SessionWriter::addFrame(const session::FrameRow& frame) { m_impl->store->addFrame(frame); }
void SessionWriter::addSeries(const session::SeriesRow& series) { m_impl->store->addSeries(series); }

void SessionWriter::addStack(const session::StackRow& stack)
{
    if (m_impl->store->failed()) return;
    OpenStackChunk& open = m_impl->stacks;
    open.parent.push_back(stack.parent.value);
    open.frame.push_back(stack.frame.value);
    open.changed = true;
    if (open.parent.size() == kChunkRows) m_impl->putStacks();
}

void SessionWriter::addSamples(base::SeriesId series, std::span<const session::SampleRecord> samples)
{
    if (!series.valid() || m_impl->store->failed()) return;
    if (m_impl->samples.size() <= series.index()) m_impl->samples.resize(series.index() + 1);
    while (!samples.empty()) {
        OpenSampleChunk& open = m_impl->samples[series.index()];
        const auto taken = samples.first(std::min(samples.size(), kChunkRows - open.rows.size()));
        session::appendSamples(open.rows, taken);
        open.changed = true;
        samples = samples.subspan(taken.size());
        if (open.rows.size() == kChunkRows) m_impl->putSamples(series.index());
        m_impl->commitWhenLarge();
    }
}

base::Status SessionWriter::flush()
{
    if (m_impl->finished) return m_impl->store->status();
    try {
        m_impl->putAll();
        return m_impl->store->commit();
    } catch (const std::exception& e) {
        return base::fail(base::ErrorCode::internal, e.what(), {.file = m_impl->path.string()});
    }
}

base::Status SessionWriter::finish()
{
    if (m_impl->finished) return m_impl->store->status();
    m_impl->finished = true;
    try {
        m_impl->putAll();
        return m_impl->store->finish();
    } catch (const std::exception& e) {
        return base::fail(base::ErrorCode::internal, e.what(), {.file = m_impl->path.string()});
    }
}

} // namespace stepscope::storage
