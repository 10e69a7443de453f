#include "core/storage/session_columns.h"

#include "core/session/session_builder.h"
#include "core/session/span_runs.h"
#include "core/session/table_check.h"
#include "core/storage/column_codec.h"
#include "core/storage/schema.h"
#include "core/storage/session_tables.h"

#include <algorithm>

#include <fmt/format.h>

namespace stepscope::storage {

namespace {

constexpr uint64_t kMaxSpans = 0xfffffffeu; // rows are numbered with 32 bits

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
          m_runs(index.spanCount, index.inTableOrder),
          m_damaged(index.damaged)
    {
    }

    session::LoadedColumns read()
    {
        session::LoadedColumns columns;
        readSpans();
        columns.spans = m_runs.finish();
        readCounters(columns.counters);
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

    Database& m_database;
    const ChunkIndex& m_index;
    session::SpanRuns m_runs;
    ColumnDecoder m_decoder;
    std::vector<session::SpanRecord> m_records;
    int64_t m_damaged = 0;
    int64_t m_lost = 0;
    int64_t m_unusable = 0;
};

} // namespace

ChunkIndex readChunkIndex(Database& database, const session::SessionTables& tables)
{
    ChunkIndex index;
    index.tracks = tables.tracks.size();
    index.labels = tables.labels.size();
    index.counterCount = tables.counters.size();
    index.inTableOrder = readMetaText(database, "span_order") == "start";
    index.spans = listChunks(database, "span_chunks", "track", index.tracks, index.damaged);
    index.counters = listChunks(database, "counter_chunks", "counter", index.counterCount, index.damaged);
    for (size_t i = 0; i < index.spans.size(); ++i) {
        if (index.spanCount + index.spans[i].rows > kMaxSpans) {
            index.damaged += static_cast<int64_t>(index.spans.size() - i);
            index.spans.resize(i);
            break;
        }
        index.spanCount += index.spans[i].rows;
    }
    return index;
}

session::LoadedColumns readColumns(Database& database, const ChunkIndex& index)
{
    return ColumnReader(database, index).read();
}

} // namespace stepscope::storage
