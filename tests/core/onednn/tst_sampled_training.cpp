// Stacks of real training: whole, named, tagged, and without any effect on what is computed.
#include "core/model/parser.h"
#include "core/recording/process_setup.h"
#include "tests/core/onednn/onednn_test.h"
#include "tests/support/sampled_training.h"

#include <QFile>
#include <QtTest>

#include <set>

#include <cstring>
#include <ctime>

using namespace stepscope;
using namespace stepscope::testing;

namespace {

constexpr const char* kConvolutions = R"(using Flux
model = Chain(
    conv1 = Conv((3, 3), 3 => 16, relu; pad = 1),
    pool = MaxPool((2, 2)),
    conv2 = Conv((3, 3), 16 => 32, relu; pad = 1),
    flatten = Flux.flatten,
    fc1 = Dense(8192 => 64, relu),
    fc2 = Dense(64 => 10),
)
loss = logitcrossentropy
optimiser = Adam(0.001)
data = Random((32, 32, 3); classes = 10, samples = 256, batchsize = 16, shuffle = true)
seed = 1
)";

// Inner products run on kernels of the library that point the stack pointer into the heap.
constexpr const char* kInnerProduct = R"(using Flux
model = Chain(Dense(200 => 150, relu), Dense(150 => 70, relu), Dense(70 => 10))
loss = logitcrossentropy
optimiser = Adam(0.001)
data = Random(200; classes = 10, samples = 2048, batchsize = 64, shuffle = true)
seed = 1
)";

// A loop written by hand counts as slow.
constexpr const char* kNaive = R"(using Flux
model = Chain(NaiveDense(128 => 256, relu), Dense(256 => 10))
loss = logitcrossentropy
optimiser = Descent(0.01)
data = Random(128; classes = 10, samples = 1024, batchsize = 64)
seed = 1
)";

engine::TrainOptions trainOptions(int64_t steps, int rateHz)
{
    engine::TrainOptions options;
    options.steps = steps;
    options.threads = std::max(1, qEnvironmentVariableIntValue("OMP_NUM_THREADS"));
    options.workers = 0;
    options.sampling.mode = rateHz > 0 ? recording::SampleMode::cpu : recording::SampleMode::off;
    options.sampling.rateHz = rateHz;
    return options;
}

double share(int64_t part, int64_t whole) { return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0; }

} // namespace

class TestSampledTraining : public QObject {
    Q_OBJECT

private:
    std::unique_ptr<engine::Backend> m_backend;

    SampledRun train(const char* text, int64_t steps, int rateHz)
    {
        auto file = model::parseModelText(text, "test.jl");
        if (!file) return {nullptr, base::toText(file.error()), {}};
        return trainSampled(*file, trainOptions(steps, rateHz), *m_backend, CLOCK_THREAD_CPUTIME_ID);
    }

private slots:
    void initTestCase()
    {
        QVERIFY2(recording::prepareProcess(), "the agent for generated code was not found beside the programs");
        m_backend = testBackend();
    }

    void stacksAreWholeNamedAndTagged()
    {
        const SampledRun run = train(kConvolutions, 150, 1000);
        QVERIFY2(run.session != nullptr, run.problem.c_str());
        const SampleSummary sum = summarise(*run.session);
        const QString text = QString("%1 samples, %2 complete, %3 generated, %4 complete, %5 tagged, %6 approximate, %7 unknown, phase %8 of %9")
                                 .arg(sum.samples).arg(sum.complete).arg(sum.generated).arg(sum.generatedComplete).arg(sum.generatedTagged)
                                 .arg(sum.approximate).arg(sum.unknownLeaf).arg(sum.phaseRight).arg(sum.phaseKnown);
        qInfo() << text;
        QVERIFY2(sum.samples > 100, qPrintable(text));
        QVERIFY2(sum.generated > 50, qPrintable(text));
        QVERIFY2(share(sum.complete, sum.samples) >= 0.995, qPrintable(text));
        QVERIFY2(share(sum.generatedComplete, sum.generated) >= 0.995, qPrintable(text));
        QVERIFY2(share(sum.unknownLeaf, sum.samples) < 0.001, qPrintable(text));
        QVERIFY2(share(sum.phaseRight, sum.phaseKnown) >= 0.99, qPrintable(text));
    }

    void samplingChangesNoLoss()
    {
        const SampledRun plain = train(kInnerProduct, 300, 0); // tunes; the second run takes the same choices
        const SampledRun sampled = train(kInnerProduct, 300, 1000);
        const SampledRun again = train(kInnerProduct, 300, 0);
        for (const SampledRun* run : {&plain, &sampled, &again})
            QVERIFY2(run->session != nullptr, run->problem.c_str());
        QCOMPARE(sampled.session->steps().size(), size_t{300});
        QCOMPARE(again.session->steps().size(), size_t{300});
        QVERIFY(sampled.session->sampleCount() > 0);
        if (qEnvironmentVariableIntValue("OMP_NUM_THREADS") > 1) return; // threads share the sums out differently each time
        for (size_t i = 0; i < 300; ++i) {
            const double a = again.session->steps()[i].loss, b = sampled.session->steps()[i].loss;
            QVERIFY2(std::memcmp(&a, &b, sizeof(a)) == 0, qPrintable(QString("step %1: %2 and %3").arg(i).arg(a).arg(b)));
        }
    }

