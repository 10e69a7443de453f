#include "core/present/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace stepscope::present {

namespace {

struct Unit {
    double scale;
    const char* name;
};

// `digits` significant digits, never in exponent form for the magnitudes used here, without trailing zeros dropped:
// columns of equal precision are easier to read.
std::string significant(double value, int digits)
{
    if (value == 0) return "0";
    const int magnitude = static_cast<int>(std::floor(std::log10(std::abs(value))));
    int decimals = std::max(0, digits - 1 - magnitude);
    // 9.9996 with four digits is "10.00", not "10.000".
    const double shown = std::abs(std::round(value * std::pow(10.0, decimals)) / std::pow(10.0, decimals));
    if (decimals > 0 && shown >= std::pow(10.0, magnitude + 1)) --decimals;
    return fmt::format("{:.{}f}", value, decimals);
}

// Picks the largest unit that leaves at least 1 after rounding to `digits`.
template <size_t N>
const Unit& unitFor(double value, const std::array<Unit, N>& ascending, int digits)
{
    const double slack = 1 - 0.5 * std::pow(10.0, -digits);
    for (size_t i = N; i-- > 1;)
        if (std::abs(value) >= ascending[i].scale * slack) return ascending[i];
    return ascending[0];
}

std::string grouped(int64_t value, const char* separator)
{
    const bool negative = value < 0;
    const std::string digits = fmt::format("{}", negative ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value));
    std::string text = negative ? "-" : "";
    for (size_t i = 0; i < digits.size(); ++i) {
        if (i > 0 && (digits.size() - i) % 3 == 0) text += separator;
        text += digits[i];
    }
    return text;
}

constexpr const char* kUnknown = "—";

std::string longTime(double seconds)
{
    const auto whole = static_cast<int64_t>(std::llround(seconds));
    if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
    const int64_t minutes = static_cast<int64_t>(std::llround(seconds / 60));
    return fmt::format("{} h {:02} min", minutes / 60, minutes % 60);
}

} // namespace

std::string formatTime(double ns)
{
    if (!std::isfinite(ns)) return kUnknown;
    if (std::abs(ns) >= 119.995e9 && ns > 0 && ns < 1e19) return longTime(ns / 1e9);
    static constexpr std::array<Unit, 4> kUnits{{{1, "ns"}, {1e3, "µs"}, {1e6, "ms"}, {1e9, "s"}}};
    if (ns == std::floor(ns) && std::abs(ns) < 1000) return fmt::format("{:.0f} ns", ns);
    const Unit& unit = unitFor(ns, kUnits, 4);
    return fmt::format("{} {}", significant(ns / unit.scale, 4), unit.name);
}

std::string formatTimeExact(base::TimeNs ns) { return grouped(ns, " ") + " ns"; }

std::string formatBytes(double bytes)
{
    if (!std::isfinite(bytes)) return kUnknown;
    static constexpr std::array<Unit, 5> kUnits{{{1, "B"}, {1024.0, "KiB"}, {1048576.0, "MiB"}, {1073741824.0, "GiB"}, {1099511627776.0, "TiB"}}};
    if (std::abs(bytes) < 1024) return fmt::format("{:.0f} B", bytes);
    const Unit& unit = unitFor(bytes, kUnits, 6);
    return fmt::format("{} {}", significant(bytes / unit.scale, 4), unit.name);
}

std::string formatCount(int64_t count) { return grouped(count, "_"); }

namespace {

std::string formatRate(double perSecond, const char* what)
{
    if (!std::isfinite(perSecond) || perSecond <= 0) return {};
    static constexpr std::array<Unit, 5> kUnits{{{1, ""}, {1e3, "k"}, {1e6, "M"}, {1e9, "G"}, {1e12, "T"}}};
    const Unit& unit = unitFor(perSecond, kUnits, 3);
    return fmt::format("{} {}{}/s", significant(perSecond / unit.scale, 3), unit.name, what);
}

} // namespace

std::string formatFlopRate(double flopPerSecond) { return formatRate(flopPerSecond, "FLOP"); }
std::string formatByteRate(double bytesPerSecond) { return formatRate(bytesPerSecond, "B"); }

std::string formatShare(double share)
{
    if (!std::isfinite(share)) return kUnknown;
    const double percent = share * 100;
    if (percent > 0 && percent < 0.05) return "<0.1 %";
    return fmt::format("{:.1f} %", percent);
}

std::string formatNumber(double value, int digits)
{
    if (!std::isfinite(value)) return kUnknown;
    return fmt::format("{:.{}g}", value, digits);
}

} // namespace stepscope::present
