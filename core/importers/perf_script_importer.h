// Text of `perf script`: samples with call stacks, of any number of events.
// Owner: core/importers. Thread: any.
#pragma once

#include "core/importers/importer.h"

namespace stepscope::importers {

Detection detectPerfScript(const Input& input);
base::Result<Imported> importPerfScript(Input& input, const ImportOptions& options, std::stop_token stop,
                                        const base::Progress& progress);

inline constexpr Importer kPerfScriptImporter{"perf-script", "text printed by perf script", detectPerfScript,
                                              importPerfScript};

} // namespace stepscope::importers
