#include "core/analysis/device_reports.h"
#include "core/analysis/intervals.h"

namespace stepscope::analysis {

using base::TimeNs;
using base::TimeRange;
using session::SpanKind;
using Ranges = std::array<std::vector<TimeRange>, kStepCategoryCount>;

namespace {

size_t index(StepCategory category) { return static_cast<size_t>(category); }

StepCategory deviceCategory(const DeviceActivity& activity)
{
    if (activity.deviceClass == DeviceClass::communication) return StepCategory::communication;
    if (activity.kind == SpanKind::copy) return StepCategory::copy;
    if (activity.kind == SpanKind::fill) return StepCategory::fill;
    return StepCategory::kernel;
}

// Categories of host spans by label. Spans that say nothing of what the program does are `other`.
std::vector<StepCategory> hostCategories(const session::Session& session)
{
    std::vector<StepCategory> categories;
    for (const session::Label& label : session.labels()) {
        StepCategory category = StepCategory::cpu;
        if (label.kind == SpanKind::call || label.kind == SpanKind::synchronisation) category = StepCategory::call;
        else if (label.kind == SpanKind::step || label.kind == SpanKind::overhead || session.string(label.category) == "Trace")
            category = StepCategory::other;
        else if (label.phase == session::Phase::dataWait || session.string(label.name).starts_with("enumerate(DataLoader)#"))
            category = StepCategory::dataLoader;
        categories.push_back(category);
    }
    return categories;
}

// Outermost spans are enough where every span counts for the same; so a range is taken only where its parent does not
// count for the same category.
bool collectHost(const DeviceTrace& trace, std::vector<Ranges>& groups, const std::stop_token& stop)
{
    const session::Session& session = trace.session();
    const session::SpanTable& spans = session.spans();
    const std::vector<StepCategory> categories = hostCategories(session);
    for (size_t track = 0; track + 1 < spans.trackBegin.size(); ++track) {
        if (session.tracks()[track].kind != session::TrackKind::thread) continue;
        Ranges& ranges = groups[trace.groupOfTrack(track)];
        for (size_t row = spans.trackBegin[track]; row < spans.trackBegin[track + 1]; ++row) {
            if ((row & 0xfffff) == 0 && stop.stop_requested()) return false;
            const uint32_t label = spans.label[row];
            if (label >= categories.size() || categories[label] == StepCategory::other) continue;
            if (session.details().deviceWork(spans.detailOf(row)) != nullptr) continue; // a wait shown on a thread of its own
            const uint32_t parent = spans.parent[row];
            if (parent != session::SpanTable::kNoParent && spans.label[parent] < categories.size()
                && categories[spans.label[parent]] == categories[label])
                continue;
            ranges[index(categories[label])].push_back({trace.begin(row), trace.end(row)});
        }
    }
    return true;
}

} // namespace

std::string_view stepCategoryName(StepCategory category)
{
    switch (category) {
    case StepCategory::kernel: return "Kernel";
    case StepCategory::copy: return "Memcpy";
    case StepCategory::fill: return "Memset";
    case StepCategory::communication: return "Communication";
    case StepCategory::call: return "Runtime";
    case StepCategory::dataLoader: return "DataLoader";
    case StepCategory::cpu: return "CPU Exec";
    case StepCategory::other: return "Other";
    }
    return "";
}

StepBreakdown stepBreakdown(const DeviceTrace& trace, std::stop_token stop)
{
    // A step is about the work of its own file.
    std::vector<Ranges> ranges(trace.groupCount());
    for (const DeviceActivity& activity : trace.activities())
        if (activity.deviceClass != DeviceClass::wait)
            ranges[trace.groupOf(activity.row)][index(deviceCategory(activity))].push_back({activity.begin, activity.end});
    StepBreakdown report;
    if (!collectHost(trace, ranges, stop)) return report;
    std::vector<std::array<IntervalSet, kStepCategoryCount>> sets(ranges.size() + 1); // the last has nothing
    for (size_t g = 0; g < ranges.size(); ++g)
        for (size_t c = 0; c < kStepCategoryCount; ++c)
            sets[g][c] = IntervalSet(std::move(ranges[g][c]));
    for (const session::StepRow& step : trace.steps()) {
        StepBreakdownRow row{step, {}, std::string(trace.session().string(step.group))};
        const TimeRange range{step.start, step.start + step.duration};
        IntervalSet left({range});
        for (size_t c = 0; c < index(StepCategory::other); ++c) {
            const IntervalSet inside = sets[trace.groupOfStep(step)][c].clipped(range);
            row.times[c] = left.intersected(inside).length();
            left = left.without(inside);
        }
        row.times[index(StepCategory::other)] = left.length();
        for (size_t c = 0; c < kStepCategoryCount; ++c)
            report.total[c] += row.times[c];
        report.duration += range.duration();
        report.rows.push_back(row);
    }
    return report;
}

} // namespace stepscope::analysis
