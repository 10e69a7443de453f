#include "core/present/device_sources.h"

#include "core/present/memory_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace stepscope::present {

using base::TimeNs;

namespace {

double us(TimeNs time) { return static_cast<double>(time) / 1000; }
double number(int64_t count) { return static_cast<double>(count); }

void addQueueColumns(MemoryTable& table)
{
    table.addColumn(CellFormat::text, "group", "File", "Of several files that are open together");
    table.addColumn(CellFormat::count, "device", "Device", "Number of the device");
    table.addColumn(CellFormat::count, "stream", "Stream", "Queue of the device");
}

TableRow queueRow(const analysis::DeviceQueue& queue)
{
    TableRow row;
    row.texts = {queue.group};
    row.numbers = {queue.device >= 0 ? queue.device : kEmptyCell, queue.stream >= 0 ? number(queue.stream) : kEmptyCell};
    return row;
}

} // namespace

std::unique_ptr<TableSource> makeStepBreakdownTable(const analysis::StepBreakdown& report)
{
    using analysis::StepCategory;
    auto table = std::make_unique<MemoryTable>();
    const bool grouped = std::any_of(report.rows.begin(), report.rows.end(), [](const auto& row) { return !row.group.empty(); });
    if (grouped) table->addColumn(CellFormat::text, "group", "File", "Of several files that are open together");
    table->addColumn(CellFormat::count, "step", "Step", "Number of the step");
    table->addColumn(CellFormat::microseconds, "duration_us", "Duration", "From the begin to the end of the step");
    std::vector<size_t> shown;
    for (size_t c = 0; c < analysis::kStepCategoryCount; ++c) {
        const auto category = static_cast<StepCategory>(c);
        if (category == StepCategory::communication && report.total[c] == 0) continue;
        shown.push_back(c);
        const std::string name(analysis::stepCategoryName(category));
        table->addColumn(CellFormat::microseconds, name, name, "Time in which nothing of the categories before ran; all sum to the duration");
    }
    table->addColumn(CellFormat::text, "note", "Note", "");
    for (const analysis::StepBreakdownRow& row : report.rows) {
        TableRow out;
        out.numbers = {number(row.step.number()), us(row.step.duration)};
        for (const size_t c : shown)
            out.numbers.push_back(us(row.times[c]));
        if (grouped) out.texts.push_back(row.group);
        out.texts.emplace_back(row.step.warmup ? "warm-up" : "");
        out.colour = ColourClass::step;
        table->addRow(std::move(out));
    }
    // One average per file, below all steps.
    for (size_t first = 0, end = 0; first < report.rows.size(); first = end) {
        TimeNs duration = 0;
        analysis::CategoryTimes total{};
        for (end = first; end < report.rows.size() && report.rows[end].group == report.rows[first].group; ++end) {
            duration += report.rows[end].step.duration;
            for (const size_t c : shown)
                total[c] += report.rows[end].times[c];
        }
        const auto steps = static_cast<double>(end - first);
        TableRow mean;
        mean.numbers = {kEmptyCell, us(duration) / steps};
        for (const size_t c : shown)
            mean.numbers.push_back(us(total[c]) / steps);
        if (grouped) mean.texts.push_back(report.rows[first].group);
        mean.texts.emplace_back("average");
        mean.subdued = true;
        table->addRow(std::move(mean));
    }
    return table;
}

std::unique_ptr<TableSource> makeDeviceTable(const std::vector<analysis::DeviceTimeRow>& rows)
{
    auto table = std::make_unique<MemoryTable>();
    table->addColumn(CellFormat::text, "group", "File", "Of several files that are open together");
    table->addColumn(CellFormat::count, "device", "Device", "Number of the device");
    table->addColumn(CellFormat::microseconds, "kernel_time", "Range", "From the begin of the first to the end of the last piece of work");
    table->addColumn(CellFormat::microseconds, "compute", "Computing", "Time in which a computing kernel runs");
    table->addColumn(CellFormat::microseconds, "non_compute", "Only other", "Time in which only communication, copies or fills run");
    table->addColumn(CellFormat::microseconds, "idle", "Idle", "Time in which nothing runs");
    table->addColumn(CellFormat::share, "busy_share", "Busy", "Part of the range in which something runs, never above 100 %");
    table->addColumn(CellFormat::microseconds, "sum_us", "Sum", "Of all durations: more than the busy time when streams run at once");
    table->addColumn(CellFormat::microseconds, "communication_us", "Communication", "Time in which a collective runs");
    table->addColumn(CellFormat::share, "comm_comp_overlap", "Hidden", "Part of the communication during which something computes");
    table->addColumn(CellFormat::microseconds, "memory_us", "Memory", "Time in which a copy or fill runs");
    table->addColumn(CellFormat::count, "count", "Count", "Pieces of work");
    for (const analysis::DeviceTimeRow& row : rows) {
        TableRow out;
        out.texts = {row.group};
        const double range = us(row.range), communication = us(row.communication);
        out.numbers = {row.device >= 0 ? row.device : kEmptyCell, range, us(row.compute), us(row.nonCompute()), us(row.idle()),
            range > 0 ? us(row.busy) / range : kEmptyCell, us(row.sum), communication,
            communication > 0 ? us(row.communicationHidden) / communication : kEmptyCell, us(row.memory), number(row.count)};
        table->addRow(std::move(out));
    }
    return table;
}

