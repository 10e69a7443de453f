#include "core/storage/session_tables.h"

#include <algorithm>

#include <fmt/format.h>

namespace stepscope::storage {

namespace {

constexpr int64_t kMaxRows = int64_t{1} << 28; // more than any table can really have; guards against wild ids

template <class Enum>
Enum enumValue(int64_t value)
{
    return static_cast<Enum>(std::clamp<int64_t>(value, 0, 255)); // the check of references knows the valid ones
}

template <class Id>
Id optionalId(const Statement& row, int column)
{
    if (row.isNull(column)) return {};
    const int64_t value = row.integer(column);
    return value >= 0 && value < kMaxRows ? Id(static_cast<uint32_t>(value)) : Id(static_cast<uint32_t>(kMaxRows));
}

int32_t narrow(int64_t value) { return static_cast<int32_t>(std::clamp<int64_t>(value, INT32_MIN, INT32_MAX)); }

class TableReader {
public:
    explicit TableReader(Database& database) : m_database(database) {}

    // Calls read(row) for each row of "SELECT id, columns". With ids as indices, rows that are missing in a damaged
    // file leave empty places, so that references to later rows stay right.
    template <class Row, class Read>
    void table(const char* name, const char* columns, bool idsAreIndices, std::vector<Row>& out, Read&& read)
    {
        int64_t missing = 0;
        bool broken = false;
        auto statement = m_database.prepare(fmt::format("SELECT id, {} FROM {} ORDER BY id", columns, name));
        if (!statement) broken = true;
        while (!broken) {
            const base::Result<bool> row = statement->step();
            if (!row) {
                broken = true;
                m_cancelled |= row.error().code == base::ErrorCode::cancelled;
                break;
            }
            if (!*row) break;
            if (idsAreIndices) {
                const int64_t id = statement->integer(0);
                const auto next = static_cast<int64_t>(out.size());
                if (id < next || id - next > 1'000'000) {
                    broken = true;
                    break;
                }
                missing += id - next;
                out.resize(static_cast<size_t>(id));
            }
            out.push_back(read(*statement));
        }
        if (!broken && missing == 0) return;
        m_quality.push_back(
            {"damaged-table", std::max<int64_t>(missing, 1),
             fmt::format("The table '{}' of the file is damaged; some of its rows are missing.", name)});
    }

