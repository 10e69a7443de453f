// HistogramLayout: bins of step times -> bars, marks and axis ticks; hit test; hover text.
// Owner: core/present. Thread: any; pure functions. Units: logical pixels, y from the top; durations in ns.
#pragma once

#include "core/present/axis.h"
#include "core/present/flame_layout.h"
#include "core/stats/estimators.h"
#include "core/stats/histogram.h"

#include <string>
#include <vector>

namespace stepscope::present {

struct HistogramViewport {
    double width = 0, height = 0;                                 // of the whole widget
    double left = 56, right = 16, top = 24, bottom = 32;          // margins for labels
    double pixelsPerLabel = 64;                                   // room for one label of the x axis
};

struct HistogramBar {
    double x = 0, y = 0, w = 0, h = 0;
    int64_t bin = 0;       // bins.size() is the overflow
    bool overflow = false;
};

struct HistogramMark {
    enum class Kind { median, p99 } kind = Kind::median;
    double x = 0;
    std::string label; // "median 1.234 ms"
    bool clipped = false; // lies in the overflow bar
};

struct HistogramLayout {
    HistogramViewport viewport;
    std::vector<HistogramBar> bars;   // empty bins have none; ascending; the overflow last
    std::vector<HistogramMark> marks;
    std::vector<Tick> xTicks, yTicks;
    double plotLeft = 0, plotTop = 0, plotRight = 0, plotBottom = 0;
    double barsRight = 0;             // where the bins end and the room of the overflow bar begins
};

HistogramLayout layoutHistogram(const stats::Histogram& histogram, const stats::Summary& summary, const HistogramViewport& viewport);

// Bar of the column under x (any y within the plot); null when there is none.
const HistogramBar* hit(const HistogramLayout& layout, double x, double y);
// Durations between two x positions of the plot, for brushing. Past the last bin: up to the maximum.
struct DurationRange {
    double low = 0, high = 0;
};
DurationRange durationsBetween(const HistogramLayout& layout, const stats::Histogram& histogram, double x1, double x2);
// Range, count, share, share of the total time.
FlameDetails histogramDetails(const stats::Histogram& histogram, int64_t bin);

} // namespace stepscope::present
