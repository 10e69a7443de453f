// Scalar and vector functions of the double-precision reference: activations, losses, optimisers.
// Owner: tests/support. Thread: any. Written for being obviously right, not fast; shares no code with core/engine.
#pragma once

#include "core/model/model.h"

#include <cstdint>
#include <vector>

namespace stepscope::testing {

using Values = std::vector<double>;

// The activation with NNlib's default parameter (leakyrelu 0.01, elu and celu 1, softshrink 0.5, trelu 1).
model::Activation activation(model::ActivationKind kind);

// NNlib src/activations.jl. softmax and logsoftmax are no scalar functions: see below.
double activate(const model::Activation& function, double x);
double derivative(const model::Activation& function, double x);

// Over rows of `length` adjacent values. The gradients take the function's own result y.
Values softmax(const Values& x, int64_t length);
Values logsoftmax(const Values& x, int64_t length);
Values softmaxGradient(const Values& y, const Values& dy, int64_t length);
Values logsoftmaxGradient(const Values& y, const Values& dy, int64_t length);

// Loss of count x outputs values against targets of the same shape (one-hot for classes), Flux
// src/losses/functions.jl. gradient may be null.
double referenceLoss(const model::LossSpec& spec, const Values& yhat, const Values& targets, int64_t count,
                     Values* gradient);
Values oneHot(const std::vector<int32_t>& labels, int64_t classes);

// State and update of one array, Optimisers.jl src/rules.jl, modifiers included.
class ReferenceOptimiser {
public:
    explicit ReferenceOptimiser(model::OptimiserSpec spec) : m_spec(std::move(spec)) {}
    void update(Values& x, Values g);               // one step; g by value: modifiers change it
    const Values& first() const { return m_first; } // velocity or first moment

private:
    void modify(const Values& x, Values& g) const;
    double step(size_t i, double x, double g);

    model::OptimiserSpec m_spec;
    int64_t m_step = 0;
    Values m_first, m_second;
};

} // namespace stepscope::testing
