#include "core/analysis/reports.h"

#include "tests/support/made_session.h"

#include <QtTest>

#include <cmath>

using namespace stepscope;
using namespace stepscope::analysis;

class TestReports : public QObject {
    Q_OBJECT
private slots:
    void stepStatisticsCountWhatTheyLeaveOut();
    void phasesSumToTheStep();
    void loadersAreReportedBesideTheStep();
    void layersShareTheStepWithoutCountingTwice();
    void containersIncludeTheirLayers();
    void layerRatesUseTheMedian();
    void primitivesShareTheStep();
    void primitiveRatesUseExecutionsAndTime();
    void creationIsARowOfItsOwn();
    void stepsListTheirPhases();
    void sharesSumToOneInEveryReport_data();
    void sharesSumToOneInEveryReport();
    void aRowThatIsMissingInMostStepsHasMedianZero();
    void stepsWithoutSpansAreNamed();
    void aSmallGapAtTheStepsEdgeIsBetweenPhases();
    void allocationsGoToPhasesLayersAndSteps();
    void sessionsWithoutCountsSayThatTheyDoNotKnow();
    void anEmptySessionGivesEmptyReports();
    void aStopGivesEmptyReports();
};

namespace {

template <class Rows>
auto* row(Rows& rows, const std::string& name)
{
    for (auto& candidate : rows)
        if (candidate.name == name) return &candidate;
    return static_cast<decltype(&rows[0])>(nullptr);
}

bool close(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)); }

} // namespace

void TestReports::stepStatisticsCountWhatTheyLeaveOut()
{
    const StepStatistics s = stepStatistics(*support::madeSession());
    QCOMPARE(s.count, int64_t{3});
    QCOMPARE(s.warmupLeftOut, int64_t{1});
    QVERIFY(!s.warmupOnly);
    QCOMPARE(s.duration.median, 2000.0);
    QCOMPARE(s.duration.min, 1000.0);
    QCOMPARE(s.duration.max, 3000.0);
    QCOMPARE(s.duration.mean, 2000.0);
    QCOMPARE(s.total, base::TimeNs{6000});
    QCOMPARE(s.disturbed, int64_t{1});
    QVERIFY(s.undisturbed.has_value());
    QCOMPARE(s.undisturbed->count, int64_t{2});
    QCOMPARE(s.samples, int64_t{24});
    QVERIFY(close(s.samplesPerSecond, 24 / 6000e-9));
    QVERIFY(close(s.lastLoss, 0.25));
    std::vector<size_t> rows;
    QCOMPARE(stepDurations(*support::madeSession(), {}, &rows), (std::vector<double>{1000, 2000, 3000}));
    QCOMPARE(rows, (std::vector<size_t>{1, 2, 3}));
}

void TestReports::phasesSumToTheStep()
{
    const PhaseReport report = phaseReport(*support::madeSession());
    const std::vector<std::pair<std::string, double>> unit{
        {"data wait", 100}, {"forward", 300}, {"loss", 30}, {"backward", 400}, {"optimiser", 120}, {"between phases", 50}};
    QCOMPARE(report.rows.size(), unit.size());
    for (size_t i = 0; i < unit.size(); ++i) {
        QCOMPARE(report.rows[i].name, unit[i].first);
        QCOMPARE(report.rows[i].time.median, 2 * unit[i].second);
        QCOMPARE(report.rows[i].time.mean, 2 * unit[i].second);
        QVERIFY(close(report.rows[i].time.share, unit[i].second / 1000));
        QCOMPARE(report.rows[i].remainder, i + 1 == unit.size());
    }
    QCOMPARE(report.rows[1].count, int64_t{3});
    // Forward: 3 * (700 + 500) FLOP in 1800 ns.
    QVERIFY(close(report.rows[1].flopPerSecond, 3600 / 1800e-9));
    QVERIFY(close(report.rows[1].bytesPerSecond, 720 / 1800e-9));
}

void TestReports::loadersAreReportedBesideTheStep()
{
    const PhaseReport report = phaseReport(*support::madeSession());
    QCOMPARE(report.beside.size(), size_t{1});
    QCOMPARE(report.beside[0].track, std::string("loader 0"));
    QCOMPARE(report.beside[0].busy, base::TimeNs{3000});
    QCOMPARE(report.beside[0].share, 0.5);
    QCOMPARE(report.beside[0].count, int64_t{3});
}

