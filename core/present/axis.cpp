#include "core/present/axis.h"

#include "core/present/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <limits>
#include <span>

namespace stepscope::present {

namespace {

bool usable(double low, double high, int maximum) { return std::isfinite(low) && std::isfinite(high) && high >= low && maximum > 0; }

// 1, 2, 5, 10, 20, ... : the smallest of them that is at least `least`.
double niceStep(double least)
{
    const double power = std::pow(10.0, std::floor(std::log10(least)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (factor * power >= least * (1 - 1e-9)) return factor * power;
    return 10 * power;
}

} // namespace

std::vector<double> niceTicks(double low, double high, int maximum)
{
    if (!usable(low, high, maximum)) return {};
    const double range = high - low;
    // Ticks closer than the resolution of the numbers themselves cannot be told apart.
    if (!(range > std::max(std::abs(low), std::abs(high)) * 1e-13)) return {low};
    double step = niceStep(range / maximum);
    for (;; step = niceStep(step * 1.5)) {
        const double first = std::ceil(low / step - 1e-9), last = std::floor(high / step + 1e-9);
        if (last - first + 1 > maximum) continue;
        std::vector<double> ticks;
        for (double i = first; i <= last; ++i)
            ticks.push_back(i * step);
        return ticks;
    }
}

namespace {

// The factors of every decade, densest first; far apart enough on a logarithmic axis to be drawn one by one.
const std::initializer_list<double> kLogFactors[] = {
    {1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9}, {1, 1.5, 2, 3, 4, 5, 7}, {1, 2, 3, 5}, {1, 2, 5}, {1, 3}, {1}};

std::vector<double> logTicks(double low, double high, std::span<const double> factors, int everyDecade)
{
    std::vector<double> ticks;
    const int first = static_cast<int>(std::floor(std::log10(low))), last = static_cast<int>(std::floor(std::log10(high)));
    for (int decade = first; decade <= last; ++decade) {
        if (decade % everyDecade != 0) continue;
        for (const double factor : factors) {
            const double value = factor * std::pow(10.0, decade);
            if (value >= low * (1 - 1e-12) && value <= high * (1 + 1e-12)) ticks.push_back(value);
        }
    }
    return ticks;
}

// True when no two neighbours stand closer than 1 / maximum of the axis.
bool fits(const std::vector<double>& ticks, double low, double high, int maximum)
{
    if (static_cast<int>(ticks.size()) > maximum) return false;
    const double closest = std::log(high / low) / maximum * (1 - 1e-9);
    for (size_t i = 1; i < ticks.size(); ++i)
        if (std::log(ticks[i] / ticks[i - 1]) < closest) return false;
    return true;
}

} // namespace

std::vector<double> niceLogTicks(double low, double high, int maximum)
{
    if (!usable(low, high, maximum) || !(low > 0)) return {};
    const std::vector<double> linear = niceTicks(low, high, maximum);
    const bool narrow = high < 2 * low; // there, linear steps are as good as evenly spaced
    if (narrow) return linear;
    for (const std::initializer_list<double>& factors : kLogFactors) {
        const std::vector<double> ticks = logTicks(low, high, factors, 1);
        if (!ticks.empty() && fits(ticks, low, high, maximum)) return ticks;
    }
    const std::array one{1.0};
    for (int every = 2; every <= 700; ++every) {
        const std::vector<double> ticks = logTicks(low, high, one, every);
        if (!ticks.empty() && static_cast<int>(ticks.size()) <= maximum) return ticks;
    }
    return {linear.empty() ? low : linear.back()};
}

std::vector<std::string> countTickLabels(const std::vector<double>& ticks)
{
    double closest = 1;
    for (size_t i = 1; i < ticks.size(); ++i) closest = std::min(closest, std::abs(ticks[i] - ticks[i - 1]));
    std::vector<std::string> labels;
    for (int decimals = 0; decimals <= 9; ++decimals) {
        labels.clear();
        const double power = std::pow(10.0, decimals);
        bool exact = true;
        for (const double tick : ticks) {
            exact = exact && std::abs(std::round(tick * power) / power - tick) <= closest * 1e-3;
            labels.push_back(decimals == 0 ? formatCount(std::llround(tick)) : fmt::format("{:.{}f}", tick == 0 ? 0 : tick, decimals));
        }
        if (exact) break;
    }
    return labels;
}

std::vector<std::string> timeTickLabels(const std::vector<double>& ticksNs)
{
    struct Unit {
        double scale;
        const char* name;
    };
    static constexpr std::array<Unit, 4> kUnits{{{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}}};
    double largest = 0, closest = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < ticksNs.size(); ++i) {
        largest = std::max(largest, std::abs(ticksNs[i]));
        if (i > 0) closest = std::min(closest, std::abs(ticksNs[i] - ticksNs[i - 1]));
    }
    if (!std::isfinite(closest)) closest = largest;
    const Unit* unit = &kUnits.back();
    for (const Unit& candidate : kUnits) {
        if (largest < candidate.scale * (1 - 1e-9)) continue;
        unit = &candidate;
        break;
    }
    std::vector<std::string> labels;
    for (int decimals = 0; decimals <= 9; ++decimals) {
        labels.clear();
        const double power = std::pow(10.0, decimals);
        bool exact = true;
        for (const double tick : ticksNs) {
            const double value = tick / unit->scale;
            exact = exact && std::abs(std::round(value * power) / power - value) <= closest / unit->scale * 1e-3;
            labels.push_back(fmt::format("{:.{}f} {}", value == 0 ? 0 : value, decimals, unit->name));
        }
        if (exact) break;
    }
    return labels;
}

} // namespace stepscope::present
