// Spreads spans that overlap without nesting over further lanes, so that the spans of every track nest and none is cut.
// Owner: core/session. Thread: any, on the caller's table. Units: ns.
#pragma once

#include "core/session/span_table.h"

namespace stepscope::session {

struct LaneReport {
    struct Lane {
        TrackId of;       // the track that the spans were on
        int32_t lane = 0; // from 1
    };
    std::vector<Lane> added;  // one per track that was appended, in order
    int64_t overlaps = 0;     // spans that begin inside an earlier span of their track and end after it
};

// The rows of `spans` are sorted by (track, start, longer first); the columns `parent` and `trackBegin` are set here
// for all tracks, those that are appended included. Rows keep their order within a lane. A span lies in another when
// it starts in [start, end) of it and does not end after it.
LaneReport nestIntoLanes(SpanTable& spans);

} // namespace stepscope::session
