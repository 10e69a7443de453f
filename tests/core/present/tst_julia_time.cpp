#include "core/present/julia_time.h"

#include <QtTest>

using namespace stepscope::present;

class TestJuliaTime : public QObject {
    Q_OBJECT
private slots:
    // Lines as Julia prints them.
    void linesAreThoseOfJulia_data()
    {
        QTest::addColumn<double>("elapsed");
        QTest::addColumn<qint64>("allocations");
        QTest::addColumn<qint64>("bytes");
        QTest::addColumn<double>("gcShare");
        QTest::addColumn<double>("compilationShare");
        QTest::addColumn<QString>("line");
        QTest::newRow("ten allocations") << 1.234e6 << qint64{10} << qint64{2560} << 0.0 << 0.0 << "  0.001234 seconds (10 allocations: 2.500 KiB)";
        QTest::newRow("nothing allocated") << 1000.0 << qint64{0} << qint64{0} << 0.0 << 0.0 << "  0.000001 seconds";
        QTest::newRow("one byte") << 1e9 << qint64{1} << qint64{1} << 0.0 << 0.0 << "  1.000000 seconds (1 allocation: 1 byte)";
        // Julia's manual, performance tips: sum_global() at its first and its second run, and after the change.
        QTest::newRow("first run") << 0.011539e9 << qint64{9080} << qint64{382347} << 0.0 << 0.9869 << "  0.011539 seconds (9.08 k allocations: 373.386 KiB, 98.69% compilation time)";
        QTest::newRow("second run") << 0.000091e9 << qint64{3490} << qint64{71840} << 0.0 << 0.0 << "  0.000091 seconds (3.49 k allocations: 70.156 KiB)";
        QTest::newRow("long") << 1234.5e9 << qint64{2190000} << qint64{122217299} << 0.0375 << 0.0 << "1234.500000 seconds (2.19 M allocations: 116.555 MiB, 3.75% gc time)";
        QTest::newRow("a thousand") << 1e6 << qint64{1000} << qint64{1024} << 0.0 << 0.0 << "  0.001000 seconds (1000 allocations: 1024 bytes)";
        QTest::newRow("a thousand and one") << 1e6 << qint64{1001} << qint64{1025} << 0.0 << 0.0 << "  0.001000 seconds (1.00 k allocations: 1.001 KiB)";
        QTest::newRow("collection alone") << 1e9 << qint64{0} << qint64{0} << 0.5 << 0.25 << "  1.000000 seconds (50.00% gc time, 25.00% compilation time)";
    }

    void linesAreThoseOfJulia()
    {
        QFETCH(double, elapsed);
        QFETCH(qint64, allocations);
        QFETCH(qint64, bytes);
        QFETCH(double, gcShare);
        QFETCH(double, compilationShare);
        QFETCH(QString, line);
        JuliaTime time;
        time.elapsed = elapsed;
        time.allocations = allocations;
        time.bytes = bytes;
        time.collection = gcShare * elapsed;
        time.compilation = compilationShare * elapsed;
        QCOMPARE(QString::fromStdString(juliaTimeText(time)), line);
    }

    void aLabelTakesThePlaceOfThePadding()
    {
        JuliaTime time;
        time.elapsed = 0.038e9;
        QCOMPARE(juliaTimeText(time, "cold"), std::string("cold: 0.038000 seconds"));
    }

    void conflictsAndRecompilationAreTold()
    {
        JuliaTime time;
        time.elapsed = 1e9;
        time.lockConflicts = 2;
        time.compilation = 0.9994e9;
        time.recompilation = 0.12 * time.compilation;
        QCOMPARE(juliaTimeText(time), std::string("  1.000000 seconds (2 lock conflicts, 99.94% compilation time: 12% of which was recompilation)"));
        time.lockConflicts = 1;
        time.recompilation = 0.001 * time.compilation;
        QCOMPARE(juliaTimeText(time), std::string("  1.000000 seconds (1 lock conflict, 99.94% compilation time: <1% of which was recompilation)"));
    }

    void ourWordsCanStandInThePlaceOfJulias()
    {
        JuliaTime time;
        time.elapsed = 1e9;
        time.collection = 0.01e9;
        time.compilation = 0.5e9;
        QCOMPARE(juliaTimeText(time, {}, {"allocator time", "creation time"}), std::string("  1.000000 seconds (1.00% allocator time, 50.00% creation time)"));
    }

    void bytesAreWrittenAsJuliaDoes_data()
    {
        QTest::addColumn<qint64>("bytes");
        QTest::addColumn<QString>("text");
        QTest::newRow("0") << qint64{0} << "0 bytes";
        QTest::newRow("1") << qint64{1} << "1 byte";
        QTest::newRow("2") << qint64{2} << "2 bytes";
        QTest::newRow("1024") << qint64{1024} << "1024 bytes";
        QTest::newRow("10000") << qint64{10000} << "9.766 KiB";
        QTest::newRow("1 MiB") << qint64{1048576} << "1024.000 KiB"; // of the smaller unit as long as it fits
        QTest::newRow("1 MiB and a byte") << qint64{1048577} << "1.000 MiB";
    }

    void bytesAreWrittenAsJuliaDoes()
    {
        QFETCH(qint64, bytes);
        QFETCH(QString, text);
        QCOMPARE(QString::fromStdString(juliaBytesText(bytes)), text);
    }
};

QTEST_GUILESS_MAIN(TestJuliaTime)
#include "tst_julia_time.moc"
