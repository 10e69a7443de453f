#include "core/storage/plain_rows.h"

#include "core/session/disturbed_steps.h"
#include "core/storage/sqlite.h"

#include <span>
#include <string_view>

namespace stepscope::storage {

namespace fs = std::filesystem;
using base::ErrorCode;

namespace {

constexpr size_t kRowsPerTransaction = 500'000;

constexpr const char* kTables = R"sql(
CREATE TABLE track(id INTEGER PRIMARY KEY, name TEXT, thread_id INTEGER, kind TEXT, process_id INTEGER, process TEXT,
    group_name TEXT, device INTEGER, lane INTEGER);
CREATE TABLE layer(id INTEGER PRIMARY KEY, name TEXT, path TEXT, type TEXT, text TEXT, parent_id INTEGER, input TEXT,
    output TEXT, parameters INTEGER, forward_flop INTEGER, backward_flop INTEGER, forward_bytes INTEGER,
    backward_bytes INTEGER);
CREATE TABLE primitive(id INTEGER PRIMARY KEY, name TEXT, kind TEXT, implementation TEXT, formats TEXT,
    layer_id INTEGER, phase TEXT, flop INTEGER, bytes INTEGER, threads INTEGER, flags INTEGER);
CREATE TABLE label(id INTEGER PRIMARY KEY, name TEXT, kind TEXT, phase TEXT, layer_id INTEGER, primitive_id INTEGER,
    category TEXT);
CREATE TABLE step(step INTEGER, epoch INTEGER, warmup INTEGER, start_ns INTEGER, duration_ns INTEGER, samples INTEGER,
    loss REAL, disturbed INTEGER, thread_involuntary_switches INTEGER, thread_minor_faults INTEGER,
    thread_major_faults INTEGER, process_involuntary_switches INTEGER, process_minor_faults INTEGER, group_name TEXT,
    number INTEGER);
CREATE TABLE counter(id INTEGER PRIMARY KEY, name TEXT, unit TEXT);
CREATE TABLE counter_sample(counter_id INTEGER, time_ns INTEGER, value REAL);
CREATE TABLE environment(key TEXT, value TEXT);
CREATE TABLE quality(code TEXT, count INTEGER, message TEXT, places TEXT);
CREATE TABLE model(text TEXT);
CREATE TABLE span(id INTEGER PRIMARY KEY, track_id INTEGER, start_ns INTEGER, duration_ns INTEGER, label_id INTEGER,
    step INTEGER, parent_id INTEGER);
CREATE TABLE frame(id INTEGER PRIMARY KEY, function TEXT, module TEXT, file TEXT, line INTEGER, address INTEGER,
    flags INTEGER, primitive_id INTEGER);
CREATE TABLE stack(id INTEGER PRIMARY KEY, parent_id INTEGER, frame_id INTEGER);
CREATE TABLE series(id INTEGER PRIMARY KEY, name TEXT, unit TEXT, kind TEXT, timed INTEGER, is_default INTEGER);
CREATE TABLE sample(series_id INTEGER, time_ns INTEGER, weight INTEGER, stack_id INTEGER, label_id INTEGER,
    track_id INTEGER, step INTEGER);
)sql";

// Made after the rows, which is faster.
constexpr const char* kIndicesAndViews = R"sql(
CREATE INDEX span_by_label ON span(label_id, duration_ns);
CREATE INDEX span_by_step ON span(step);
CREATE INDEX span_by_parent ON span(parent_id);
CREATE INDEX step_by_number ON step(step);
CREATE INDEX counter_sample_by_time ON counter_sample(counter_id, time_ns);
CREATE VIEW spans AS
    SELECT span.id, track.name AS track, span.start_ns, span.duration_ns, label.name, label.kind, label.phase,
        layer.path AS layer, primitive.name AS primitive, primitive.implementation, span.step, span.parent_id
    FROM span JOIN label ON label.id = span.label_id LEFT JOIN track ON track.id = span.track_id
        LEFT JOIN layer ON layer.id = label.layer_id LEFT JOIN primitive ON primitive.id = label.primitive_id;
CREATE INDEX sample_by_stack ON sample(stack_id);
CREATE VIEW samples AS
    SELECT series.name AS series, sample.time_ns, sample.weight, series.unit, frame.function, frame.file, frame.line,
        label.phase, layer.path AS layer, track.name AS track, sample.step, sample.stack_id
    FROM sample JOIN series ON series.id = sample.series_id LEFT JOIN stack ON stack.id = sample.stack_id
        LEFT JOIN frame ON frame.id = stack.frame_id LEFT JOIN label ON label.id = sample.label_id
        LEFT JOIN layer ON layer.id = label.layer_id LEFT JOIN track ON track.id = sample.track_id;
CREATE VIEW step_phases AS
    SELECT span.step, label.phase, sum(span.duration_ns) AS duration_ns
    FROM span JOIN label ON label.id = span.label_id
    WHERE label.kind = 'phase' AND span.step IS NOT NULL GROUP BY span.step, label.phase;
CREATE VIEW layer_times AS
    SELECT layer.path AS layer, layer.text, label.phase, count(*) AS executions, sum(span.duration_ns) AS duration_ns,
        avg(span.duration_ns) AS mean_ns
    FROM span JOIN label ON label.id = span.label_id JOIN layer ON layer.id = label.layer_id
    WHERE label.kind = 'layer' GROUP BY label.layer_id, label.phase;
CREATE VIEW primitive_times AS
    SELECT primitive.name AS primitive, primitive.implementation, primitive.formats, count(*) AS executions,
        sum(span.duration_ns) AS duration_ns, 1.0 * sum(primitive.flop) / sum(span.duration_ns) AS gflop_per_second
    FROM span JOIN label ON label.id = span.label_id JOIN primitive ON primitive.id = label.primitive_id
    WHERE label.kind = 'primitive' GROUP BY label.primitive_id;
)sql";

