// Loss functions and their gradients on host arrays, with Flux's definitions (agg = mean).
// Owner: core/engine. Thread: any; no state, no allocation.
#pragma once

#include "core/engine/batch.h"
#include "core/model/model.h"

#include <cstdint>

namespace stepscope::engine {

struct LossResult {
    double loss = 0;
    int64_t correct = -1; // right arg max with class labels; -1 when it has no meaning
};

// yhat and gradient: count x outputs, row-major, batch slowest. Targets are the labels (one-hot is implied) or, when
// labels is null, `targets` of the same shape as yhat. gradient (d loss / d yhat) may be null: value only.
// With one output a label is the target value itself, as binary classification has it.
// crossentropy and logitcrossentropy sum over the outputs and average over the batch; the other losses average over all
// elements. Formulas: Flux 0.16 src/losses/functions.jl. Infinities and NaN give what Flux gives; labels must be within
// [0, outputs), or any value for one output.
LossResult evaluateLoss(const model::LossSpec& spec, const float* yhat, const int32_t* labels, const float* targets,
                        int64_t count, int64_t outputs, float* gradient);

} // namespace stepscope::engine
