// NsightReader: the tables of an Nsight Systems export as a session.
// Owner: core/importers, internal. Thread: one at a time. Units: ns.
#pragma once

#include "core/importers/importer.h"
#include "core/importers/nsight_source.h"
#include "core/session/event_builder.h"
#include "core/session/session_builder.h"

#include <map>
#include <unordered_map>

namespace stepscope::importers {

base::Result<Imported> readNsight(NsightSource& source, const Input& input, const ImportOptions& options, std::stop_token stop,
                                  const base::Progress& progress);

class NsightReader {
public:
    NsightReader(NsightSource& source, const ImportOptions& options, const base::Progress& progress);

    bool read(); // false when stopped
    session::SessionPtr build(const Input& input, const std::optional<ImportProblem>& problem);

private:
    using TimeNs = base::TimeNs;
    struct Times {
        TimeNs start = 0, duration = 0;
        bool unfinished = false;
    };

    // nsight_reader.cpp: what all tables need
    void readNames();
    void readEnvironment();
    void countOtherTables();
    std::string_view stringOf(int64_t id) const; // "" when the file has no such string
    std::string nameOf(int64_t id, std::string_view what) const; // "what ID" when the file has no such string
    std::map<int64_t, std::string> enumeration(std::string_view table, std::string_view column) const;
    session::LabelId label(std::string_view name, session::SpanKind kind, std::string_view category);
    base::TrackId threadTrack(int64_t globalTid);
    base::TrackId streamTrack(int64_t globalPid, int32_t device, int32_t context, int64_t stream);
    base::TrackId rangeTrack(int64_t globalPid);
    int64_t correlationOf(int64_t globalPid, int64_t id);
    std::optional<Times> times(const NsightRows& row, int start, int end, bool device, std::string_view table);
    bool wanted(TimeNs start, TimeNs end) const;
    void note(std::string_view code, std::string_view sentence, std::string_view table, int64_t rowNumber);
    void chooseRange();

    // nsight_host.cpp: ranges of the user and calls
    void findSteps();
    void readRanges();
    void addSteps();
    void readCalls(std::string_view table, session::SpanKind kind, std::string_view category);
    void readOverheads(std::string_view table);
    int32_t stepAt(TimeNs time) const;

    // nsight_device.cpp
    void readKernels();
    void readCopies();
    void readFills();
    void readGraphs();
    void readWaits();
    void addDevice(const NsightRows& row, const Times& times, session::LabelId label, session::DeviceWork work);

    // nsight_samples.cpp
    void readSamples();
    void readCounters();
    void readMemoryUsage();
    base::CounterId counter(const std::string& name, const std::string& unit);
    void addSamplesAndCounters();

    NsightSource& m_source;
    const ImportOptions& m_options;
    const base::Progress& m_progress;
    session::SessionBuilder m_builder;
    session::EventBuilder m_events;
    session::DetailBuilder m_details;

    std::unordered_map<int64_t, std::string> m_strings;
    std::map<std::tuple<std::string, session::SpanKind, std::string>, session::LabelId> m_labels;
    std::map<int64_t, base::TrackId> m_threads, m_ranges;
    std::map<std::tuple<int64_t, int32_t, int32_t, int64_t>, base::TrackId> m_streams;
    std::map<int64_t, std::string> m_threadNames, m_processNames;
    std::map<int32_t, std::string> m_deviceNames;
    std::map<int64_t, int64_t> m_processes; // dense number of a process, to make correlation ids unique
    std::unordered_map<int64_t, int32_t> m_stepOfCall; // by correlation
    std::map<int64_t, std::string> m_copyKinds, m_memoryKinds, m_syncKinds;
    std::map<std::string, base::CounterId> m_counters;
    std::vector<std::vector<session::CounterRecord>> m_counterSamples; // by CounterId
    std::vector<session::SampleRecord> m_samples;
    std::map<std::string, session::QualityRow, std::less<>> m_notes;
    struct StepRange {
        int64_t index = 0;
        TimeNs begin = 0, end = 0;
        int64_t globalTid = 0;
    };
    std::vector<StepRange> m_steps; // by begin
    std::optional<TimeNs> m_rangeBegin, m_rangeEnd; // in the clock of the file
    std::vector<session::Event*> m_open;            // spans whose end the file does not have
    TimeNs m_first = 0, m_last = 0;
    bool m_any = false;
};

} // namespace stepscope::importers
