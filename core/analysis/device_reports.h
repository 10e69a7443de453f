// Reports of sessions with device work: what every instant of a step went to, how long devices worked and waited and why,
// kernels, operators, launches, queues and copies.
// Owner: core/analysis. Thread: any; build in a job. Units: ns, bytes, bytes per second; shares 0..1.
//
// Definitions follow the tools people compare with: steps and operators the PyTorch profiler's TensorBoard plugin; times,
// waits, overlap, queues and launches HolisticTraceAnalysis. Where those round or let overlapping kernels count twice,
// the reports here do not, unless DeviceOptions::holistic asks for it.
#pragma once

#include "core/analysis/device_trace.h"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace stepscope::analysis {

// What a step's time went to. An instant belongs to the first category that has a span at it; so the categories of a
// step sum to its duration.
enum class StepCategory : uint8_t { kernel, copy, fill, communication, call, dataLoader, cpu, other };
inline constexpr size_t kStepCategoryCount = 8;
std::string_view stepCategoryName(StepCategory category); // "Kernel", "Memcpy", "Memset", "Communication", "Runtime", ...

using CategoryTimes = std::array<base::TimeNs, kStepCategoryCount>;
struct StepBreakdownRow {
    session::StepRow step;
    CategoryTimes times{};
    std::string group; // of the file it came from
};
struct StepBreakdown {
    std::vector<StepBreakdownRow> rows;
    CategoryTimes total{};
    base::TimeNs duration = 0; // of all rows
};
StepBreakdown stepBreakdown(const DeviceTrace& trace, std::stop_token stop = {});

// How the time of one device divides. All devices of a session are seen over their own range: the first begin to the
// last end of their work.
struct DeviceTimeRow {
    std::string group;
    int32_t device = -1;
    base::TimeNs range = 0;      // last end - first begin
    base::TimeNs busy = 0;       // union of all work
    base::TimeNs compute = 0;    // union of computing kernels
    base::TimeNs communication = 0;
    base::TimeNs memory = 0;     // copies and fills
    base::TimeNs sum = 0;        // of the durations: more than `busy` when streams work at the same time
    base::TimeNs communicationHidden = 0; // communication while something computes
    int64_t count = 0;

    base::TimeNs idle() const { return range - busy; }
    base::TimeNs nonCompute() const { return busy - compute; }
};
std::vector<DeviceTimeRow> deviceTimes(const DeviceTrace& trace);

// Time in which exactly the classes of `mask` work on the device: bit 0 compute, 1 communication, 2 memory.
struct OverlapRow {
    std::string group;
    int32_t device = -1;
    unsigned mask = 0;
    base::TimeNs time = 0;
    double share = 0; // of the device's busy time
};
std::string overlapName(unsigned mask); // "compute overlapping memory"
std::vector<OverlapRow> deviceOverlaps(const DeviceTrace& trace); // only those with time, largest first per device

// Why a queue had nothing to do before a piece of work. Host: the launch call had not begun when the work before ended.
// Kernel: it had, and the gap is shorter than kKernelGap, the usual cost of going on to the next one. Other: the rest.
inline constexpr base::TimeNs kKernelGap = 30'000;
struct IdleRow {
    DeviceQueue queue;
    base::TimeNs hostWait = 0, kernelWait = 0, other = 0;
    int64_t hostGaps = 0, kernelGaps = 0, otherGaps = 0;
    base::TimeNs busy = 0; // union of the queue's work
};
std::vector<IdleRow> idleReport(const DeviceTrace& trace);

struct KernelRow {
    std::string name;
    DeviceClass deviceClass = DeviceClass::compute;
    int64_t calls = 0;
    base::TimeNs total = 0, least = 0, most = 0;
    double mean = 0, deviation = 0; // of the sample
    double share = 0;               // of the time of all kernels
};
std::vector<KernelRow> kernelReport(const DeviceTrace& trace); // largest total first

// Operators of the host. An operator that does nothing but call one of its own name counts as one with it. Device time
// belongs to the innermost operator around the launch call on the call's thread; total includes the operators inside.
struct OperatorRow {
    std::string name;
    int64_t calls = 0;
    base::TimeNs deviceSelf = 0, deviceTotal = 0;
    base::TimeNs hostSelf = 0;  // without operators and runtime calls inside
    base::TimeNs hostTotal = 0;
};
std::vector<OperatorRow> operatorReport(const DeviceTrace& trace, std::stop_token stop = {}); // largest device self time first

// Calls that launched work: what the launch itself and the way to the device cost.
enum class LaunchKind : uint8_t {
    launch, // kernel launches and asynchronous copies and fills of the CUDA runtime, the CUDA driver and HIP
    graph,  // one call with several pieces of work
    other,  // any other call with work, such as a synchronous copy
};
std::string_view launchKindName(LaunchKind kind);
struct LaunchRow {
    LaunchKind kind = LaunchKind::launch;
    std::string call;           // "cudaLaunchKernel"; "" for the sum of the kind
    int64_t count = 0;          // pairs of a call and a piece of work
    base::TimeNs host = 0;      // durations of the calls
    base::TimeNs device = 0;    // durations of the work
    base::TimeNs delay = 0;     // from the end of the call to the begin of the work, never below 0
    base::TimeNs delayMost = 0;
    double delayMedian = 0;
    int64_t shortKernels = 0;   // work shorter than its call
    int64_t longCalls = 0;      // calls longer than kLongCall
    int64_t longDelays = 0;     // delays longer than kLongDelay
    int64_t shortAfterShortCall = 0; // shortKernels whose call is no long one
};
inline constexpr base::TimeNs kLongCall = 50'000, kLongDelay = 100'000;
struct LaunchReport {
    std::vector<LaunchRow> rows;      // the sum of each kind, then its calls
    int64_t launchesWithoutWork = 0;  // launch calls whose work is not in the session
    int64_t workWithoutLaunch = 0;    // pieces of work whose call is not in the session
    int64_t workBeforeLaunch = 0;     // begins before its call does: the clocks do not agree
    base::TimeNs mostBeforeLaunch = 0;
};
LaunchReport launchReport(const DeviceTrace& trace);
bool isLaunchCall(std::string_view name);

// Pieces of work launched but not begun, per queue: +1 where the launch call begins, -1 where the work does.
inline constexpr int64_t kFullQueue = 1024;
struct QueueRow {
    DeviceQueue queue;
    int64_t count = 0;          // changes
    int64_t least = 0, most = 0;
    double median = 0;          // over the changes
    double mean = 0;            // over the time between the first and the last change
    base::TimeNs full = 0;      // at kFullQueue or above: launch calls block
};
std::vector<QueueRow> queueReport(const DeviceTrace& trace);

// Copies and fills by direction and kind of memory.
struct CopyRow {
    std::string name;           // "Memcpy HtoD", "Memset"
    session::CopyKind copy = session::CopyKind::unknown;
    session::MemoryKind source = session::MemoryKind::unknown, destination = session::MemoryKind::unknown;
    int64_t count = 0;
    int64_t bytes = 0;          // of those whose size is known
    int64_t withoutBytes = 0;
    base::TimeNs total = 0;
    base::TimeNs sizedTotal = 0; // of those whose size is known
    double meanRate = 0, mostRate = 0; // of the single copies that took time, bytes per second; 0 unknown
    double rate() const { return sizedTotal > 0 ? static_cast<double>(bytes) * 1e9 / static_cast<double>(sizedTotal) : 0; }
};
std::vector<CopyRow> copyReport(const DeviceTrace& trace); // largest total first

} // namespace stepscope::analysis
