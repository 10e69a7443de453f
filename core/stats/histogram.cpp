#include "core/stats/histogram.h"

#include "core/stats/estimators.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stepscope::stats {

namespace {

std::vector<double> ascendingFinite(std::span<const double> values)
{
    std::vector<double> sorted;
    sorted.reserve(values.size());
    for (const double v : values)
        if (std::isfinite(v)) sorted.push_back(v);
    std::sort(sorted.begin(), sorted.end());
    return sorted;
}

bool wantsLogarithm(const std::vector<double>& sorted, BinScale scale)
{
    if (scale == BinScale::linear || sorted.front() <= 0) return false;
    if (scale == BinScale::logarithmic) return true;
    return quantile(sorted, 0.99) > 3 * quantile(sorted, 0.5);
}

// max(Freedman-Diaconis, Sturges), clamped, on ascending values that are already transformed.
int binCount(std::span<const double> x, const HistogramOptions& options)
{
    const int low = std::max(1, options.minBins);
    const int high = std::max(low, options.maxBins);
    const double n = static_cast<double>(x.size());
    const double range = x.back() - x.front();
    const double iqr = quantile(x, 0.75) - quantile(x, 0.25);
    if (!(range > 0) || !(iqr > 0)) return low;
    const double width = 2 * iqr / std::cbrt(n);
    const double sturges = std::ceil(std::log2(n)) + 1;
    const double wanted = std::max(std::ceil(range / width), sturges);
    return static_cast<int>(std::clamp(wanted, static_cast<double>(low), static_cast<double>(high)));
}

// Edges from low to high, equal in t or in ln t; fewer than `bins` where they would be narrower than the clock.
std::vector<double> makeEdges(double low, double high, int bins, bool logarithmic, double smallest)
{
    if (!(high > low)) { // all values equal: a single bin around them
        const double width = smallest > 0 ? smallest : 1;
        return {low, low + width};
    }
    if (smallest > 0) {
        const double narrowest = logarithmic ? low * std::expm1(std::log(high / low) / bins) : (high - low) / bins;
        if (narrowest < smallest) {
            // On a logarithmic scale the first bin is the narrowest: low * (ratio - 1) >= smallest.
            const double fit = logarithmic ? std::log(high / low) / std::log1p(smallest / low) : (high - low) / smallest;
            bins = std::max(1, static_cast<int>(std::min(fit, static_cast<double>(bins))));
        }
    }
    std::vector<double> edges;
    edges.reserve(static_cast<size_t>(bins) + 1);
    for (int i = 0; i <= bins; ++i) {
        const double f = static_cast<double>(i) / bins;
        edges.push_back(logarithmic ? low * std::exp(f * std::log(high / low)) : low + f * (high - low));
    }
    edges.back() = high;
    return edges;
}

} // namespace

Histogram makeHistogram(std::span<const double> values, const HistogramOptions& options)
{
    Histogram histogram;
    std::vector<double> sorted = ascendingFinite(values);
    if (sorted.empty()) return histogram;
    histogram.logarithmic = wantsLogarithm(sorted, options.scale);

    const double top = options.fullRange ? sorted.back() : quantile(sorted, 0.99);
    const auto inside = static_cast<size_t>(std::upper_bound(sorted.begin(), sorted.end(), top) - sorted.begin());
    std::vector<double> x(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(inside));
    if (histogram.logarithmic)
        for (double& v : x)
            v = std::log(v);
    const int bins = binCount(x, options);
    const std::vector<double> edges = makeEdges(sorted.front(), top, bins, histogram.logarithmic, options.smallestBin);

    for (size_t i = 0; i + 1 < edges.size(); ++i)
        histogram.bins.push_back(Bin{edges[i], edges[i + 1], 0, 0});
    for (const double v : sorted) {
        ++histogram.count;
        histogram.sum += v;
        const int64_t bin = binOf(histogram, v);
        Bin& target = bin < static_cast<int64_t>(histogram.bins.size()) ? histogram.bins[static_cast<size_t>(bin)] : histogram.overflow;
        ++target.count;
        target.sum += v;
    }
    if (histogram.overflow.count > 0) {
        histogram.overflow.low = histogram.bins.back().high;
        histogram.overflow.high = sorted.back();
    }
    return histogram;
}

int64_t binOf(const Histogram& histogram, double value)
{
    const std::vector<Bin>& bins = histogram.bins;
    if (bins.empty() || !(value >= bins.front().low)) return -1;
    if (value > bins.back().high) return static_cast<int64_t>(bins.size());
    const auto after = std::upper_bound(bins.begin(), bins.end(), value, [](double v, const Bin& bin) { return v < bin.low; });
    return static_cast<int64_t>(after - bins.begin()) - 1;
}

} // namespace stepscope::stats
