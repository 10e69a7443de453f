// Verbose logs of oneDNN (ONEDNN_VERBOSE=1 and up), versions 2 and 3, alone or between the output of the program.
// Owner: core/importers. Thread: any.
//
// Executions with a time stamp (ONEDNN_VERBOSE_TIMESTAMP=1) lie where they began; the others have a length but no place
// and are laid end to end on a track whose name says so.
#pragma once

#include "core/importers/importer.h"

namespace stepscope::importers {

Detection detectOneDnn(const Input& input);
base::Result<Imported> importOneDnn(Input& input, const ImportOptions& options, std::stop_token stop,
                                    const base::Progress& progress);

inline constexpr Importer kOneDnnImporter{"onednn-log", "verbose log of oneDNN", detectOneDnn, importOneDnn};

} // namespace stepscope::importers
