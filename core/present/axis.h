// Axis ticks at round numbers.
// Owner: core/present. Thread: any; pure functions. Units: value units in, labels out.
#pragma once

#include <string>
#include <vector>

namespace stepscope::present {

struct Tick {
    double value = 0;
    double position = 0; // pixels
    std::string label;
    bool major = true;
};

// Steps of 1, 2 or 5 times a power of ten, at most `maximum` of them, all within low..high.
std::vector<double> niceTicks(double low, double high, int maximum);
// For logarithmic axes, low > 0: the densest of 1, 1.2 .. 9 / 1, 1.5, 2, 3, 4, 5, 7 / 1, 2, 3, 5 / 1, 2, 5 / 1, 3 / 1 per
// decade whose neighbours are at least 1 / maximum of the axis apart; linear steps for less than a factor of two.
std::vector<double> niceLogTicks(double low, double high, int maximum);
// Labels of numbers of things: "1_000"; with decimals, as many for all, where the ticks are closer than 1: "0.25".
std::vector<std::string> countTickLabels(const std::vector<double>& ticks);
// Labels of durations (ns) on one axis: one common unit with just enough decimals to tell the ticks apart.
std::vector<std::string> timeTickLabels(const std::vector<double>& ticksNs);

} // namespace stepscope::present
