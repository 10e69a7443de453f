// Profiles of the Firefox Profiler, as Firefox itself writes them ("Gecko": rows read through a schema) and in the
// processed form that its web page and samply save.
// Owner: core/importers. Thread: any.
#pragma once

#include "core/importers/importer.h"

namespace stepscope::importers {

Detection detectFirefox(const Input& input);
base::Result<Imported> importFirefox(Input& input, const ImportOptions& options, std::stop_token stop,
                                     const base::Progress& progress);

inline constexpr Importer kFirefoxImporter{"firefox", "Firefox Profiler, Gecko or processed; samply", detectFirefox,
                                           importFirefox};

} // namespace stepscope::importers
