// PyTorch's raw memory timeline (export_memory_timeline("x.raw.json.gz")): a list of [time, action, bytes, category].
// Owner: core/importers. Thread: any.
#pragma once

#include "core/importers/importer.h"

namespace stepscope::importers {

Detection detectMemoryTimeline(const Input& input);
base::Result<Imported> importMemoryTimeline(Input& input, const ImportOptions& options, std::stop_token stop, const base::Progress& progress);

inline constexpr Importer kMemoryTimelineImporter{"memory-timeline", "PyTorch memory timeline, raw (memory by category as counters)", detectMemoryTimeline,
                                                  importMemoryTimeline};

} // namespace stepscope::importers
