// The Flux-style summary that `stepscope info model.jl` prints.
// Owner: core/model.
#pragma once

#include "core/model/model.h"

#include <string>

namespace stepscope::model {

// One line per layer in Flux's notation with a comment: parameters, output shape, FLOP and bytes per sample;
// then "# Total: 10 arrays, 44_426 parameters, 173.537 KiB." as Flux prints it.
std::string summary(const ModelFile& file);

} // namespace stepscope::model
