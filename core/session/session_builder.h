// SessionBuilder: collects rows in memory and finishes them to a Session. Also a SessionSink, so that tests and
// importers can use one vocabulary. Owner: core/session. Thread: one at a time.
#pragma once

#include "core/session/session.h"
#include "core/session/session_sink.h"

#include <unordered_map>

namespace stepscope::session {

// Sorts the spans of every track by (start, longer first), nests them and computes parents.
// A span that overlaps its predecessor without nesting is clipped to its parent's end and counted in quality as
// "overlapping-spans". records[t] are the spans of track t, best in order of completion (linear time then). A span
// lies in another when it starts in [start, end) of it; of two equal spans the later record is the outer one.
LoadedColumns nestSpans(std::vector<std::vector<SpanRecord>> records, std::vector<CounterSamples> counters = {});
LoadedColumns nestSpans(std::vector<base::HugeVector<SpanRecord>> records, std::vector<CounterSamples> counters = {});

// The quality row for clipped spans.
QualityRow overlapQuality(int64_t count);

class SessionBuilder final : public SessionSink {
public:
    // Interns: equal text gets the same id.
    StringId intern(std::string_view text);
    LabelId internLabel(const Label& label);
    FrameId internFrame(const FrameRow& frame);
    StackId internStack(const StackRow& stack);

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
    void addFrame(const FrameRow& frame) override;
    void addStack(const StackRow& stack) override;
    void addSeries(const SeriesRow& series) override;
    void addSamples(SeriesId series, std::span<const SampleRecord> samples) override;
    base::Status flush() override { return {}; }
    base::Status finish() override { return {}; }

    SessionTables& tables() { return m_tables; }
    // Ends building; the builder is empty afterwards. References that point nowhere are cleared and spans without
    // a known label left out; both are counted in quality.
    SessionPtr build();
    // The same for an importer that made the columns of its spans itself (see EventBuilder). Spans of addSpans() must
    // not have been given.
    SessionPtr build(SpanTable spans, DetailTable details);

private:
    struct StringHash { // lets intern() look up without making a string
        using is_transparent = void;
        size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>{}(text); }
    };
    struct LabelHash {
        size_t operator()(const Label& label) const noexcept;
    };
    struct FrameHash {
        size_t operator()(const FrameRow& frame) const noexcept;
    };
    struct StackHash {
        size_t operator()(const StackRow& stack) const noexcept;
    };
    void dropUnusableSpans();
    SessionPtr finish(LoadedColumns columns);

    SessionTables m_tables;
    std::unordered_map<std::string, uint32_t, StringHash, std::equal_to<>> m_stringIds;
    std::unordered_map<Label, uint32_t, LabelHash> m_labelIds;
    std::vector<base::HugeVector<SpanRecord>> m_spans; // per track
    std::vector<CounterSamples> m_counters;
    std::unordered_map<FrameRow, uint32_t, FrameHash> m_frameIds;
    std::unordered_map<StackRow, uint32_t, StackHash> m_stackIds;
    std::vector<SampleTable> m_samples; // per series
    int64_t m_lostSpans = 0;
};

} // namespace stepscope::session