template <class Tag>
void bindId(Statement& statement, int at, base::Id<Tag> id)
{
    if (id.valid()) statement.bind(at, static_cast<int64_t>(id.value));
    else statement.bindNull(at);
}

void bindText(Statement& statement, int at, const session::Session& session, base::StringId id)
{
    if (id.valid()) statement.bind(at, session.string(id));
    else statement.bindNull(at);
}

// Prepares one statement and runs it for every row.
template <class Rows, class Bind>
base::Status insertAll(Database& database, const char* sql, const Rows& rows, Bind&& bind)
{
    auto statement = database.prepare(sql);
    if (!statement) return base::fail(statement.error());
    int64_t id = 0;
    for (const auto& row : rows) {
        bind(*statement, row, id++);
        if (base::Status status = statement->run(); !status) return status;
    }
    return {};
}

using Text = std::string_view;

base::Status writeNames(Database& db, const session::Session& session)
{
    base::Status status = insertAll(
        db, "INSERT INTO track VALUES(?,?,?,?,?,?,?,?,?)", session.tracks(),
        [](Statement& s, const session::Track& row, int64_t id) {
            s.bindAll(id, Text(row.name), row.threadId, session::trackKindName(row.kind), row.processId,
                      Text(row.process), Text(row.group));
            if (row.device >= 0) s.bind(7, int64_t{row.device});
            else s.bindNull(7);
            s.bind(8, int64_t{row.lane});
        });
    if (status)
        status = insertAll(db, "INSERT INTO label VALUES(?,?,?,?,?,?,?)", session.labels(),
                           [&](Statement& s, const session::Label& row, int64_t id) {
                               s.bindAll(id, session.string(row.name), session::spanKindName(row.kind),
                                         session::phaseKey(row.phase));
                               bindId(s, 4, row.layer);
                               bindId(s, 5, row.primitive);
                               bindText(s, 6, session, row.category);
                           });
    if (status)
        status = insertAll(db, "INSERT INTO counter VALUES(?,?,?)", session.counters(),
                           [](Statement& s, const session::CounterRow& row, int64_t id) {
                               s.bindAll(id, Text(row.name), Text(row.unit));
                           });
    if (status)
        status = insertAll(db, "INSERT INTO environment VALUES(?,?)", session.environment(),
                           [](Statement& s, const session::EnvironmentRow& row, int64_t) {
                               s.bindAll(Text(row.key), Text(row.value));
                           });
    if (status)
        status = insertAll(db, "INSERT INTO quality VALUES(?,?,?,?)", session.quality(),
                           [](Statement& s, const session::QualityRow& row, int64_t) {
                               s.bindAll(Text(row.code), row.count, Text(row.message), Text(row.places));
                           });
    if (status && !session.modelText().empty())
        status = insertAll(db, "INSERT INTO model VALUES(?)", std::span(&session.modelText(), 1),
                           [](Statement& s, const std::string& text, int64_t) { s.bindAll(Text(text)); });
    return status;
}

