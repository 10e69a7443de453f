// ColourClass: what a frame means, for its colour. The colours themselves belong to ui/theme.
// Owner: core/present. Thread: plain values.
#pragma once

#include "core/analysis/flame_tree.h"

#include <cstdint>
#include <string_view>

namespace stepscope::present {

enum class ColourClass : uint8_t {
    root,     // the root and track nodes
    step,
    setup, dataWait, hostToDevice, forward, loss, backward, optimiser, deviceToHost, loading, evaluation, // by phase
    naive,    // our deliberately naive code
    slow,     // reference implementation or reorder
    creation, // making primitives, where it should not happen
    remainder,
    other,
};
inline constexpr int kColourClassCount = 17;

std::string_view colourClassName(ColourClass colour); // for legends: "forward", "slow path", ...
ColourClass phaseColour(session::Phase phase);
ColourClass colourOf(const analysis::FlameTree& tree, uint32_t node);
// FNV-1a of the name's UTF-8: the same in every run, file and view; for shades within a class.
uint32_t nameHash(std::string_view name);

} // namespace stepscope::present
