// Julia's *.jlprof files, as FlameGraphs.jl and ProfileView.jl save them.
// Owner: core/importers. Thread: any.
#pragma once

#include "core/importers/importer.h"

namespace stepscope::importers {

Detection detectJlprof(const Input& input);
base::Result<Imported> importJlprof(Input& input, const ImportOptions& options, std::stop_token stop,
                                    const base::Progress& progress);

inline constexpr Importer kJlprofImporter{"jlprof", "profile of Julia (.jlprof)", detectJlprof, importJlprof};

} // namespace stepscope::importers
