#include "core/analysis/launch_stack.h"

#include <algorithm>

namespace stepscope::analysis {

using session::SpanTable;

namespace {

constexpr std::string_view kBackward = "## backward ##";

size_t trackOf(const SpanTable& spans, uint32_t row)
{
    return static_cast<size_t>(std::upper_bound(spans.trackBegin.begin(), spans.trackBegin.end(), row) - spans.trackBegin.begin()) - 1;
}

// The innermost range "## backward ##" on another thread of the process that runs at `time`.
uint32_t backwardRange(const session::Session& session, size_t ownTrack, base::TimeNs time)
{
    const SpanTable& spans = session.spans();
    const session::Track& own = session.tracks()[ownTrack];
    for (size_t t = 0; t + 1 < spans.trackBegin.size(); ++t) {
        const session::Track& track = session.tracks()[t];
        if (t == ownTrack || track.kind != session::TrackKind::thread || track.processId != own.processId || track.group != own.group) continue;
        const auto begin = spans.start.begin() + static_cast<std::ptrdiff_t>(spans.trackBegin[t]);
        const auto after = std::upper_bound(begin, spans.start.begin() + static_cast<std::ptrdiff_t>(spans.trackBegin[t + 1]), time);
        if (after == begin) continue;
        for (auto row = static_cast<uint32_t>(after - spans.start.begin() - 1); row != SpanTable::kNoParent; row = spans.parent[row]) {
            if (spans.end(row) <= time || spans.label[row] >= session.labels().size()) continue;
            if (session.string(session.labels()[spans.label[row]].name) == kBackward) return row;
        }
    }
    return SpanTable::kNoParent;
}

void addParents(const SpanTable& spans, uint32_t row, std::vector<uint32_t>& stack)
{
    for (; row != SpanTable::kNoParent; row = spans.parent[row])
        stack.push_back(row);
}

} // namespace

std::vector<uint32_t> launchStack(const session::Session& session, uint32_t workRow)
{
    const SpanTable& spans = session.spans();
    std::vector<uint32_t> stack;
    if (workRow >= spans.size()) return stack;
    stack.push_back(workRow);
    const session::DeviceWork* work = session.details().deviceWork(spans.detailOf(workRow));
    if (work == nullptr || work->launch >= spans.size()) return stack;
    addParents(spans, work->launch, stack);
    const uint32_t outermost = stack.back();
    const auto isStep = [&](uint32_t row) { return spans.label[row] < session.labels().size() && session.labels()[spans.label[row]].kind == session::SpanKind::step; };
    if (!isStep(outermost)) addParents(spans, backwardRange(session, trackOf(spans, outermost), spans.start[outermost]), stack);
    std::reverse(stack.begin(), stack.end());
    return stack;
}

} // namespace stepscope::analysis
