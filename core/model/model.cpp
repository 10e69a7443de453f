#include "core/model/model.h"

#include "core/model/arithmetic.h"

#include <fmt/format.h>

#include <array>

namespace stepscope::model {

int64_t product(const Dims& dims)
{
    int64_t result = 1;
    for (const int64_t dim : dims)
        result = saturatedProduct(result, dim);
    return result;
}

std::string underscored(int64_t value)
{
    std::string digits = fmt::format("{}", value);
    const size_t first = value < 0 ? 1 : 0;
    for (size_t at = digits.size(); at > first + 3;) {
        at -= 3;
        digits.insert(at, 1, '_');
    }
    return digits;
}

std::string countText(int64_t value) { return (value == INT64_MAX ? "more than " : "") + underscored(value); }

std::string byteText(int64_t bytes)
{
    if (bytes < 1024) return fmt::format("{} byte{}", bytes, bytes == 1 ? "" : "s");
    constexpr std::array<const char*, 6> kUnits{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double value = static_cast<double>(bytes) / 1024;
    size_t unit = 0;
    while (value >= 1024 && unit + 1 < kUnits.size()) {
        value /= 1024;
        ++unit;
    }
    return fmt::format("{:.3f} {}", value, kUnits[unit]);
}

} // namespace stepscope::model
