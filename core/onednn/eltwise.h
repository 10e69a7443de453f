// Element-wise functions: which oneDNN algorithm computes an activation, and our own code where there is none.
// Owner: core/onednn. Thread: any; no state.
#pragma once

#include "core/model/model.h"
#include "core/onednn/plan.h"

#include <optional>

namespace stepscope::onednn {

struct EltwiseAlgorithm {
    dnnl::algorithm forward;
    float alpha = 0, beta = 0;
    // Gradient from the result instead of the input: needed to fuse the function into the layer before.
    std::optional<dnnl::algorithm> backwardFromResult;
};

// Empty for identity, softmax and functions that oneDNN lacks.
std::optional<EltwiseAlgorithm> eltwiseAlgorithm(const model::Activation& activation);

// f(x) and f'(x) by NNlib's definitions, for functions that oneDNN lacks.
float activationValue(const model::Activation& activation, float x);
float activationSlope(const model::Activation& activation, float x);

// Applies an activation as operations of its own. Serves activation layers and layers that could not fuse.
class Eltwise {
public:
    explicit Eltwise(model::Activation activation) : m_activation(activation) {}
    Value forward(PlanBuilder& builder, const Value& x);
    Value backward(PlanBuilder& builder, const Value& dy);

private:
    model::Activation m_activation;
    Value m_given, m_x, m_y;
};

// The gradient of a fused activation, from the layer's result y; in place when dy is exclusive.
Value fusedBackward(PlanBuilder& builder, const model::Activation& activation, const Value& y, const Value& dy);

} // namespace stepscope::onednn
