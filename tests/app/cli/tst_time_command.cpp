// `stepscope time` run as a program.
#include "tests/support/run_program.h"

#include <QRegularExpression>
#include <QTemporaryDir>
#include <QtTest>

using namespace stepscope;

class TestTimeCommand : public QObject {
    Q_OBJECT
private slots:
    void initTestCase()
    {
        QVERIFY(m_folder.isValid());
        qputenv("XDG_CACHE_HOME", m_folder.path().toUtf8()); // tuned choices of the tests stay with them
        QFile file(m_folder.filePath("tiny.jl"));
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("model = Chain(fc1 = Dense(8 => 16, relu), fc2 = Dense(16 => 3))\nloss = logitcrossentropy\n"
                   "data = Random(shape = (8,), classes = 3, samples = 256, batchsize = 16)\n");
    }

    void coldAndWarmAreLinesOfJulia_data()
    {
        QTest::addColumn<QStringList>("options");
        QTest::addColumn<QString>("title");
        QTest::newRow("step") << QStringList{} << "one step";
        QTest::newRow("phase") << QStringList{"--phase", "forward"} << "forward";
        QTest::newRow("layer") << QStringList{"--layer", "fc1"} << "layer fc1";
        QTest::newRow("layer and phase") << QStringList{"--layer", "fc2", "--phase", "backward"} << "layer fc2, backward";
    }

    void coldAndWarmAreLinesOfJulia()
    {
        QFETCH(QStringList, options);
        QFETCH(QString, title);
        const auto result = time(options);
        QVERIFY2(result.code == 0, qPrintable(result.err));
        const QStringList lines = result.out.split('\n', Qt::SkipEmptyParts);
        QCOMPARE(lines.size(), 3);
        QCOMPARE(lines[0], title);
        static const QRegularExpression cold(R"(^cold: \d+\.\d{6} seconds( \(.+\))?$)"), warm(R"(^warm: \d+\.\d{6} seconds( \(.+\))?$)");
        QVERIFY2(cold.match(lines[1]).hasMatch(), qPrintable(lines[1]));
        QVERIFY2(warm.match(lines[2]).hasMatch(), qPrintable(lines[2]));
        QVERIFY2(result.err.contains("below 1 ms"), qPrintable(result.err)); // the model is tiny
        if (options.isEmpty()) QVERIFY2(lines[1].contains("creation time"), qPrintable(lines[1]));
        QVERIFY2(!lines[2].contains("creation time"), qPrintable(lines[2]));
    }

    // However few steps are asked for, those that warm up run before.
    void warmStepsAllocateLessThanColdOnes()
    {
        const auto result = time({"--steps", "1"});
        QVERIFY2(result.code == 0, qPrintable(result.err));
        const QStringList lines = result.out.split('\n', Qt::SkipEmptyParts);
        QCOMPARE(lines.size(), 3);
        QVERIFY2(lines[1].contains("allocations") && lines[1].contains("creation time"), qPrintable(lines[1]));
        QVERIFY2(!lines[2].contains(" k allocations") && !lines[2].contains("creation time"), qPrintable(lines[2]));
    }

    void aLayerThatDoesNotExistIsRefusedWithTheOnesThereAre()
    {
        const auto result = time({"--layer", "fc9"});
        QCOMPARE(result.code, 2);
        QVERIFY2(result.err.contains("fc9") && result.err.contains("fc1, fc2"), qPrintable(result.err));
    }

    void aPhaseThatDoesNotExistIsRefused() { QCOMPARE(time({"--phase", "sideways"}).code, 2); }
    void aMissingModelIsRefused() { QCOMPARE(support::runProgram({"time", m_folder.filePath("none.jl")}, m_folder.path()).code, 3); }

private:
    support::ProgramResult time(const QStringList& options)
    {
        return support::runProgram(QStringList{"time", m_folder.filePath("tiny.jl"), "-q"} + options, m_folder.path());
    }
    QTemporaryDir m_folder;
};

QTEST_GUILESS_MAIN(TestTimeCommand)
#include "tst_time_command.moc"
