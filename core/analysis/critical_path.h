// The critical path: the chain of host and device work that decides how long a stretch of a trace takes.
// Owner: core/analysis. Thread: any; build in a job. Units: ns.
//
// Begins and ends of operators, calls and pieces of device work are nodes. On a thread each leads to the next. Work leads
// from its begin to its end, and begins after its launch call or after the work before it on its stream. A call that waits
// for the device ends after that work. PathRule says which way through is the path.
#pragma once

#include "core/analysis/device_trace.h"

#include <array>
#include <vector>

namespace stepscope::analysis {

enum class PathRule : uint8_t {
    // From the end backwards, to what came last of all that a node had to wait for: an outermost operator follows the one
    // that ended last on any thread of its process. All time counts, so the path takes as long as it spans.
    lastArrival,
    // As HolisticTraceAnalysis defines it, the longest way through. Time between outermost operators and in calls that wait
    // counts nothing, and threads know nothing of each other; work begins after its launch when the queue was empty.
    holistic,
};

enum class PathBound : uint8_t {
    host,          // an operator or call
    compute,       // a kernel or copy
    communication, // a collective
    kernelGap,     // from the end of one piece of work to the begin of the next
    launchDelay,   // from the begin of a launch call to the begin of its work
    dependency,    // no time
};
inline constexpr size_t kPathBoundCount = 6;
std::string_view pathBoundName(PathBound bound); // "host", "device: compute", ...

struct PathEdge {
    uint32_t from = 0, to = 0;           // rows in the SpanTable; equal when it is one span
    bool fromBegin = false, toBegin = false; // which end of the span
    PathBound bound = PathBound::dependency;
    base::TimeNs time = 0;
};

struct CriticalPath {
    std::vector<PathEdge> edges; // in order of time
    std::array<base::TimeNs, kPathBoundCount> times{};
    base::TimeNs total = 0;
    int64_t spans = 0; // that it goes through
    base::TimeRange range{}; // from the time of its first node to that of its last

    size_t nodes() const { return edges.empty() ? 0 : edges.size() + 1; }
};

// Of what begins on the host within [range.begin, range.end] and the work it launches; by lastArrival also of the work
// without a launch that begins there. Empty when there is nothing or when stopped.
CriticalPath criticalPath(const DeviceTrace& trace, base::TimeRange range, PathRule rule = PathRule::lastArrival, std::stop_token stop = {});

inline constexpr std::string_view kBetweenOperators = "(between operators)";

// The time of each row on the path by span name, largest first: what to make faster.
struct PathShare {
    std::string name;
    PathBound bound = PathBound::host;
    int64_t count = 0;
    base::TimeNs time = 0;
    double share = 0;
};
std::vector<PathShare> pathShares(const DeviceTrace& trace, const CriticalPath& path);

} // namespace stepscope::analysis
