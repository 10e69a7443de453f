#include "core/storage/detail_columns.h"

#include "core/storage/schema.h"

#include <algorithm>
#include <limits>

namespace stepscope::storage {

namespace {

using session::DetailTable;
using session::DeviceWork;

// The fields of DeviceWork as columns of 64-bit numbers: `get` for writing, `set` for reading.
struct DeviceColumn {
    const char* name;
    int64_t (*get)(const DeviceWork&);
    void (*set)(DeviceWork&, int64_t);
};

template <class T>
T narrow(int64_t value, T otherwise)
{
    return value >= std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max() ? static_cast<T>(value) : otherwise;
}

#define STEPSCOPE_COLUMN(name, field, type) \
    {name, [](const DeviceWork& w) { return static_cast<int64_t>(w.field); }, \
     [](DeviceWork& w, int64_t v) { w.field = narrow<type>(v, -1); }}
// Floating-point fields in millionths; -1 stands for "not known".
#define STEPSCOPE_MILLIONTHS(name, field) \
    {name, [](const DeviceWork& w) { return w.field >= 0 && w.field < 1e9f ? static_cast<int64_t>(static_cast<double>(w.field) * 1e6 + 0.5) : int64_t{-1}; }, \
     [](DeviceWork& w, int64_t v) { \
         if (v >= 0) w.field = static_cast<float>(static_cast<double>(v) / 1e6); \
     }}

template <class Kind>
Kind kindOf(int64_t value, int count)
{
    return value >= 0 && value < count ? static_cast<Kind>(value) : Kind::unknown;
}

constexpr DeviceColumn kDeviceColumns[] = {
    STEPSCOPE_COLUMN("device.bytes", bytes, int64_t),
    STEPSCOPE_COLUMN("device.stream", stream, int64_t),
    STEPSCOPE_COLUMN("device.graph_node", graphNode, int64_t),
    STEPSCOPE_COLUMN("device.device", device, int32_t),
    STEPSCOPE_COLUMN("device.context", context, int32_t),
    STEPSCOPE_COLUMN("device.grid_x", grid[0], int32_t),
    STEPSCOPE_COLUMN("device.grid_y", grid[1], int32_t),
    STEPSCOPE_COLUMN("device.grid_z", grid[2], int32_t),
    STEPSCOPE_COLUMN("device.block_x", block[0], int32_t),
    STEPSCOPE_COLUMN("device.block_y", block[1], int32_t),
    STEPSCOPE_COLUMN("device.block_z", block[2], int32_t),
    STEPSCOPE_COLUMN("device.registers", registers, int32_t),
    STEPSCOPE_COLUMN("device.shared_bytes", sharedBytes, int32_t),
    STEPSCOPE_MILLIONTHS("device.occupancy", occupancy),
    STEPSCOPE_MILLIONTHS("device.blocks_per_sm", blocksPerSm),
    STEPSCOPE_MILLIONTHS("device.warps_per_sm", warpsPerSm),
    {"device.copy_kind", [](const DeviceWork& w) { return static_cast<int64_t>(w.copy); },
     [](DeviceWork& w, int64_t v) { w.copy = kindOf<session::CopyKind>(v, session::kCopyKindCount); }},
    {"device.source", [](const DeviceWork& w) { return static_cast<int64_t>(w.source); },
     [](DeviceWork& w, int64_t v) { w.source = kindOf<session::MemoryKind>(v, session::kMemoryKindCount); }},
    {"device.destination", [](const DeviceWork& w) { return static_cast<int64_t>(w.destination); },
     [](DeviceWork& w, int64_t v) { w.destination = kindOf<session::MemoryKind>(v, session::kMemoryKindCount); }},
};
#undef STEPSCOPE_COLUMN
#undef STEPSCOPE_MILLIONTHS

class Encoder {
public:
    explicit Encoder(const WriteDetail& write) : m_write(write) {}

    // `value(row)` gives the number of a row.
    template <class Value>
    void column(std::string_view name, size_t rows, Transform transform, Value&& value)
    {
        for (size_t at = 0; at < rows; at += kChunkRows) {
            m_values.clear();
            for (size_t row = at; row < std::min(rows, at + kChunkRows); ++row)
                m_values.push_back(value(row));
            m_write(name, static_cast<int64_t>(at), static_cast<int64_t>(m_values.size()), m_encoder.encode(std::span<const int64_t>(m_values), transform));
        }
    }

private:
    const WriteDetail& m_write;
    ColumnEncoder m_encoder;
    std::vector<int64_t> m_values;
};

class Decoder {
public:
    Decoder(Database& database, size_t limit, int64_t& damaged) : m_database(database), m_limit(static_cast<int64_t>(limit)), m_damaged(damaged) {}