void TestReports::layersShareTheStepWithoutCountingTwice()
{
    LayerReport report = layerReport(*support::madeSession());
    const std::vector<std::pair<std::string, double>> own{{"(model)", 0}, {"conv1", 370}, {"block", 60}, {"block.dense1", 170},
        {"block.dense2", 140}, {"data wait", 100}, {"forward, between layers", 30}, {"loss", 30}, {"backward, between layers", 30},
        {"optimiser, between layers", 20}, {"between phases", 50}};
    QCOMPARE(report.rows.size(), own.size());
    for (size_t i = 0; i < own.size(); ++i) {
        QCOMPARE(report.rows[i].name, own[i].first);
        QCOMPARE(report.rows[i].own.median, 2 * own[i].second);
        QVERIFY(close(report.rows[i].own.share, own[i].second / 1000));
    }
    QVERIFY(row(report.rows, "forward, between layers")->remainder);
    QVERIFY(!row(report.rows, "loss")->remainder);
}

void TestReports::containersIncludeTheirLayers()
{
    LayerReport report = layerReport(*support::madeSession());
    const LayerReportRow& block = *row(report.rows, "block");
    QVERIFY(block.container);
    QCOMPARE(block.depth, 1);
    QCOMPARE(block.forward.median, 340.0);
    QCOMPARE(block.backward.median, 300.0);
    QCOMPARE(block.update.median, 100.0);
    QCOMPARE(block.total.median, 740.0);
    const LayerReportRow& model = report.rows[0];
    QCOMPARE(model.depth, 0);
    QCOMPARE(model.forward.median, 540.0);
    QCOMPARE(model.total.median, 1480.0);
    const LayerReportRow& conv = *row(report.rows, "conv1");
    QVERIFY(!conv.container);
    QCOMPARE(conv.forward.median, 200.0);
    QCOMPARE(conv.backward.median, 440.0);
    QCOMPARE(conv.update.median, 100.0);
    QCOMPARE(conv.count, int64_t{3});
    QCOMPARE(conv.slow, base::TimeNs{120});
    QCOMPARE(conv.type, std::string("Conv"));
}

void TestReports::layerRatesUseTheMedian()
{
    LayerReport report = layerReport(*support::madeSession());
    const LayerReportRow& conv = *row(report.rows, "conv1");
    QVERIFY(close(conv.forwardFlopPerSecond, 400 / 200e-9));
    QVERIFY(close(conv.backwardFlopPerSecond, 800 / 440e-9));
    QVERIFY(close(conv.backwardOverForward, 2.2));
}

void TestReports::primitivesShareTheStep()
{
    PrimitiveReport report = primitiveReport(*support::madeSession());
    const std::vector<std::pair<std::string, double>> unit{{"conv1 weights gradient", 170}, {"optimiser", 120}, {"data wait", 100},
        {"conv1 forward", 70}, {"dense1 forward", 50}, {"loss", 30}, {"conv1 reorder", 20}, {"backward, between primitives", 210},
        {"forward, between primitives", 180}, {"between phases", 50}};
    QCOMPARE(report.rows.size(), unit.size());
    for (size_t i = 0; i < unit.size(); ++i) {
        QCOMPARE(report.rows[i].name, unit[i].first);
        QCOMPARE(report.rows[i].time.median, 2 * unit[i].second);
        QVERIFY(close(report.rows[i].time.share, unit[i].second / 1000));
        QCOMPARE(report.rows[i].remainder, i >= 7);
    }
}

void TestReports::primitiveRatesUseExecutionsAndTime()
{
    PrimitiveReport report = primitiveReport(*support::madeSession());
    const PrimitiveReportRow& conv = *row(report.rows, "conv1 forward");
    QCOMPARE(conv.count, int64_t{3});
    QVERIFY(close(conv.flopPerSecond, 3 * 700 / 420e-9));
    QVERIFY(close(conv.bytesPerSecond, 3 * 140 / 420e-9));
    QCOMPARE(conv.implementation, std::string("jit:avx2"));
    QCOMPARE(row(report.rows, "conv1 reorder")->flags, uint32_t{session::kReorder});
}

