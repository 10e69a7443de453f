#include "core/storage/session_columns.h"

#include "core/session/sample_rows.h"
#include "core/session/session_builder.h"
#include "core/session/span_runs.h"
#include "core/session/table_check.h"
#include "core/storage/column_codec.h"
#include "core/storage/detail_columns.h"
#include "core/storage/schema.h"
#include "core/storage/session_tables.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

namespace stepscope::storage {

namespace {

constexpr uint64_t kMaxRows = 0xfffffffeu; // rows are numbered with 32 bits
constexpr uint64_t kMaxStacks = uint64_t{1} << 28;

// Lists (id, owner, rows). Behind an unreadable page the search goes on with higher ids.
std::vector<ChunkReference> listChunks(Database& database, const char* table, const char* owner, size_t owners,
                                       int64_t& damaged)
{
    std::vector<ChunkReference> out;
    auto statement =
        database.prepare(fmt::format("SELECT id, {}, rows FROM {} WHERE id > ? ORDER BY id", owner, table));
    if (!statement) {
        ++damaged;
        return out;
    }
    int64_t last = -1;
    int64_t skip = 1;
    statement->bind(0, last);
    while (skip < (int64_t{1} << 40)) {
        const base::Result<bool> row = statement->step();
        if (!row) {
            if (row.error().code == base::ErrorCode::cancelled) break;
            damaged += skip == 1 ? 1 : 0;
            statement->bind(0, last + skip);
            skip *= 2;
            continue;
        }
        if (!*row) break;
        last = statement->integer(0);
        skip = 1;
        const int64_t ownerId = statement->integer(1);
        const int64_t rows = statement->integer(2);
        if (ownerId < 0 || ownerId >= static_cast<int64_t>(owners) || rows < 1 || rows > kMaxChunkRows) ++damaged;
        else out.push_back({last, static_cast<uint32_t>(ownerId), static_cast<uint32_t>(rows)});
    }
    std::stable_sort(out.begin(), out.end(),
                     [](const ChunkReference& a, const ChunkReference& b) { return a.owner < b.owner; });
    return out;
}

class ColumnReader {
public:
    ColumnReader(Database& database, const ChunkIndex& index)
        : m_database(database),
          m_index(index),
          m_runs(index.spanCount, index.inTableOrder, index.withDetails),
          m_damaged(index.damaged)
    {
    }

    session::LoadedColumns read()
    {
        session::LoadedColumns columns;
        readSpans();
        columns.spans = m_runs.finish();
        readSpanDetails(columns);
        readCounters(columns.counters);
        readSamples(columns.samples);
        session::repairSamples(columns, {m_index.stackCount, m_index.labels, m_index.tracks});
        if (m_runs.overlapping() > 0) columns.quality.push_back(session::overlapQuality(m_runs.overlapping()));
        if (m_damaged > 0)
            columns.quality.push_back(
                {"damaged-chunk", m_damaged,
                 fmt::format("{} chunks of the file were damaged; the {} spans and samples in them are missing.",
                             m_damaged, m_lost)});
        if (m_unusable > 0)
            columns.quality.push_back(
                {"unusable-spans", m_unusable,
                 fmt::format("{} spans had no known label or an impossible duration and were left out.", m_unusable)});
        return columns;
    }

private:
    void readSpans()
    {
        auto statement = m_database.prepare("SELECT start, duration, label, step FROM span_chunks WHERE id = ?");
        size_t next = 0;
        for (size_t track = 0; track < m_index.tracks; ++track) {
            m_runs.beginTrack();
            for (; next < m_index.spans.size() && m_index.spans[next].owner == track; ++next) {
                const ChunkReference& chunk = m_index.spans[next];
                if (!statement || !readSpanChunk(*statement, chunk)) {
                    ++m_damaged;
                    m_lost += chunk.rows;
                }
            }
        }
    }

    // Links of launches are made anew, because rows may be missing; arrows refer to rows and are good only when none is.
    void readSpanDetails(session::LoadedColumns& columns)
    {
        if (!m_index.withDetails) return;
        columns.details = readDetails(m_database, columns.spans.size(), m_index.stringCount, m_damaged);
        if (columns.spans.size() != m_index.spanCount) columns.details.flows.clear();
        session::linkLaunches(columns.spans, m_index.labelRows, columns.details);
    }

