// The one place where CUDA's error codes become Errors.
// Owner: gpu/device. Thread: any.
#pragma once

#include "core/base/error.h"

#include <cuda.h>

#include <string_view>

namespace stepscope::gpu {

// `call` is the name of the function that failed; `name` CUDA's own name of the code, may be empty.
base::Error cudaError(CUresult code, std::string_view call, std::string_view name = {});

} // namespace stepscope::gpu
