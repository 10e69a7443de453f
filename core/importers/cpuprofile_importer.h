// .cpuprofile of V8 (Node, Chrome) in its forms since 2015, and .heapprofile.
// Owner: core/importers. Thread: any.
#pragma once

#include "core/importers/importer.h"

namespace stepscope::importers {

Detection detectCpuProfile(const Input& input);
base::Result<Imported> importCpuProfile(Input& input, const ImportOptions& options, std::stop_token stop,
                                        const base::Progress& progress);
Detection detectHeapProfile(const Input& input);
base::Result<Imported> importHeapProfile(Input& input, const ImportOptions& options, std::stop_token stop,
                                         const base::Progress& progress);

inline constexpr Importer kCpuProfileImporter{"cpuprofile", "CPU profile of V8: Node or Chrome (.cpuprofile)",
                                              detectCpuProfile, importCpuProfile};
inline constexpr Importer kHeapProfileImporter{"heapprofile", "allocation profile of V8 (.heapprofile)",
                                               detectHeapProfile, importHeapProfile};

} // namespace stepscope::importers
