#include "core/stats/estimators.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stepscope::stats {

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

double sumOf(std::span<const double> values)
{
    // Neumaier's compensated sum: step times of very different size must not lose the small ones.
    double sum = 0, lost = 0;
    for (const double v : values) {
        const double next = sum + v;
        lost += std::abs(sum) >= std::abs(v) ? (sum - next) + v : (v - next) + sum;
        sum = next;
    }
    return sum + lost;
}

} // namespace

double mean(std::span<const double> values)
{
    if (values.empty()) return kNan;
    return sumOf(values) / static_cast<double>(values.size());
}

double standardDeviation(std::span<const double> values)
{
    if (values.empty()) return kNan;
    if (values.size() == 1) return 0;
    const double centre = mean(values);
    double squares = 0;
    for (const double v : values)
        squares += (v - centre) * (v - centre);
    return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

double quantile(std::span<const double> ascending, double p)
{
    if (ascending.empty() || std::isnan(p)) return kNan;
    const double position = std::clamp(p, 0.0, 1.0) * static_cast<double>(ascending.size() - 1);
    const auto below = static_cast<size_t>(position);
    if (below + 1 >= ascending.size()) return ascending.back();
    const double fraction = position - static_cast<double>(below);
    return ascending[below] + fraction * (ascending[below + 1] - ascending[below]);
}

double median(std::vector<double> values)
{
    if (values.empty()) return kNan;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    return *std::max_element(values.begin(), middle) / 2 + *middle / 2;
}

double medianWithZeros(std::vector<int64_t>& values, int64_t zeros)
{
    const int64_t n = static_cast<int64_t>(values.size()) + zeros;
    if (n == 0) return kNan;
    // The zeros are the smallest, so order statistic k of all is order statistic k - zeros of the values.
    const auto at = [&](int64_t k) -> double {
        if (k < zeros) return 0;
        const auto place = values.begin() + static_cast<std::ptrdiff_t>(k - zeros);
        std::nth_element(values.begin(), place, values.end());
        return static_cast<double>(*place);
    };
    if (n % 2 == 1) return at(n / 2);
    const double upper = at(n / 2);
    return at(n / 2 - 1) / 2 + upper / 2;
}

Summary summarise(std::vector<double> values)
{
    Summary s;
    s.count = static_cast<int64_t>(values.size());
    s.mean = mean(values);
    s.deviation = standardDeviation(values);
    std::sort(values.begin(), values.end());
    s.min = values.empty() ? kNan : values.front();
    s.max = values.empty() ? kNan : values.back();
    s.p25 = quantile(values, 0.25);
    s.median = quantile(values, 0.5);
    s.p75 = quantile(values, 0.75);
    s.p90 = quantile(values, 0.9);
    s.p99 = quantile(values, 0.99);
    return s;
}

} // namespace stepscope::stats
