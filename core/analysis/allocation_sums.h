// AllocationSums: what the steps of a session allocated, from its counted series (session::SeriesKind::countedBytes ...).
// Owner: core/analysis. Thread: any; loads the columns, so build in a job. Units: bytes, ns.
#pragma once

#include "core/analysis/span_filter.h"

#include <vector>

namespace stepscope::analysis {

struct AllocationSum {
    int64_t allocations = 0;
    int64_t bytes = 0;
    base::TimeNs time = 0; // in the allocator; 0 where it was not timed
    AllocationSum& operator+=(const AllocationSum& other)
    {
        allocations += other.allocations;
        bytes += other.bytes;
        time += other.time;
        return *this;
    }
    friend bool operator==(const AllocationSum&, const AllocationSum&) = default;
};

struct AllocationSums {
    bool counted = false;               // false: the session does not know
    bool timed = false;
    std::vector<AllocationSum> byLabel; // within the selected steps; one per label and a last one for none
    std::vector<AllocationSum> byStep;  // one per row of Session::steps(); rows that are not selected stay 0
};

// Of the host. Counts are those of the innermost probe around an allocation, so no two labels share one.
AllocationSums allocationSums(const session::Session& session, const SpanFilter& filter = {});

} // namespace stepscope::analysis
