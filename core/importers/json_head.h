// What the first bytes of a JSON file tell, for detection.
// Owner: core/importers. Thread: any; pure functions.
#pragma once

#include "core/importers/input.h"

#include <functional>
#include <string>
#include <string_view>

namespace stepscope::importers {

// Calls key(name, value) for the keys of the outermost object as far as the head goes; `value` is the text of a string,
// number or word, and the first bytes of an object or array. Stops when key() returns false.
void forHeadKeys(const Input& input, const std::function<bool(std::string_view, std::string_view)>& key);

bool headHasKey(const Input& input, std::string_view wanted);

} // namespace stepscope::importers
