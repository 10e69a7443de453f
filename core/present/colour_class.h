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
    allocation, // allocator and page faults
    waiting,    // off the processor
    generated, library, kernelMode, ownCode, // kinds of code
    remainder,
    other,
    operation, call, kernel, copy, annotation, // in traces of other tools
};
inline constexpr int kColourClassCount = 28;

std::string_view colourClassName(ColourClass colour); // for legends: "forward", "slow path", ...
ColourClass phaseColour(session::Phase phase);
// Of a span that belongs to no phase.
ColourClass kindColour(session::SpanKind kind);
// Of a frame of code by its session::FrameFlag: what it costs before what it is.
ColourClass frameColour(uint32_t flags);
// A frame is slow, allocating or waiting when at least half of its weight is so by itself or in frames hidden below it;
// with less it keeps the colour of its kind and statusMark() tells.
ColourClass colourOf(const analysis::FlameTree& tree, uint32_t node);
// The rest of a frame's flags, which it has from a smaller part of its weight: drawn as a mark on it.
struct StatusMark {
    ColourClass colour = ColourClass::other; // other: none
    double share = 0;                        // of the frame's weight, 0..1
};
StatusMark statusMark(const analysis::FlameTree& tree, uint32_t node);
// What the frames of class "other" share a hue by: the category that a trace gives to a span; "": the name alone.
std::string_view colourFamily(const analysis::FlameTree& tree, uint32_t node);
// FNV-1a of the name's UTF-8: the same in every run, file and view; for shades within a class.
uint32_t nameHash(std::string_view name);

} // namespace stepscope::present
