// DeviceTrace: the work of the devices in a session, each piece with its queue and the call that launched it.
// Owner: core/analysis. Thread: any; make it in a job. Units: ns.
#pragma once

#include "core/analysis/span_filter.h"
#include "core/base/progress.h"
#include "core/session/session.h"

#include <limits>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace stepscope::analysis {

enum class DeviceClass : uint8_t { compute, communication, memory, wait };
std::string_view deviceClassName(DeviceClass deviceClass); // "compute", "communication", "memory", "wait"

// Class of a kernel by its name: collectives start with "nccl", "hccl" or "hip" or contain "ncclKernel".
DeviceClass kernelClass(std::string_view name);

struct DeviceOptions {
    // When steps are chosen, device work counts whose launch (or, without one, whose start) lies in one of them.
    SpanFilter filter;
    // As HolisticTraceAnalysis looks at a trace, to compare with its figures: times in whole microseconds (starts up,
    // ends down, reckoned in double precision), without the last of several steps and what it launched, and only work
    // with a stream and a correlation id.
    bool holistic = false;
};

// One queue of one device: a stream, whatever lanes its spans needed.
struct DeviceQueue {
    std::string group; // of the file it came from
    int32_t device = -1;
    int64_t stream = -1;
};

struct DeviceActivity {
    base::TimeNs begin = 0, end = 0;
    uint32_t row = 0;    // in the SpanTable
    uint32_t label = 0;
    uint32_t queue = 0;  // in DeviceTrace::queues
    uint32_t launch = session::SpanTable::kNoParent; // row of the call
    DeviceClass deviceClass = DeviceClass::compute;
    session::SpanKind kind = session::SpanKind::kernel;
    const session::DeviceWork* work = nullptr; // null when the file told nothing

    base::TimeNs duration() const { return end - begin; }
    bool launched() const { return launch != session::SpanTable::kNoParent; }
};

class DeviceTrace {
public:
    // The session must outlive the trace.
    explicit DeviceTrace(const session::Session& session, const DeviceOptions& options = {}, std::stop_token stop = {});

    // Cheap: looks at tracks and labels only. True when a report of devices makes sense.
    static bool present(const session::Session& session);

    const session::Session& session() const { return *m_session; }
    const DeviceOptions& options() const { return m_options; }
    const std::vector<DeviceQueue>& queues() const { return m_queues; }
    const std::vector<DeviceActivity>& activities() const { return m_activities; } // by begin
    // Steps that count, in order.
    const std::vector<session::StepRow>& steps() const { return m_steps; }

    // Times of any span, rounded when the options ask for it.
    base::TimeNs begin(size_t row) const;
    base::TimeNs end(size_t row) const;
    session::SpanKind kind(size_t row) const;
    std::string_view name(size_t row) const;
    // False for a span of the host that the options leave out.
    bool hostCounts(size_t row) const { return !m_options.holistic || begin(row) < m_groups[groupOf(row)].hostEnd; }
    // False for a span that begins outside of the steps that the options choose, those of its own file.
    bool inChosenSteps(size_t row) const;
    // Number of the group of tracks, by Track::group, in the order of the table.
    size_t groupCount() const { return m_groups.size(); }
    size_t groupOf(size_t row) const;
    size_t groupOfTrack(size_t track) const { return m_groupOfTrack[track]; }
    size_t groupOfStep(const session::StepRow& step) const; // groupCount() where no track is of its group
    bool isDeviceTrack(size_t track) const { return m_deviceTrack[track] != 0; }
    // Spans that count, of the host and of devices.
    int64_t rowsThatCount() const { return m_rows; }

private:
    // The steps of one file, which say nothing about the time of another one.
    struct Group {
        std::string name;
        std::vector<base::TimeRange> chosen; // ranges of the chosen steps
        base::TimeNs hostEnd = std::numeric_limits<base::TimeNs>::max(); // host spans that start later do not count
    };
    void findGroups();
    void chooseSteps();
    void leaveOutLastSteps();
    void collect(const std::stop_token& stop);
    uint32_t queueOf(const session::Track& track, const session::DeviceWork* work);
    void addActivity(size_t row, uint32_t queue, const session::DeviceWork* work);
    bool chosen(const DeviceActivity& activity) const;
    double fileMicroseconds(base::TimeNs time) const;

    const session::Session* m_session;
    DeviceOptions m_options;
    std::vector<uint8_t> m_deviceTrack;
    std::vector<session::SpanKind> m_kinds;      // by label
    std::vector<DeviceClass> m_classes;          // by label
    std::vector<DeviceQueue> m_queues;
    std::map<std::tuple<int64_t, int32_t, std::string>, uint32_t> m_queueIds; // by stream, device and group
    uint32_t m_lastQueue = 0;
    std::vector<DeviceActivity> m_activities;
    std::vector<session::StepRow> m_steps;
    std::vector<Group> m_groups;                 // at least one
    std::vector<uint32_t> m_groupOfTrack;
    bool m_allSteps = true;                      // no steps were chosen: everything counts
    base::TimeNs m_fileOffset = 0;               // added to a time of the session it gives that in the file
    bool m_rounds = false;
    int64_t m_rows = 0;
};

} // namespace stepscope::analysis