    void readChunkDetails(const ChunkReference& chunk, uint32_t* details)
    {
        if (details == nullptr) return;
        const std::span<uint32_t> rows(details, chunk.rows);
        if (!m_detailStatement)
            if (auto made = m_database.prepare("SELECT detail FROM span_details WHERE chunk = ?")) m_detailStatement = std::move(*made);
        bool good = false;
        if (m_detailStatement) {
            m_detailStatement->bind(0, chunk.id);
            const base::Result<bool> row = m_detailStatement->step();
            if (row && *row) {
                good = m_decoder.decode(m_detailStatement->blob(0), rows);
                static_cast<void>(m_detailStatement->step());
            }
        }
        if (good) return;
        std::fill(rows.begin(), rows.end(), session::SpanTable::kNoDetail);
        ++m_damaged;
    }

    bool readSpanChunk(Statement& statement, const ChunkReference& chunk)
    {
        statement.bind(0, chunk.id);
        const base::Result<bool> row = statement.step();
        if (!row || !*row) return false;
        const size_t count = chunk.rows;
        const session::SpanRows rows = m_runs.beginRun(count);
        const bool good = m_decoder.decode(statement.blob(0), std::span(rows.start, count))
            && m_decoder.decode(statement.blob(1), std::span(rows.duration, count))
            && m_decoder.decode(statement.blob(2), std::span(rows.label, count))
            && m_decoder.decode(statement.blob(3), std::span(rows.step, count));
        static_cast<void>(statement.step()); // to the end, which resets
        if (good) readChunkDetails(chunk, rows.detail);
        if (good && isClean(rows, count)) {
            m_runs.endRun(count);
            return true;
        }
        if (good) keepUsable(rows, count);
        m_runs.endRun(0);
        if (good) m_runs.addRun(m_records);
        return good;
    }

    // True for what our own writer makes: sorted, known labels, sane times.
    bool isClean(const session::SpanRows& rows, size_t count) const
    {
        bool clean = true;
        for (size_t i = 0; i < count; ++i)
            clean &= session::usable({rows.start[i], rows.duration[i], rows.label[i], 0}, m_index.labels);
        for (size_t i = 1; i < count; ++i)
            clean &= rows.start[i - 1] < rows.start[i]
                || (rows.start[i - 1] == rows.start[i] && rows.duration[i - 1] >= rows.duration[i]);
        return clean;
    }

    void keepUsable(const session::SpanRows& rows, size_t count)
    {
        m_records.clear();
        // Backwards: the sorter takes the later one of equal spans for the outer one.
        for (size_t i = count; i-- > 0;) {
            const session::SpanRecord span{rows.start[i], rows.duration[i], rows.label[i], rows.step[i]};
            if (session::usable(span, m_index.labels)) m_records.push_back(span);
        }
        m_unusable += static_cast<int64_t>(count - m_records.size());
    }

    void readCounters(std::vector<session::CounterSamples>& out)
    {
        out.resize(m_index.counterCount);
        auto statement = m_database.prepare("SELECT time, value FROM counter_chunks WHERE id = ?");
        for (const ChunkReference& chunk : m_index.counters) {
            session::CounterSamples& samples = out[chunk.owner];
            const size_t before = samples.time.size();
            bool good = false;
            if (statement) {
                statement->bind(0, chunk.id);
                const base::Result<bool> row = statement->step();
                if (row && *row) {
                    samples.time.resize(before + chunk.rows);
                    samples.value.resize(before + chunk.rows);
                    good = m_decoder.decode(statement->blob(0), std::span(samples.time).subspan(before))
                        && m_decoder.decode(statement->blob(1), std::span(samples.value).subspan(before));
                    static_cast<void>(statement->step());
                }
            }
            if (good) continue;
            samples.time.resize(before);
            samples.value.resize(before);
            ++m_damaged;
            m_lost += chunk.rows;
        }
    }

    void readSamples(std::vector<session::SampleTable>& out)
    {
        out.resize(m_index.seriesCount);
        if (m_index.samples.empty()) return;
        auto statement =
            m_database.prepare("SELECT time, weight, stack, label, track, step FROM sample_chunks WHERE id = ?");
        for (const ChunkReference& chunk : m_index.samples) {
            session::SampleTable& table = out[chunk.owner];
            const size_t before = table.size();
            if (statement && readSampleChunk(*statement, chunk, table)) continue;
            table.resize(before);
            ++m_damaged;
            m_lost += chunk.rows;
        }
        for (session::SampleTable& table : out)
            session::sortSamples(table);
    }

    bool readSampleChunk(Statement& statement, const ChunkReference& chunk, session::SampleTable& table)
    {
        statement.bind(0, chunk.id);
        const base::Result<bool> row = statement.step();
        if (!row || !*row) return false;
        const size_t before = table.size();
        table.resize(before + chunk.rows);
        const auto part = [&](auto& column) { return std::span(column).subspan(before); };
        const bool good = m_decoder.decode(statement.blob(0), part(table.time))
            && m_decoder.decode(statement.blob(1), part(table.weight))
            && m_decoder.decode(statement.blob(2), part(table.stack))
            && m_decoder.decode(statement.blob(3), part(table.label))
            && m_decoder.decode(statement.blob(4), part(table.track))
            && m_decoder.decode(statement.blob(5), part(table.step));
        static_cast<void>(statement.step()); // to the end, which resets
        return good;
    }

