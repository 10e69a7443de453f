// Style and script of an SVG flame graph. Owner: core/exporters.
#pragma once

#include <string_view>

namespace stepscope::exporters {

extern const std::string_view kSvgStyle;
// Only for SVGs laid out by the exporter: reads data-s (start), data-w (weight) and data-d (depth) of every box.
extern const std::string_view kSvgScript;

} // namespace stepscope::exporters
