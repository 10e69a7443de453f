// The columns of one series of stack samples.
// Owner: core/session. Thread: immutable after construction. Units: ns since the session's origin; weights in the unit of
// the series.
//
// Rows are sorted by time; of equal times the order of recording is kept. Samples without times keep their order.
#pragma once

#include "core/base/huge_vector.h"
#include "core/session/types.h"

namespace stepscope::session {

struct SampleTable {
    base::HugeVector<TimeNs> time;
    base::HugeVector<int64_t> weight;
    base::HugeVector<uint32_t> stack; // StackId.value, Id::kNone when unknown
    base::HugeVector<uint32_t> label; // LabelId.value, Id::kNone when unknown
    base::HugeVector<uint32_t> track; // TrackId.value, Id::kNone when unknown
    base::HugeVector<int32_t> step;   // StepRow.index, -1 outside steps

    size_t size() const { return time.size(); }
    void resize(size_t rows) // rows that are added have no defined values
    {
        time.resize(rows);
        weight.resize(rows);
        stack.resize(rows);
        label.resize(rows);
        track.resize(rows);
        step.resize(rows);
    }
    void clear() { resize(0); }
};

} // namespace stepscope::session
