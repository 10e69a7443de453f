#include "core/importers/trace_flows.h"

#include <algorithm>

namespace stepscope::importers {

namespace {

using session::FlowRow;
using session::SpanTable;
using session::TimeNs;
using session::TrackId;

constexpr uint32_t kNone = SpanTable::kNoParent;
constexpr int kFewSteps = 64;

class Binder {
public:
    Binder(const SpanTable& spans, const std::vector<std::vector<TrackId>>& lanes, TimeNs origin)
        : m_spans(spans), m_lanes(lanes), m_origin(origin)
    {
    }

    uint32_t spanOf(const FlowMark& mark)
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
    uint32_t onTrack(TrackId track, TimeNs time, bool next)
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
        for (int steps = 0; row != kNone && m_spans.end(row) <= time && steps < kFewSteps; ++steps)
            row = m_spans.parent[row];
        return row != kNone && m_spans.end(row) <= time ? around(row, time) : row;
    }

    // Where very many spans are nested: ends grow outwards, so as long as the end of a far ancestor is not late enough,
    // everything up to there is skipped.
    uint32_t around(uint32_t row, TimeNs time)
    {
        if (m_jump.empty()) addJumps();
        while (row != kNone && m_spans.end(row) <= time) {
            const uint32_t far = m_jump[row];
            row = far != row && m_spans.end(far) <= time ? far : m_spans.parent[row];
        }
        return row;
    }

    // For every span an ancestor, so that any ancestor is reached in O(log depth) steps of either kind (Myers, "An
    // applicative random-access stack", 1983). The outermost spans have themselves.
    void addJumps()
    {
        m_jump.resize(m_spans.size());
        std::vector<uint32_t> depth(m_spans.size(), 0);
        for (uint32_t row = 0; row < m_spans.size(); ++row) { // parents come first
            const uint32_t parent = m_spans.parent[row];
            m_jump[row] = row;
            if (parent == kNone) continue;
            const uint32_t far = m_jump[parent];
            depth[row] = depth[parent] + 1;
            m_jump[row] = depth[parent] - depth[far] == depth[far] - depth[m_jump[far]] ? m_jump[far] : parent;
        }
    }

    const SpanTable& m_spans;
    const std::vector<std::vector<TrackId>>& m_lanes;
    const TimeNs m_origin;
    std::vector<uint32_t> m_jump; // filled when it is needed
};

} // namespace

void bindFlows(std::vector<FlowMark>& marks, TimeNs origin, const SpanTable& spans,
               const std::vector<std::vector<TrackId>>& lanes, session::DetailTable& details, TraceProblems& problems)
{
    Binder binder(spans, lanes, origin);
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
