// perf.data, read by the program `perf` itself: its format changes with every kernel, and perf knows the symbols.
// Owner: core/importers. Thread: any.
#pragma once

#include "core/importers/importer.h"

namespace stepscope::importers {

Detection detectPerfData(const Input& input);
base::Result<Imported> importPerfData(Input& input, const ImportOptions& options, std::stop_token stop,
                                      const base::Progress& progress);

inline constexpr Importer kPerfDataImporter{"perf-data", "perf.data, read with perf script", detectPerfData,
                                            importPerfData};

} // namespace stepscope::importers
