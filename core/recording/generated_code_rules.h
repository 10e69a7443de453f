// Unwind rules of generated code, which comes without any: found by following its instructions.
// Owner: core/recording. Thread: any. Units: bytes.
#pragma once

#include "core/recording/unwind_rule.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace stepscope::recording {

// Follows every path from the first instruction on and keeps track of where the caller's frame is: relative to the
// stack pointer, to rbp while that holds a copy of it, or in memory after the stack pointer was pointed elsewhere.
// The rows are sorted by offset, and each holds up to the next.
std::vector<std::pair<uint32_t, UnwindRule>> generatedCodeRules(std::span<const std::byte> code, uint64_t address);

} // namespace stepscope::recording