void TestReports::creationIsARowOfItsOwn()
{
    SpanFilter filter;
    filter.includeWarmup = true;
    PrimitiveReport report = primitiveReport(*support::madeSession(), filter);
    const PrimitiveReportRow* creation = row(report.rows, "creation of primitives, forward");
    QVERIFY(creation != nullptr);
    QCOMPARE(creation->time.total, base::TimeNs{180});
    QCOMPARE(creation->count, int64_t{1});
    QCOMPARE(creation->time.median, 0.0); // one of four steps
}

void TestReports::stepsListTheirPhases()
{
    const StepReport report = stepReport(*support::madeSession());
    QCOMPARE(report.rows.size(), size_t{3});
    for (size_t i = 0; i < 3; ++i) {
        const base::TimeNs scale = static_cast<base::TimeNs>(i) + 1;
        const StepReportRow& step = report.rows[i];
        QCOMPARE(step.step.index, static_cast<int64_t>(i) + 1);
        QCOMPARE(step.phases[static_cast<size_t>(session::Phase::forward)], 300 * scale);
        QCOMPARE(step.phases[static_cast<size_t>(session::Phase::backward)], 400 * scale);
        QCOMPARE(step.phases[0], 50 * scale);
        QVERIFY(close(step.share, static_cast<double>(scale) / 6));
    }
}

void TestReports::sharesSumToOneInEveryReport_data()
{
    QTest::addColumn<bool>("warmup");
    QTest::newRow("measured") << false;
    QTest::newRow("with warm-up") << true;
}

void TestReports::sharesSumToOneInEveryReport()
{
    QFETCH(bool, warmup);
    SpanFilter filter;
    filter.includeWarmup = warmup;
    const session::SessionPtr session = support::madeSession();
    double phases = 0, layers = 0, primitives = 0, steps = 0;
    for (const auto& r : phaseReport(*session, filter).rows)
        phases += r.time.share;
    for (const auto& r : layerReport(*session, filter).rows)
        layers += r.own.share;
    for (const auto& r : primitiveReport(*session, filter).rows)
        primitives += r.time.share;
    for (const auto& r : stepReport(*session, filter).rows)
        steps += r.share;
    QVERIFY(std::abs(phases - 1) < 1e-12);
    QVERIFY(std::abs(layers - 1) < 1e-12);
    QVERIFY(std::abs(primitives - 1) < 1e-12);
    QVERIFY(std::abs(steps - 1) < 1e-12);
}

void TestReports::aRowThatIsMissingInMostStepsHasMedianZero()
{
    support::MadeSession made;
    // A device-to-host phase in the gap at the end of step 3 alone (scale 3, step from 18000 to 21000).
    made.training.push_back({18000 + 991 * 3, 15, made.label("device to host", session::SpanKind::phase, session::Phase::deviceToHost).value, 3});
    PhaseReport report = phaseReport(*made.build());
    const PhaseRow* rare = row(report.rows, "device to host");
    QVERIFY(rare != nullptr);
    QCOMPARE(rare->time.median, 0.0);
    QCOMPARE(rare->time.mean, 5.0);
    QVERIFY(close(rare->time.share, 15.0 / 6000));
}

void TestReports::stepsWithoutSpansAreNamed()
{
    support::MadeSession made;
    session::StepRow lost;
    lost.index = 4;
    lost.start = 30000;
    lost.duration = 6000;
    made.builder.addStep(lost);
    PhaseReport report = phaseReport(*made.build());
    const PhaseRow* missing = row(report.rows, "without spans");
    QVERIFY(missing != nullptr);
    QVERIFY(missing->remainder);
    QCOMPARE(missing->time.total, base::TimeNs{6000});
    QCOMPARE(missing->time.share, 0.5);
}

void TestReports::aSmallGapAtTheStepsEdgeIsBetweenPhases()
{
    support::MadeSession made;
    for (session::StepRow& step : made.builder.tables().steps)
        step.duration += 6; // measured just outside of the step's span
    PhaseReport report = phaseReport(*made.build());
    QVERIFY(row(report.rows, "without spans") == nullptr);
    QCOMPARE(row(report.rows, "between phases")->time.total, base::TimeNs{6 * 50 + 3 * 6});
}

