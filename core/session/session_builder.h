// SessionBuilder: collects rows in memory and finishes them to a Session. Also a SessionSink, so that tests and
// importers can use one vocabulary. Owner: core/session. Thread: one at a time.
#pragma once

#include "core/session/session.h"
#include "core/session/session_sink.h"

#include <unordered_map>

namespace stepscope::session {

// Sorts the spans of every track by (start, longer first), nests them and computes parents.
// A span that overlaps its predecessor without nesting is clipped to its parent's end and counted in quality as
// "overlapping-spans". records[t] are the spans of track t.
LoadedColumns nestSpans(std::vector<std::vector<SpanRecord>> records, std::vector<CounterSamples> counters = {});

class SessionBuilder final : public SessionSink {
public:
    // Interns: equal text gets the same id.
    StringId intern(std::string_view text);
    LabelId internLabel(const Label& label);

    void addString(std::string_view text) override;
    void addTrack(const Track& track) override;
    void addLabel(const Label& label) override;
    void addLayer(const LayerRow& layer) override;
    void addPrimitive(const PrimitiveRow& primitive) override;
    void addCounter(const CounterRow& counter) override;
    void addEnvironment(const EnvironmentRow& row) override;
    void addQuality(const QualityRow& row) override;
    void setModelText(std::string_view text) override;
    void addStep(const StepRow& step) override;
    void addSpans(TrackId track, std::span<const SpanRecord> spans) override;
    void addCounterSamples(CounterId counter, std::span<const CounterRecord> samples) override;
    base::Status flush() override { return {}; }
    base::Status finish() override { return {}; }

    SessionTables& tables() { return m_tables; }
    // Ends building; the builder is empty afterwards.
    SessionPtr build();

private:
    SessionTables m_tables;
    std::unordered_map<std::string, uint32_t> m_stringIds;
    std::vector<std::vector<SpanRecord>> m_spans;     // per track
    std::vector<CounterSamples> m_counters;
};

} // namespace stepscope::session
