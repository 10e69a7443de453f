// What the machine's GPUs are, as the driver tells it.
// Owner: gpu/device (gpu/none in builds without the CUDA toolkit). Thread: any. Units: bytes.
#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace stepscope::gpu {

struct DeviceInfo {
    int index = 0;
    std::string name; // "NVIDIA H200"
    int computeMajor = 0, computeMinor = 0;
    int multiprocessors = 0;
    int64_t memoryBytes = 0;
};

struct DriverInfo {
    int cudaMajor = 0, cudaMinor = 0; // newest CUDA version the driver runs
    std::vector<DeviceInfo> devices; // may be empty: a driver without a device
};

// Loads the driver's library for the time of the call; no CUDA context is made. Error `unavailable` where there is no
// driver, where it refuses, or where this build has no CUDA parts: the message says which.
base::Result<DriverInfo> probeDevices();

// The same as rows for a session's environment: "cuda.driver", and "cuda.device.0" ... for each device. Without a
// usable driver "cuda.driver" holds the reason.
std::vector<std::pair<std::string, std::string>> environment();

} // namespace stepscope::gpu