std::unique_ptr<TableSource> makeOverlapTable(const std::vector<analysis::OverlapRow>& rows)
{
    auto table = std::make_unique<MemoryTable>();
    table->addColumn(CellFormat::text, "group", "File", "Of several files that are open together");
    table->addColumn(CellFormat::count, "device", "Device", "Number of the device");
    table->addColumn(CellFormat::text, "name", "What runs", "Kinds of work that run at the same time");
    table->addColumn(CellFormat::microseconds, "time_us", "Time", "Time in which exactly these kinds run");
    table->addColumn(CellFormat::share, "share", "Share", "Part of the device's busy time; the column sums to 100 % per device");
    for (const analysis::OverlapRow& row : rows) {
        TableRow out;
        out.texts = {row.group, analysis::overlapName(row.mask)};
        out.numbers = {row.device >= 0 ? row.device : kEmptyCell, us(row.time), row.share};
        table->addRow(std::move(out));
    }
    return table;
}

std::unique_ptr<TableSource> makeIdleTable(const std::vector<analysis::IdleRow>& rows)
{
    auto table = std::make_unique<MemoryTable>();
    addQueueColumns(*table);
    table->addColumn(CellFormat::microseconds, "host_wait", "Waits for the host", "Gaps before work whose launch call began after the work before had ended");
    table->addColumn(CellFormat::microseconds, "kernel_wait", "Between kernels", "Gaps of less than 30 µs before work that was launched early enough");
    table->addColumn(CellFormat::microseconds, "other", "Other", "Longer gaps before work that was launched early enough: another stream, an event, a full device");
    table->addColumn(CellFormat::microseconds, "busy_us", "Busy", "Time in which something of the stream runs");
    table->addColumn(CellFormat::count, "host_gaps", "Host gaps", "Number of gaps that wait for the host");
    table->addColumn(CellFormat::count, "kernel_gaps", "Kernel gaps", "Number of short gaps between kernels");
    table->addColumn(CellFormat::count, "other_gaps", "Other gaps", "Number of the other gaps");
    for (const analysis::IdleRow& row : rows) {
        TableRow out = queueRow(row.queue);
        for (const double value : {us(row.hostWait), us(row.kernelWait), us(row.other), us(row.busy), number(row.hostGaps), number(row.kernelGaps), number(row.otherGaps)})
            out.numbers.push_back(value);
        table->addRow(std::move(out));
    }
    return table;
}

std::unique_ptr<TableSource> makeKernelTable(const std::vector<analysis::KernelRow>& rows)
{
    auto table = std::make_unique<MemoryTable>();
    table->addColumn(CellFormat::text, "name", "Kernel", "As the file names it");
    table->addColumn(CellFormat::count, "calls", "Calls", "How often it ran");
    table->addColumn(CellFormat::microseconds, "total_us", "Total", "Sum of its durations");
    table->addColumn(CellFormat::microseconds, "mean_us", "Mean", "Mean duration");
    table->addColumn(CellFormat::microseconds, "max_us", "Longest", "Longest duration");
    table->addColumn(CellFormat::microseconds, "min_us", "Shortest", "Shortest duration");
    table->addColumn(CellFormat::microseconds, "std_us", "Deviation", "Standard deviation of the durations");
    table->addColumn(CellFormat::share, "share", "Share", "Part of the time of all kernels; the column sums to 100 %");
    table->addColumn(CellFormat::text, "class", "Class", "compute, or communication by the kernel's name");
    for (const analysis::KernelRow& row : rows) {
        TableRow out;
        out.texts = {row.name, std::string(analysis::deviceClassName(row.deviceClass))};
        out.numbers = {number(row.calls), us(row.total), row.mean / 1000, us(row.most), us(row.least), row.deviation / 1000, row.share};
        out.tip = row.name;
        table->addRow(std::move(out));
    }
    return table;
}

