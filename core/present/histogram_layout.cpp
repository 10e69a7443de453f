#include "core/present/histogram_layout.h"

#include "core/present/format.h"

#include <algorithm>
#include <cmath>

namespace stepscope::present {

namespace {

using stats::Histogram;

constexpr double kOverflowGap = 8;
constexpr double kOverflowWidth = 28;

// Duration <-> x within the bins' room.
struct Scale {
    double low = 0, high = 1, left = 0, right = 0;
    bool logarithmic = false;

    double x(double value) const
    {
        const double f = logarithmic ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
        return left + std::clamp(f, 0.0, 1.0) * (right - left);
    }
    double value(double x) const
    {
        const double f = right > left ? std::clamp((x - left) / (right - left), 0.0, 1.0) : 0;
        return logarithmic ? low * std::exp(f * std::log(high / low)) : low + f * (high - low);
    }
};

Scale scaleOf(const Histogram& histogram, double left, double right)
{
    return {histogram.bins.front().low, histogram.bins.back().high, left, right, histogram.logarithmic};
}

void addTicks(const Histogram& histogram, const Scale& scale, int64_t tallest, HistogramLayout& layout)
{
    const double labels = (layout.barsRight - layout.plotLeft) / std::max(1.0, layout.viewport.pixelsPerLabel);
    const int maximum = std::max(2, static_cast<int>(labels));
    const std::vector<double> xs = histogram.logarithmic ? niceLogTicks(scale.low, scale.high, maximum) : niceTicks(scale.low, scale.high, maximum);
    const std::vector<std::string> texts = timeTickLabels(xs);
    for (size_t i = 0; i < xs.size(); ++i)
        layout.xTicks.push_back({xs[i], scale.x(xs[i]), texts[i], true});
    const double height = layout.plotBottom - layout.plotTop;
    for (const double count : niceTicks(0, static_cast<double>(tallest), std::max(2, static_cast<int>(height / 40)))) {
        if (count != std::floor(count)) continue; // no half steps
        const double y = layout.plotBottom - count / static_cast<double>(tallest) * height;
        layout.yTicks.push_back({count, y, formatCount(static_cast<int64_t>(count)), true});
    }
}

void addMark(const Histogram& histogram, const Scale& scale, HistogramMark::Kind kind, double value, HistogramLayout& layout)
{
    if (!std::isfinite(value)) return;
    HistogramMark mark;
    mark.kind = kind;
    mark.clipped = value > scale.high && histogram.overflow.count > 0;
    mark.x = mark.clipped ? (layout.barsRight + kOverflowGap + layout.plotRight) / 2 : scale.x(value);
    mark.label = (kind == HistogramMark::Kind::median ? "median " : "p99 ") + formatTime(value);
    layout.marks.push_back(std::move(mark));
}

} // namespace

HistogramLayout layoutHistogram(const Histogram& histogram, const stats::Summary& summary, const HistogramViewport& viewport)
{
    HistogramLayout layout;
    layout.viewport = viewport;
    layout.plotLeft = viewport.left;
    layout.plotTop = viewport.top;
    layout.plotRight = std::max(viewport.left, viewport.width - viewport.right);
    layout.plotBottom = std::max(viewport.top, viewport.height - viewport.bottom);
    layout.barsRight = layout.plotRight;
    const double width = layout.plotRight - layout.plotLeft, height = layout.plotBottom - layout.plotTop;
    if (histogram.bins.empty() || !(width > 0) || !(height > 0)) return layout;

    const bool overflow = histogram.overflow.count > 0;
    if (overflow) layout.barsRight -= std::min(kOverflowGap + kOverflowWidth, width / 4);
    const Scale scale = scaleOf(histogram, layout.plotLeft, layout.barsRight);
    int64_t tallest = histogram.overflow.count;
    for (const stats::Bin& bin : histogram.bins)
        tallest = std::max(tallest, bin.count);
    const auto bar = [&](int64_t index, int64_t count, double left, double right) {
        if (count == 0) return;
        // A single step beside thousands must still be seen.
        const double h = std::max(1.0, static_cast<double>(count) / static_cast<double>(tallest) * height);
        layout.bars.push_back({left, layout.plotBottom - h, right - left, h, index, index == static_cast<int64_t>(histogram.bins.size())});
    };
    for (size_t i = 0; i < histogram.bins.size(); ++i)
        bar(static_cast<int64_t>(i), histogram.bins[i].count, scale.x(histogram.bins[i].low), scale.x(histogram.bins[i].high));
    const double overflowLeft = std::min(layout.barsRight + kOverflowGap, layout.plotRight - 1);
    bar(static_cast<int64_t>(histogram.bins.size()), histogram.overflow.count, overflowLeft, layout.plotRight);
    addTicks(histogram, scale, std::max<int64_t>(1, tallest), layout);
    addMark(histogram, scale, HistogramMark::Kind::median, summary.median, layout);
    addMark(histogram, scale, HistogramMark::Kind::p99, summary.p99, layout);
    return layout;
}

const HistogramBar* hit(const HistogramLayout& layout, double x, double y)
{
    if (!(y >= layout.plotTop) || !(y <= layout.plotBottom)) return nullptr;
    const auto after = std::upper_bound(layout.bars.begin(), layout.bars.end(), x, [](double at, const HistogramBar& bar) { return at < bar.x; });
    if (after == layout.bars.begin()) return nullptr;
    const HistogramBar& bar = *(after - 1);
    return x < bar.x + bar.w ? &bar : nullptr;
}

DurationRange durationsBetween(const HistogramLayout& layout, const Histogram& histogram, double x1, double x2)
{
    if (histogram.bins.empty()) return {};
    const Scale scale = scaleOf(histogram, layout.plotLeft, layout.barsRight);
    const double left = std::min(x1, x2), right = std::max(x1, x2);
    DurationRange range{scale.value(left), scale.value(right)};
    if (histogram.overflow.count > 0 && right > layout.barsRight) range.high = histogram.overflow.high;
    return range;
}

FlameDetails histogramDetails(const Histogram& histogram, int64_t index)
{
    FlameDetails details;
    const auto bins = static_cast<int64_t>(histogram.bins.size());
    if (index < 0 || index > bins || bins == 0) return details;
    const stats::Bin& bin = index == bins ? histogram.overflow : histogram.bins[static_cast<size_t>(index)];
    details.name = (index == bins ? "more than " : "") + formatTime(bin.low);
    if (index < bins) details.name += " to " + formatTime(bin.high);
    if (index == bins) details.fields.push_back({"largest", formatTime(bin.high)});
    details.fields.push_back({"steps", formatCount(bin.count)});
    if (histogram.count > 0)
        details.fields.push_back({"share of steps", formatShare(static_cast<double>(bin.count) / static_cast<double>(histogram.count))});
    if (histogram.sum > 0) details.fields.push_back({"share of time", formatShare(bin.sum / histogram.sum)});
    return details;
}

} // namespace stepscope::present
