// Reads the values of `loss = ...`, `optimiser = ...` and `data = ...`.
// Owner: core/model, private to it. Thread: any. All take folded expressions and throw Failure.
#pragma once

#include "core/model/model.h"
#include "core/model/syntax.h"

#include <string_view>

namespace stepscope::model {

// logitcrossentropy, Flux.mse, (m, x, y) -> Flux.huber_loss(m(x), y; delta = 0.5).
LossSpec readLoss(const Expr& expr);

// Adam(0.001), OptimiserChain(WeightDecay(5e-4), Adam()), Flux.setup(Adam(), model). `text` is the whole file.
OptimiserSpec readOptimiser(const Expr& expr, std::string_view text);

// FashionMNIST(batchsize = 64), IDX(...), CSV(...), Raw(...), Random(...), DataLoader(..., batchsize = 64).
DataSpec readData(const Expr& expr, std::string_view text);

} // namespace stepscope::model
