// Histogram bins for durations.
// Owner: core/stats. Thread: any; pure functions. Units: those of the samples.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace stepscope::stats {

enum class BinScale { automatic, linear, logarithmic };

struct HistogramOptions {
    BinScale scale = BinScale::automatic; // automatic: logarithmic when p99 / p50 > 3
    bool fullRange = false;   // false: bins reach from the minimum to p99, the rest is one overflow bin
    double smallestBin = 1;   // no bin is narrower than the clock's resolution
    int minBins = 20;
    int maxBins = 200;
};

struct Bin {
    double low = 0;
    double high = 0;   // exclusive, but for the last bin
    int64_t count = 0;
    double sum = 0;    // of the samples in it, for shares of the total time
};

struct Histogram {
    std::vector<Bin> bins;    // ascending, without gaps; empty without samples
    bool logarithmic = false; // equal widths in ln(t) instead of t
    Bin overflow;             // samples above the last bin; high = the maximum; count 0: none
    int64_t count = 0;        // all samples, overflow included
    double sum = 0;
};

// Number of bins: max(Freedman-Diaconis, Sturges) clamped to minBins..maxBins; an interquartile range of 0 gives
// minBins. Values that are not finite are left out; with values that are not positive the scale is linear.
Histogram makeHistogram(std::span<const double> values, const HistogramOptions& options = {});

// Bin of a value: 0..bins.size() - 1, bins.size() for the overflow, -1 below the range or without bins.
int64_t binOf(const Histogram& histogram, double value);

} // namespace stepscope::stats
