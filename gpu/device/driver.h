// The CUDA driver's library, loaded at run time, so that one binary runs with and without a GPU.
// Owner: gpu/device. Thread: a Driver is used by one thread at a time.
#pragma once

#include "core/base/result.h"

#include <cuda.h>

#include <memory>
#include <string_view>

namespace stepscope::gpu {

class Driver {
public:
    // Loads libcuda.so.1 and initialises it.
    static base::Result<Driver> load();

    base::Result<int> cudaVersion() const; // 12040 for 12.4
    base::Result<int> deviceCount() const;
    base::Result<CUdevice> device(int index) const;
    base::Result<std::string> deviceName(CUdevice device) const;
    base::Result<int> attribute(CUdevice device, CUdevice_attribute which) const;
    base::Result<size_t> totalMemory(CUdevice device) const; // bytes

private:
    struct Functions;
    struct Unload {
        void operator()(void* library) const;
    };
    Driver() = default;
    base::Status check(CUresult code, std::string_view call) const;

    std::unique_ptr<void, Unload> m_library;
    std::shared_ptr<const Functions> m_functions;
};

} // namespace stepscope::gpu
