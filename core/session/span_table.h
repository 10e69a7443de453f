// The columns of all spans of a session.
// Owner: core/session. Thread: immutable after construction. Units: ns since the session's origin.
//
// Rows are sorted by (track, start, longer first), so a parent comes before its children and the rows of a
// track are contiguous. Spans of one track nest; `parent` is the row of the enclosing span.
#pragma once

#include "core/base/huge_vector.h"
#include "core/session/types.h"

#include <span>

namespace stepscope::session {

struct SpanTable {
    static constexpr uint32_t kNoParent = 0xffffffffu;
    static constexpr uint32_t kNoDetail = 0xffffffffu;

    base::HugeVector<TimeNs> start;
    base::HugeVector<TimeNs> duration;
    base::HugeVector<uint32_t> label;  // LabelId.value
    base::HugeVector<uint32_t> parent; // row, or kNoParent
    base::HugeVector<int32_t> step;    // StepRow.index, -1 outside steps
    base::HugeVector<uint32_t> detail; // row of the DetailTable, or kNoDetail; empty when the session has no details
    std::vector<size_t> trackBegin;    // track t owns rows [trackBegin[t], trackBegin[t + 1]); size tracks + 1

    size_t size() const { return start.size(); }
    TimeNs end(size_t row) const { return start[row] + duration[row]; }
    uint32_t detailOf(size_t row) const { return row < detail.size() ? detail[row] : kNoDetail; }
};

} // namespace stepscope::session
