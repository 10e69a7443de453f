// What a layer costs for one sample.
// Owner: core/model, private to it. Thread: any. Units: FLOP (a multiply-add counts 2), bytes of float32.
#pragma once

#include "core/model/model.h"

#include <vector>

namespace stepscope::model {

// Sets forward and backward of a layer without children; input and output are set. inputGradient: the gradient for the
// layer's input is needed because some layer before it has parameters.
void setLeafCost(Layer& layer, bool inputGradient);

// The cost of joining values in a SkipConnection or Parallel, to be added to the children's.
struct JoinCost {
    Cost forward, backward;
};
JoinCost joinCost(Connection connection, const std::vector<Dims>& joined, const Dims& input, const Dims& output,
                  bool inputGradient);

void addCost(Cost& to, const Cost& cost);

} // namespace stepscope::model
