// Measures that the parts of the flame widget share. Owner: ui/flame, internal. Units: logical pixels.
#pragma once

#include <QString>

#include <string_view>

namespace stepscope::flame {

constexpr double kRowHeight = 21;
constexpr double kGutter = 20; // left of the graph, for the name of the y axis
constexpr double kAxis = 40;   // above it, for the x axis and its name

inline QString fromUtf8(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

} // namespace stepscope::flame
