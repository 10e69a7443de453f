#include "gpu/device/devices.h"

#include "gpu/device/driver.h"

#include <fmt/format.h>

namespace stepscope::gpu {

namespace {

base::Result<DeviceInfo> probe(const Driver& driver, int index)
{
    const auto device = driver.device(index);
    if (!device) return base::fail(device.error());
    const auto name = driver.deviceName(*device);
    if (!name) return base::fail(name.error());
    const auto major = driver.attribute(*device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    const auto minor = driver.attribute(*device, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    const auto multiprocessors = driver.attribute(*device, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    for (const auto* value : {&major, &minor, &multiprocessors}) {
        if (!*value) return base::fail(value->error());
    }
    const auto memory = driver.totalMemory(*device);
    if (!memory) return base::fail(memory.error());
    return DeviceInfo{index, *name, *major, *minor, *multiprocessors, static_cast<int64_t>(*memory)};
}

} // namespace

base::Result<DriverInfo> probeDevices()
{
    const auto driver = Driver::load();
    if (!driver) return base::fail(driver.error());
    const auto version = driver->cudaVersion();
    if (!version) return base::fail(version.error());
    const auto count = driver->deviceCount();
    if (!count) return base::fail(count.error());

    DriverInfo info;
    info.cudaMajor = *version / 1000;
    info.cudaMinor = *version % 1000 / 10;
    for (int index = 0; index < *count; ++index) {
        auto device = probe(*driver, index);
        if (!device) return base::fail(device.error());
        info.devices.push_back(std::move(*device));
    }
    return info;
}

std::vector<std::pair<std::string, std::string>> environment()
{
    const auto info = probeDevices();
    if (!info) return {{"cuda.driver", "none: " + info.error().message}};
    std::vector<std::pair<std::string, std::string>> rows;
    rows.emplace_back("cuda.driver", fmt::format("CUDA {}.{}", info->cudaMajor, info->cudaMinor));
    for (const DeviceInfo& device : info->devices) {
        rows.emplace_back(fmt::format("cuda.device.{}", device.index),
                          fmt::format("{}, compute capability {}.{}, {} multiprocessors, {} MiB", device.name,
                                      device.computeMajor, device.computeMinor, device.multiprocessors,
                                      device.memoryBytes >> 20));
    }
    return rows;
}

} // namespace stepscope::gpu
