#include "core/present/histogram_layout.h"

#include <QtTest>

#include <cmath>

using namespace stepscope;
using namespace stepscope::present;

class TestHistogramLayout : public QObject {
    Q_OBJECT
private slots:
    void barsFillThePlotByCount();
    void marksStandAtTheirDurations();
    void theOverflowHasRoomOfItsOwn();
    void hitFindsTheColumn();
    void brushingGivesDurations();
    void logarithmicBinsAreEquallyWide();
    void ticksLieWithinThePlot();
    void hoverCountsSteps();
    void nothingAndNoRoomGiveNoBars();
};

namespace {

// Bins of 10 from 100 to 200 with the counts 1..10, no overflow.
stats::Histogram tenBins()
{
    stats::Histogram h;
    for (int i = 0; i < 10; ++i) {
        h.bins.push_back({100.0 + 10 * i, 110.0 + 10 * i, i + 1, (i + 1) * (105.0 + 10 * i)});
        h.count += i + 1;
        h.sum += h.bins.back().sum;
    }
    return h;
}

HistogramViewport viewport()
{
    HistogramViewport view;
    view.width = 1100;
    view.height = 150;
    view.left = 50;
    view.right = 50;
    view.top = 20;
    view.bottom = 30;
    return view;
}

stats::Summary marks(double median, double p99)
{
    stats::Summary s;
    s.median = median;
    s.p99 = p99;
    return s;
}

} // namespace

void TestHistogramLayout::barsFillThePlotByCount()
{
    const HistogramLayout layout = layoutHistogram(tenBins(), marks(150, 199), viewport());
    QCOMPARE(layout.bars.size(), size_t{10});
    for (int i = 0; i < 10; ++i) {
        const HistogramBar& bar = layout.bars[static_cast<size_t>(i)];
        QVERIFY(std::abs(bar.x - (50 + 100 * i)) < 1e-9);
        QVERIFY(std::abs(bar.w - 100) < 1e-9);
        QVERIFY(std::abs(bar.h - 10 * (i + 1)) < 1e-9);
        QVERIFY(std::abs(bar.y + bar.h - 120) < 1e-9);
        QCOMPARE(bar.bin, int64_t{i});
    }
}

void TestHistogramLayout::marksStandAtTheirDurations()
{
    const HistogramLayout layout = layoutHistogram(tenBins(), marks(150, 199), viewport());
    QCOMPARE(layout.marks.size(), size_t{2});
    QVERIFY(std::abs(layout.marks[0].x - 550) < 1e-9);
    QVERIFY(std::abs(layout.marks[1].x - 1040) < 1e-9);
    QCOMPARE(layout.marks[0].label, std::string("median 150 ns"));
    QCOMPARE(layout.marks[1].label, std::string("p99 199 ns"));
    QVERIFY(!layout.marks[1].clipped);
    QCOMPARE(layoutHistogram(tenBins(), marks(std::nan(""), 199), viewport()).marks.size(), size_t{1});
}

void TestHistogramLayout::theOverflowHasRoomOfItsOwn()
{
    stats::Histogram h = tenBins();
    h.overflow = {200, 5000, 3, 9000};
    const HistogramLayout layout = layoutHistogram(h, marks(150, 700), viewport());
    QCOMPARE(layout.bars.size(), size_t{11});
    const HistogramBar& last = layout.bars.back();
    QVERIFY(last.overflow);
    QVERIFY(last.x > layout.barsRight);
    QVERIFY(std::abs(last.x + last.w - 1050) < 1e-9);
    QVERIFY(std::abs(last.h - 30) < 1e-9);
    QVERIFY(layout.marks[1].clipped);
    QVERIFY(layout.marks[1].x >= last.x && layout.marks[1].x <= last.x + last.w);
}

