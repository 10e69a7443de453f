// Flame graph as one SVG file that works alone in a browser: hover, zoom, search. Owner: core/exporters.
// Boxes are as wide as their weight, siblings stand in order of their names and colours come from a fixed hash of the
// name, so the same session gives the same bytes.
#pragma once

#include "core/exporters/exporter.h"

namespace stepscope::exporters {

base::Status exportSvg(const session::Session& session, const std::filesystem::path& path, bool replace,
                       std::stop_token stop, const base::Progress& progress);

inline constexpr Exporter kSvgExporter{"svg", "svg", "flame graph for a browser, with zoom and search", exportSvg};

} // namespace stepscope::exporters