base::Status writeLayers(Database& db, const session::Session& session)
{
    base::Status status =
        insertAll(db, "INSERT INTO layer VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)", session.layers(),
                  [](Statement& s, const session::LayerRow& row, int64_t id) {
                      s.bindAll(id, Text(row.name), Text(row.path), Text(row.type), Text(row.text));
                      bindId(s, 5, row.parent);
                      s.bind(6, Text(row.input)).bind(7, Text(row.output)).bind(8, row.parameters);
                      s.bind(9, row.forwardFlop).bind(10, row.backwardFlop).bind(11, row.forwardBytes);
                      s.bind(12, row.backwardBytes);
                  });
    if (!status) return status;
    return insertAll(db, "INSERT INTO primitive VALUES(?,?,?,?,?,?,?,?,?,?,?)", session.primitives(),
                     [](Statement& s, const session::PrimitiveRow& row, int64_t id) {
                         s.bindAll(id, Text(row.name), Text(row.kind), Text(row.implementation), Text(row.formats));
                         bindId(s, 5, row.layer);
                         s.bind(6, session::phaseKey(row.phase)).bind(7, row.flop).bind(8, row.bytes);
                         s.bind(9, int64_t{row.threads}).bind(10, int64_t{row.flags});
                     });
}

base::Status writeSteps(Database& db, const session::Session& session)
{
    const std::vector<uint8_t> disturbed = session::disturbedSteps(session.steps());
    return insertAll(db, "INSERT INTO step VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)", session.steps(),
                     [&](Statement& s, const session::StepRow& row, int64_t id) {
                         s.bindAll(row.index, int64_t{row.epoch}, int64_t{row.warmup}, row.start, row.duration,
                                   int64_t{row.samples}, row.loss, int64_t{disturbed[static_cast<size_t>(id)]},
                                   int64_t{row.threadInvoluntarySwitches}, int64_t{row.threadMinorFaults},
                                   int64_t{row.threadMajorFaults}, int64_t{row.processInvoluntarySwitches},
                                   int64_t{row.processMinorFaults}, session.string(row.group), row.number());
                     });
}

base::Status nextTransaction(Database& db) { return db.execute("COMMIT; BEGIN"); }

base::Status writeSpans(Database& db, const session::SpanTable& spans, const std::stop_token& stop,
                        const base::Progress& progress)
{
    auto statement = db.prepare("INSERT INTO span VALUES(?,?,?,?,?,?,?)");
    if (!statement) return base::fail(statement.error());
    for (size_t track = 0; track + 1 < spans.trackBegin.size(); ++track) {
        for (size_t row = spans.trackBegin[track]; row < spans.trackBegin[track + 1]; ++row) {
            statement->bindAll(static_cast<int64_t>(row), static_cast<int64_t>(track), spans.start[row],
                               spans.duration[row], int64_t{spans.label[row]});
            if (spans.step[row] >= 0) statement->bind(5, int64_t{spans.step[row]});
            else statement->bindNull(5);
            if (spans.parent[row] != session::SpanTable::kNoParent) statement->bind(6, int64_t{spans.parent[row]});
            else statement->bindNull(6);
            if (base::Status status = statement->run(); !status) return status;
            if (row % kRowsPerTransaction != kRowsPerTransaction - 1) continue;
            if (base::Status status = nextTransaction(db); !status) return status;
            if (stop.stop_requested()) return base::fail(ErrorCode::cancelled, "cancelled");
            if (progress) progress(static_cast<double>(row) / static_cast<double>(spans.size()), "writing spans");
        }
    }
    return {};
}

base::Status writeCounterSamples(Database& db, const session::Session& session)
{
    auto statement = db.prepare("INSERT INTO counter_sample VALUES(?,?,?)");
    if (!statement) return base::fail(statement.error());
    for (size_t counter = 0; counter < session.counters().size(); ++counter) {
        const session::CounterSamples& samples = session.counterSamples(session::CounterId(counter));
        for (size_t i = 0; i < samples.time.size(); ++i) {
            statement->bindAll(static_cast<int64_t>(counter), samples.time[i], samples.value[i]);
            if (base::Status status = statement->run(); !status) return status;
        }
    }
    return {};
}

