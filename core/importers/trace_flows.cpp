#include "core/importers/trace_flows.h"

#include <algorithm>

namespace stepscope::importers {

namespace {

using session::FlowRow;
using session::SpanTable;
using session::TimeNs;
using session::TrackId;

constexpr uint32_t kNone = SpanTable::kNoParent;

class Binder {
public:
    Binder(const SpanTable& spans, const std::vector<std::vector<TrackId>>& lanes, TimeNs origin)
        : m_spans(spans), m_lanes(lanes), m_origin(origin)
    {
    }

    uint32_t spanOf(const FlowMark& mark) const
    {
        const bool next = mark.phase == 'f' && !mark.enclosing;
        const TimeNs time = mark.time - m_origin;
        uint32_t found = onTrack(mark.track, time, next);
        if (mark.track.index() >= m_lanes.size()) return found;
        for (const TrackId lane : m_lanes[mark.track.index()]) {
            if (!next && found != kNone) break;
            const uint32_t other = onTrack(lane, time, next);
            if (other != kNone && (found == kNone || m_spans.start[other] < m_spans.start[found])) found = other;
        }
        return found;
    }

private:
    uint32_t onTrack(TrackId track, TimeNs time, bool next) const
    {
        const auto begin = m_spans.start.begin() + static_cast<ptrdiff_t>(m_spans.trackBegin[track.index()]);
        const auto end = m_spans.start.begin() + static_cast<ptrdiff_t>(m_spans.trackBegin[track.index() + 1]);
        if (next) {
            const auto at = std::lower_bound(begin, end, time);
            return at == end ? kNone : static_cast<uint32_t>(at - m_spans.start.begin());
        }
        const auto at = std::upper_bound(begin, end, time);
        if (at == begin) return kNone;
        auto row = static_cast<uint32_t>(at - m_spans.start.begin() - 1);
        if (m_spans.start[row] == time) return row;
        while (row != kNone && m_spans.end(row) <= time)
            row = m_spans.parent[row];
        return row;
    }

    const SpanTable& m_spans;
    const std::vector<std::vector<TrackId>>& m_lanes;
    const TimeNs m_origin;
};

} // namespace

void bindFlows(std::vector<FlowMark>& marks, TimeNs origin, const SpanTable& spans,
               const std::vector<std::vector<TrackId>>& lanes, session::DetailTable& details, TraceProblems& problems)
{
    const Binder binder(spans, lanes, origin);
    std::stable_sort(marks.begin(), marks.end(), [](const FlowMark& a, const FlowMark& b) {
        if (a.flow != b.flow) return a.flow < b.flow;
        return a.time < b.time;
    });
    const FlowMark* start = nullptr; // of the flow so far
    bool used = true, unbound = false;
    uint32_t from = kNone;
    const auto close = [&] {
        if (start != nullptr && !used) problems.add(TraceProblem::flowStartWithoutEnd, start->place);
        start = nullptr;
    };
    for (size_t i = 0; i < marks.size(); ++i) {
        const FlowMark& mark = marks[i];
        if (i == 0 || marks[i - 1].flow != mark.flow) close();
        const uint32_t row = binder.spanOf(mark);
        if (mark.phase == 's') {
            close();
            start = &mark;
            used = false;
            unbound = row == kNone;
            from = row;
            continue;
        }
        if (start == nullptr) {
            problems.add(TraceProblem::flowEndWithoutStart, mark.place);
            continue;
        }
        if (unbound || row == kNone) problems.add(TraceProblem::flowUnbound, unbound ? start->place : mark.place);
        else details.flows.push_back({from, row, mark.name});
        used = true;
        if (mark.phase == 't' && row != kNone) from = row;
    }
    close();
}

} // namespace stepscope::importers
