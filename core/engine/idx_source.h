// Reads IDX files, the format of MNIST and Fashion-MNIST (plain or .gz).
// Owner: core/engine. Thread: any; no state. Format: magic 0 0 type rank, big-endian sizes, then the values.
#pragma once

#include "core/engine/memory_source.h"

#include <string>

namespace stepscope::engine {

// Images (unsigned bytes, read as value / 255, or float32) with one class label each (unsigned bytes or int32).
// `samples` > 0 takes only so many from the front. Sample shape: {1, height, width}, {channels, height, width} for four
// dimensions, {features} for two.
base::Result<MemoryData> readIdx(const std::string& imagesPath, const std::string& labelsPath, int64_t samples,
                                 const std::string& missingHint, std::stop_token stop);

} // namespace stepscope::engine
