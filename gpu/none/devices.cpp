#include "gpu/device/devices.h"

namespace stepscope::gpu {

base::Result<DriverInfo> probeDevices()
{
    return base::fail(base::ErrorCode::unavailable, "this program was built without its CUDA parts", {},
                      "configure with the CUDA toolkit 12 or newer on PATH and build again");
}

std::vector<std::pair<std::string, std::string>> environment()
{
    return {{"cuda.driver", "none: " + probeDevices().error().message}};
}

} // namespace stepscope::gpu
