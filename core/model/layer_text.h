// How Flux prints a layer.
// Owner: core/model, private to it.
#pragma once

#include "core/model/model.h"

#include <string>

namespace stepscope::model {

// The line of one layer without its children: "Conv((5, 5), 1 => 6, relu)", "Chain". `asWritten` is used for anonymous
// functions; `writtenPad` is the pad in the order of the text, empty when it is to be taken from the resolved one.
std::string layerText(const Layer& layer, const Dims& writtenPad, const std::string& asWritten);

} // namespace stepscope::model
