// Collapsed stacks: "main;work;gemm 20" a line, as the scripts around flame graphs write them.
// Owner: core/importers. Thread: any.
#pragma once

#include "core/importers/importer.h"

namespace stepscope::importers {

Detection detectCollapsed(const Input& input);
base::Result<Imported> importCollapsed(Input& input, const ImportOptions& options, std::stop_token stop,
                                       const base::Progress& progress);

inline constexpr Importer kCollapsedImporter{"collapsed", "collapsed stacks, one \"a;b;c 10\" a line", detectCollapsed,
                                             importCollapsed};

} // namespace stepscope::importers