std::unique_ptr<TableSource> makeOperatorTable(const std::vector<analysis::OperatorRow>& rows)
{
    auto table = std::make_unique<MemoryTable>();
    table->addColumn(CellFormat::text, "name", "Operator", "Of the framework; one that only calls one of its own name counts as one with it");
    table->addColumn(CellFormat::count, "calls", "Calls", "How often it ran");
    table->addColumn(CellFormat::microseconds, "device_self_us", "Device, own", "Work of devices that it launched itself");
    table->addColumn(CellFormat::microseconds, "device_total_us", "Device, total", "Work of devices launched by it and the operators inside");
    table->addColumn(CellFormat::microseconds, "host_self_us", "Host, own", "Host time without the operators and runtime calls inside");
    table->addColumn(CellFormat::microseconds, "host_total_us", "Host, total", "Host time");
    for (const analysis::OperatorRow& row : rows) {
        TableRow out;
        out.texts = {row.name};
        out.numbers = {number(row.calls), us(row.deviceSelf), us(row.deviceTotal), us(row.hostSelf), us(row.hostTotal)};
        table->addRow(std::move(out));
    }
    return table;
}

std::unique_ptr<TableSource> makeLaunchTable(const analysis::LaunchReport& report)
{
    auto table = std::make_unique<MemoryTable>();
    table->addColumn(CellFormat::text, "call", "Call", "The call that launched the work; the sum of its kind first");
    table->addColumn(CellFormat::text, "kind", "Kind", "launches: kernel launches and asynchronous copies and fills; calls with several pieces of work, such as graphs, and others apart");
    table->addColumn(CellFormat::count, "rows", "Count", "Pairs of a call and a piece of work");
    table->addColumn(CellFormat::microseconds, "cpu_us", "Calls", "Sum of the calls' durations");
    table->addColumn(CellFormat::microseconds, "gpu_us", "Work", "Sum of the work's durations");
    table->addColumn(CellFormat::microseconds, "delay_us", "Delays", "Sum of the times from the end of the call to the begin of the work");
    table->addColumn(CellFormat::microseconds, "delay_max_us", "Longest delay", "Longest time from the end of the call to the begin of the work");
    table->addColumn(CellFormat::microseconds, "delay_median_us", "Median delay", "Median time from the end of the call to the begin of the work");
    table->addColumn(CellFormat::count, "kernel_shorter_than_call_le50us", "Short work", "Work shorter than its call of 50 µs or less");
    table->addColumn(CellFormat::count, "runtime_gt_50us", "Long calls", "Calls of more than 50 µs");
    table->addColumn(CellFormat::count, "delay_gt_100us", "Long delays", "Delays of more than 100 µs");
    table->addColumn(CellFormat::count, "kernel_shorter_than_call", "Shorter than call", "Work shorter than its call");
    for (const analysis::LaunchRow& row : report.rows) {
        TableRow out;
        out.texts = {row.call.empty() ? "all" : row.call, std::string(analysis::launchKindName(row.kind))};
        out.numbers = {number(row.count), us(row.host), us(row.device), us(row.delay), us(row.delayMost), row.delayMedian / 1000,
            number(row.shortAfterShortCall), number(row.longCalls), number(row.longDelays), number(row.shortKernels)};
        out.indent = row.call.empty() ? 0 : 1;
        table->addRow(std::move(out));
    }
    return table;
}

std::unique_ptr<TableSource> makeQueueTable(const std::vector<analysis::QueueRow>& rows)
{
    auto table = std::make_unique<MemoryTable>();
    addQueueColumns(*table);
    table->addColumn(CellFormat::count, "count", "Changes", "Launches and begins of work");
    table->addColumn(CellFormat::count, "min", "Least", "Shortest length");
    table->addColumn(CellFormat::number, "p50", "Median", "Median length over the changes");
    table->addColumn(CellFormat::count, "max", "Most", "Greatest length");
    table->addColumn(CellFormat::number, "mean", "Mean", "Mean length over time");
    table->addColumn(CellFormat::microseconds, "full_us", "Full", "Time with 1024 pieces of work or more, when launch calls block");
    for (const analysis::QueueRow& row : rows) {
        TableRow out = queueRow(row.queue);
        for (const double value : {number(row.count), number(row.least), row.median, number(row.most), row.mean, us(row.full)})
            out.numbers.push_back(value);
        table->addRow(std::move(out));
    }
    return table;
}

