#include "app/cli/progress_line.h"

#include <QtTest>

#include <cmath>

using namespace stepscope;

class TestProgressLine : public QObject {
    Q_OBJECT
private slots:
    void aRunningTrainingShowsItsNumbers();
    void preparationShowsItsActivity();
    void theLineFitsTheTerminal_data();
    void theLineFitsTheTerminal();
    void unknownNumbersAreLeftOut();
};

namespace {

engine::TrainStatus running()
{
    engine::TrainStatus status;
    status.state = engine::TrainState::running;
    status.activity = "training";
    status.fraction = 0.45;
    status.step = 421;
    status.totalSteps = 938;
    status.loss = 0.43211;
    status.medianStepNs = 1234000;
    status.samplesPerSecond = 51900.4;
    return status;
}

} // namespace

void TestProgressLine::aRunningTrainingShowsItsNumbers()
{
    QCOMPARE(cli::progressText(running(), 200),
        std::string("[#########...........]  45 %  step 421/938  1.234 ms/step  51_900 samples/s  loss 0.4321"));
}

void TestProgressLine::preparationShowsItsActivity()
{
    engine::TrainStatus status;
    status.activity = "tuning conv2";
    QCOMPARE(cli::progressText(status, 100), std::string("tuning conv2"));
    status.fraction = 1.7;
    QCOMPARE(cli::progressText(status, 100), std::string("[####################] 100 %  tuning conv2"));
}

void TestProgressLine::theLineFitsTheTerminal_data()
{
    QTest::addColumn<int>("width");
    for (const int width : {0, 1, 10, 40, 79})
        QTest::addRow("%d", width) << width;
}

void TestProgressLine::theLineFitsTheTerminal()
{
    QFETCH(int, width);
    engine::TrainStatus status = running();
    status.medianStepNs = 12340; // with the letter µ, two bytes for one column
    QVERIFY(QString::fromStdString(cli::progressText(status, width)).size() <= width);
}

void TestProgressLine::unknownNumbersAreLeftOut()
{
    engine::TrainStatus status = running();
    status.loss = std::nan("");
    status.medianStepNs = 0;
    status.samplesPerSecond = 0;
    status.totalSteps = 0;
    status.fraction = -1;
    QCOMPARE(cli::progressText(status, 100), std::string("step 421"));
}

QTEST_GUILESS_MAIN(TestProgressLine)
#include "tst_progress_line.moc"
