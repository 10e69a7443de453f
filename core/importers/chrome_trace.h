// ChromeTrace: the events of a Chrome trace or of Kineto on their way to a session.
// Owner: core/importers. Thread: one at a time. Units: ns of the file's clock until finish().
#pragma once

#include "core/importers/chrome_profiles.h"
#include "core/importers/trace_flows.h"
#include "core/importers/trace_pairs.h"
#include "core/importers/trace_problems.h"
#include "core/importers/trace_reader.h"
#include "core/importers/trace_tracks.h"
#include "core/importers/trace_vocabulary.h"
#include "core/session/session_builder.h"

#include <optional>
#include <string>
#include <vector>

namespace stepscope::importers {

class ChromeTrace final : public TraceSink {
public:
    explicit ChromeTrace(const ImportOptions& options) : m_options(options) {}

    void event(const RawEvent& event) override;
    void member(std::string_view key, std::string_view value) override;

    // Only what overlaps [begin, end) is kept from now on; times of the file's clock.
    void keepOnly(session::TimeNs begin, session::TimeNs end)
    {
        m_keepBegin = begin;
        m_keepEnd = end;
    }
    // Keeps no span: for finding the first time and the steps.
    void onlyLook() { m_onlyLook = true; }
    struct Step {
        int64_t number = 0;
        session::TimeNs start = 0, duration = 0;
    };
    const std::vector<Step>& stepMarks() const { return m_steps.empty() ? m_iterations : m_steps; }
    std::optional<session::TimeNs> firstTime() const { return m_first; } // events with time 0 not counted

    Imported finish(const Input& input, std::string_view format, TraceText text);

private:
    using Purpose = TraceTracks::Purpose;

    struct Meaning {
        uint32_t label = 0;
        EventMeaning meaning;
        std::optional<int64_t> iteration;
    };
    struct Counter {
        std::string name;
        std::string process;
        session::CounterSamples samples;
    };
    struct SampleMark {
        session::TimeNs time;
        int64_t weight;
        uint32_t frame; // index of its token
        uint32_t name;  // of its token, too
        session::TrackId track;
    };

    // chrome_trace.cpp: one kind of event each
    void look(const RawEvent& event, char phase);
    bool timeOf(const RawEvent& event, MicroTime& time);
    Meaning& meaning(const RawEvent& event);
    uint32_t detail(const RawEvent& event, const EventMeaning& meaning);
    void complete(const RawEvent& event);
    void markUnfinished(uint32_t detail, uint64_t place);
    void begin(const RawEvent& event);
    void end(const RawEvent& event);
    void asynchronous(const RawEvent& event, char phase);
    void instant(const RawEvent& event);
    void flow(const RawEvent& event, char phase);
    void counter(const RawEvent& event);
    void memory(const RawEvent& event, session::TimeNs time);
    void addCounterPoint(std::string_view process, std::string_view name, std::string_view key, session::TimeNs time, std::string_view value, uint64_t place);
    void sample(const RawEvent& event);
    bool profile(const RawEvent& event, session::TimeNs time); // false: it is no part of a profile of V8
    bool wanted(session::TimeNs start, session::TimeNs end) const { return start < m_keepEnd && end >= m_keepBegin; }
    void seen(session::TimeNs start, session::TimeNs end);
    session::Event* add(session::TrackId track, const session::Event& event, uint64_t place);
    uint32_t nameId(std::string_view token);

    // chrome_finish.cpp: the session
    void dropUntimed();
    void closeOpenSpans();
    void addTracks();
    void addSteps(session::SpanTable& spans, const session::DetailTable& details);
    void addCounters();
    void addSamples();
    void addSampleSeries(size_t kinds);
    void takeProfiles();
    void addProfiles();
    void addProblems(const Input& input, const TraceText& text);
    void checkLaunches(session::SpanTable& spans, session::DetailTable& details);

    const ImportOptions& m_options;
    session::SessionBuilder m_session;
    ChromeProfiles m_profiles{m_session};
    std::vector<ChromeProfiles::Profile> m_takenProfiles; // with their tracks' tokens
    session::EventBuilder m_events;
    session::DetailBuilder m_details;
    TraceTracks m_tracks;
    TraceProblems m_problems;
    TracePairs m_threadPairs, m_asyncPairs;
    TokenTable<Meaning> m_meanings;      // by category and name
    TokenTable<uint32_t> m_names;        // of B and E
    TokenTable<uint32_t> m_asyncIds;     // by category and id, with the process for local ids
    TokenTable<uint32_t> m_flowIds;      // by category and name with id
    TokenTable<uint32_t> m_counterIds;   // by process and name
    TokenTable<uint32_t> m_frameIds;     // tokens of stack frames
    TokenTable<uint32_t> m_sampleNames;  // tokens of the names of samples
    std::vector<FlowMark> m_flows;
    std::vector<int64_t> m_launchFlowStarts, m_launchFlowEnds;
    std::vector<Counter> m_counters;
    std::vector<SampleMark> m_samples;
    std::string m_stackFrames, m_sampleList; // raw members
    std::string m_ownSeries; // raw list of what our exporter says about the samples; "" in files of other writers
    std::vector<Step> m_steps, m_iterations;
    std::vector<session::Event*> m_open;  // without an end so far
    struct AtZero {
        session::Event* event;
        uint64_t place;
    };
    std::vector<AtZero> m_atZero; // events with time 0
    std::optional<session::TimeNs> m_first, m_last; // of what is kept; times of 0 not counted
    std::optional<session::TimeNs> m_zeroLast; // end of the events with time 0
    session::TimeNs m_origin = 0;
    session::TimeNs m_keepBegin = INT64_MIN, m_keepEnd = INT64_MAX;
    bool m_onlyLook = false;
    std::string m_scratch;
};

} // namespace stepscope::importers