    void loopsWrittenByHandAreMarkedSlow()
    {
        const SampledRun run = train(kNaive, 60, 1000);
        QVERIFY2(run.session != nullptr, run.problem.c_str());
        int64_t naive = 0, slow = 0;
        const session::SampleTable& samples = run.session->samples(base::SeriesId(size_t{0}));
        for (size_t i = 0; i < samples.size(); ++i) {
            if (samples.label[i] == base::LabelId::kNone || samples.step[i] < 0) continue;
            const base::PrimitiveId primitive = run.session->labels()[samples.label[i]].primitive;
            if (!primitive.valid() || (run.session->primitives()[primitive.index()].flags & session::kNaive) == 0) continue;
            const session::FrameRow& leaf = run.session->frames()[run.session->stacks()[samples.stack[i]].frame.index()];
            if ((leaf.flags & session::kWaiting) != 0) continue; // waits beside it
            ++naive;
            slow += (leaf.flags & session::kSlowPath) != 0 ? 1 : 0;
        }
        QVERIFY(naive > 10);
        QCOMPARE(slow, naive);
    }

    void samplesOfALoopWrittenByHandPointAtItsInnermostLine()
    {
        // The lines of the innermost loops, from the source.
        QFile source(QStringLiteral(STEPSCOPE_SOURCE_DIR "/core/onednn/naive_dense_layer.cpp"));
        QVERIFY(source.open(QIODevice::ReadOnly));
        std::set<int> innermost;
        for (int line = 1; !source.atEnd(); ++line)
            if (source.readLine().contains("sum +=")) innermost.insert(line);
        QCOMPARE(innermost.size(), size_t{3}); // forward, weights gradient, input gradient
        const SampledRun run = train(kNaive, 300, 1000);
        QVERIFY2(run.session != nullptr, run.problem.c_str());
        const session::Session& session = *run.session;
        int64_t naive = 0, inside = 0;
        for (size_t series = 0; series < session.series().size(); ++series) {
            if (session.series()[series].kind != session::SeriesKind::cpuTime) continue;
            const session::SampleTable& samples = session.samples(base::SeriesId(series));
            for (size_t i = 0; i < samples.size(); ++i) {
                if (samples.label[i] >= session.labels().size() || samples.stack[i] >= session.stacks().size()) continue;
                const base::PrimitiveId primitive = session.labels()[samples.label[i]].primitive;
                if (!primitive.valid() || (session.primitives()[primitive.index()].flags & session::kNaive) == 0) continue;
                const session::FrameRow& leaf = session.frames()[session.stacks()[samples.stack[i]].frame.index()];
                if ((leaf.flags & session::kWaiting) != 0) continue; // a thread of OpenMP that has nothing to do in this layer
                ++naive;
                const bool here = session.string(leaf.file).ends_with("core/onednn/naive_dense_layer.cpp");
                inside += here && innermost.count(leaf.line) > 0;
            }
        }
        qInfo() << naive << "samples of the naive layer," << inside << "in the lines of its innermost loops";
        QVERIFY(naive > 50);
        QVERIFY(share(inside, naive) >= 0.9);
    }

    void workersOfOpenMpCarryTheLayerThatTheyWorkFor()
    {
        if (qEnvironmentVariableIntValue("OMP_NUM_THREADS") < 2) QSKIP("one thread has no workers");
        const SampledRun run = train(kConvolutions, 150, 1000);
        QVERIFY2(run.session != nullptr, run.problem.c_str());
        int64_t worker = 0, tagged = 0;
        const session::SampleTable& samples = run.session->samples(base::SeriesId(size_t{0}));
        for (size_t i = 0; i < samples.size(); ++i) {
            const session::Track& track = run.session->tracks()[samples.track[i]];
            if (!track.name.starts_with("OpenMP worker") || samples.step[i] < 0) continue;
            const session::FrameRow& leaf = run.session->frames()[run.session->stacks()[samples.stack[i]].frame.index()];
            if ((leaf.flags & session::kGenerated) == 0) continue;
            ++worker;
            tagged += samples.label[i] != base::LabelId::kNone && run.session->labels()[samples.label[i]].primitive.valid() ? 1 : 0;
        }
        if (worker == 0) QSKIP("tuning gave no work to a second thread on this machine");
        QVERIFY2(share(tagged, worker) >= 0.98, qPrintable(QString("%1 of %2").arg(tagged).arg(worker)));
    }
};

QTEST_GUILESS_MAIN(TestSampledTraining)
#include "tst_sampled_training.moc"
