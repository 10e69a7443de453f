// Batch: one minibatch on the host, as the loader makes it.
// Owner: core/engine. Thread: moves from a loader worker to the training thread.
#pragma once

#include "core/base/huge_vector.h"
#include "core/model/model.h"

#include <cstdint>

namespace stepscope::engine {

struct Batch {
    int64_t index = 0; // number of the batch within its epoch
    int32_t epoch = 0;
    int64_t count = 0;                // samples really in it (the last one may be smaller)
    base::HugeVector<float> x;        // count x sample shape, row-major, batch slowest
    base::HugeVector<int32_t> labels; // count class numbers from 0; empty for regression
    base::HugeVector<float> targets;  // count x target shape; empty for classification
};

} // namespace stepscope::engine
