#include "core/stats/histogram.h"

#include <QtTest>

#include <cmath>
#include <limits>
#include <random>

using namespace stepscope::stats;

class TestHistogram : public QObject {
    Q_OBJECT
private slots:
    void everySampleIsCountedOnce_data();
    void everySampleIsCountedOnce();
    void freedmanDiaconisDecidesTheNumberOfBins();
    void equalValuesShareOneBin();
    void aLongTailTurnsTheScaleLogarithmic();
    void samplesBeyondTheLastPercentileOverflow();
    void noBinIsNarrowerThanTheClock();
    void nothingGivesNoBins();
    void valuesThatAreNotFiniteAreLeftOut();
    void binOfFindsTheBinThatCounted();
};

namespace {

std::vector<double> uniform(int n)
{
    std::vector<double> values;
    for (int i = 0; i < n; ++i)
        values.push_back(1000.0 + i);
    return values;
}

int64_t counted(const Histogram& h)
{
    int64_t n = h.overflow.count;
    for (const Bin& bin : h.bins)
        n += bin.count;
    return n;
}

} // namespace

void TestHistogram::everySampleIsCountedOnce_data()
{
    QTest::addColumn<int>("scale");
    QTest::addColumn<bool>("full");
    for (const int scale : {0, 1, 2})
        for (const bool full : {false, true})
            QTest::addRow("scale %d full %d", scale, full) << scale << full;
}

void TestHistogram::everySampleIsCountedOnce()
{
    QFETCH(int, scale);
    QFETCH(bool, full);
    std::mt19937 generator(7);
    std::lognormal_distribution<double> distribution(12, 1.5);
    std::vector<double> values;
    double sum = 0;
    for (int i = 0; i < 5000; ++i) {
        values.push_back(distribution(generator));
        sum += values.back();
    }
    HistogramOptions options;
    options.scale = static_cast<BinScale>(scale);
    options.fullRange = full;
    const Histogram h = makeHistogram(values, options);
    QCOMPARE(counted(h), int64_t{5000});
    QCOMPARE(h.count, int64_t{5000});
    QVERIFY(std::abs(h.sum - sum) < 1e-6 * sum);
    double binned = h.overflow.sum;
    for (size_t i = 0; i < h.bins.size(); ++i) {
        binned += h.bins[i].sum;
        QVERIFY(h.bins[i].low < h.bins[i].high);
        if (i > 0) QCOMPARE(h.bins[i].low, h.bins[i - 1].high);
    }
    QVERIFY(std::abs(binned - sum) < 1e-6 * sum);
    QVERIFY(h.bins.size() <= 200);
    if (full) QCOMPARE(h.overflow.count, int64_t{0});
}

void TestHistogram::freedmanDiaconisDecidesTheNumberOfBins()
{
    // 1000 equally spaced values, IQR 499.5 of range 999: h = 2 * 499.5 / 10 = 99.9, so 10 bins; Sturges says 11.
    HistogramOptions options;
    options.fullRange = true;
    options.minBins = 1;
    QCOMPARE(makeHistogram(uniform(1000), options).bins.size(), size_t{11});
    // 8000 values: h = 2 * IQR / 20 with IQR half the range gives 20 bins, Sturges 14.
    QCOMPARE(makeHistogram(uniform(8000), options).bins.size(), size_t{20});
    options.minBins = 20;
    QCOMPARE(makeHistogram(uniform(1000), options).bins.size(), size_t{20});
    options.maxBins = 25;
    // 64000 values: h = 2 * IQR / 40: 40 bins, more than allowed.
    QCOMPARE(makeHistogram(uniform(64000), options).bins.size(), size_t{25});
}

void TestHistogram::equalValuesShareOneBin()
{
    const Histogram h = makeHistogram(std::vector<double>(17, 500.0));
    QCOMPARE(h.bins.size(), size_t{1});
    QCOMPARE(h.bins[0].count, int64_t{17});
    QVERIFY(h.bins[0].high > h.bins[0].low);
}

void TestHistogram::aLongTailTurnsTheScaleLogarithmic()
{
    std::vector<double> values(900, 1000.0);
    for (int i = 0; i < 100; ++i)
        values.push_back(1000.0 + 100.0 * i); // p99 is far above 3 * p50
    values[0] = 900;
    QVERIFY(makeHistogram(values).logarithmic);
    QVERIFY(!makeHistogram(uniform(1000)).logarithmic);
    HistogramOptions options;
    options.scale = BinScale::logarithmic;
    options.fullRange = true;
    const Histogram h = makeHistogram(values, options);
    const double ratio = h.bins[0].high / h.bins[0].low;
    QVERIFY(ratio > 1);
    for (const Bin& bin : h.bins)
        QVERIFY(std::abs(bin.high / bin.low - ratio) < 1e-9 * ratio);
}

void TestHistogram::samplesBeyondTheLastPercentileOverflow()
{
    std::vector<double> values = uniform(1000);
    values.back() = 1e9;
    const Histogram h = makeHistogram(values);
    // p99 of 1000 values lies at position 989.01, so the last ten samples are above it.
    QCOMPARE(h.overflow.count, int64_t{10});
    QCOMPARE(h.overflow.high, 1e9);
    QCOMPARE(h.overflow.low, h.bins.back().high);
}

void TestHistogram::noBinIsNarrowerThanTheClock()
{
    std::vector<double> values;
    for (int i = 0; i < 3000; ++i)
        values.push_back(100.0 + (i % 6)); // ticks of 1 ns
    const Histogram h = makeHistogram(values);
    QCOMPARE(h.bins.size(), size_t{5});
    for (const Bin& bin : h.bins)
        QVERIFY(bin.high - bin.low >= 1);
}

void TestHistogram::nothingGivesNoBins()
{
    const Histogram h = makeHistogram({});
    QVERIFY(h.bins.empty());
    QCOMPARE(h.count, int64_t{0});
    QCOMPARE(binOf(h, 3), int64_t{-1});
}

void TestHistogram::valuesThatAreNotFiniteAreLeftOut()
{
    const double inf = std::numeric_limits<double>::infinity();
    const Histogram h = makeHistogram(std::vector<double>{1, 2, std::nan(""), inf, -inf, 3});
    QCOMPARE(h.count, int64_t{3});
    HistogramOptions options;
    options.scale = BinScale::logarithmic;
    QVERIFY(!makeHistogram(std::vector<double>{0, 1, 2, 3}, options).logarithmic);
}

void TestHistogram::binOfFindsTheBinThatCounted()
{
    const Histogram h = makeHistogram(uniform(1000));
    QCOMPARE(binOf(h, h.bins[3].low), int64_t{3});
    QCOMPARE(binOf(h, (h.bins[3].low + h.bins[3].high) / 2), int64_t{3});
    QCOMPARE(binOf(h, h.bins.back().high), static_cast<int64_t>(h.bins.size()) - 1);
    QCOMPARE(binOf(h, h.bins.back().high + 1), static_cast<int64_t>(h.bins.size()));
    QCOMPARE(binOf(h, h.bins.front().low - 1), int64_t{-1});
    QCOMPARE(binOf(h, std::nan("")), int64_t{-1});
}

QTEST_GUILESS_MAIN(TestHistogram)
#include "tst_histogram.moc"
