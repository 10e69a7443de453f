// JSON of BenchmarkTools.jl, as its load() reads it. Owner: core/exporters.
// The steps that are no warm-up are the trial "step", the time of every phase within them the trials of the group
// "phases". What was imported from such a file becomes that file again.
#pragma once

#include "core/exporters/exporter.h"

namespace stepscope::exporters {

base::Status exportBenchmarkTools(const session::Session& session, const std::filesystem::path& path, bool replace,
                                  std::stop_token stop, const base::Progress& progress);

inline constexpr Exporter kBenchmarkToolsExporter{"benchmarktools", "benchmark.json",
                                                  "step times for BenchmarkTools.jl", exportBenchmarkTools};

} // namespace stepscope::exporters