    Database& m_database;
    const ChunkIndex& m_index;
    session::SpanRuns m_runs;
    ColumnDecoder m_decoder;
    std::vector<session::SpanRecord> m_records;
    std::optional<Statement> m_detailStatement;
    int64_t m_damaged = 0;
    int64_t m_lost = 0;
    int64_t m_unusable = 0;
};

// Leaves out the chunks behind the last row that can be numbered.
void keepCountable(std::vector<ChunkReference>& chunks, uint64_t& rows, int64_t& damaged)
{
    for (size_t i = 0; i < chunks.size(); ++i) {
        if (rows + chunks[i].rows > kMaxRows) {
            damaged += static_cast<int64_t>(chunks.size() - i);
            chunks.resize(i);
            return;
        }
        rows += chunks[i].rows;
    }
}

// Chunks of stacks follow each other; after a lost one there is a gap, but none that no recording could make.
void keepStacks(ChunkIndex& index)
{
    std::vector<ChunkReference> kept;
    for (const ChunkReference& chunk : index.stacks) {
        const auto first = static_cast<uint64_t>(chunk.id);
        const bool good = first >= index.stackCount && first < kMaxStacks
            && first - index.stackCount <= static_cast<uint64_t>(kMaxChunkRows);
        if (!good) {
            ++index.damaged;
            continue;
        }
        kept.push_back(chunk);
        index.stackCount = first + chunk.rows;
    }
    index.stacks = std::move(kept);
}

} // namespace

ChunkIndex readChunkIndex(Database& database, const session::SessionTables& tables)
{
    ChunkIndex index;
    index.tracks = tables.tracks.size();
    index.labels = tables.labels.size();
    index.counterCount = tables.counters.size();
    index.inTableOrder = readMetaText(database, "span_order") == "start";
    index.withDetails = hasTable(database, "span_details") && hasTable(database, "detail_columns");
    if (index.withDetails) {
        index.labelRows = tables.labels;
        index.stringCount = tables.strings.size();
    }
    index.spans = listChunks(database, "span_chunks", "track", index.tracks, index.damaged);
    index.counters = listChunks(database, "counter_chunks", "counter", index.counterCount, index.damaged);
    index.seriesCount = tables.series.size();
    if (hasTable(database, "sample_chunks"))
        index.samples = listChunks(database, "sample_chunks", "series", index.seriesCount, index.damaged);
    if (hasTable(database, "stack_chunks"))
        index.stacks = listChunks(database, "stack_chunks", "0", 1, index.damaged);
    keepCountable(index.spans, index.spanCount, index.damaged);
    keepCountable(index.samples, index.sampleCount, index.damaged);
    keepStacks(index);
    return index;
}

void readStacks(Database& database, const ChunkIndex& index, session::SessionTables& tables)
{
    if (index.stacks.empty()) return;
    auto statement = database.prepare("SELECT parent, frame FROM stack_chunks WHERE id = ?");
    ColumnDecoder decoder;
    std::vector<uint32_t> parent, frame;
    uint64_t good = 0;
    tables.stacks.resize(index.stackCount);
    for (const ChunkReference& chunk : index.stacks) {
        if (!statement) break;
        statement->bind(0, chunk.id);
        const base::Result<bool> row = statement->step();
        if (!row || !*row) continue;
        parent.resize(chunk.rows);
        frame.resize(chunk.rows);
        const bool decoded = decoder.decode(statement->blob(0), std::span(parent))
            && decoder.decode(statement->blob(1), std::span(frame));
        static_cast<void>(statement->step()); // to the end, which resets
        if (!decoded) continue;
        good += chunk.rows;
        for (size_t i = 0; i < chunk.rows; ++i)
            tables.stacks[static_cast<size_t>(chunk.id) + i] = {session::StackId(parent[i]), session::FrameId(frame[i])};
    }
    if (good == index.stackCount) return;
    const auto lost = static_cast<int64_t>(index.stackCount - good);
    tables.quality.push_back(
        {"damaged-stacks", lost,
         fmt::format("{} stacks of the file were damaged; the samples there are shown without them.", lost)});
}

session::LoadedColumns readColumns(Database& database, const ChunkIndex& index)
{
    return ColumnReader(database, index).read();
}

} // namespace stepscope::storage
