// Reads raw little-endian float32 samples, with targets or int32 class labels in a second file.
// Owner: core/engine. Thread: any; no state.
#pragma once

#include "core/engine/memory_source.h"

#include <string>

namespace stepscope::engine {

struct RawOptions {
    model::Dims sampleShape;    // must be known
    bool classification = true; // the second file holds int32 class numbers, else float32 targets
    model::Dims targetShape;    // of float32 targets
    int64_t samples = 0;        // at most so many; 0 = all
};

// The size of the first file must be a multiple of a sample's bytes and the second must fit it; otherwise the Error
// says how many bytes were expected and found.
base::Result<MemoryData> readRaw(const std::string& path, const std::string& targetPath, const RawOptions& options,
                                 std::stop_token stop);

} // namespace stepscope::engine