void TestHistogramLayout::hitFindsTheColumn()
{
    stats::Histogram h = tenBins();
    h.bins[4].count = 0;
    const HistogramLayout layout = layoutHistogram(h, marks(150, 199), viewport());
    QCOMPARE(hit(layout, 51, 25)->bin, int64_t{0}); // above the bar, within its column
    QCOMPARE(hit(layout, 649, 25)->bin, int64_t{5});
    QVERIFY(hit(layout, 500, 25) == nullptr); // an empty bin
    QVERIFY(hit(layout, 49, 25) == nullptr);
    QVERIFY(hit(layout, 60, 10) == nullptr);
}

void TestHistogramLayout::brushingGivesDurations()
{
    stats::Histogram h = tenBins();
    HistogramLayout layout = layoutHistogram(h, marks(150, 199), viewport());
    DurationRange range = durationsBetween(layout, h, 550, 150);
    QVERIFY(std::abs(range.low - 110) < 1e-9 && std::abs(range.high - 150) < 1e-9);
    range = durationsBetween(layout, h, -100, 5000);
    QVERIFY(std::abs(range.low - 100) < 1e-9 && std::abs(range.high - 200) < 1e-9);
    h.overflow = {200, 5000, 3, 9000};
    layout = layoutHistogram(h, marks(150, 199), viewport());
    QCOMPARE(durationsBetween(layout, h, 500, 1049).high, 5000.0);
}

void TestHistogramLayout::logarithmicBinsAreEquallyWide()
{
    stats::Histogram h;
    h.logarithmic = true;
    for (int i = 0; i < 4; ++i)
        h.bins.push_back({std::pow(10.0, i), std::pow(10.0, i + 1), 5, 1});
    h.count = 20;
    const HistogramLayout layout = layoutHistogram(h, marks(100, 5000), viewport());
    for (const HistogramBar& bar : layout.bars)
        QVERIFY(std::abs(bar.w - 250) < 1e-6);
    QVERIFY(std::abs(layout.marks[0].x - 550) < 1e-6);
    const DurationRange range = durationsBetween(layout, h, 300, 800);
    QVERIFY(std::abs(range.low - 10) < 1e-6 && std::abs(range.high - 1000) < 1e-6);
}

void TestHistogramLayout::ticksLieWithinThePlot()
{
    const HistogramLayout layout = layoutHistogram(tenBins(), marks(150, 199), viewport());
    QVERIFY(layout.xTicks.size() >= 2);
    QVERIFY(layout.yTicks.size() >= 2);
    for (const Tick& tick : layout.xTicks)
        QVERIFY(tick.position >= 50 && tick.position <= 1050);
    for (const Tick& tick : layout.yTicks)
        QVERIFY(tick.position >= 20 && tick.position <= 120);
    QCOMPARE(layout.xTicks.front().label, std::string("100 ns"));
    QCOMPARE(layout.yTicks.front().label, std::string("0"));
}

void TestHistogramLayout::hoverCountsSteps()
{
    stats::Histogram h = tenBins();
    const FlameDetails details = histogramDetails(h, 9);
    QCOMPARE(details.name, std::string("190 ns to 200 ns"));
    QCOMPARE(details.fields[0].value, std::string("10"));
    QCOMPARE(details.fields[1].value, std::string("18.2 %")); // 10 of 55
    QVERIFY(histogramDetails(h, 11).fields.empty());
    QVERIFY(histogramDetails(h, -1).fields.empty());
    h.overflow = {200, 5000, 3, 9000};
    QCOMPARE(histogramDetails(h, 10).name, std::string("more than 200 ns"));
}

void TestHistogramLayout::nothingAndNoRoomGiveNoBars()
{
    QVERIFY(layoutHistogram({}, marks(1, 2), viewport()).bars.empty());
    HistogramViewport narrow = viewport();
    narrow.width = 60;
    QVERIFY(layoutHistogram(tenBins(), marks(1, 2), narrow).bars.empty());
    QVERIFY(hit(layoutHistogram({}, {}, viewport()), 100, 50) == nullptr);
    QCOMPARE(durationsBetween(layoutHistogram({}, {}, viewport()), {}, 1, 2).high, 0.0);
}

QTEST_GUILESS_MAIN(TestHistogramLayout)
#include "tst_histogram_layout.moc"
