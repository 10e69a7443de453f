// pprof profiles (profile.proto), packed with gzip or not.
// Owner: core/importers. Thread: any.
#pragma once

#include "core/importers/importer.h"

namespace stepscope::importers {

Detection detectPprof(const Input& input);
base::Result<Imported> importPprof(Input& input, const ImportOptions& options, std::stop_token stop,
                                   const base::Progress& progress);

inline constexpr Importer kPprofImporter{"pprof", "pprof profile (profile.proto)", detectPprof, importPprof};

} // namespace stepscope::importers
