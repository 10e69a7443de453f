// Estimators over samples: mean, deviation, median and quantiles.
// Owner: core/stats. Thread: any; pure functions. Units: those of the samples. No sample: NaN.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace stepscope::stats {

double mean(std::span<const double> values);
// With n - 1 in the denominator; 0 for a single sample.
double standardDeviation(std::span<const double> values);

// Quantile of ascending values by linear interpolation between the order statistics (definition 7 of Hyndman and Fan,
// the default of numpy, R and Julia): position p * (n - 1). p is clamped to 0..1.
double quantile(std::span<const double> ascending, double p);
// Quantile 1/2; for an even number a/2 + b/2 of the two middle values. Takes a copy because it reorders.
double median(std::vector<double> values);
// Median of `values` together with `zeros` further samples of 0; no value may be negative. For sums per step where
// most steps have none. Reorders `values`.
double medianWithZeros(std::vector<int64_t>& values, int64_t zeros);

struct Summary {
    int64_t count = 0;
    double min = 0, max = 0, mean = 0, deviation = 0;
    double p25 = 0, median = 0, p75 = 0, p90 = 0, p99 = 0;
};
// All NaN but the count when there are no values.
Summary summarise(std::vector<double> values);

} // namespace stepscope::stats
