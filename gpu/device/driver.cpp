#include "gpu/device/driver.h"

#include "gpu/device/cuda_error.h"

#include <fmt/format.h>

#include <array>
#include <dlfcn.h>
#include <string>
#include <utility>

namespace stepscope::gpu {

using base::ErrorCode;

base::Error cudaError(CUresult code, std::string_view call, std::string_view name)
{
    base::Error error;
    error.code = ErrorCode::unavailable;
    std::string shown = name.empty() ? fmt::format("code {}", static_cast<int>(code)) : std::string(name);
    error.message = fmt::format("{} failed: {}", call, shown);
    switch (code) {
    case CUDA_ERROR_NO_DEVICE:
        error.message = "the CUDA driver found no device";
        error.hint = "nvidia-smi lists the devices; CUDA_VISIBLE_DEVICES may hide them";
        break;
    case CUDA_ERROR_SYSTEM_DRIVER_MISMATCH:
    case CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE:
        error.hint = "the driver's library and its kernel module are of different versions; a restart often helps";
        break;
    case CUDA_ERROR_OUT_OF_MEMORY:
        error.hint = "another program holds the device's memory; nvidia-smi shows which";
        break;
    case CUDA_ERROR_INVALID_VALUE:
    case CUDA_ERROR_INVALID_DEVICE: error.code = ErrorCode::invalidArgument; break;
    default: break;
    }
    return error;
}

// Every entry point with the type that cuda.h gives it, so that a wrong signature does not compile.
struct Driver::Functions {
    decltype(&::cuInit) init = nullptr;
    decltype(&::cuDriverGetVersion) driverGetVersion = nullptr;
    decltype(&::cuDeviceGetCount) deviceGetCount = nullptr;
    decltype(&::cuDeviceGet) deviceGet = nullptr;
    decltype(&::cuDeviceGetName) deviceGetName = nullptr;
    decltype(&::cuDeviceGetAttribute) deviceGetAttribute = nullptr;
    decltype(&::cuDeviceTotalMem) deviceTotalMem = nullptr;
    decltype(&::cuGetErrorName) getErrorName = nullptr;
};

void Driver::Unload::operator()(void* library) const
{
    dlclose(library);
}

namespace {

template<class Function>
bool find(void* library, const char* symbol, Function& function)
{
    function = reinterpret_cast<Function>(dlsym(library, symbol));
    return function != nullptr;
}

} // namespace

base::Result<Driver> Driver::load()
{
    Driver driver;
    driver.m_library.reset(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL));
    if (driver.m_library == nullptr) {
        return base::fail(ErrorCode::unavailable, "no CUDA driver on this machine (libcuda.so.1 is not installed)", {},
                          "training on the CPU needs none");
    }
    void* library = driver.m_library.get();
    Functions functions;
    // The _v2 names are what cuda.h's macros stand for.
    const bool complete = find(library, "cuInit", functions.init)
        && find(library, "cuDriverGetVersion", functions.driverGetVersion)
        && find(library, "cuDeviceGetCount", functions.deviceGetCount)
        && find(library, "cuDeviceGet", functions.deviceGet)
        && find(library, "cuDeviceGetName", functions.deviceGetName)
        && find(library, "cuDeviceGetAttribute", functions.deviceGetAttribute)
        && find(library, "cuDeviceTotalMem_v2", functions.deviceTotalMem)
        && find(library, "cuGetErrorName", functions.getErrorName);
    if (!complete) {
        return base::fail(ErrorCode::unavailable, "libcuda.so.1 lacks functions of CUDA 12", {},
                          "update the NVIDIA driver");
    }
    driver.m_functions = std::make_shared<const Functions>(functions);
    if (auto status = driver.check(functions.init(0), "cuInit"); !status) return base::fail(status.error());
    return driver;
}

base::Status Driver::check(CUresult code, std::string_view call) const
{
    if (code == CUDA_SUCCESS) return {};
    const char* name = nullptr;
    if (m_functions->getErrorName(code, &name) != CUDA_SUCCESS || name == nullptr) name = "";
    return base::fail(cudaError(code, call, name));
}

base::Result<int> Driver::cudaVersion() const
{
    int version = 0;
    if (auto status = check(m_functions->driverGetVersion(&version), "cuDriverGetVersion"); !status) {
        return base::fail(status.error());
    }
    return version;
}

base::Result<int> Driver::deviceCount() const
{
    int count = 0;
    if (auto status = check(m_functions->deviceGetCount(&count), "cuDeviceGetCount"); !status) {
        return base::fail(status.error());
    }
    return count;
}

base::Result<CUdevice> Driver::device(int index) const
{
    CUdevice device = 0;
    if (auto status = check(m_functions->deviceGet(&device, index), "cuDeviceGet"); !status)
        return base::fail(status.error());
    return device;
}

base::Result<std::string> Driver::deviceName(CUdevice device) const
{
    std::array<char, 256> name = {};
    if (auto status = check(m_functions->deviceGetName(name.data(), static_cast<int>(name.size()) - 1, device),
                            "cuDeviceGetName");
        !status) {
        return base::fail(status.error());
    }
    return std::string(name.data());
}

base::Result<int> Driver::attribute(CUdevice device, CUdevice_attribute which) const
{
    int value = 0;
    if (auto status = check(m_functions->deviceGetAttribute(&value, which, device), "cuDeviceGetAttribute"); !status) {
        return base::fail(status.error());
    }
    return value;
}

base::Result<size_t> Driver::totalMemory(CUdevice device) const
{
    size_t bytes = 0;
    if (auto status = check(m_functions->deviceTotalMem(&bytes, device), "cuDeviceTotalMem"); !status) {
        return base::fail(status.error());
    }
    return bytes;
}

} // namespace stepscope::gpu
