// Initial values of trainable arrays, with the distributions of Flux.
// Owner: core/engine. Thread: any; no state.
#pragma once

#include "core/model/model.h"

#include <cstdint>
#include <vector>

namespace stepscope::engine {

// Values in the parameter's Flux memory order. Equal for equal (parameter, seed, layer, index) on every machine;
// arrays are independent of each other. `layer` is the LayerId's value, `index` the position among the layer's
// parameters. Formulas: Flux 0.16 src/utils.jl; the numbers themselves are not Julia's.
std::vector<float> initialValues(const model::Parameter& parameter, uint64_t seed, int layer, int index);

} // namespace stepscope::engine
