// Reads the arguments of one layer: Flux's forms, keywords and defaults.
// Owner: core/model, private to it. Thread: any.
#pragma once

#include "core/model/arguments.h"
#include "core/model/model.h"

namespace stepscope::model {

// Fills kind, options, parameters and text of a layer without children from its call: Dense(...), Conv(...), ....
// Throws Failure. The call's name is one of layerNames() other than Chain, SkipConnection and Parallel.
void readLeaf(const Expr& call, Layer& layer);

} // namespace stepscope::model
