#include "core/stats/estimators.h"

#include <QtTest>

#include <cmath>

using namespace stepscope::stats;

class TestEstimators : public QObject {
    Q_OBJECT
private slots:
    void quantilesFollowDefinitionSeven_data();
    void quantilesFollowDefinitionSeven();
    void medianOfAnEvenNumberIsTheMiddle();
    void medianOfAnOddNumberIsAnElement();
    void meanAndDeviationOfOneToHundred();
    void meanKeepsSmallValuesBesideHugeOnes();
    void summaryOfOneToHundred();
    void zerosCountAsSamplesOfTheMedian_data();
    void zerosCountAsSamplesOfTheMedian();
    void emptyInputGivesNan();
};

void TestEstimators::quantilesFollowDefinitionSeven_data()
{
    // R: quantile(c(1, 2, 4, 8, 16), p, type = 7); numpy.percentile agrees.
    QTest::addColumn<double>("p");
    QTest::addColumn<double>("expected");
    QTest::newRow("0") << 0.0 << 1.0;
    QTest::newRow("0.1") << 0.1 << 1.4;
    QTest::newRow("0.25") << 0.25 << 2.0;
    QTest::newRow("0.5") << 0.5 << 4.0;
    QTest::newRow("0.9") << 0.9 << 12.8;
    QTest::newRow("1") << 1.0 << 16.0;
    QTest::newRow("below the range") << -3.0 << 1.0;
    QTest::newRow("above the range") << 7.0 << 16.0;
}

void TestEstimators::quantilesFollowDefinitionSeven()
{
    QFETCH(double, p);
    QFETCH(double, expected);
    const std::vector<double> values{1, 2, 4, 8, 16};
    QVERIFY(std::abs(quantile(values, p) - expected) < 1e-12);
}

void TestEstimators::medianOfAnEvenNumberIsTheMiddle()
{
    QCOMPARE(median({40, 10, 30, 20}), 25.0);
}

void TestEstimators::medianOfAnOddNumberIsAnElement()
{
    QCOMPARE(median({5, 1, 9}), 5.0);
}

void TestEstimators::meanAndDeviationOfOneToHundred()
{
    // 1..100: mean 101/2, variance with n - 1 is 100 * 101 / 12.
    std::vector<double> values;
    for (int i = 1; i <= 100; ++i)
        values.push_back(i);
    QCOMPARE(mean(values), 50.5);
    QVERIFY(std::abs(standardDeviation(values) - std::sqrt(100.0 * 101.0 / 12.0)) < 1e-12);
    QCOMPARE(standardDeviation(std::vector<double>{3}), 0.0);
}

void TestEstimators::meanKeepsSmallValuesBesideHugeOnes()
{
    QCOMPARE(mean(std::vector<double>{1e18, 1, -1e18, 3}), 1.0);
}

void TestEstimators::summaryOfOneToHundred()
{
    std::vector<double> values;
    for (int i = 100; i >= 1; --i)
        values.push_back(i);
    const Summary s = summarise(values);
    QCOMPARE(s.count, int64_t{100});
    QCOMPARE(s.min, 1.0);
    QCOMPARE(s.max, 100.0);
    QCOMPARE(s.p25, 25.75);  // numpy.percentile(range(1, 101), 25)
    QCOMPARE(s.median, 50.5);
    QCOMPARE(s.p75, 75.25);
    QCOMPARE(s.p90, 90.1);
    QCOMPARE(s.p99, 99.01);
}

void TestEstimators::zerosCountAsSamplesOfTheMedian_data()
{
    QTest::addColumn<QList<qint64>>("values");
    QTest::addColumn<qint64>("zeros");
    QTest::newRow("none") << QList<qint64>{7, 3, 5, 9} << qint64{0};
    QTest::newRow("one, odd") << QList<qint64>{7, 3, 5, 9} << qint64{1};
    QTest::newRow("two, even") << QList<qint64>{7, 3, 5, 9} << qint64{2};
    QTest::newRow("half") << QList<qint64>{7, 3, 5, 9} << qint64{4};
    QTest::newRow("most") << QList<qint64>{7, 3} << qint64{5};
    QTest::newRow("only zeros") << QList<qint64>{} << qint64{3};
}

void TestEstimators::zerosCountAsSamplesOfTheMedian()
{
    QFETCH(QList<qint64>, values);
    QFETCH(qint64, zeros);
    std::vector<int64_t> sums(values.begin(), values.end());
    std::vector<double> all(values.begin(), values.end());
    all.resize(all.size() + static_cast<size_t>(zeros), 0.0);
    QCOMPARE(medianWithZeros(sums, zeros), median(all));
}

void TestEstimators::emptyInputGivesNan()
{
    std::vector<int64_t> none;
    QVERIFY(std::isnan(mean({})));
    QVERIFY(std::isnan(median({})));
    QVERIFY(std::isnan(quantile({}, 0.5)));
    QVERIFY(std::isnan(medianWithZeros(none, 0)));
    QVERIFY(std::isnan(summarise({}).p99));
    QCOMPARE(summarise({}).count, int64_t{0});
}

QTEST_GUILESS_MAIN(TestEstimators)
#include "tst_estimators.moc"
