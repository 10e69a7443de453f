#include "core/analysis/intervals.h"

#include <algorithm>

namespace stepscope::analysis {

using base::TimeNs;
using base::TimeRange;

IntervalSet::IntervalSet(std::vector<TimeRange> ranges)
{
    std::erase_if(ranges, [](const TimeRange& range) { return range.end <= range.begin; });
    const auto earlier = [](const TimeRange& a, const TimeRange& b) { return a.begin < b.begin; };
    if (!std::is_sorted(ranges.begin(), ranges.end(), earlier)) std::sort(ranges.begin(), ranges.end(), earlier);
    for (const TimeRange& range : ranges) {
        if (m_ranges.empty() || range.begin > m_ranges.back().end) m_ranges.push_back(range);
        else m_ranges.back().end = std::max(m_ranges.back().end, range.end);
    }
}

TimeNs IntervalSet::length() const
{
    TimeNs sum = 0;
    for (const TimeRange& range : m_ranges)
        sum += range.duration();
    return sum;
}

IntervalSet IntervalSet::intersected(const IntervalSet& other) const
{
    IntervalSet out;
    auto a = m_ranges.begin();
    auto b = other.m_ranges.begin();
    while (a != m_ranges.end() && b != other.m_ranges.end()) {
        const TimeRange both{std::max(a->begin, b->begin), std::min(a->end, b->end)};
        if (both.begin < both.end) out.m_ranges.push_back(both);
        if (a->end < b->end) ++a;
        else ++b;
    }
    return out;
}

IntervalSet IntervalSet::without(const IntervalSet& other) const
{
    IntervalSet out;
    auto b = other.m_ranges.begin();
    for (const TimeRange& range : m_ranges) {
        TimeNs begin = range.begin;
        while (b != other.m_ranges.end() && b->end <= begin)
            ++b;
        for (auto hole = b; hole != other.m_ranges.end() && hole->begin < range.end; ++hole) {
            if (hole->begin > begin) out.m_ranges.push_back({begin, hole->begin});
            begin = std::max(begin, hole->end);
        }
        if (begin < range.end) out.m_ranges.push_back({begin, range.end});
    }
    return out;
}

IntervalSet IntervalSet::clipped(TimeRange range) const
{
    IntervalSet out;
    auto i = std::partition_point(m_ranges.begin(), m_ranges.end(), [&](const TimeRange& r) { return r.end <= range.begin; });
    for (; i != m_ranges.end() && i->begin < range.end; ++i) {
        const TimeRange both{std::max(i->begin, range.begin), std::min(i->end, range.end)};
        if (both.begin < both.end) out.m_ranges.push_back(both);
    }
    return out;
}

} // namespace stepscope::analysis
