// SpanReport: all spans of a session by their names: for traces that mark no steps, and to see what a trace has at all.
// Owner: core/analysis. Thread: any; build in a job (it loads the columns). Units: ns.
#pragma once

#include "core/analysis/span_filter.h"

#include <string>
#include <vector>

namespace stepscope::analysis {

struct SpanReportRow {
    std::string name;
    int64_t count = 0;
    base::TimeNs total = 0; // of a name inside itself the outermost span counts
    base::TimeNs self = 0;  // without the spans directly inside
    base::TimeNs shortest = 0, longest = 0;
    base::TimeNs sum = 0;   // of all durations; sum / count is the mean
};

struct SpanReport {
    std::vector<SpanReportRow> rows; // most self time first, then by name
    base::TimeNs self = 0;           // of all rows
};

// Spans of all tracks and steps; where the filter names first or last steps, those of the steps between. Marks without a
// length are no spans here.
SpanReport spanReport(const session::Session& session, const SpanFilter& filter);

} // namespace stepscope::analysis
