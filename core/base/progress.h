// Progress reports of long core functions. Owner: core/base.
// The callback runs on the worker's thread and must return quickly; fraction is 0..1, negative when unknown.
#pragma once

#include <functional>
#include <string_view>

namespace stepscope::base {

using Progress = std::function<void(double fraction, std::string_view what)>;

} // namespace stepscope::base
