// SessionStore: writes the rows and chunks of one session file. Internal to core/storage; SessionWriter and
// saveSession() are made of it.
// Owner: core/storage. Thread: one at a time. Units: ns.
#pragma once

#include "core/session/event_details.h"
#include "core/session/session_sink.h"
#include "core/storage/column_codec.h"
#include "core/storage/sqlite.h"

#include <memory>
#include <span>

namespace stepscope::storage {

// The columns of one chunk of spans, of equal length and sorted by (start, longer first).
struct SpanChunk {
    std::span<const int64_t> start;
    std::span<const int64_t> duration;
    std::span<const uint32_t> label;
    std::span<const int32_t> step;
};

// The columns of one chunk of samples, of equal length.
struct SampleChunk {
    std::span<const int64_t> time;
    std::span<const int64_t> weight;
    std::span<const uint32_t> stack;
    std::span<const uint32_t> label;
    std::span<const uint32_t> track;
    std::span<const int32_t> step;
};

class SessionStore {
public:
    enum class Purpose {
        recording, // consistent at every moment, whatever happens to this process
        saving,    // a new file that counts only once it is complete
    };
    // The file must not exist.
    static base::Result<std::unique_ptr<SessionStore>> create(const std::filesystem::path& path, Purpose purpose);
    ~SessionStore();

    // Rows get the next id of their table. After a failure nothing is written any more.
    void addString(std::string_view text);
    void addTrack(const session::Track& track);
    void addLabel(const session::Label& label);
    void addLayer(const session::LayerRow& layer);
    void addPrimitive(const session::PrimitiveRow& primitive);
    void addCounter(const session::CounterRow& counter);
    void addEnvironment(const session::EnvironmentRow& row);
    void addQuality(const session::QualityRow& row);
    void addStep(const session::StepRow& step);
    void addFrame(const session::FrameRow& frame);
    void addSeries(const session::SeriesRow& series);
    void setMeta(std::string_view key, std::string_view value);
    void setMeta(std::string_view key, int64_t value);

    int64_t newSpanChunk() { return m_nextSpanChunk++; } // ids ascend in the order of time within a track
    int64_t newCounterChunk() { return m_nextCounterChunk++; }
    int64_t newSampleChunk() { return m_nextSampleChunk++; }
    // Writes a chunk, or replaces the one with that id.
    void putSpanChunk(int64_t id, session::TrackId track, const SpanChunk& chunk);
    void putCounterChunk(int64_t id, session::CounterId counter, std::span<const int64_t> time,
                         std::span<const double> value);
    void putSampleChunk(int64_t id, session::SeriesId series, const SampleChunk& chunk);
    // The id of a chunk of stacks is the id of its first stack.
    void putStackChunk(session::StackId first, std::span<const uint32_t> parent, std::span<const uint32_t> frame);

    // Details of an imported trace: the rows of the spans of a chunk, and the columns themselves. The first call makes the
    // tables.
    void putSpanDetails(int64_t chunk, std::span<const uint32_t> details);
    void putDetails(const session::DetailTable& details);

    bool failed() const { return !m_status.has_value(); }
    const base::Status& status() const { return m_status; }
    int64_t bytesSinceCommit() const { return m_bytesSinceCommit; }
    // Ends the transaction and begins the next. While a reader holds the file the transaction simply goes on.
    base::Status commit();
    // Marks the session complete and makes the file durable. No call is allowed afterwards but status().
    base::Status finish();

private:
    enum Table {
        meta,
        strings,
        tracks,
        labels,
        layers,
        primitives,
        counters,
        environment,
        quality,
        steps,
        spanChunks,
        counterChunks,
        frames,
        stackChunks,
        series,
        sampleChunks,
        kTables
    };
    explicit SessionStore(std::unique_ptr<Database> database) : m_database(std::move(database)) {}
    base::Status prepare();
    template <class... Values>
    void add(Table table, const Values&... values);
    void keep(base::Status status);
    bool prepareDetails();

    std::unique_ptr<Database> m_database; // outlives the statements
    Statement m_insert[kTables];
    int64_t m_nextId[kTables] = {};
    int64_t m_nextSpanChunk = 0;
    int64_t m_nextCounterChunk = 0;
    int64_t m_nextSampleChunk = 0;
    int64_t m_bytesSinceCommit = 0;
    Statement m_insertSpanDetails, m_insertDetails; // prepared with their tables
    bool m_detailTables = false;
    ColumnEncoder m_encoders[6]; // one per column of a chunk: their bytes are bound together
    base::Status m_status;
};

} // namespace stepscope::storage
