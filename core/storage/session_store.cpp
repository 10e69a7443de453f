#include "core/storage/session_store.h"

#include "core/storage/detail_columns.h"
#include "core/storage/schema.h"

#include <algorithm>
#include <concepts>

#include <fmt/format.h>

namespace stepscope::storage {

namespace {

constexpr int kFinishWaitMs = 30'000;
constexpr int kCommitWaitMs = 1'000;

// An id as a value of the file: none is NULL.
struct Reference {
    bool valid;
    int64_t value;
};

template <class Tag>
Reference reference(base::Id<Tag> id)
{
    return {id.valid(), static_cast<int64_t>(id.value)};
}

void bindOne(Statement& statement, int at, const Reference& value)
{
    if (value.valid) statement.bind(at, value.value);
    else statement.bindNull(at);
}
void bindOne(Statement& statement, int at, double value) { statement.bind(at, value); }
void bindOne(Statement& statement, int at, const std::string& value) { statement.bind(at, std::string_view(value)); }
void bindOne(Statement& statement, int at, std::string_view value) { statement.bind(at, value); }
void bindOne(Statement& statement, int at, std::span<const uint8_t> value) { statement.bind(at, value); }
template <std::integral T>
void bindOne(Statement& statement, int at, T value)
{
    statement.bind(at, static_cast<int64_t>(value));
}

} // namespace

base::Result<std::unique_ptr<SessionStore>> SessionStore::create(const std::filesystem::path& path, Purpose purpose)
{
    auto database = Database::open(path, OpenMode::create);
    if (!database) return base::fail(database.error());
    std::unique_ptr<SessionStore> store(new SessionStore(std::move(*database)));
    Database& db = *store->m_database;
    db.setBusyTimeout(kCommitWaitMs);
    // No synchronous writes while training is measured: a killed process loses nothing that it handed to the
    // system, and finish() makes the file durable. A rollback journal keeps the session one single file, which
    // exists beside it only during a commit; a write-ahead log would hold the newest data in a second file.
    const std::string pragmas = fmt::format(
        "PRAGMA page_size = {}; PRAGMA journal_mode = {}; PRAGMA synchronous = OFF; PRAGMA cache_spill = OFF;"
        "PRAGMA temp_store = MEMORY; PRAGMA application_id = {}; PRAGMA user_version = {};",
        kPageBytes, purpose == Purpose::recording ? "DELETE" : "OFF", kApplicationId, kSchemaVersion);
    if (base::Status status = db.execute(pragmas.c_str()); !status) return base::fail(status.error());
    if (base::Status status = db.execute("BEGIN IMMEDIATE"); !status) return base::fail(status.error());
    if (base::Status status = db.execute(kCreateTables); !status) return base::fail(status.error());
    if (base::Status status = store->prepare(); !status) return base::fail(status.error());
    store->setMeta("format", std::string_view("stepscope session"));
    store->setMeta("finished", int64_t{0});
    store->setMeta("span_order", std::string_view(purpose == Purpose::recording ? "completion" : "start"));
    if (base::Status status = store->commit(); !status) return base::fail(status.error());
    return store;
}

SessionStore::~SessionStore() = default;

base::Status SessionStore::prepare()
{
    constexpr struct {
        const char* table;
        int columns;
    } kInserts[kTables] = {{"meta", 2},    {"strings", 2},      {"tracks", 10},     {"labels", 7},
                           {"layers", 13}, {"primitives", 11},  {"counters", 3},    {"environment", 3},
                           {"quality", 5}, {"steps", 15},       {"span_chunks", 9}, {"counter_chunks", 5},
                           {"frames", 8},  {"stack_chunks", 4}, {"series", 6},      {"sample_chunks", 11}};
    for (int i = 0; i < kTables; ++i) {
        std::string sql = fmt::format("INSERT OR REPLACE INTO {} VALUES(?", kInserts[i].table);
        for (int column = 1; column < kInserts[i].columns; ++column)
            sql += ",?";
        auto statement = m_database->prepare(sql + ")");
        if (!statement) return base::fail(statement.error());
        m_insert[i] = std::move(*statement);
    }
    return {};
}

void SessionStore::keep(base::Status status)
{
    if (m_status && !status) m_status = std::move(status);
}

template <class... Values>
void SessionStore::add(Table table, const Values&... values)
{
    if (failed()) return;
    int at = 0;
    (bindOne(m_insert[table], at++, values), ...);
    keep(m_insert[table].run());
}

void SessionStore::addString(std::string_view text) { add(strings, m_nextId[strings]++, text); }

void SessionStore::addTrack(const session::Track& track)
{
    add(tracks, m_nextId[tracks]++, track.name, track.threadId, static_cast<int>(track.kind), track.processId,
        track.process, track.group, track.device, track.lane, track.sortIndex);
}

void SessionStore::addLabel(const session::Label& label)
{
    add(labels, m_nextId[labels]++, reference(label.name), static_cast<int>(label.kind), static_cast<int>(label.phase),
        reference(label.layer), reference(label.primitive), reference(label.category));
}

void SessionStore::addLayer(const session::LayerRow& layer)
{
    add(layers, m_nextId[layers]++, layer.name, layer.path, layer.type, layer.text, reference(layer.parent),
        layer.input, layer.output, layer.parameters, layer.forwardFlop, layer.backwardFlop, layer.forwardBytes,
        layer.backwardBytes);
}

void SessionStore::addPrimitive(const session::PrimitiveRow& primitive)
{
    add(primitives, m_nextId[primitives]++, primitive.name, primitive.kind, primitive.implementation, primitive.formats,
        reference(primitive.layer), static_cast<int>(primitive.phase), primitive.flop, primitive.bytes,
        primitive.threads, primitive.flags);
}

void SessionStore::addCounter(const session::CounterRow& counter)
{
    add(counters, m_nextId[counters]++, counter.name, counter.unit);
}

void SessionStore::addEnvironment(const session::EnvironmentRow& row)
{
    add(environment, m_nextId[environment]++, row.key, row.value);
}

void SessionStore::addQuality(const session::QualityRow& row)
{
    add(quality, m_nextId[quality]++, row.code, row.count, row.message, row.places);
}

void SessionStore::addStep(const session::StepRow& step)
{
    add(steps, m_nextId[steps]++, step.index, step.epoch, step.warmup ? 1 : 0, step.start, step.duration, step.samples,
        step.loss, step.threadInvoluntarySwitches, step.threadMinorFaults, step.threadMajorFaults,
        step.processInvoluntarySwitches, step.processMinorFaults, reference(step.group), step.indexShift);
    m_bytesSinceCommit += 64;
}

void SessionStore::addFrame(const session::FrameRow& frame)
{
    add(frames, m_nextId[frames]++, reference(frame.function), reference(frame.module), reference(frame.file),
        frame.line, frame.address, frame.flags, reference(frame.primitive));
    m_bytesSinceCommit += 32;
}

void SessionStore::addSeries(const session::SeriesRow& row)
{
    add(series, m_nextId[series]++, row.name, row.unit, static_cast<int>(row.kind), row.timed ? 1 : 0,
        row.isDefault ? 1 : 0);
}

void SessionStore::setMeta(std::string_view key, std::string_view value) { add(meta, key, value); }
void SessionStore::setMeta(std::string_view key, int64_t value) { add(meta, key, value); }

void SessionStore::putSpanChunk(int64_t id, session::TrackId track, const SpanChunk& chunk)
{
    if (failed() || chunk.start.empty()) return;
    int64_t last = chunk.start[0];
    for (size_t i = 0; i < chunk.start.size(); ++i)
        last = std::max(last, chunk.start[i] + chunk.duration[i]);
    const auto start = m_encoders[0].encode(chunk.start, Transform::delta);
    const auto duration = m_encoders[1].encode(chunk.duration, Transform::offset);
    const auto label = m_encoders[2].encode(chunk.label, Transform::offset);
    const auto step = m_encoders[3].encode(chunk.step, Transform::delta);
    add(spanChunks, id, track.value, chunk.start.size(), chunk.start[0], last, start, duration, label, step);
    m_bytesSinceCommit += static_cast<int64_t>(start.size() + duration.size() + label.size() + step.size());
}

void SessionStore::putCounterChunk(int64_t id, session::CounterId counter, std::span<const int64_t> time,
                                   std::span<const double> value)
{
    if (failed() || time.empty()) return;
    const auto times = m_encoders[0].encode(time, Transform::delta);
    const auto values = m_encoders[1].encode(value, Transform::offset);
    add(counterChunks, id, counter.value, time.size(), times, values);
    m_bytesSinceCommit += static_cast<int64_t>(times.size() + values.size());
}

void SessionStore::putSampleChunk(int64_t id, session::SeriesId owner, const SampleChunk& chunk)
{
    if (failed() || chunk.time.empty()) return;
    const auto [first, last] = std::minmax_element(chunk.time.begin(), chunk.time.end());
    const auto time = m_encoders[0].encode(chunk.time, Transform::delta);
    const auto weight = m_encoders[1].encode(chunk.weight, Transform::offset);
    const auto stack = m_encoders[2].encode(chunk.stack, Transform::offset);
    const auto label = m_encoders[3].encode(chunk.label, Transform::offset);
    const auto track = m_encoders[4].encode(chunk.track, Transform::offset);
    const auto step = m_encoders[5].encode(chunk.step, Transform::delta);
    add(sampleChunks, id, owner.value, chunk.time.size(), *first, *last, time, weight, stack, label, track, step);
    m_bytesSinceCommit += static_cast<int64_t>(time.size() + weight.size() + stack.size() + label.size() + track.size()
                                               + step.size());
}

void SessionStore::putStackChunk(session::StackId first, std::span<const uint32_t> parent,
                                 std::span<const uint32_t> frame)
{
    if (failed() || parent.empty()) return;
    const auto parents = m_encoders[0].encode(parent, Transform::delta);
    const auto frameIds = m_encoders[1].encode(frame, Transform::offset);
    add(stackChunks, first.value, parent.size(), parents, frameIds);
    m_bytesSinceCommit += static_cast<int64_t>(parents.size() + frameIds.size());
}

bool SessionStore::prepareDetails()
{
    if (m_detailTables || failed()) return m_detailTables && !failed();
    keep(m_database->execute(kCreateDetailTables));
    if (failed()) return false;
    auto spans = m_database->prepare("INSERT INTO span_details VALUES(?,?)");
    auto columns = m_database->prepare("INSERT INTO detail_columns(name, first, rows, data) VALUES(?,?,?,?)");
    if (!spans) keep(base::fail(spans.error()));
    else if (!columns) keep(base::fail(columns.error()));
    if (failed()) return false;
    m_insertSpanDetails = std::move(*spans);
    m_insertDetails = std::move(*columns);
    m_detailTables = true;
    return true;
}

void SessionStore::putSpanDetails(int64_t chunk, std::span<const uint32_t> details)
{
    if (details.empty() || !prepareDetails()) return;
    const auto bytes = m_encoders[0].encode(details, Transform::delta);
    m_insertSpanDetails.bind(0, chunk);
    m_insertSpanDetails.bind(1, bytes);
    keep(m_insertSpanDetails.run());
    m_bytesSinceCommit += static_cast<int64_t>(bytes.size());
}

void SessionStore::putDetails(const session::DetailTable& details)
{
    if (details.empty() || !prepareDetails()) return;
    encodeDetails(details, [&](std::string_view column, int64_t first, int64_t rows, std::span<const uint8_t> bytes) {
        if (failed()) return;
        m_insertDetails.bind(0, column);
        m_insertDetails.bind(1, first);
        m_insertDetails.bind(2, rows);
        m_insertDetails.bind(3, bytes);
        keep(m_insertDetails.run());
        m_bytesSinceCommit += static_cast<int64_t>(bytes.size());
        if (m_bytesSinceCommit > (int64_t{16} << 20)) static_cast<void>(commit());
    });
}

base::Status SessionStore::commit()
{
    if (failed()) return m_status;
    base::Status status = m_database->execute("COMMIT");
    // A reader holds the file longer than we wait. Nothing is lost: the transaction is still open and goes on.
    if (!status && status.error().code == base::ErrorCode::unavailable && m_database->inTransaction()) return {};
    m_bytesSinceCommit = 0;
    // The next transaction begins at once: its lock shows everybody that the file is being recorded.
    if (status) status = m_database->execute("BEGIN IMMEDIATE");
    keep(std::move(status));
    return m_status;
}

base::Status SessionStore::finish()
{
    if (failed()) return m_status;
    m_database->setBusyTimeout(kFinishWaitMs);
    keep(m_database->execute("COMMIT; PRAGMA synchronous = FULL; BEGIN IMMEDIATE"));
    setMeta("finished", int64_t{1});
    if (!failed()) keep(m_database->execute("COMMIT"));
    return m_status;
}

} // namespace stepscope::storage
