#include "ui/state/part_choice.h"

#include <QTest>

using namespace stepscope;

class TestPartChoice : public QObject {
    Q_OBJECT
private slots:
    void timesAreReadDigitByDigit_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<qint64>("ns");
        QTest::newRow("seconds") << "1.5" << qint64{1'500'000'000};
        QTest::newRow("unit") << " 2 s " << qint64{2'000'000'000};
        QTest::newRow("milliseconds") << "200 ms" << qint64{200'000'000};
        QTest::newRow("microseconds") << "7us" << qint64{7'000};
        QTest::newRow("micro sign") << QStringLiteral("0.25 µs") << qint64{250};
        QTest::newRow("nanoseconds") << "12 ns" << qint64{12};
        QTest::newRow("minutes") << "2 min" << qint64{120'000'000'000};
        QTest::newRow("every digit counts") << "9007199.254740993" << qint64{9'007'199'254'740'993}; // 2^53 + 1: no double holds it
    }
    void timesAreReadDigitByDigit()
    {
        QFETCH(QString, text);
        QFETCH(qint64, ns);
        const auto time = state::timeOf(text);
        QVERIFY(time.has_value());
        QCOMPARE(*time, base::TimeNs{ns});
    }

    void whatIsNoTimeIsRefused_data()
    {
        QTest::addColumn<QString>("text");
        for (const char* text : {"", "abc", "1,5", "-1", "5 hours", "1e99", "99999999999 s", "99999999999999 min", "ms"}) QTest::newRow(text) << text;
    }
    void whatIsNoTimeIsRefused()
    {
        QFETCH(QString, text);
        const auto time = state::timeOf(text);
        QVERIFY(!time.has_value());
        QVERIFY(!time.error().hint.empty());
    }

    void aRangeMayBeOpenOnOneSide()
    {
        state::PartChoice choice;
        choice.from = "1 s";
        auto options = state::importOptions(choice);
        QVERIFY(options.has_value());
        QCOMPARE(*options->rangeBegin, base::TimeNs{1'000'000'000});
        QVERIFY(!options->rangeEnd.has_value());
        QCOMPARE(importers::partText(*options), std::string("from 1 s on"));
        choice.to = "1500 ms";
        options = state::importOptions(choice);
        QVERIFY(options.has_value());
        QCOMPARE(*options->rangeEnd, base::TimeNs{1'500'000'000});
        QCOMPARE(importers::partText(*options), std::string("1 s to 1.5 s"));
    }

    void stepsCanBeNamed()
    {
        state::PartChoice choice;
        choice.bySteps = true;
        choice.from = "not looked at";
        choice.firstStep = "3";
        choice.lastStep = " 5 ";
        choice.stepName = "train_step";
        const auto options = state::importOptions(choice);
        QVERIFY(options.has_value());
        QCOMPARE(*options->firstStep, int64_t{3});
        QCOMPARE(*options->lastStep, int64_t{5});
        QCOMPARE(options->stepName, std::string("train_step"));
        QVERIFY(!options->rangeBegin.has_value());
    }

    void mistakesNameTheirField_data()
    {
        QTest::addColumn<bool>("bySteps");
        QTest::addColumn<QString>("first");
        QTest::addColumn<QString>("last");
        QTest::addColumn<QString>("field");
        QTest::newRow("no range") << false << "" << "" << "from";
        QTest::newRow("no time") << false << "soon" << "2" << "from";
        QTest::newRow("no end time") << false << "1" << "later" << "to";
        QTest::newRow("end before begin") << false << "2" << "1" << "to";
        QTest::newRow("nothing between") << false << "1 s" << "1000 ms" << "to";
        QTest::newRow("end at the start") << false << "" << "0" << "to";
        QTest::newRow("no steps") << true << "" << "" << "firstStep";
        QTest::newRow("no number") << true << "one" << "2" << "firstStep";
        QTest::newRow("a fraction") << true << "1" << "2.5" << "lastStep";
        QTest::newRow("a negative step") << true << "-1" << "2" << "firstStep";
        QTest::newRow("last before first") << true << "4" << "3" << "lastStep";
        QTest::newRow("too large") << true << "99999999999999999999" << "" << "firstStep";
    }
    void mistakesNameTheirField()
    {
        QFETCH(bool, bySteps);
        QFETCH(QString, first);
        QFETCH(QString, last);
        QFETCH(QString, field);
        state::PartChoice choice;
        choice.bySteps = bySteps;
        (bySteps ? choice.firstStep : choice.from) = first;
        (bySteps ? choice.lastStep : choice.to) = last;
        const auto options = state::importOptions(choice);
        QVERIFY(!options.has_value());
        QCOMPARE(QString::fromStdString(options.error().where.field), field);
    }
};

QTEST_GUILESS_MAIN(TestPartChoice)
#include "tst_part_choice.moc"