base::Status writeStacks(Database& db, const session::Session& session)
{
    base::Status status = insertAll(db, "INSERT INTO frame VALUES(?,?,?,?,?,?,?,?)", session.frames(),
                                    [&](Statement& s, const session::FrameRow& row, int64_t id) {
                                        s.bind(0, id);
                                        bindText(s, 1, session, row.function);
                                        bindText(s, 2, session, row.module);
                                        bindText(s, 3, session, row.file);
                                        s.bind(4, int64_t{row.line}).bind(5, static_cast<int64_t>(row.address));
                                        s.bind(6, int64_t{row.flags});
                                        bindId(s, 7, row.primitive);
                                    });
    if (status)
        status = insertAll(db, "INSERT INTO stack VALUES(?,?,?)", session.stacks(),
                           [](Statement& s, const session::StackRow& row, int64_t id) {
                               s.bind(0, id);
                               bindId(s, 1, row.parent);
                               bindId(s, 2, row.frame);
                           });
    if (status)
        status = insertAll(db, "INSERT INTO series VALUES(?,?,?,?,?,?)", session.series(),
                           [](Statement& s, const session::SeriesRow& row, int64_t id) {
                               s.bindAll(id, Text(row.name), Text(row.unit), session::seriesKindName(row.kind),
                                         int64_t{row.timed}, int64_t{row.isDefault});
                           });
    return status;
}

base::Status writeSamples(Database& db, const session::Session& session, const std::stop_token& stop,
                          const base::Progress& progress)
{
    auto statement = db.prepare("INSERT INTO sample VALUES(?,?,?,?,?,?,?)");
    if (!statement) return base::fail(statement.error());
    for (size_t series = 0; series < session.series().size(); ++series) {
        const session::SampleTable& samples = session.samples(session::SeriesId(series));
        for (size_t row = 0; row < samples.size(); ++row) {
            statement->bind(0, static_cast<int64_t>(series)).bind(2, samples.weight[row]);
            if (session.series()[series].timed) statement->bind(1, samples.time[row]);
            else statement->bindNull(1);
            bindId(*statement, 3, base::StackId(samples.stack[row]));
            bindId(*statement, 4, base::LabelId(samples.label[row]));
            bindId(*statement, 5, base::TrackId(samples.track[row]));
            if (samples.step[row] >= 0) statement->bind(6, int64_t{samples.step[row]});
            else statement->bindNull(6);
            if (base::Status status = statement->run(); !status) return status;
            if (row % kRowsPerTransaction != kRowsPerTransaction - 1) continue;
            if (base::Status status = nextTransaction(db); !status) return status;
            if (stop.stop_requested()) return base::fail(ErrorCode::cancelled, "cancelled");
            if (progress)
                progress(static_cast<double>(row) / static_cast<double>(samples.size()), "writing samples");
        }
    }
    return {};
}

base::Status write(const session::Session& session, const fs::path& path, const std::stop_token& stop,
                   const base::Progress& progress)
{
    auto database = Database::open(path, OpenMode::create);
    if (!database) return base::fail(database.error());
    Database& db = **database;
    db.setStop(stop);
    const session::SpanTable& spans = session.spans(); // first: loading may add to quality
    base::Status status =
        db.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
                   "BEGIN");
    if (status) status = db.execute(kTables);
    if (status) status = writeNames(db, session);
    if (status) status = writeLayers(db, session);
    if (status) status = writeSteps(db, session);
    if (status) status = writeSpans(db, spans, stop, progress);
    if (status) status = writeCounterSamples(db, session);
    if (status) status = writeStacks(db, session);
    if (status) status = writeSamples(db, session, stop, progress);
    if (status && progress) progress(-1, "making indices");
    if (status) status = db.execute(kIndicesAndViews);
    if (status) status = db.execute("COMMIT");
    return status;
}

} // namespace

base::Status writePlainRows(const session::Session& session, const fs::path& path, Existing existing,
                            std::stop_token stop, const base::Progress& progress)
{
    return writeThenRename(path, existing, [&](const fs::path& part) { return write(session, part, stop, progress); });
}

} // namespace stepscope::storage
