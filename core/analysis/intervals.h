// Sets of time ranges: union, intersection, difference and length.
// Owner: core/analysis. Thread: plain values. Units: ns; a range is [begin, end).
#pragma once

#include "core/base/time_ns.h"

#include <vector>

namespace stepscope::analysis {

// Disjoint, in order, none empty.
class IntervalSet {
public:
    IntervalSet() = default;
    // Of ranges in any order; empty and turned-round ones count as nothing.
    explicit IntervalSet(std::vector<base::TimeRange> ranges);

    const std::vector<base::TimeRange>& ranges() const { return m_ranges; }
    bool empty() const { return m_ranges.empty(); }
    base::TimeNs length() const;

    IntervalSet intersected(const IntervalSet& other) const;
    IntervalSet without(const IntervalSet& other) const;
    // The part within [range.begin, range.end), in time logarithmic in the whole and linear in the part.
    IntervalSet clipped(base::TimeRange range) const;

private:
    std::vector<base::TimeRange> m_ranges;
};

} // namespace stepscope::analysis
