#include "core/present/axis.h"

#include <QtTest>

#include <cmath>
#include <limits>
#include <set>

using namespace stepscope::present;

class TestAxis : public QObject {
    Q_OBJECT
private slots:
    void ticksAreMultiplesOfOneTwoOrFive_data();
    void ticksAreMultiplesOfOneTwoOrFive();
    void ticksAreExact();
    void logarithmicTicksFallOnDecades();
    void lessThanADecadeGetsLinearTicks();
    void labelsOfOneAxisDiffer_data();
    void labelsOfOneAxisDiffer();
    void numbersOfThingsHaveDecimalsWhereTheyNeedThem();
    void oddRangesGiveNoEndlessLoop();
};

void TestAxis::ticksAreMultiplesOfOneTwoOrFive_data()
{
    QTest::addColumn<double>("low");
    QTest::addColumn<double>("high");
    QTest::addColumn<int>("maximum");
    QTest::newRow("unit") << 0.0 << 1.0 << 5;
    QTest::newRow("steps of LeNet") << 1.83e6 << 2.41e6 << 8;
    QTest::newRow("negative") << -7.0 << 13.0 << 6;
    QTest::newRow("huge offset") << 3599999999900.0 << 3600000000000.0 << 10;
    QTest::newRow("one tick") << 0.0 << 9.0 << 1;
}

void TestAxis::ticksAreMultiplesOfOneTwoOrFive()
{
    QFETCH(double, low);
    QFETCH(double, high);
    QFETCH(int, maximum);
    const std::vector<double> ticks = niceTicks(low, high, maximum);
    QVERIFY(!ticks.empty());
    QVERIFY(static_cast<int>(ticks.size()) <= maximum);
    for (const double tick : ticks)
        QVERIFY(tick >= low - 1e-6 && tick <= high + 1e-6);
    if (ticks.size() < 2) return;
    const double step = ticks[1] - ticks[0];
    const double mantissa = step / std::pow(10.0, std::floor(std::log10(step) + 1e-6));
    QVERIFY(std::abs(mantissa - 1) < 1e-3 || std::abs(mantissa - 2) < 1e-3 || std::abs(mantissa - 5) < 1e-3);
}

void TestAxis::ticksAreExact()
{
    QCOMPARE(niceTicks(0, 1, 5), (std::vector<double>{0, 0.5, 1}));
    QCOMPARE(niceTicks(0, 100, 11), (std::vector<double>{0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100}));
    QCOMPARE(niceTicks(3, 17, 4), (std::vector<double>{5, 10, 15}));
    QCOMPARE(niceTicks(4, 4, 5), (std::vector<double>{4}));
}

void TestAxis::logarithmicTicksFallOnDecades()
{
    QCOMPARE(niceLogTicks(1, 100, 7), (std::vector<double>{1, 2, 5, 10, 20, 50, 100}));
    QCOMPARE(niceLogTicks(1, 100, 4), (std::vector<double>{1, 10, 100}));
    QVERIFY(niceLogTicks(1, 1e12, 4).size() <= 4);
    QVERIFY(niceLogTicks(0, 10, 4).empty());
}

void TestAxis::lessThanADecadeGetsLinearTicks()
{
    QCOMPARE(niceLogTicks(2.5, 4, 4), (std::vector<double>{2.5, 3, 3.5, 4}));
    // 1 to 4: log10(2 / 1.5) = 0.125 is more than a sixth of log10(4) = 0.602, log10(4 / 3) = 0.125 as well.
    QCOMPARE(niceLogTicks(1, 4, 6), (std::vector<double>{1, 1.5, 2, 3, 4}));
}

void TestAxis::labelsOfOneAxisDiffer_data()
{
    QTest::addColumn<QList<double>>("ticks");
    QTest::addColumn<QStringList>("labels");
    QTest::newRow("ms") << QList<double>{0, 500000, 1000000, 1500000} << QStringList{"0.0 ms", "0.5 ms", "1.0 ms", "1.5 ms"};
    QTest::newRow("µs") << QList<double>{10000, 20000} << QStringList{"10 µs", "20 µs"};
    QTest::newRow("ns") << QList<double>{0, 200, 400} << QStringList{"0 ns", "200 ns", "400 ns"};
    QTest::newRow("ns near an hour") << QList<double>{3599999999910, 3599999999920}
                                     << QStringList{"3599.99999991 s", "3599.99999992 s"};
}

void TestAxis::labelsOfOneAxisDiffer()
{
    QFETCH(QList<double>, ticks);
    QFETCH(QStringList, labels);
    QStringList found;
    for (const std::string& label : timeTickLabels({ticks.begin(), ticks.end()}))
        found << QString::fromStdString(label);
    QCOMPARE(found, labels);
}

void TestAxis::numbersOfThingsHaveDecimalsWhereTheyNeedThem()
{
    using Labels = std::vector<std::string>;
    QCOMPARE(countTickLabels({0, 500, 1000, 1500}), (Labels{"0", "500", "1_000", "1_500"}));
    QCOMPARE(countTickLabels({0, 0.5, 1, 1.5, 2}), (Labels{"0.0", "0.5", "1.0", "1.5", "2.0"}));
    QCOMPARE(countTickLabels({1.25, 1.3}), (Labels{"1.25", "1.30"}));
    QCOMPARE(countTickLabels({2}), (Labels{"2"}));
    QCOMPARE(countTickLabels({}), Labels());
}

void TestAxis::oddRangesGiveNoEndlessLoop()
{
    const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
    QVERIFY(niceTicks(0, inf, 5).empty());
    QVERIFY(niceTicks(nan, 1, 5).empty());
    QVERIFY(niceTicks(5, 1, 5).empty());
    QVERIFY(niceTicks(0, 1, 0).empty());
    QCOMPARE(niceTicks(1e300, 1e300 * (1 + 1e-15), 5).size(), size_t{1});
    QVERIFY(niceTicks(-1e308, 1e308, 5).size() <= 5);
    QVERIFY(niceTicks(0, 5e-324, 5).size() <= 5);
    QVERIFY(timeTickLabels({}).empty());
}

QTEST_GUILESS_MAIN(TestAxis)
#include "tst_axis.moc"
