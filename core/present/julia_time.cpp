#include "core/present/julia_time.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

namespace stepscope::present {

namespace {

struct Scaled {
    double value = 0;
    size_t unit = 0;
};

// The unit is the logarithm rounded up: 1000 stays 1000, and 1001 becomes 1.00 k.
Scaled scaled(int64_t value, size_t units, double factor)
{
    if (value <= 1) return {static_cast<double>(value), 0};
    const double number = static_cast<double>(value);
    const auto step = static_cast<size_t>(std::ceil(std::log(number) / std::log(factor)));
    const size_t unit = std::min(std::max<size_t>(step, 1), units) - 1;
    return {number / std::pow(factor, static_cast<double>(unit)), unit};
}

std::string allocationsText(int64_t allocations)
{
    constexpr std::array<std::string_view, 6> kUnits{"", " k", " M", " G", " T", " P"};
    const auto [value, unit] = scaled(allocations, kUnits.size(), 1000);
    if (unit == 0) return fmt::format("{} {}: ", allocations, allocations == 1 ? "allocation" : "allocations");
    return fmt::format("{:.2f}{} allocations: ", value, kUnits[unit]);
}

} // namespace

std::string juliaBytesText(int64_t bytes)
{
    constexpr std::array<std::string_view, 6> kUnits{"byte", "KiB", "MiB", "GiB", "TiB", "PiB"};
    const auto [value, unit] = scaled(bytes, kUnits.size(), 1024);
    if (unit == 0) return fmt::format("{} {}", bytes, bytes == 1 ? "byte" : "bytes");
    return fmt::format("{:.3f} {}", value, kUnits[unit]);
}

std::string juliaTimeText(const JuliaTime& time, std::string_view label, const JuliaTimeWords& words)
{
    const std::string seconds = fmt::format("{:.6f}", time.elapsed / 1e9);
    std::string text = label.empty() ? fmt::format("{:>10} seconds", seconds) : fmt::format("{}: {} seconds", label, seconds);
    std::string details;
    const auto append = [&](std::string_view part) {
        if (!details.empty()) details += ", ";
        details += part;
    };
    if (time.bytes != 0 || time.allocations != 0) append(allocationsText(time.allocations) + juliaBytesText(time.bytes));
    if (time.collection > 0) append(fmt::format("{:.2f}% {}", 100 * time.collection / time.elapsed, words.collection));
    if (time.lockConflicts > 0) append(fmt::format("{} lock conflict{}", time.lockConflicts, time.lockConflicts == 1 ? "" : "s"));
    if (time.compilation > 0) append(fmt::format("{:.2f}% {}", 100 * time.compilation / time.elapsed, words.compilation));
    if (time.recompilation > 0) {
        const double share = 100 * time.recompilation / time.compilation;
        details += share < 1 ? std::string(": <1") : fmt::format(": {:.0f}", share);
        details += "% of which was recompilation";
    }
    if (!details.empty()) text += " (" + details + ")";
    return text;
}

} // namespace stepscope::present