    // The column with `missing` where chunks cannot be read.
    std::vector<int64_t> column(std::string_view name, int64_t missing)
    {
        std::vector<int64_t> values;
        auto statement = m_database.prepare("SELECT first, rows, data FROM detail_columns WHERE name = ? ORDER BY first");
        if (!statement) {
            ++m_damaged;
            return values;
        }
        statement->bind(0, name);
        for (;;) {
            const base::Result<bool> more = statement->step();
            if (!more) ++m_damaged;
            if (!more || !*more) break;
            const int64_t first = statement->integer(0), rows = statement->integer(1);
            const auto size = static_cast<int64_t>(values.size());
            if (first < size || first - size > kMaxChunkRows || rows < 1 || rows > kMaxChunkRows || first + rows > m_limit) {
                ++m_damaged;
                continue;
            }
            values.resize(static_cast<size_t>(first + rows), missing);
            if (m_decoder.decode(statement->blob(2), std::span(values).subspan(static_cast<size_t>(first)))) continue;
            std::fill(values.begin() + first, values.end(), missing);
            ++m_damaged;
        }
        return values;
    }

private:
    Database& m_database;
    const int64_t m_limit; // rows of any column: a small file can claim many
    ColumnDecoder m_decoder;
    int64_t& m_damaged;
};

} // namespace

const char* const kCreateDetailTables = R"sql(
CREATE TABLE span_details(chunk INTEGER PRIMARY KEY, detail BLOB);
CREATE TABLE detail_columns(id INTEGER PRIMARY KEY, name TEXT NOT NULL, first INTEGER NOT NULL, rows INTEGER NOT NULL,
    data BLOB);
)sql";

void encodeDetails(const DetailTable& details, const WriteDetail& write)
{
    Encoder encoder(write);
    encoder.column("correlation", details.correlation.size(), Transform::delta, [&](size_t row) { return details.correlation[row]; });
    encoder.column("place", details.place.size(), Transform::delta, [&](size_t row) { return static_cast<int64_t>(details.place[row]); });
    for (const DeviceColumn& column : kDeviceColumns)
        encoder.column(column.name, details.device.size(), Transform::offset, [&](size_t row) { return column.get(details.device[row]); });
    encoder.column("unfinished", details.unfinished.size(), Transform::delta, [&](size_t row) { return static_cast<int64_t>(details.unfinished[row]); });
    encoder.column("flow.from", details.flows.size(), Transform::delta, [&](size_t row) { return static_cast<int64_t>(details.flows[row].from); });
    encoder.column("flow.to", details.flows.size(), Transform::delta, [&](size_t row) { return static_cast<int64_t>(details.flows[row].to); });
    encoder.column("flow.name", details.flows.size(), Transform::offset, [&](size_t row) { return static_cast<int64_t>(details.flows[row].name.value); });
}

DetailTable readDetails(Database& database, size_t spanCount, size_t stringCount, int64_t& damaged)
{
    DetailTable details;
    const auto exists = database.integer("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'detail_columns'");
    if (!exists || *exists == 0) return details;
    Decoder decoder(database, 4 * spanCount + static_cast<size_t>(kMaxChunkRows), damaged);
    const std::vector<int64_t> correlation = decoder.column("correlation", DetailTable::kNoCorrelation);
    details.correlation.assign(correlation.begin(), correlation.end());
    for (const int64_t place : decoder.column("place", -1))
        details.place.push_back(static_cast<uint64_t>(place));
    for (const DeviceColumn& column : kDeviceColumns) {
        const std::vector<int64_t> values = decoder.column(column.name, -1);
        if (details.device.size() < values.size()) details.device.resize(std::min(values.size(), details.correlation.size()));
        for (size_t row = 0; row < std::min(values.size(), details.device.size()); ++row)
            column.set(details.device[row], values[row]);
    }
    for (const int64_t row : decoder.column("unfinished", -1))
        if (row >= 0 && row < static_cast<int64_t>(details.size())) details.unfinished.push_back(static_cast<uint32_t>(row));
    std::sort(details.unfinished.begin(), details.unfinished.end());
    const std::vector<int64_t> from = decoder.column("flow.from", -1), to = decoder.column("flow.to", -1), name = decoder.column("flow.name", -1);
    const auto isSpan = [&](int64_t row) { return row >= 0 && row < static_cast<int64_t>(spanCount); };
    for (size_t i = 0; i < std::min({from.size(), to.size(), name.size()}); ++i)
        if (isSpan(from[i]) && isSpan(to[i]))
            details.flows.push_back({static_cast<uint32_t>(from[i]), static_cast<uint32_t>(to[i]),
                                     name[i] >= 0 && name[i] < static_cast<int64_t>(stringCount) ? session::StringId(static_cast<uint32_t>(name[i])) : session::StringId()});
    return details;
}

} // namespace stepscope::storage
