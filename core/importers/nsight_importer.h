// Nsight Systems exports: nsys export --type sqlite.
// Owner: core/importers. Thread: any.
#pragma once

#include "core/importers/importer.h"

namespace stepscope::importers {

Detection detectNsight(const Input& input);
base::Result<Imported> importNsight(Input& input, const ImportOptions& options, std::stop_token stop, const base::Progress& progress);

inline constexpr Importer kNsightImporter{"nsight", "Nsight Systems export (nsys export --type sqlite)", detectNsight, importNsight};

} // namespace stepscope::importers