std::unique_ptr<TableSource> makePathTable(const std::vector<analysis::PathShare>& rows)
{
    auto table = std::make_unique<MemoryTable>();
    table->addColumn(CellFormat::text, "name", "Name", "Of the span that decides how long this part takes");
    table->addColumn(CellFormat::text, "bound", "Bound by", "host: an operator or call; device: its work; between kernels and launch delay: the way to the next piece of work");
    table->addColumn(CellFormat::count, "count", "Count", "Parts of the critical path");
    table->addColumn(CellFormat::microseconds, "time_us", "Time", "On the critical path");
    table->addColumn(CellFormat::share, "share", "Share", "Part of the critical path; the column sums to 100 %");
    for (const analysis::PathShare& row : rows) {
        TableRow out;
        out.texts = {row.name, std::string(analysis::pathBoundName(row.bound))};
        out.numbers = {number(row.count), us(row.time), row.share};
        out.tip = row.name;
        table->addRow(std::move(out));
    }
    return table;
}

std::unique_ptr<TableSource> makeCopyTable(const std::vector<analysis::CopyRow>& rows)
{
    constexpr double kGiga = 1e9;
    const auto rate = [](double bytesPerSecond) { return bytesPerSecond > 0 ? bytesPerSecond / kGiga : kEmptyCell; };
    auto table = std::make_unique<MemoryTable>();
    table->addColumn(CellFormat::text, "name", "Copy", "Direction, or Memset for fills");
    table->addColumn(CellFormat::text, "source", "From", "Kind of memory");
    table->addColumn(CellFormat::text, "destination", "To", "Kind of memory");
    table->addColumn(CellFormat::count, "count", "Count", "Number of copies");
    table->addColumn(CellFormat::bytes, "bytes", "Bytes", "Of the copies whose size is known");
    table->addColumn(CellFormat::microseconds, "total_us", "Total", "Sum of the durations");
    table->addColumn(CellFormat::gigabyteRate, "rate", "Rate", "All bytes over all durations, in GB/s");
    table->addColumn(CellFormat::gigabyteRate, "mean", "Mean rate", "Mean of the rates of the single copies, in GB/s");
    table->addColumn(CellFormat::gigabyteRate, "max", "Best rate", "Greatest rate of a single copy, in GB/s");
    table->addColumn(CellFormat::count, "unknown_size", "Without size", "Copies whose size the file does not tell");
    for (const analysis::CopyRow& row : rows) {
        TableRow out;
        out.texts = {row.name, std::string(session::memoryKindName(row.source)), std::string(session::memoryKindName(row.destination))};
        const bool sized = row.withoutBytes < row.count;
        out.numbers = {number(row.count), sized ? number(row.bytes) : kEmptyCell, us(row.total), rate(row.rate()), rate(row.meanRate), rate(row.mostRate),
            row.withoutBytes > 0 ? number(row.withoutBytes) : kEmptyCell};
        table->addRow(std::move(out));
    }
    return table;
}

std::span<const DeviceReportKind> deviceReportKinds()
{
    static const std::vector<DeviceReportKind> kKinds = {
        {"step", "Steps", "What every instant of a step went to: Kernel before Memcpy, Memset, Communication, Runtime, DataLoader and CPU.",
         {"step", "group", "duration_us", "Kernel", "Memcpy", "Memset", "Communication", "Runtime", "DataLoader", "CPU Exec", "Other", "note"}},
        {"operator", "Operators", "Operators of the framework with their time on the host and on devices.",
         {"name", "device_self_us", "device_total_us", "host_self_us", "host_total_us", "calls"}},
        {"kernel", "Kernels", "Every kernel with its calls and durations.", {"name", "total_us", "share", "calls", "mean_us", "max_us", "min_us"}},
        {"copy", "Copies", "Copies and fills by direction and kind of memory, with their rates.",
         {"name", "source", "destination", "count", "total_us", "rate", "bytes", "mean", "max"}},
        {"device", "Devices", "How long every device computes, does other work and is idle.",
         {"device", "kernel_time", "compute", "non_compute", "idle", "busy_share", "comm_comp_overlap", "group"}},
        {"idle", "Idle", "Why every stream had nothing to do.", {"stream", "device", "host_wait", "kernel_wait", "other", "busy_us", "group"}},
        {"launch", "Launches", "What launching costs: calls, and delays until the device begins.",
         {"call", "rows", "cpu_us", "gpu_us", "delay_median_us", "delay_max_us", "kernel_shorter_than_call_le50us", "runtime_gt_50us", "delay_gt_100us", "kind"}},
        {"overlap", "Overlap", "What runs at the same time.", {"name", "device", "time_us", "share", "group"}},
        {"critical-path", "Critical path", "The chain of host and device work that decides how long the steps, or the whole trace, take.",
         {"name", "bound", "time_us", "share", "count"}},
        {"queue", "Queues", "How much work was launched and not begun.", {"stream", "device", "count", "min", "p50", "max", "mean", "full_us", "group"}},
    };
    return kKinds;
}

