// speedscope's own JSON files, evented and sampled profiles.
// Owner: core/importers. Thread: any.
//
// Evented profiles in a unit of time become spans, all others samples. Sampled profiles in a unit of time share one
// series and differ in their track; those in other units have a series each, as nothing says that they may be added.
#pragma once

#include "core/importers/importer.h"

namespace stepscope::importers {

Detection detectSpeedscope(const Input& input);
base::Result<Imported> importSpeedscope(Input& input, const ImportOptions& options, std::stop_token stop,
                                        const base::Progress& progress);

inline constexpr Importer kSpeedscopeImporter{"speedscope", "profile saved by speedscope", detectSpeedscope,
                                              importSpeedscope};

} // namespace stepscope::importers
