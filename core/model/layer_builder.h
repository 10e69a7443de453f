// Builds the layer graph from the value of `model = ...`.
// Owner: core/model, private to it. Thread: one per parse.
#pragma once

#include "core/model/model.h"
#include "core/model/syntax.h"

#include <string_view>

namespace stepscope::model {

// `expr` is folded; `text` is the file's text, for anonymous functions, which print as written. Throws Failure.
Model buildModel(const Expr& expr, std::string_view text);

} // namespace stepscope::model
