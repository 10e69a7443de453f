// Optimisers on flat float32 arrays, with the definitions of Optimisers.jl (update is x -= dx').
// Owner: core/engine. Thread: beginStep() by the training thread; update() of disjoint ranges from several threads.
#pragma once

#include "core/base/huge_vector.h"
#include "core/model/model.h"

#include <cstdint>

namespace stepscope::engine {

class Optimiser {
public:
    // State for `size` values, zero at first.
    Optimiser(const model::OptimiserSpec& spec, int64_t size);

    void beginStep(); // once per step, before the updates: counts t and the bias corrections

    // Updates w[offset, offset + n) from g (same offsets) by the bare rule, no modifiers. Vectorised, no allocation.
    // The formulas are those of Optimisers.jl 0.4 src/rules.jl; the bias corrections are computed in double.
    void update(float* w, const float* g, int64_t offset, int64_t n);
    // Applies the modifiers (WeightDecay, ClipNorm, ClipGrad) to the gradient of one whole array, in place.
    // Does nothing when there are none. Padding that is zero in w and g stays zero. A gradient whose norm is not finite
    // is left alone by ClipNorm, where Flux throws: the loss then shows it.
    void modify(const float* w, float* g, int64_t offset, int64_t n) const;
    bool hasModifiers() const { return !m_spec.modifiers.empty(); }
    int stateArrays() const; // 0 descent, 1 momentum..., 2 adam
    int64_t stateBytes() const { return stateArrays() * m_size * static_cast<int64_t>(sizeof(float)); }
    const model::OptimiserSpec& spec() const { return m_spec; }
    int64_t stepCount() const { return m_step; }

private:
    model::OptimiserSpec m_spec;
    int64_t m_size = 0;
    int64_t m_step = 0;
    double m_power1 = 1, m_power2 = 1; // β1^t, β2^t
    base::HugeVector<float> m_first, m_second,
        m_third; // momentum / first moment, second moment, mean gradient (centred)
};

} // namespace stepscope::engine
