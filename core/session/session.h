// Session: everything known about one recorded or imported run. Immutable.
// Owner: core/session. Thread: any; spans() loads the big columns on first use and may block for that long,
// so call it from a job, never from the UI thread. Units: ns, bytes, FLOP.
#pragma once

#include "core/base/result.h"
#include "core/session/event_details.h"
#include "core/session/sample_table.h"
#include "core/session/span_table.h"
#include "core/session/types.h"

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::session {

struct CounterSamples {
    base::HugeVector<TimeNs> time;
    base::HugeVector<double> value;
};

// The small tables, filled by SessionBuilder or by the reader of a file.
struct SessionTables {
    std::vector<std::string> strings; // StringId
    std::vector<Track> tracks;
    std::vector<Label> labels;
    std::vector<StepRow> steps;       // ascending by index
    std::vector<LayerRow> layers;     // LayerId; pre-order, row 0 is the whole model when there is one
    std::vector<PrimitiveRow> primitives;
    std::vector<CounterRow> counters;
    std::vector<FrameRow> frames;     // FrameId
    std::vector<StackRow> stacks;     // StackId; parents before children
    std::vector<SeriesRow> series;    // SeriesId
    std::vector<EnvironmentRow> environment;
    std::vector<QualityRow> quality;
    std::string modelText;            // source of the model, "" when not recorded
    uint64_t spanCount = 0;           // rows that spans() will have
    uint64_t sampleCount = 0;         // rows of all samples() together
};

// What loading the big columns yields; quality lists damaged or repaired chunks.
struct LoadedColumns {
    SpanTable spans;
    std::vector<CounterSamples> counters; // one per CounterRow
    std::vector<SampleTable> samples;     // one per SeriesRow
    DetailTable details;                  // of imported traces
    std::vector<QualityRow> quality;
};

class Session {
public:
    using ColumnLoader = std::function<LoadedColumns()>;

    Session(SessionTables tables, LoadedColumns columns);    // all in memory
    Session(SessionTables tables, ColumnLoader loader);      // columns on first use
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    const std::vector<Track>& tracks() const { return m_tables.tracks; }
    const std::vector<Label>& labels() const { return m_tables.labels; }
    const std::vector<StepRow>& steps() const { return m_tables.steps; }
    const std::vector<LayerRow>& layers() const { return m_tables.layers; }
    const std::vector<PrimitiveRow>& primitives() const { return m_tables.primitives; }
    const std::vector<CounterRow>& counters() const { return m_tables.counters; }
    const std::vector<FrameRow>& frames() const { return m_tables.frames; }
    const std::vector<StackRow>& stacks() const { return m_tables.stacks; }
    const std::vector<SeriesRow>& series() const { return m_tables.series; }
    const std::vector<EnvironmentRow>& environment() const { return m_tables.environment; }
    const std::string& modelText() const { return m_tables.modelText; }
    const SessionTables& tables() const { return m_tables; }
    uint64_t spanCount() const { return m_tables.spanCount; }
    uint64_t sampleCount() const { return m_tables.sampleCount; }

    std::string_view string(StringId id) const;              // "" for an invalid id
    std::string_view trackTitle(TrackId id) const;           // see trackTitle(const Track&); "" for an invalid id
    std::string_view environmentValue(std::string_view key) const; // "" when absent

    const SpanTable& spans() const { return columns().spans; }
    const DetailTable& details() const { return columns().details; }
    const CounterSamples& counterSamples(CounterId id) const;
    const SampleTable& samples(SeriesId id) const; // empty for an invalid id
    // Quality of the small tables and, once loaded, of the columns.
    std::vector<QualityRow> quality() const;

private:
    const LoadedColumns& columns() const;

    SessionTables m_tables;
    std::vector<std::string> m_trackTitles;
    mutable std::once_flag m_once;
    mutable ColumnLoader m_loader;
    mutable std::optional<LoadedColumns> m_columns;
    mutable std::mutex m_qualityMutex;
};

using SessionPtr = std::shared_ptr<const Session>;

} // namespace stepscope::session
