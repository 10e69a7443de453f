// Arrows of a Chrome trace (s, t, f): found by category, name and id, bound to spans when these are in their place.
// Owner: core/importers. Thread: one at a time. Units: ns.
#pragma once

#include "core/importers/trace_problems.h"
#include "core/session/event_details.h"
#include "core/session/session.h"

#include <vector>

namespace stepscope::importers {

struct FlowMark {
    session::TimeNs time = 0; // of the file's clock
    uint64_t place = 0;
    uint32_t flow = 0;        // category, name and id
    session::TrackId track;
    session::StringId name;
    char phase = 's';         // s, t or f
    bool enclosing = false;   // bp:"e": an end binds to the span around it, else to the next one that begins
};

// Adds the arrows to `details` and counts those that cannot be drawn. A new start begins a new flow; a flow may have
// several ends. `lanes[t]`: the further lanes of track t.
void bindFlows(std::vector<FlowMark>& marks, session::TimeNs origin, const session::SpanTable& spans,
               const std::vector<std::vector<session::TrackId>>& lanes, session::DetailTable& details, TraceProblems& problems);

} // namespace stepscope::importers