    bool cancelled() const { return m_cancelled; }
    std::vector<session::QualityRow>& quality() { return m_quality; }

private:
    Database& m_database;
    std::vector<session::QualityRow> m_quality;
    bool m_cancelled = false;
};

// Files of the first releases lack the columns and tables that came later.
void readNames(TableReader& reader, Database& database, session::SessionTables& out)
{
    using Row = const Statement&;
    reader.table("strings", "text", true, out.strings, [](Row r) { return r.text(1); });
    const char* trackColumns = hasColumn(database, "tracks", "kind")
        ? "name, thread_id, kind, process_id, process, group_name, device, lane, sort_index"
        : "name, thread_id, 0, 0, '', '', -1, 0, 0";
    reader.table("tracks", trackColumns, true, out.tracks, [](Row r) {
        session::Track row{r.text(1), r.integer(2)};
        row.kind = enumValue<session::TrackKind>(r.integer(3));
        row.processId = r.integer(4);
        row.process = r.text(5);
        row.group = r.text(6);
        row.device = narrow(r.integer(7));
        row.lane = narrow(r.integer(8));
        row.sortIndex = narrow(r.integer(9));
        return row;
    });
    const char* labelColumns = hasColumn(database, "labels", "category")
        ? "name, kind, phase, layer, primitive, category"
        : "name, kind, phase, layer, primitive, NULL";
    reader.table("labels", labelColumns, true, out.labels, [](Row r) {
        return session::Label{optionalId<base::StringId>(r, 1), enumValue<session::SpanKind>(r.integer(2)),
                              enumValue<session::Phase>(r.integer(3)), optionalId<base::LayerId>(r, 4),
                              optionalId<base::PrimitiveId>(r, 5), optionalId<base::StringId>(r, 6)};
    });
    reader.table("counters", "name, unit", true, out.counters, [](Row r) {
        return session::CounterRow{r.text(1), r.text(2)};
    });
    reader.table("environment", "key, value", false, out.environment, [](Row r) {
        return session::EnvironmentRow{r.text(1), r.text(2)};
    });
    const char* qualityColumns =
        hasColumn(database, "quality", "places") ? "code, count, message, places" : "code, count, message, ''";
    reader.table("quality", qualityColumns, false, out.quality, [](Row r) {
        return session::QualityRow{r.text(1), r.integer(2), r.text(3), r.text(4)};
    });
}

void readLayers(TableReader& reader, session::SessionTables& out)
{
    reader.table(
        "layers",
        "name, path, type, text, parent, input, output, parameters, forward_flop, backward_flop, forward_bytes, "
        "backward_bytes",
        true, out.layers, [](const Statement& r) {
            session::LayerRow row;
            row.name = r.text(1);
            row.path = r.text(2);
            row.type = r.text(3);
            row.text = r.text(4);
            row.parent = optionalId<base::LayerId>(r, 5);
            row.input = r.text(6);
            row.output = r.text(7);
            row.parameters = r.integer(8);
            row.forwardFlop = r.integer(9);
            row.backwardFlop = r.integer(10);
            row.forwardBytes = r.integer(11);
            row.backwardBytes = r.integer(12);
            return row;
        });
    reader.table("primitives", "name, kind, implementation, formats, layer, phase, flop, bytes, threads, flags", true,
                 out.primitives, [](const Statement& r) {
                     session::PrimitiveRow row;
                     row.name = r.text(1);
                     row.kind = r.text(2);
                     row.implementation = r.text(3);
                     row.formats = r.text(4);
                     row.layer = optionalId<base::LayerId>(r, 5);
                     row.phase = enumValue<session::Phase>(r.integer(6));
                     row.flop = r.integer(7);
                     row.bytes = r.integer(8);
                     row.threads = narrow(r.integer(9));
                     row.flags = static_cast<uint32_t>(r.integer(10));
                     return row;
                 });
}

void readSteps(TableReader& reader, Database& database, session::SessionTables& out)
{
    std::string columns = "step, epoch, warmup, start_ns, duration_ns, samples, loss, thread_involuntary_switches, "
                          "thread_minor_faults, thread_major_faults, process_involuntary_switches, process_minor_faults";
    columns += hasColumn(database, "steps", "group_text") ? ", group_text, index_shift" : ", NULL, 0";
    reader.table("steps", columns.c_str(), false, out.steps, [](const Statement& r) {
                     session::StepRow row;
                     row.index = r.integer(1);
                     row.epoch = narrow(r.integer(2));
                     row.warmup = r.integer(3) != 0;
                     row.start = r.integer(4);
                     row.duration = r.integer(5);
                     row.samples = narrow(r.integer(6));
                     row.loss = r.real(7);
                     row.threadInvoluntarySwitches = narrow(r.integer(8));
                     row.threadMinorFaults = narrow(r.integer(9));
                     row.threadMajorFaults = narrow(r.integer(10));
                     row.processInvoluntarySwitches = narrow(r.integer(11));
                     row.processMinorFaults = narrow(r.integer(12));
                     row.group = optionalId<base::StringId>(r, 13);
                     row.indexShift = r.integer(14);
                     return row;
                 });
}

void readFrames(TableReader& reader, Database& database, session::SessionTables& out)
{
    if (hasTable(database, "frames"))
        reader.table("frames", "function, module, file, line, address, flags, primitive", true, out.frames,
                     [](const Statement& r) {
                         session::FrameRow row;
                         row.function = optionalId<base::StringId>(r, 1);
                         row.module = optionalId<base::StringId>(r, 2);
                         row.file = optionalId<base::StringId>(r, 3);
                         row.line = narrow(r.integer(4));
                         row.address = static_cast<uint64_t>(r.integer(5));
                         row.flags = static_cast<uint32_t>(r.integer(6));
                         row.primitive = optionalId<base::PrimitiveId>(r, 7);
                         return row;
                     });
    if (hasTable(database, "series"))
        reader.table("series", "name, unit, kind, timed, is_default", true, out.series, [](const Statement& r) {
            return session::SeriesRow{r.text(1), r.text(2), enumValue<session::SeriesKind>(r.integer(3)),
                                      r.integer(4) != 0, r.integer(5) != 0};
        });
}

} // namespace

bool hasTable(Database& database, std::string_view table)
{
    const auto count =
        database.integer(fmt::format("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = '{}'", table));
    return count && *count > 0;
}

bool hasColumn(Database& database, std::string_view table, std::string_view column)
{
    const auto count = database.integer(
        fmt::format("SELECT count(*) FROM pragma_table_info('{}') WHERE name = '{}'", table, column));
    return count && *count > 0;
}

bool readMetaFlag(Database& database, std::string_view key) { return readMetaText(database, key) == "1"; }

std::string readMetaText(Database& database, std::string_view key)
{
    auto statement = database.prepare("SELECT value FROM meta WHERE key = ?");
    if (!statement) return {};
    statement->bind(0, key);
    const base::Result<bool> row = statement->step();
    return row && *row ? statement->text(0) : std::string();
}

base::Result<session::SessionTables> readTables(Database& database)
{
    session::SessionTables out;
    TableReader reader(database);
    readNames(reader, database, out);
    readFrames(reader, database, out);
    readLayers(reader, out);
    readSteps(reader, database, out);
    if (reader.cancelled()) return base::fail(base::ErrorCode::cancelled, "cancelled");
    out.modelText = readMetaText(database, "model_text");
    out.quality.insert(out.quality.end(), reader.quality().begin(), reader.quality().end());
    return out;
}

} // namespace stepscope::storage