namespace {

std::vector<std::string> launchNotes(const analysis::LaunchReport& report)
{
    std::vector<std::string> notes;
    if (report.launchesWithoutWork > 0)
        notes.push_back(fmt::format("{} launch calls have no work in the session: it ended before, was lost, or has no times.", formatCount(report.launchesWithoutWork)));
    if (report.workWithoutLaunch > 0)
        notes.push_back(fmt::format("{} pieces of work have no launch call in the session.", formatCount(report.workWithoutLaunch)));
    if (report.workBeforeLaunch > 0)
        notes.push_back(fmt::format("{} pieces of work begin before their launch call, by up to {}: the clocks of host and device do not agree.",
            formatCount(report.workBeforeLaunch), formatTime(static_cast<double>(report.mostBeforeLaunch))));
    return notes;
}

// From the begin of the first to the end of the last step, or everything.
base::TimeRange pathRange(const analysis::DeviceTrace& trace)
{
    base::TimeRange range{std::numeric_limits<TimeNs>::min(), std::numeric_limits<TimeNs>::max()};
    if (trace.steps().empty()) return range;
    range = {trace.steps().front().start, trace.steps().front().start};
    for (const session::StepRow& step : trace.steps())
        range = {std::min(range.begin, step.start), std::max(range.end, step.start + step.duration)};
    return range;
}

std::string pathNote(const analysis::CriticalPath& path)
{
    std::string note = fmt::format("The path takes {} through {} spans, from {} to {}:", formatTime(static_cast<double>(path.total)), formatCount(path.spans),
        formatTime(static_cast<double>(path.range.begin)), formatTime(static_cast<double>(path.range.end)));
    for (size_t b = 0; b < analysis::kPathBoundCount; ++b)
        if (path.times[b] > 0)
            note += fmt::format("{} {} {}", note.ends_with(':') ? "" : ",", analysis::pathBoundName(static_cast<analysis::PathBound>(b)),
                formatShare(static_cast<double>(path.times[b]) / static_cast<double>(path.total)));
    return note + '.';
}

} // namespace

DeviceReport makeDeviceReport(std::string_view name, const session::Session& session, const analysis::DeviceOptions& options, std::stop_token stop)
{
    const analysis::DeviceTrace trace(session, options, stop);
    DeviceReport report;
    report.steps = static_cast<int64_t>(trace.steps().size());
    if (name == "step") report.table = makeStepBreakdownTable(analysis::stepBreakdown(trace, stop));
    else if (name == "operator") report.table = makeOperatorTable(analysis::operatorReport(trace, stop));
    else if (name == "kernel") report.table = makeKernelTable(analysis::kernelReport(trace));
    else if (name == "copy") report.table = makeCopyTable(analysis::copyReport(trace));
    else if (name == "device") report.table = makeDeviceTable(analysis::deviceTimes(trace));
    else if (name == "idle") report.table = makeIdleTable(analysis::idleReport(trace));
    else if (name == "overlap") report.table = makeOverlapTable(analysis::deviceOverlaps(trace));
    else if (name == "queue") report.table = makeQueueTable(analysis::queueReport(trace));
    else if (name == "critical-path") {
        const analysis::CriticalPath path = analysis::criticalPath(trace, pathRange(trace), analysis::PathRule::lastArrival, stop);
        report.table = makePathTable(analysis::pathShares(trace, path));
        if (path.total > 0) report.notes.push_back(pathNote(path));
    } else if (name == "launch") {
        const analysis::LaunchReport launches = analysis::launchReport(trace);
        report.table = makeLaunchTable(launches);
        report.notes = launchNotes(launches);
    }
    if (stop.stop_requested()) report.table = nullptr;
    return report;
}

} // namespace stepscope::present
