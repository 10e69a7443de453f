// Results that BenchmarkTools.jl saved as JSON: trials, alone or in groups of groups.
// Owner: core/importers. Thread: any.
//
// Every trial becomes a track with one span per sample, laid end to end; the samples of the first trial, or of the one
// that ImportOptions::stepName names, are the session's steps, so that every view of step times shows them. The times
// as they were saved (with fractions of a nanosecond), gctimes, memory and allocs are counters and environment rows
// that core/exporters turns back into the same file.
#pragma once

#include "core/importers/importer.h"

namespace stepscope::importers {

Detection detectBenchmarkTools(const Input& input);
base::Result<Imported> importBenchmarkTools(Input& input, const ImportOptions& options, std::stop_token stop,
                                            const base::Progress& progress);

inline constexpr Importer kBenchmarkToolsImporter{"benchmarktools", "results of BenchmarkTools.jl (JSON)",
                                                  detectBenchmarkTools, importBenchmarkTools};

} // namespace stepscope::importers
