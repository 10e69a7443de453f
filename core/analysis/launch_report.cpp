#include "core/analysis/device_reports.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

namespace stepscope::analysis {

using base::TimeNs;
using session::SpanKind;
using session::SpanTable;

namespace {

double medianOf(std::vector<TimeNs>& values)
{
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return static_cast<double>(*middle);
    const TimeNs below = *std::max_element(values.begin(), middle);
    return (static_cast<double>(below) + static_cast<double>(*middle)) / 2;
}

struct LaunchSums {
    LaunchRow row;
    std::vector<TimeNs> delays;

    void add(TimeNs host, TimeNs device, TimeNs delay)
    {
        ++row.count;
        row.host += host;
        row.device += device;
        row.delay += delay;
        row.delayMost = std::max(row.delayMost, delay);
        if (host > kLongCall) ++row.longCalls;
        if (device < host) ++row.shortKernels;
        if (device < host && host <= kLongCall) ++row.shortAfterShortCall;
        if (delay > kLongDelay) ++row.longDelays;
        delays.push_back(delay);
    }
    LaunchRow finish()
    {
        row.delayMedian = medianOf(delays);
        return row;
    }
};

// How many pieces of work each call has.
std::unordered_map<uint32_t, int64_t> workPerCall(const DeviceTrace& trace)
{
    std::unordered_map<uint32_t, int64_t> counts;
    for (const DeviceActivity& activity : trace.activities())
        if (activity.launched() && activity.deviceClass != DeviceClass::wait) ++counts[activity.launch];
    return counts;
}

LaunchKind launchKind(std::string_view call, int64_t pieces)
{
    if (pieces > 1) return LaunchKind::graph;
    return isLaunchCall(call) ? LaunchKind::launch : LaunchKind::other;
}

int64_t launchesWithoutWork(const DeviceTrace& trace, const std::unordered_map<uint32_t, int64_t>& counts)
{
    const session::Session& session = trace.session();
    const SpanTable& spans = session.spans();
    std::vector<uint8_t> launches;
    for (const session::Label& label : session.labels())
        launches.push_back(label.kind == SpanKind::call && isLaunchCall(session.string(label.name)) ? 1 : 0);
    int64_t missing = 0;
    for (size_t row = 0; row < spans.size(); ++row) {
        const uint32_t label = spans.label[row];
        if (label >= launches.size() || launches[label] == 0 || !trace.hostCounts(row) || !trace.inChosenSteps(row)) continue;
        if (counts.contains(static_cast<uint32_t>(row))) continue;
        const uint32_t parent = spans.parent[row]; // the driver's call inside of the runtime's, or the other way round
        if (parent != SpanTable::kNoParent && trace.kind(parent) == SpanKind::call) continue;
        ++missing;
    }
    return missing;
}

} // namespace

bool isLaunchCall(std::string_view name)
{
    if (const size_t version = name.rfind("_v"); version != std::string_view::npos && version + 2 < name.size()
        && name.find_first_not_of("0123456789", version + 2) == std::string_view::npos)
        name = name.substr(0, version); // Nsight Systems: cudaLaunchKernel_v7000
    for (const std::string_view ending : {"_ptsz", "_ptds"})
        if (name.ends_with(ending)) name.remove_suffix(ending.size());
    for (const std::string_view call : {"cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cuLaunchKernelEx", "cudaMemcpyAsync",
             "cudaMemsetAsync", "hipLaunchKernel", "hipExtLaunchKernel", "hipModuleLaunchKernel", "hipExtModuleLaunchKernel",
             "hipMemcpyWithStream", "hipMemcpyAsync", "hipMemsetAsync"})
        if (name == call) return true;
    return false;
}

std::string_view launchKindName(LaunchKind kind)
{
    switch (kind) {
    case LaunchKind::launch: return "launches";
    case LaunchKind::graph: return "calls with several pieces of work";
    case LaunchKind::other: return "other calls";
    }
    return "";
}

LaunchReport launchReport(const DeviceTrace& trace)
{
    LaunchReport report;
    const std::unordered_map<uint32_t, int64_t> counts = workPerCall(trace);
    std::map<std::pair<LaunchKind, std::string_view>, LaunchSums> sums; // the empty name sorts first: the sum of the kind
    for (const DeviceActivity& activity : trace.activities()) {
        if (activity.deviceClass == DeviceClass::wait) continue;
        if (!activity.launched()) {
            ++report.workWithoutLaunch;
            continue;
        }
        const TimeNs callBegin = trace.begin(activity.launch), callEnd = trace.end(activity.launch);
        if (activity.begin < callBegin) {
            ++report.workBeforeLaunch;
            report.mostBeforeLaunch = std::max(report.mostBeforeLaunch, callBegin - activity.begin);
        }
        const std::string_view call = trace.name(activity.launch);
        const LaunchKind kind = launchKind(call, counts.at(activity.launch));
        const TimeNs delay = std::max<TimeNs>(0, activity.begin - callEnd);
        for (const std::string_view name : {std::string_view(), call})
            sums[{kind, name}].add(callEnd - callBegin, activity.duration(), delay);
    }
    for (auto& [key, sum] : sums) {
        LaunchRow row = sum.finish();
        row.kind = key.first;
        row.call = key.second;
        report.rows.push_back(std::move(row));
    }
    report.launchesWithoutWork = launchesWithoutWork(trace, counts);
    return report;
}

std::vector<QueueRow> queueReport(const DeviceTrace& trace)
{
    struct Change {
        TimeNs time = 0;
        int by = 0;
    };
    std::vector<std::vector<Change>> changes(trace.queues().size());
    const std::unordered_map<uint32_t, int64_t> counts = workPerCall(trace);
    for (const DeviceActivity& activity : trace.activities()) {
        if (!activity.launched() || activity.deviceClass == DeviceClass::wait) continue;
        if (launchKind(trace.name(activity.launch), counts.at(activity.launch)) != LaunchKind::launch) continue;
        const TimeNs launched = trace.begin(activity.launch);
        changes[activity.queue].push_back({launched, 1});
        changes[activity.queue].push_back({std::max(activity.begin, launched), -1});
    }
    std::vector<QueueRow> rows;
    for (size_t q = 0; q < changes.size(); ++q) {
        std::vector<Change>& list = changes[q];
        if (list.empty()) continue;
        std::stable_sort(list.begin(), list.end(), [](const Change& a, const Change& b) { return std::tie(a.time, b.by) < std::tie(b.time, a.by); });
        QueueRow row;
        row.queue = trace.queues()[q];
        row.count = static_cast<int64_t>(list.size());
        std::vector<int64_t> lengths;
        int64_t length = 0;
        double area = 0;
        for (size_t i = 0; i < list.size(); ++i) {
            length += list[i].by;
            lengths.push_back(length);
            row.least = i == 0 ? length : std::min(row.least, length);
            row.most = std::max(row.most, length);
            const TimeNs until = i + 1 < list.size() ? list[i + 1].time - list[i].time : 0;
            area += static_cast<double>(length) * static_cast<double>(until);
            if (length >= kFullQueue) row.full += until;
        }
        row.median = medianOf(lengths);
        const TimeNs range = list.back().time - list.front().time;
        row.mean = range > 0 ? area / static_cast<double>(range) : 0;
        rows.push_back(std::move(row));
    }
    std::sort(rows.begin(), rows.end(), [](const QueueRow& a, const QueueRow& b) {
        return std::tie(a.queue.group, a.queue.device, a.queue.stream) < std::tie(b.queue.group, b.queue.device, b.queue.stream);
    });
    return rows;
}

} // namespace stepscope::analysis
