// SessionMerger: makes one session of several, such as those of the ranks of a distributed run.
// Owner: core/session. Thread: one at a time; a job, as it reads the columns of every part. Units: ns.
//
// Every part becomes a group of tracks. Texts, labels, frames and stacks that are equal become one row, so that a report
// over all parts counts them together; layers and primitives only where the whole tables are equal. Everything that says
// where something happened stays apart: tracks, steps (see StepRow::group), counters, correlation ids.
#pragma once

#include "core/session/session_builder.h"

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::session {

class SessionMerger {
public:
    // Copies the part, so that it may go. `group` must differ from those given before.
    void add(const Session& part, const std::string& group);
    size_t parts() const { return m_parts.size(); }

    // For what the caller knows about the parts.
    void addQuality(QualityRow row) { m_tables.tables().quality.push_back(std::move(row)); }
    void addEnvironment(EnvironmentRow row) { m_ownEnvironment.push_back(std::move(row)); }

    // Adds shifts[i] to every time of part i. The merger is empty afterwards.
    SessionPtr finish(std::span<const TimeNs> shifts);

    // Key of an environment row that the parts do not share: "import.file [rank 1]".
    static std::string keyOf(std::string_view key, std::string_view group);

private:
    struct Part {
        std::string group;
        size_t tracks = 0, steps = 0, counters = 0, rows = 0; // where they begin
        std::vector<EnvironmentRow> environment;
    };
    struct SampleRun { // rows of a series that came from one part
        size_t series = 0, part = 0, begin = 0, end = 0;
    };
    struct Maps { // ids of a part to those of the whole
        std::vector<StringId> strings;
        std::vector<uint32_t> labels, stacks;
        std::vector<FrameId> frames;
        std::vector<std::pair<int64_t, int64_t>> steps; // by the part's index
        uint32_t layers = 0, primitives = 0; // added to an id
        int32_t step(int32_t index, size_t& last) const;
    };

    void addNames(const Session& part, Maps& maps);
    void addModel(const Session& part, Maps& maps);
    void addFrames(const Session& part, Maps& maps);
    void addSteps(const Session& part, const std::string& group, Maps& maps);
    void addSpans(const Session& part, const Maps& maps);
    void addDetails(const Session& part, size_t firstRow);
    void addCounters(const Session& part, const std::string& group);
    void addSamples(const Session& part, const std::string& group, const Maps& maps, size_t tracks);
    size_t seriesOf(const SeriesRow& row);
    int64_t correlation(int64_t id);
    void addQualityOf(const Session& part, const std::string& group);
    void mergeEnvironment();
    void shift(std::span<const TimeNs> shifts);

    SessionBuilder m_tables; // interns; its tables are taken at the end
    SpanTable m_spans;       // without trackBegin's last
    DetailBuilder m_details;
    bool m_hasDetails = false;
    std::vector<FlowRow> m_flows;
    std::vector<CounterSamples> m_counters;
    std::vector<SampleTable> m_samples;
    std::vector<SampleRun> m_sampleRuns;
    std::vector<Part> m_parts;
    struct Model {
        std::vector<LayerRow> layers;
        std::vector<PrimitiveRow> primitives;
        uint32_t firstLayer, firstPrimitive;
    };
    std::vector<Model> m_models; // as the parts have them
    std::vector<EnvironmentRow> m_ownEnvironment;
    int64_t m_nextCorrelation = 0; // above all ids so far
    std::map<int64_t, int64_t> m_correlations; // of the current part, where its ids cannot just be moved up
    int64_t m_correlationShift = 0;
    bool m_correlationsFit = true;
};

} // namespace stepscope::session
