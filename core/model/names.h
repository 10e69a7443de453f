// The names of the Flux surface that a model file may use, and the help for those it may not.
// Owner: core/model, private to it. Thread: any.
#pragma once

#include "core/model/model.h"
#include "core/model/syntax.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::model {

std::optional<Activation> activationByName(std::string_view name); // with NNlib's default parameter
std::optional<Init> initByName(std::string_view name);             // with Flux's default parameters

// The known name nearest to `name` (letter case apart) when it is near enough to be meant; empty otherwise. With
// `shortened` also one that starts the name, or that the name starts: "padding" for pad, "Convolution" for Conv.
std::string nearestName(std::string_view name, const std::vector<std::string_view>& known, bool shortened = true);

const std::vector<std::string_view>& layerNames();
const std::vector<std::string_view>& layerAndActivationNames(); // what may stand in a Chain
const std::vector<std::string_view>& activationNames();
const std::vector<std::string_view>& initNames();
const std::vector<std::string_view>& lossNames();
const std::vector<std::string_view>& optimiserNames();
const std::vector<std::string_view>& dataNames();

// Refuses an unknown name: what it was meant as ("layer"), where, the nearest of `known`, a hint for names of other
// libraries and for what Flux has and this program does not.
[[noreturn]] void failUnknown(std::string_view what, const Expr& expr, const std::vector<std::string_view>& known);

// Refuses modules that cannot hold a Flux name: "nn" of nn.Linear.
void checkModule(const Expr& expr, std::string_view what, const std::vector<std::string_view>& known);

} // namespace stepscope::model
