#include "core/analysis/device_reports.h"
#include "core/analysis/intervals.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

namespace stepscope::analysis {

using base::TimeNs;
using base::TimeRange;

namespace {

constexpr unsigned kCompute = 1, kCommunication = 2, kMemory = 4;

unsigned classBit(DeviceClass deviceClass)
{
    switch (deviceClass) {
    case DeviceClass::compute: return kCompute;
    case DeviceClass::communication: return kCommunication;
    case DeviceClass::memory: return kMemory;
    case DeviceClass::wait: return 0;
    }
    return 0;
}

// The work of one device by class.
struct DeviceWorkSets {
    std::string group;
    int32_t device = -1;
    IntervalSet all, compute, communication, memory;
    TimeNs begin = std::numeric_limits<TimeNs>::max(), end = std::numeric_limits<TimeNs>::min();
    TimeNs sum = 0;
    int64_t count = 0;
};

// Waits are not work; HolisticTraceAnalysis counts them as time in which the device is not idle.
bool isWork(const DeviceTrace& trace, const DeviceActivity& activity)
{
    return activity.deviceClass != DeviceClass::wait || trace.options().holistic;
}

std::vector<DeviceWorkSets> deviceSets(const DeviceTrace& trace)
{
    std::vector<DeviceWorkSets> devices;
    std::vector<size_t> deviceOfQueue;
    std::map<std::pair<std::string_view, int32_t>, size_t> known; // by group and device
    for (const DeviceQueue& queue : trace.queues()) {
        const auto [at, added] = known.try_emplace({queue.group, queue.device}, devices.size());
        if (added) devices.push_back({queue.group, queue.device, {}, {}, {}, {}});
        deviceOfQueue.push_back(at->second);
    }
    struct Ranges {
        std::vector<TimeRange> all, compute, communication, memory;
    };
    std::vector<Ranges> ranges(devices.size());
    for (const DeviceActivity& activity : trace.activities()) {
        if (!isWork(trace, activity)) continue;
        DeviceWorkSets& device = devices[deviceOfQueue[activity.queue]];
        Ranges& of = ranges[deviceOfQueue[activity.queue]];
        const TimeRange range{activity.begin, activity.end};
        of.all.push_back(range);
        const unsigned bit = classBit(activity.deviceClass);
        if (bit == kCompute) of.compute.push_back(range);
        else if (bit == kCommunication) of.communication.push_back(range);
        else if (bit == kMemory) of.memory.push_back(range);
        device.begin = std::min(device.begin, activity.begin);
        device.end = std::max(device.end, activity.end);
        device.sum += activity.duration();
        ++device.count;
    }
    for (size_t d = 0; d < devices.size(); ++d) {
        devices[d].all = IntervalSet(std::move(ranges[d].all));
        devices[d].compute = IntervalSet(std::move(ranges[d].compute));
        devices[d].communication = IntervalSet(std::move(ranges[d].communication));
        devices[d].memory = IntervalSet(std::move(ranges[d].memory));
    }
    std::erase_if(devices, [](const DeviceWorkSets& device) { return device.count == 0; });
    std::sort(devices.begin(), devices.end(),
        [](const DeviceWorkSets& a, const DeviceWorkSets& b) { return std::tie(a.group, a.device) < std::tie(b.group, b.device); });
    return devices;
}

} // namespace

std::vector<DeviceTimeRow> deviceTimes(const DeviceTrace& trace)
{
    std::vector<DeviceTimeRow> rows;
    for (const DeviceWorkSets& device : deviceSets(trace)) {
        DeviceTimeRow row;
        row.group = device.group;
        row.device = device.device;
        row.range = device.end - device.begin;
        row.busy = device.all.length();
        row.compute = device.compute.length();
        row.communication = device.communication.length();
        row.memory = device.memory.length();
        row.sum = device.sum;
        row.communicationHidden = device.communication.intersected(device.compute).length();
        row.count = device.count;
        rows.push_back(std::move(row));
    }
    return rows;
}

std::string overlapName(unsigned mask)
{
    std::string name;
    for (const auto& [bit, part] : {std::pair{kCompute, "compute"}, {kCommunication, "communication"}, {kMemory, "memory"}}) {
        if ((mask & bit) == 0) continue;
        if (!name.empty()) name += " overlapping ";
        name += part;
    }
    return name;
}

std::vector<OverlapRow> deviceOverlaps(const DeviceTrace& trace)
{
    std::vector<OverlapRow> rows;
    for (const DeviceWorkSets& device : deviceSets(trace)) {
        const size_t first = rows.size();
        const TimeNs busy = device.all.length();
        for (unsigned mask = 1; mask < 8; ++mask) {
            IntervalSet set = device.all;
            for (const auto& [bit, part] : {std::pair{kCompute, &device.compute}, {kCommunication, &device.communication}, {kMemory, &device.memory}})
                set = (mask & bit) != 0 ? set.intersected(*part) : set.without(*part);
            const TimeNs time = set.length();
            if (time > 0) rows.push_back({device.group, device.device, mask, time, static_cast<double>(time) / static_cast<double>(busy)});
        }
        std::sort(rows.begin() + static_cast<std::ptrdiff_t>(first), rows.end(),
            [](const OverlapRow& a, const OverlapRow& b) { return a.time > b.time; });
    }
    return rows;
}

std::vector<IdleRow> idleReport(const DeviceTrace& trace)
{
    constexpr TimeNs kNever = std::numeric_limits<TimeNs>::min();
    std::vector<IdleRow> rows(trace.queues().size());
    std::vector<TimeNs> ends(rows.size(), kNever);
    const bool holistic = trace.options().holistic;
    for (const DeviceActivity& activity : trace.activities()) {
        if (activity.deviceClass == DeviceClass::wait) continue;
        IdleRow& row = rows[activity.queue];
        TimeNs& end = ends[activity.queue];
        row.busy += std::max<TimeNs>(0, activity.end - std::max(activity.begin, end));
        // The comparison figures take overlapping work as a negative gap.
        if (end != kNever && (holistic || activity.begin > end)) {
            const TimeNs gap = activity.begin - end;
            if (activity.launched() && trace.begin(activity.launch) > end) {
                row.hostWait += gap;
                ++row.hostGaps;
            } else if (gap < kKernelGap) {
                row.kernelWait += gap;
                ++row.kernelGaps;
            } else {
                row.other += gap;
                ++row.otherGaps;
            }
        }
        end = holistic ? activity.end : std::max(end, activity.end);
    }
    std::vector<IdleRow> used;
    for (size_t q = 0; q < rows.size(); ++q) {
        if (ends[q] == kNever) continue;
        rows[q].queue = trace.queues()[q];
        used.push_back(std::move(rows[q]));
    }
    std::sort(used.begin(), used.end(), [](const IdleRow& a, const IdleRow& b) {
        return std::tie(a.queue.group, a.queue.device, a.queue.stream) < std::tie(b.queue.group, b.queue.device, b.queue.stream);
    });
    return used;
}

} // namespace stepscope::analysis
