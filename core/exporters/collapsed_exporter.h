// Collapsed stacks: "main;work;gemm 20" a line. Owner: core/exporters.
// The format has no escapes: ';' in a name becomes ':', and line ends become spaces.
#pragma once

#include "core/exporters/exporter.h"

namespace stepscope::exporters {

base::Status exportCollapsed(const session::Session& session, const std::filesystem::path& path, bool replace,
                             std::stop_token stop, const base::Progress& progress);

inline constexpr Exporter kCollapsedExporter{"collapsed", "folded", "collapsed stacks, one \"a;b;c 10\" a line",
                                             exportCollapsed};

} // namespace stepscope::exporters
