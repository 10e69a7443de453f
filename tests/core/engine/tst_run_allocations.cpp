// What a run allocates is counted for the step, phase and layer it happens in.
#include "naive_backend.h"

#include "core/analysis/reports.h"
#include "core/engine/trainer.h"
#include "core/recording/process_setup.h"
#include "core/session/session_builder.h"

#include <QtTest>

#include <cmath>
#include <cstdlib>
#include <thread>

using namespace stepscope;
using session::SeriesKind;

namespace {

model::ModelFile smallModel()
{
    model::ModelFile file;
    file.text = "model = Dense(8 => 3)";
    model::Layer layer;
    layer.kind = model::LayerKind::dense;
    layer.text = "Dense(8 => 3)";
    layer.options.in = 8;
    layer.options.out = 3;
    layer.parameters = {{"weight", {8, 3}, {}, 8, 3}, {"bias", {3}, {model::InitKind::zeros}, 1, 3}};
    file.model.layers = {layer};
    file.loss.kind = model::LossKind::logitcrossentropy;
    file.lossGiven = true;
    file.data.samples = 96;
    file.data.batchSize = 32;
    file.dataGiven = true;
    return file;
}

void allocateAndFree(size_t bytes)
{
    void* memory = std::malloc(bytes);
    asm volatile("" : "+r"(memory) : : "memory");
    std::free(memory);
}

session::SessionPtr run(testing::NaiveBackend& backend, int64_t steps, recording::AllocationOptions options = {.count = true},
                        recording::SampleMode mode = recording::SampleMode::off)
{
    engine::TrainOptions train;
    train.steps = steps;
    train.warmup = 1;
    train.evaluate = false;
    train.allocations = options;
    train.sampling.mode = mode;
    session::SessionBuilder sink;
    engine::Trainer trainer;
    if (!trainer.start(smallModel(), train, backend, &sink, {}, {})) return nullptr;
    if (!trainer.wait()) return nullptr;
    return sink.build();
}

// The sum of the weights of a kind of samples, of those in steps: what the preparation of a run allocates is not known by hand.
double inSteps(const session::Session& session, SeriesKind kind)
{
    double sum = 0;
    for (size_t i = 0; i < session.series().size(); ++i) {
        if (session.series()[i].kind != kind) continue;
        const session::SampleTable& samples = session.samples(base::SeriesId(i));
        for (size_t row = 0; row < samples.size(); ++row)
            if (samples.step[row] >= 0) sum += static_cast<double>(samples.weight[row]);
    }
    return sum;
}

} // namespace

class TestRunAllocations : public QObject {
    Q_OBJECT
private slots:
    void initTestCase()
    {
        const QByteArray why(recording::whyNoAllocationCounts());
        if (why.contains("sanitizer")) QSKIP(why.constData());
        QCOMPARE(why, QByteArray());
    }

    void aStepIsCountedAsByHand()
    {
        testing::NaiveBackend backend;
        backend.hooks.onForward = [](int64_t) { // outside of the layer
            allocateAndFree(1000);
            allocateAndFree(1 << 20);
            int* numbers = new int[25];
            asm volatile("" : "+r"(numbers) : : "memory"); // else the compiler leaves the pair out
            delete[] numbers;
        };
        const session::SessionPtr session = run(backend, 6);
        QVERIFY(session != nullptr);
        QCOMPARE(session->environmentValue("allocations"), std::string_view("counted"));
        const analysis::PhaseReport phases = analysis::phaseReport(*session);
        QVERIFY(phases.allocationsCounted);
        for (const analysis::PhaseRow& row : phases.rows) {
            const bool forward = row.phase == session::Phase::forward;
            QCOMPARE(row.allocations.allocations, forward ? int64_t{5 * 3} : int64_t{0}); // 5 of 6 steps: one is warm-up
            QCOMPARE(row.allocations.bytes, forward ? int64_t{5 * (1000 + (1 << 20) + 100)} : int64_t{0});
        }
        const analysis::StepReport steps = analysis::stepReport(*session);
        QCOMPARE(steps.rows.size(), size_t{5});
        for (const analysis::StepReportRow& row : steps.rows)
            QCOMPARE(row.allocations, (analysis::AllocationSum{3, 1000 + (1 << 20) + 100, 0}));
    }

    void eachStepHasItsOwnCounts()
    {
        testing::NaiveBackend backend;
        backend.hooks.onForward = [](int64_t call) {
            for (int64_t i = 0; i < call; ++i)
                allocateAndFree(100);
        };
        const session::SessionPtr session = run(backend, 5);
        analysis::SpanFilter all;
        all.includeWarmup = true;
        const analysis::StepReport steps = analysis::stepReport(*session, all);
        QCOMPARE(steps.rows.size(), size_t{5});
        for (size_t i = 0; i < 5; ++i)
            QCOMPARE(steps.rows[i].allocations, (analysis::AllocationSum{static_cast<int64_t>(i), static_cast<int64_t>(i) * 100, 0}));
    }

    void threadsThatWorkForTheStepCountForIt()
    {
        testing::NaiveBackend backend;
        backend.hooks.onForward = [](int64_t) {
            std::thread([] {
                for (int i = 0; i < 10; ++i)
                    allocateAndFree(1 << 16);
            }).join();
        };
        const session::SessionPtr session = run(backend, 4);
        const analysis::StepReport steps = analysis::stepReport(*session);
        QCOMPARE(steps.rows.size(), size_t{3});
        for (const analysis::StepReportRow& row : steps.rows) {
            QVERIFY(row.allocations.allocations >= 10); // and some for the thread itself
            QVERIFY(row.allocations.allocations <= 16);
            QVERIFY(row.allocations.bytes >= 10 << 16);
            QVERIFY(row.allocations.bytes <= (10 << 16) + 16384);
        }
    }

