// The softmax cross-entropy of losses.h, which runs in nearly every classification step.
// Owner: core/engine. Thread: any; no state, no allocation.
#pragma once

#include <cstdint>

namespace stepscope::engine {

// Sum over the rows of -sum(y .* logsoftmax(x)); x and gradient: count x outputs, row-major. y is one-hot from labels
// or, when labels is null, `targets`. gradient = scale * (softmax(x) * sum(y) - y); may be null.
double softmaxCrossEntropy(const float* x, const int32_t* labels, const float* targets, int64_t count, int64_t outputs,
                           double scale, float* gradient);

// exp of n values in place. Relative error below 2e-7 on [-87, 88]; 0 below, +Inf above, NaN stays NaN.
void expInPlace(float* x, int64_t n);

} // namespace stepscope::engine
