#include "core/session/span_lanes.h"

#include <algorithm>
#include <functional>
#include <queue>

namespace stepscope::session {

namespace {

constexpr size_t kSearchedLanes = 16; // lanes that a span is tried on in order; further ones are found by their end

struct Row {
    TimeNs start, duration;
    uint32_t label, detail;
    int32_t step;
    uint32_t track, lane;
};

// The spans that are open on one lane, outermost first: their ends.
using OpenEnds = std::vector<TimeNs>;

void closeBefore(OpenEnds& open, TimeNs start)
{
    while (!open.empty() && open.back() <= start)
        open.pop_back();
}

// Chooses lanes above 0 for the spans of one track. Cost per span: a constant and the logarithm of the lanes.
class LaneChooser {
public:
    void restart(const OpenEnds& openOnLane0)
    {
        m_lanes.clear();
        m_freeAt = {};
        m_ends = {};
        for (const TimeNs end : openOnLane0)
            m_ends.push(end);
        m_count = 0;
    }

    // True when a span that began before is still open and ends before this one does.
    bool overlaps(TimeNs start, TimeNs end)
    {
        while (!m_ends.empty() && m_ends.top() <= start)
            m_ends.pop();
        return !m_ends.empty() && m_ends.top() < end;
    }
    void opened(TimeNs end) { m_ends.push(end); }

    uint32_t choose(TimeNs start, TimeNs end)
    {
        for (size_t i = 0; i < m_lanes.size(); ++i) {
            closeBefore(m_lanes[i], start);
            if (!m_lanes[i].empty() && m_lanes[i].back() < end) continue;
            m_lanes[i].push_back(end);
            return static_cast<uint32_t>(i + 1);
        }
        if (m_lanes.size() < kSearchedLanes) {
            m_lanes.push_back({end});
            return ++m_count;
        }
        uint32_t lane = 0;
        if (!m_freeAt.empty() && m_freeAt.top().first <= start) {
            lane = m_freeAt.top().second;
            m_freeAt.pop();
        } else {
            lane = ++m_count;
        }
        m_freeAt.push({end, lane});
        return lane;
    }

private:
    using FreeAt = std::pair<TimeNs, uint32_t>;
    std::vector<OpenEnds> m_lanes; // the searched ones
    std::priority_queue<FreeAt, std::vector<FreeAt>, std::greater<>> m_freeAt;
    std::priority_queue<TimeNs, std::vector<TimeNs>, std::greater<>> m_ends; // of all open spans of the track
    uint32_t m_count = 0;
};

class LaneNester {
public:
    explicit LaneNester(SpanTable& spans) : m_spans(spans), m_hasDetail(!spans.detail.empty()) {}

    LaneReport run()
    {
        m_spans.parent.resize(m_spans.size());
        const size_t tracks = m_spans.trackBegin.empty() ? 0 : m_spans.trackBegin.size() - 1;
        for (size_t track = 0; track < tracks; ++track) {
            const size_t begin = m_spans.trackBegin[track];
            m_spans.trackBegin[track] = m_out;
            nestTrack(static_cast<uint32_t>(track), begin, m_spans.trackBegin[track + 1]);
        }
        appendLanes();
        return std::move(m_report);
    }

private:
    void keep(size_t from, uint32_t parent)
    {
        if (m_out != from) {
            m_spans.start[m_out] = m_spans.start[from];
            m_spans.duration[m_out] = m_spans.duration[from];
            m_spans.label[m_out] = m_spans.label[from];
            m_spans.step[m_out] = m_spans.step[from];
            if (m_hasDetail) m_spans.detail[m_out] = m_spans.detail[from];
        }
        m_spans.parent[m_out++] = parent;
    }

    void nestTrack(uint32_t track, size_t begin, size_t end)
    {
        uint32_t top = SpanTable::kNoParent; // innermost open span of lane 0
        bool lanes = false;                  // some span of the track has overlapped
        for (size_t row = begin; row < end; ++row) {
            const TimeNs start = m_spans.start[row];
            const TimeNs rowEnd = start + m_spans.duration[row];
            while (top != SpanTable::kNoParent && m_spans.end(top) <= start)
                top = m_spans.parent[top];
            const bool fits = top == SpanTable::kNoParent || rowEnd <= m_spans.end(top);
            if (!fits && !lanes) {
                lanes = true;
                m_chooser.restart(openEnds(top));
            }
            if (lanes) {
                if (m_chooser.overlaps(start, rowEnd)) ++m_report.overlaps;
                m_chooser.opened(rowEnd);
            }
            if (fits) {
                const auto here = static_cast<uint32_t>(m_out);
                keep(row, top);
                top = here;
            } else {
                m_moved.push_back({start, m_spans.duration[row], m_spans.label[row],
                                   m_hasDetail ? m_spans.detail[row] : SpanTable::kNoDetail, m_spans.step[row], track,
                                   m_chooser.choose(start, rowEnd)});
            }
        }
    }

    OpenEnds openEnds(uint32_t top) const
    {
        OpenEnds ends;
        for (uint32_t row = top; row != SpanTable::kNoParent; row = m_spans.parent[row])
            ends.push_back(m_spans.end(row));
        return ends;
    }

    void appendLanes()
    {
        std::stable_sort(m_moved.begin(), m_moved.end(), [](const Row& a, const Row& b) {
            return a.track != b.track ? a.track < b.track : a.lane < b.lane;
        });
        if (m_spans.trackBegin.empty()) m_spans.trackBegin.push_back(0);
        m_spans.trackBegin.back() = m_out;
        uint32_t top = SpanTable::kNoParent;
        for (size_t i = 0; i < m_moved.size(); ++i) {
            const Row& row = m_moved[i];
            if (i == 0 || row.track != m_moved[i - 1].track || row.lane != m_moved[i - 1].lane) {
                if (i > 0) m_spans.trackBegin.push_back(m_out);
                m_report.added.push_back({TrackId(row.track), static_cast<int32_t>(row.lane)});
                top = SpanTable::kNoParent;
            }
            while (top != SpanTable::kNoParent && m_spans.end(top) <= row.start)
                top = m_spans.parent[top];
            const auto here = static_cast<uint32_t>(m_out);
            m_spans.start[here] = row.start;
            m_spans.duration[here] = row.duration;
            m_spans.label[here] = row.label;
            m_spans.step[here] = row.step;
            if (m_hasDetail) m_spans.detail[here] = row.detail;
            m_spans.parent[here] = top;
            ++m_out;
            top = here;
        }
        if (!m_moved.empty()) m_spans.trackBegin.push_back(m_out);
    }

    SpanTable& m_spans;
    const bool m_hasDetail;
    LaneReport m_report;
    LaneChooser m_chooser;
    std::vector<Row> m_moved; // spans that leave their track, with the lane they go to
    size_t m_out = 0;         // rows written; never ahead of the row that is read
};

} // namespace

LaneReport nestIntoLanes(SpanTable& spans)
{
    return LaneNester(spans).run();
}

} // namespace stepscope::session