void TestReports::allocationsGoToPhasesLayersAndSteps()
{
    using session::Phase;
    using session::SeriesKind;
    using session::SpanKind;
    support::MadeSession made;
    made.builder.addSeries({"cpu time", "ns", SeriesKind::cpuTime, true, true});
    made.builder.addSeries({"counted allocations", "", SeriesKind::countedAllocations, true, false});
    made.builder.addSeries({"counted bytes", "bytes", SeriesKind::countedBytes, true, false});
    const auto add = [&](session::LabelId label, int32_t step, int64_t allocations, int64_t bytes) {
        session::SampleRecord record;
        record.label = label;
        record.step = step;
        record.weight = allocations;
        made.builder.addSamples(session::SeriesId(1u), std::span(&record, 1));
        record.weight = bytes;
        made.builder.addSamples(session::SeriesId(2u), std::span(&record, 1));
    };
    for (int32_t step = 0; step < 4; ++step) {
        add(made.label("conv1 forward", SpanKind::primitive, Phase::forward, 1, 0), step, 2, 100);
        add(made.label("block.dense1", SpanKind::layer, Phase::backward, 3), step, 3, 1000 * step);
        add(made.label("loss", SpanKind::phase, Phase::loss), step, 1, 8);
        add(made.label("step", SpanKind::step, Phase::none), step, 5, 50);
    }
    add(made.label("batch", SpanKind::task, Phase::loading), -1, 1000, 1000000); // a loader
    const session::SessionPtr session = made.build();

    const PhaseReport phases = phaseReport(*session); // steps 1 to 3
    QVERIFY(phases.allocationsCounted);
    QCOMPARE(row(phases.rows, "forward")->allocations, (AllocationSum{6, 300, 0}));
    QCOMPARE(row(phases.rows, "backward")->allocations, (AllocationSum{9, 6000, 0}));
    QCOMPARE(row(phases.rows, "loss")->allocations, (AllocationSum{3, 24, 0}));
    QCOMPARE(row(phases.rows, "between phases")->allocations, (AllocationSum{15, 150, 0}));
    QCOMPARE(row(phases.rows, "optimiser")->allocations, AllocationSum{});

    const LayerReport layers = layerReport(*session);
    QCOMPARE(row(layers.rows, "conv1")->allocations, (AllocationSum{6, 300, 0}));
    QCOMPARE(row(layers.rows, "block.dense1")->allocations, (AllocationSum{9, 6000, 0}));
    QCOMPARE(row(layers.rows, "block")->allocations, (AllocationSum{9, 6000, 0}));
    QCOMPARE(row(layers.rows, "block")->ownAllocations, AllocationSum{});
    QCOMPARE(row(layers.rows, "(model)")->allocations, (AllocationSum{15, 6300, 0}));
    QCOMPARE(row(layers.rows, "loss")->allocations, (AllocationSum{3, 24, 0}));

    const StepReport steps = stepReport(*session);
    QCOMPARE(steps.rows.size(), size_t{3});
    for (int64_t i = 0; i < 3; ++i)
        QCOMPARE(steps.rows[static_cast<size_t>(i)].allocations, (AllocationSum{11, 100 + 1000 * (i + 1) + 8 + 50, 0}));
}

void TestReports::sessionsWithoutCountsSayThatTheyDoNotKnow()
{
    QVERIFY(!phaseReport(*support::madeSession()).allocationsCounted);
    QVERIFY(!layerReport(*support::madeSession()).allocationsCounted);
    QVERIFY(!stepReport(*support::madeSession()).allocationsCounted);
}

void TestReports::anEmptySessionGivesEmptyReports()
{
    session::SessionBuilder builder;
    const session::SessionPtr session = builder.build();
    QVERIFY(phaseReport(*session).rows.empty());
    QVERIFY(layerReport(*session).rows.empty());
    QVERIFY(primitiveReport(*session).rows.empty());
    QVERIFY(stepReport(*session).rows.empty());
    QCOMPARE(stepStatistics(*session).count, int64_t{0});
}

void TestReports::aStopGivesEmptyReports()
{
    std::stop_source stop;
    stop.request_stop();
    const session::SessionPtr session = support::madeSession();
    QVERIFY(phaseReport(*session, {}, stop.get_token()).rows.empty());
    QVERIFY(layerReport(*session, {}, stop.get_token()).rows.empty());
    QVERIFY(primitiveReport(*session, {}, stop.get_token()).rows.empty());
}

QTEST_GUILESS_MAIN(TestReports)
#include "tst_reports.moc"
