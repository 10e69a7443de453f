#include <QtTest>

#include "core/session/disturbed_steps.h"

#include <algorithm>

using namespace stepscope::session;

namespace {

StepRow step(int64_t duration, int switches = 0, bool warmup = false)
{
    StepRow row;
    row.duration = duration;
    row.threadInvoluntarySwitches = switches;
    row.warmup = warmup;
    return row;
}

} // namespace

class TestDisturbedSteps : public QObject {
    Q_OBJECT
private slots:
    // Quartiles 200 and 400: the limit is 400 + 1.5 * 200.
    void theLimitIsThatOfTheCalmSteps()
    {
        std::vector<StepRow> steps{step(100), step(200), step(300), step(400), step(500)};
        QCOMPARE(longestCalmStep(steps), 700.0);
        for (const StepRow& more : {step(700, 1), step(701, 1), step(350), step(100, 3), step(9000, 1, true), step(10, 1, true)})
            steps.push_back(more);
        // 350 is calm too: quartiles of the six are 225 and 387.5.
        QCOMPARE(longestCalmStep(steps), 387.5 + 1.5 * 162.5);
        QCOMPARE(disturbedSteps(steps), (std::vector<uint8_t>{0, 0, 0, 0, 0, 1, 1, 0, 0, 1, 0}));
    }

    void aStepOverTheLimitWithoutInterferenceIsTheProgramsOwn()
    {
        const std::vector<StepRow> steps{step(100), step(100), step(100), step(100), step(100), step(900), step(900, 1), step(100, 1)};
        QCOMPARE(disturbedSteps(steps), (std::vector<uint8_t>{0, 0, 0, 0, 0, 0, 1, 0}));
    }

    void pageFaultsInterfereToo()
    {
        std::vector<StepRow> steps(7, step(100));
        steps[5].threadMinorFaults = 2;
        steps[6].threadMajorFaults = 1;
        QCOMPARE(disturbedSteps(steps), std::vector<uint8_t>(7, 0));
        steps[5].duration = steps[6].duration = 101;
        QCOMPARE(disturbedSteps(steps), (std::vector<uint8_t>{0, 0, 0, 0, 0, 1, 1}));
    }

    // A busy machine: all steps but 27 were switched out for a moment, and ten of them for long.
    void onABusyMachineTheMarkStillTellsStepsApart()
    {
        std::vector<StepRow> steps;
        for (int i = 0; i < 395; ++i)
            steps.push_back(step(1000 + i % 40 + (i % 40 == 7 ? 4000 : 0), i % 15 == 0 ? 0 : 1));
        const std::vector<uint8_t> marks = disturbedSteps(steps);
        QCOMPARE(std::count(marks.begin(), marks.end(), 1), std::ptrdiff_t{10});
        for (size_t i = 0; i < marks.size(); ++i)
            QCOMPARE(marks[i], static_cast<uint8_t>(i % 40 == 7 ? 1 : 0));
    }

    // Four calm steps of nine say too little: quartiles of all nine are 102 and 106.
    void withFewCalmStepsAllAreTheMeasure()
    {
        std::vector<StepRow> steps;
        for (int i = 0; i < 8; ++i)
            steps.push_back(step(100 + i, i < 4 ? 0 : 1));
        steps.push_back(step(300, 1));
        QCOMPARE(longestCalmStep(steps), 112.0);
        QCOMPARE(disturbedSteps(steps), (std::vector<uint8_t>{0, 0, 0, 0, 0, 0, 0, 0, 1}));
    }

    void withoutMeasuredStepsTheWarmupIsTheMeasure()
    {
        QCOMPARE(longestCalmStep({}), 0.0);
        QVERIFY(disturbedSteps({}).empty());
        const std::vector<StepRow> steps{step(100, 0, true), step(100, 0, true), step(500, 1, true)};
        QCOMPARE(disturbedSteps(steps), (std::vector<uint8_t>{0, 0, 1}));
    }
};

QTEST_GUILESS_MAIN(TestDisturbedSteps)
#include "tst_disturbed_steps.moc"