    void memoryInUseIsFollowedOverTheSteps()
    {
        testing::NaiveBackend backend;
        std::vector<void*> kept;
        kept.reserve(16);
        backend.hooks.onForward = [&](int64_t) {
            kept.push_back(std::malloc(1 << 20)); // a leak of 1 MiB per step
            allocateAndFree(8 << 20);
        };
        const session::SessionPtr session = run(backend, 8);
        for (void* memory : kept) std::free(memory);
        const auto samplesOf = [&](std::string_view name) {
            for (size_t i = 0; i < session->counters().size(); ++i)
                if (session->counters()[i].name == name) return session->counterSamples(base::CounterId(i)).value;
            return base::HugeVector<double>();
        };
        const auto live = samplesOf("live bytes"), peak = samplesOf("peak bytes"), allocated = samplesOf("allocated bytes");
        QCOMPARE(live.size(), size_t{8});
        QCOMPARE(peak.size(), size_t{8});
        QCOMPARE(allocated.size(), size_t{8});
        for (size_t i = 1; i < 8; ++i) {
            QVERIFY(std::abs(live[i] - live[i - 1] - (1 << 20)) < 65536);
            QVERIFY(std::abs(peak[i] - live[i] - (8 << 20)) < 65536); // both 1 MiB and 8 MiB were in use
            QCOMPARE(allocated[i], 9.0 * (1 << 20));
        }
    }

    void timeInTheAllocatorBelongsToThePhase()
    {
        testing::NaiveBackend backend;
        backend.hooks.onForward = [](int64_t) {
            for (int i = 0; i < 1000; ++i)
                allocateAndFree(300);
        };
        const session::SessionPtr session = run(backend, 4, {.count = true, .time = true});
        const analysis::AllocationSums sums = analysis::allocationSums(*session);
        QVERIFY(sums.timed);
        base::TimeNs time = 0;
        for (const analysis::AllocationSum& sum : sums.byLabel)
            time += sum.time;
        QVERIFY(time > 0);
        const analysis::PhaseReport phases = analysis::phaseReport(*session);
        for (const analysis::PhaseRow& row : phases.rows)
            QVERIFY(row.allocations.time <= row.time.total);
    }

    // Stacks are samples, and each stands for what was allocated between two: of few allocations all are taken. In a burst
    // the distance doubles with every 16 stacks, so that half of the bytes are seen through the last 16: the sum
    // scatters by about 15 % then, and the test allows three times that.
    void sampledStacksSumToTheCounts_data()
    {
        QTest::addColumn<int>("allocations"); // per step
        QTest::addColumn<int>("bytes");
        QTest::addColumn<double>("tolerance");
        QTest::newRow("few") << 3 << 1000 << 0.02; // the distance to the first was drawn before
        QTest::newRow("many small") << 5900 << 64 << 0.45;
        QTest::newRow("many large") << 750 << (1 << 16) << 0.45;
    }

    void sampledStacksSumToTheCounts()
    {
        QFETCH(int, allocations);
        QFETCH(int, bytes);
        QFETCH(double, tolerance);
        testing::NaiveBackend backend;
        backend.hooks.onForward = [&](int64_t call) {
            if (call == 0) recording::setAllocationSampling(1); // as at the start: what prepared the run is over
            for (int i = 0; i < allocations; ++i)
                allocateAndFree(static_cast<size_t>(bytes));
        };
        const double exactBytes = 10.0 * allocations * bytes, exactCount = 10.0 * allocations;
        QString text;
        // Now and then the distance adapts in the middle of a run, to what prepared it.
        for (int attempt = 0; attempt < 4; ++attempt) {
            const session::SessionPtr session = run(backend, 10, {.count = true}, recording::SampleMode::cpu);
            QVERIFY(session != nullptr);
            if (session->environmentValue("sampler.method") == "none") QSKIP("stacks cannot be sampled here, so none of allocations are taken");
            // While stacks are sampled the training thread may need a block for the recording itself.
            QVERIFY(std::abs(inSteps(*session, SeriesKind::countedBytes) - exactBytes) <= 4096);
            QVERIFY(std::abs(inSteps(*session, SeriesKind::countedAllocations) - exactCount) <= 4);
            const double sampledBytes = inSteps(*session, SeriesKind::allocatedBytes), sampledCount = inSteps(*session, SeriesKind::allocations);
            if (std::abs(sampledBytes / exactBytes - 1) <= tolerance && std::abs(sampledCount / exactCount - 1) <= tolerance) return;
            text += QString("%1 of %2 bytes, %3 of %4 allocations; ").arg(sampledBytes).arg(exactBytes).arg(sampledCount).arg(exactCount);
        }
        QFAIL(qPrintable(text));
    }

    void nothingIsRecordedWhenNotAsked()
    {
        testing::NaiveBackend backend;
        backend.hooks.onForward = [](int64_t) { allocateAndFree(1000); };
        const session::SessionPtr session = run(backend, 3, {});
        QVERIFY(!analysis::phaseReport(*session).allocationsCounted);
        QCOMPARE(session->environmentValue("allocations"), std::string_view());
    }
};

int main(int argc, char** argv)
{
    recording::prepareProcess();
    QCoreApplication application(argc, argv);
    TestRunAllocations test;
    return QTest::qExec(&test, argc, argv);
}
#include "tst_run_allocations.moc"
