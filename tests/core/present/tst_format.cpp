#include "core/present/format.h"

#include <QtTest>

#include <cmath>
#include <limits>

using namespace stepscope::present;

class TestFormat : public QObject {
    Q_OBJECT
private slots:
    void timesHaveFourSignificantDigits_data();
    void timesHaveFourSignificantDigits();
    void bytesUseBinaryUnits_data();
    void bytesUseBinaryUnits();
    void countsAreGrouped_data();
    void countsAreGrouped();
    void ratesHaveThreeSignificantDigits_data();
    void ratesHaveThreeSignificantDigits();
    void sharesAreNeverRoundedToNothing_data();
    void sharesAreNeverRoundedToNothing();
    void exactTimesShowEveryNanosecond();
};

void TestFormat::timesHaveFourSignificantDigits_data()
{
    QTest::addColumn<double>("ns");
    QTest::addColumn<QString>("text");
    QTest::newRow("zero") << 0.0 << "0 ns";
    QTest::newRow("whole ns") << 850.0 << "850 ns";
    QTest::newRow("half ns") << 1.5 << "1.500 ns";
    QTest::newRow("999.96 ns rounds up") << 999.96 << "1.000 µs";
    QTest::newRow("1 µs") << 1000.0 << "1.000 µs";
    QTest::newRow("12.34 µs") << 12340.0 << "12.34 µs";
    QTest::newRow("1.234 ms") << 1234000.0 << "1.234 ms";
    QTest::newRow("999.999 ms") << 999999000.0 << "1.000 s";
    QTest::newRow("9.9996 ms") << 9999600.0 << "10.00 ms";
    QTest::newRow("123.4 ms") << 123400000.0 << "123.4 ms";
    QTest::newRow("12.35 s") << 12.3456e9 << "12.35 s";
    QTest::newRow("119 s") << 119e9 << "119.0 s";
    QTest::newRow("125 s") << 125e9 << "2 min 05 s";
    QTest::newRow("3 h 7 min") << (3 * 3600 + 7 * 60) * 1e9 << "3 h 07 min";
    QTest::newRow("negative") << -1234000.0 << "-1.234 ms";
    QTest::newRow("not known") << std::nan("") << "—";
    QTest::newRow("infinite") << std::numeric_limits<double>::infinity() << "—";
}

void TestFormat::timesHaveFourSignificantDigits()
{
    QFETCH(double, ns);
    QFETCH(QString, text);
    QCOMPARE(QString::fromStdString(formatTime(ns)), text);
}

void TestFormat::bytesUseBinaryUnits_data()
{
    QTest::addColumn<double>("bytes");
    QTest::addColumn<QString>("text");
    QTest::newRow("0") << 0.0 << "0 B";
    QTest::newRow("1023") << 1023.0 << "1023 B";
    QTest::newRow("1024") << 1024.0 << "1.000 KiB";
    QTest::newRow("177_704, the parameters of LeNet-5") << 177704.0 << "173.5 KiB";
    QTest::newRow("3 MiB") << 3.0 * 1024 * 1024 << "3.000 MiB";
}

void TestFormat::bytesUseBinaryUnits()
{
    QFETCH(double, bytes);
    QFETCH(QString, text);
    QCOMPARE(QString::fromStdString(formatBytes(bytes)), text);
}

void TestFormat::countsAreGrouped_data()
{
    QTest::addColumn<qint64>("count");
    QTest::addColumn<QString>("text");
    QTest::newRow("0") << qint64{0} << "0";
    QTest::newRow("999") << qint64{999} << "999";
    QTest::newRow("44426") << qint64{44426} << "44_426";
    QTest::newRow("million") << qint64{1000000} << "1_000_000";
    QTest::newRow("negative") << qint64{-1234} << "-1_234";
    QTest::newRow("smallest") << std::numeric_limits<qint64>::min() << "-9_223_372_036_854_775_808";
}

void TestFormat::countsAreGrouped()
{
    QFETCH(qint64, count);
    QFETCH(QString, text);
    QCOMPARE(QString::fromStdString(formatCount(count)), text);
}

void TestFormat::ratesHaveThreeSignificantDigits_data()
{
    QTest::addColumn<double>("rate");
    QTest::addColumn<QString>("flop");
    QTest::addColumn<QString>("bytes");
    QTest::newRow("unknown") << 0.0 << "" << "";
    QTest::newRow("mega") << 845e6 << "845 MFLOP/s" << "845 MB/s";
    QTest::newRow("giga") << 1.234e9 << "1.23 GFLOP/s" << "1.23 GB/s";
    QTest::newRow("rounds up a unit") << 999.7e9 << "1.00 TFLOP/s" << "1.00 TB/s";
    QTest::newRow("not a number") << std::nan("") << "" << "";
}

void TestFormat::ratesHaveThreeSignificantDigits()
{
    QFETCH(double, rate);
    QFETCH(QString, flop);
    QFETCH(QString, bytes);
    QCOMPARE(QString::fromStdString(formatFlopRate(rate)), flop);
    QCOMPARE(QString::fromStdString(formatByteRate(rate)), bytes);
}

void TestFormat::sharesAreNeverRoundedToNothing_data()
{
    QTest::addColumn<double>("share");
    QTest::addColumn<QString>("text");
    QTest::newRow("0") << 0.0 << "0.0 %";
    QTest::newRow("tiny") << 0.0004 << "<0.1 %";
    QTest::newRow("half a tenth") << 0.0006 << "0.1 %";
    QTest::newRow("third") << 1.0 / 3 << "33.3 %";
    QTest::newRow("all") << 1.0 << "100.0 %";
    QTest::newRow("unknown") << std::nan("") << "—";
}

void TestFormat::sharesAreNeverRoundedToNothing()
{
    QFETCH(double, share);
    QFETCH(QString, text);
    QCOMPARE(QString::fromStdString(formatShare(share)), text);
}

void TestFormat::exactTimesShowEveryNanosecond()
{
    QCOMPARE(formatTimeExact(3599999999987), std::string("3 599 999 999 987 ns"));
}

QTEST_GUILESS_MAIN(TestFormat)
#include "tst_format.moc"
