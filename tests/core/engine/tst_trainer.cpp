#include "naive_backend.h"

#include "core/engine/trainer.h"
#include "core/session/session_builder.h"

#include <QtTest>

#include <cmath>
#include <csignal>
#include <map>
#include <thread>

using namespace stepscope;
using base::ErrorCode;
using engine::Trainer;
using engine::TrainOptions;
using engine::TrainState;
using engine::TrainStatus;
using session::Phase;
using session::SpanKind;
using testing::NaiveBackend;

namespace {

// Dense(8 => 3) on made data of three classes.
model::ModelFile denseFile()
{
    model::ModelFile file;
    file.file = "dense.jl";
    file.text = "model = Dense(8 => 3)";
    model::Layer layer;
    layer.kind = model::LayerKind::dense;
    layer.name = "dense";
    layer.text = "Dense(8 => 3)";
    layer.options.in = 8;
    layer.options.out = 3;
    layer.parameters = {{"weight", {8, 3}, {}, 8, 3}, {"bias", {3}, {model::InitKind::zeros}, 1, 3}};
    file.model.layers = {layer};
    file.loss.kind = model::LossKind::logitcrossentropy;
    file.lossGiven = true;
    file.optimiser.eta = 0.01;
    file.data.samples = 320;
    file.data.batchSize = 32;
    file.dataGiven = true;
    return file;
}

TrainOptions stepsOf(int64_t steps, int64_t warmup = 0)
{
    TrainOptions options;
    options.steps = steps;
    options.warmup = warmup;
    return options;
}

struct Run {
    base::Result<engine::TrainResult> result = base::fail(ErrorCode::internal, "not run");
    session::SessionPtr session;
    std::vector<TrainStatus> statuses;
};

Run runAll(const model::ModelFile& file, const TrainOptions& options, NaiveBackend& backend, bool record = true)
{
    Run run;
    session::SessionBuilder builder;
    Trainer trainer;
    const auto started = trainer.start(file, options, backend, record ? &builder : nullptr, {{"tool.version", "test"}},
                                       [&run](const TrainStatus& status) { run.statuses.push_back(status); });
    if (!started) {
        run.result = base::fail(started.error());
        return run;
    }
    run.result = trainer.wait();
    run.session = builder.build();
    return run;
}

std::string nameOf(const session::Session& s, size_t row)
{
    return std::string(s.string(s.labels()[s.spans().label[row]].name));
}

// A sink whose disk is full after some steps.
class FullDisk final : public session::SessionSink {
public:
    session::SessionBuilder builder;
    int64_t room = 10;
    bool finished = false;

    void addString(std::string_view text) override { builder.addString(text); }
    void addTrack(const session::Track& track) override { builder.addTrack(track); }
    void addLabel(const session::Label& label) override { builder.addLabel(label); }
    void addLayer(const session::LayerRow& layer) override { builder.addLayer(layer); }
    void addPrimitive(const session::PrimitiveRow& primitive) override { builder.addPrimitive(primitive); }
    void addCounter(const session::CounterRow& counter) override { builder.addCounter(counter); }
    void addEnvironment(const session::EnvironmentRow& row) override { builder.addEnvironment(row); }
    void addQuality(const session::QualityRow& row) override { builder.addQuality(row); }
    void setModelText(std::string_view text) override { builder.setModelText(text); }
    void addStep(const session::StepRow& step) override
    {
        if (m_steps < room) builder.addStep(step);
        ++m_steps;
    }
    void addSpans(base::TrackId track, std::span<const session::SpanRecord> spans) override
    {
        builder.addSpans(track, spans);
    }
    void addFrame(const session::FrameRow& frame) override { builder.addFrame(frame); }
    void addStack(const session::StackRow& stack) override { builder.addStack(stack); }
    void addSeries(const session::SeriesRow& series) override { builder.addSeries(series); }
    void addSamples(base::SeriesId series, std::span<const session::SampleRecord> samples) override
    {
        builder.addSamples(series, samples);
    }
    void addCounterSamples(base::CounterId counter, std::span<const session::CounterRecord> samples) override
    {
        builder.addCounterSamples(counter, samples);
    }
    base::Status flush() override
    {
        if (m_steps <= room) return {};
        return base::fail(ErrorCode::diskFull, "no space left on the disk");
    }
    base::Status finish() override
    {
        finished = true;
        return flush();
    }

private:
    int64_t m_steps = 0;
};

} // namespace

class TestTrainer : public QObject {
    Q_OBJECT
private slots:
    void trainingLowersTheLoss();
    void equalSeedsGiveEqualRuns();
    void stepsAndEpochsEndTheRun();
    void warmupIsMarked();
    void spansNestAsStepPhaseLayer();
    void evaluationIsOutsideSteps();
    void layersEnvironmentAndCountersAreRecorded();
    void workersAreOnTheirOwnTracks();
    void withoutASinkNothingIsRecorded();
    void stopEndsAtTheStepBoundary();
    void stopInASignalHandlerWorks();
    void stopWhilePreparingIsClean();
    void pauseHoldsBetweenSteps();
    void stopWhilePausedEnds();
    void destructionStops();
    void nonFiniteLossIsCounted();
    void fullDiskStopsTheRun();
    void failuresBecomeErrors_data();
    void failuresBecomeErrors();
    void badOptionsAreRefused_data();
    void badOptionsAreRefused();
    void statusIsReportedSparingly();
    void dataOfTheWrongShapeNamesTheLayer();
};

void TestTrainer::trainingLowersTheLoss()
{
    NaiveBackend backend;
    TrainOptions options;
    options.epochs = 8;
    options.warmup = 2;
    const Run run = runAll(denseFile(), options, backend);
    QVERIFY2(run.result.has_value(), run.result ? "" : toText(run.result.error()).c_str());
    QCOMPARE(run.result->steps, int64_t{80});
    QCOMPARE(run.result->epochAccuracy.size(), size_t{8});
    // Prototypes of eight normal numbers lie about four deviations of the noise apart.
    QVERIFY2(*run.result->testAccuracy > 0.85, qPrintable(QString::number(*run.result->testAccuracy)));
    const auto& steps = run.session->steps();
    QCOMPARE(steps.size(), size_t{80});
    QVERIFY(steps.back().loss < 0.6 * steps.front().loss);
    QCOMPARE(run.result->finalLoss, steps.back().loss);
    QVERIFY(run.statuses.back().testAccuracy == run.result->testAccuracy);
}

void TestTrainer::equalSeedsGiveEqualRuns()
{
    NaiveBackend backend;
    model::ModelFile file = denseFile();
    file.data.shuffle = true;
    file.data.transforms = {{model::DataSpec::Transform::Kind::noise, 0.1}};
    TrainOptions options = stepsOf(25);
    options.seed = 5;
    const Run a = runAll(file, options, backend);
    options.workers = 2;
    const Run b = runAll(file, options, backend);
    options.seed = 6;
    const Run c = runAll(file, options, backend);
    for (size_t i = 0; i < 25; ++i)
        QCOMPARE(a.session->steps()[i].loss, b.session->steps()[i].loss);
    QVERIFY(a.session->steps()[24].loss != c.session->steps()[24].loss);
}

void TestTrainer::stepsAndEpochsEndTheRun()
{
    NaiveBackend backend;
    const Run steps = runAll(denseFile(), stepsOf(13), backend);
    QCOMPARE(steps.result->steps, int64_t{13});
    QCOMPARE(steps.session->steps()[9].epoch, 0);
    QCOMPARE(steps.session->steps()[10].epoch, 1); // ten batches of 32 make an epoch of 320
    QVERIFY(!steps.result->stoppedByUser);
    model::ModelFile file = denseFile();
    file.data.samples = 100; // 3 batches of 32 and one of 4
    file.epochs = 2;
    TrainOptions options;
    options.warmup = 0;
    const Run epochs = runAll(file, options, backend);
    QCOMPARE(epochs.result->steps, int64_t{8});
    QCOMPARE(epochs.session->steps()[3].samples, 4);
    QCOMPARE(epochs.session->steps()[4].samples, 32);
    file.data.partial = false;
    QCOMPARE(runAll(file, options, backend).result->steps, int64_t{6});
    file.steps = 5;
    QCOMPARE(runAll(file, options, backend).result->steps, int64_t{5});
    options.epochs = 1;
    QCOMPARE(runAll(file, options, backend).result->steps, int64_t{3});
}

void TestTrainer::warmupIsMarked()
{
    NaiveBackend backend;
    const Run run = runAll(denseFile(), stepsOf(9, 4), backend);
    for (const session::StepRow& step : run.session->steps())
        QCOMPARE(step.warmup, step.index < 4);
}

void TestTrainer::spansNestAsStepPhaseLayer()
{
    NaiveBackend backend;
    const Run run = runAll(denseFile(), stepsOf(7), backend);
    const session::Session& s = *run.session;
    const session::SpanTable& spans = s.spans();
    std::map<Phase, int> phases;
    int steps = 0, layers = 0, setups = 0;
    for (size_t row = 0; row < spans.size(); ++row) {
        const session::Label& label = s.labels()[spans.label[row]];
        const bool top = spans.parent[row] == session::SpanTable::kNoParent;
        if (label.kind == SpanKind::step) {
            ++steps;
            QVERIFY(top && spans.step[row] >= 0);
        } else if (label.kind == SpanKind::phase && label.phase == Phase::setup) {
            ++setups;
            QVERIFY(top);
            QCOMPARE(spans.step[row], -1);
        } else if (label.kind == SpanKind::phase) {
            ++phases[label.phase];
            QVERIFY(!top);
            QCOMPARE(s.labels()[spans.label[spans.parent[row]]].kind, SpanKind::step);
            QCOMPARE(spans.step[row], spans.step[spans.parent[row]]);
        } else if (label.kind == SpanKind::layer) {
            ++layers;
            QCOMPARE(s.labels()[spans.label[spans.parent[row]]].phase, Phase::forward);
        } else if (label.kind == SpanKind::creation) {
            QCOMPARE(nameOf(s, row), std::string("build network"));
            QCOMPARE(nameOf(s, spans.parent[row]), std::string("setup"));
        }
    }
    QCOMPARE(steps, 7);
    QCOMPARE(layers, 7);
    QCOMPARE(setups, 1);
    for (const Phase phase : {Phase::dataWait, Phase::hostToDevice, Phase::forward, Phase::loss, Phase::backward,
                              Phase::optimiser, Phase::deviceToHost})
        QCOMPARE(phases[phase], 7);
    for (const session::StepRow& step : s.steps())
        QVERIFY(step.duration > 0);
    for (size_t i = 1; i < s.steps().size(); ++i)
        QVERIFY(s.steps()[i].start >= s.steps()[i - 1].start + s.steps()[i - 1].duration);
}

void TestTrainer::evaluationIsOutsideSteps()
{
    NaiveBackend backend;
    TrainOptions options;
    options.epochs = 2;
    const Run run = runAll(denseFile(), options, backend);
    const session::Session& s = *run.session;
    int evaluations = 0;
    for (size_t row = 0; row < s.spans().size(); ++row) {
        const session::Label& label = s.labels()[s.spans().label[row]];
        if (label.kind != SpanKind::phase || label.phase != Phase::evaluation) continue;
        ++evaluations;
        QCOMPARE(s.spans().step[row], -1);
        QVERIFY(s.spans().parent[row] == session::SpanTable::kNoParent);
    }
    QCOMPARE(evaluations, 2);
    options.evaluate = false;
    const Run without = runAll(denseFile(), options, backend);
    QVERIFY(!without.result->testAccuracy.has_value());
}

void TestTrainer::layersEnvironmentAndCountersAreRecorded()
{
    NaiveBackend backend;
    const Run run = runAll(denseFile(), stepsOf(10), backend);
    const session::Session& s = *run.session;
    QCOMPARE(s.layers().size(), size_t{1});
    const session::LayerRow& layer = s.layers().front();
    QCOMPARE(layer.type, std::string("Dense"));
    QCOMPARE(layer.input, std::string("(8, 32)"));
    QCOMPARE(layer.output, std::string("(3, 32)"));
    QCOMPARE(layer.parameters, int64_t{27});
    QVERIFY(layer.forwardFlop >= int64_t{2} * 8 * 3 * 32);
    QCOMPARE(s.modelText(), std::string("model = Dense(8 => 3)"));
    QCOMPARE(s.environmentValue("tool.version"), std::string_view("test"));
    QCOMPARE(s.environmentValue("backend"), std::string_view("naive"));
    QCOMPARE(s.environmentValue("library.naive"), std::string_view("1"));
    QCOMPARE(s.environmentValue("option.batch"), std::string_view("32"));
    QCOMPARE(s.environmentValue("option.seed"), std::string_view("0"));
    QVERIFY(s.environmentValue("data.source").find("synthetic") == 0);
    std::map<std::string, size_t> samples;
    for (size_t c = 0; c < s.counters().size(); ++c)
        samples[s.counters()[c].name] = s.counterSamples(base::CounterId(c)).value.size();
    QCOMPARE(samples["loss"], size_t{10});
    QCOMPARE(samples["queue depth"], size_t{10});
    QCOMPARE(samples["test accuracy"], size_t{1});
}

void TestTrainer::workersAreOnTheirOwnTracks()
{
    NaiveBackend backend;
    TrainOptions options = stepsOf(20);
    options.workers = 2;
    const Run run = runAll(denseFile(), options, backend);
    QVERIFY(run.result.has_value());
    QCOMPARE(run.session->tracks().size(), size_t{3});
    int made = 0;
    for (size_t row = 0; row < run.session->spans().size(); ++row) {
        if (nameOf(*run.session, row) == "make batch"
            && run.session->labels()[run.session->spans().label[row]].phase == Phase::loading)
            ++made;
    }
    QCOMPARE(made, 20); // no batch beyond the last step
}

void TestTrainer::withoutASinkNothingIsRecorded()
{
    NaiveBackend backend;
    const Run run = runAll(denseFile(), stepsOf(10), backend, false);
    QVERIFY(run.result.has_value());
    QCOMPARE(run.result->steps, int64_t{10});
    QCOMPARE(run.session->spans().size(), size_t{0});
}

void TestTrainer::stopEndsAtTheStepBoundary()
{
    NaiveBackend backend;
    session::SessionBuilder builder;
    Trainer trainer;
    backend.hooks.onForward = [&](int64_t call) {
        if (call == 5) trainer.requestStop();
    };
    QVERIFY(trainer.start(denseFile(), stepsOf(1000000), backend, &builder, {}, {}).has_value());
    const auto result = trainer.wait();
    QVERIFY(result.has_value());
    QVERIFY(result->stoppedByUser);
    QCOMPARE(result->steps, int64_t{6}); // the step under way is finished
    QCOMPARE(builder.build()->steps().size(), size_t{6});
    QVERIFY(trainer.finished());
}

namespace {
Trainer* g_signalled = nullptr; // a signal handler has no other way to its object
}

void TestTrainer::stopInASignalHandlerWorks()
{
    NaiveBackend backend;
    Trainer trainer;
    g_signalled = &trainer;
    const auto before = std::signal(SIGUSR1, [](int) { g_signalled->requestStop(); });
    backend.hooks.onForward = [](int64_t call) {
        if (call == 3) std::raise(SIGUSR1);
    };
    QVERIFY(trainer.start(denseFile(), stepsOf(1000000), backend, nullptr, {}, {}).has_value());
    QCOMPARE(trainer.wait()->steps, int64_t{4});
    std::signal(SIGUSR1, before);
}

void TestTrainer::stopWhilePreparingIsClean()
{
    NaiveBackend backend;
    session::SessionBuilder builder;
    Trainer trainer;
    trainer.requestStop();
    QVERIFY(trainer.start(denseFile(), stepsOf(10), backend, &builder, {}, {}).has_value());
    const auto result = trainer.wait();
    QVERIFY2(result.has_value(), result ? "" : toText(result.error()).c_str());
    QVERIFY(result->stoppedByUser);
    QCOMPARE(result->steps, int64_t{0});
}

void TestTrainer::pauseHoldsBetweenSteps()
{
    NaiveBackend backend;
    session::SessionBuilder builder;
    Trainer trainer;
    std::atomic<int64_t> calls{0};
    std::atomic<bool> paused{false};
    backend.hooks.onForward = [&](int64_t call) {
        calls = call + 1;
        if (call == 4) trainer.pause();
    };
    QVERIFY(trainer
                .start(denseFile(), stepsOf(8), backend, &builder, {},
                       [&](const TrainStatus& status) {
                           if (status.state == TrainState::paused) paused = true;
                       })
                .has_value());
    QVERIFY(QTest::qWaitFor([&] { return paused.load(); }, 20000));
    QTest::qWait(200);
    QCOMPARE(calls.load(), int64_t{5});
    QVERIFY(!trainer.finished());
    trainer.resume();
    QCOMPARE(trainer.wait()->steps, int64_t{8});
    const session::SessionPtr s = builder.build();
    // The pause of 200 ms lies between two steps, not in one.
    const auto& steps = s->steps();
    QVERIFY(steps[5].start - (steps[4].start + steps[4].duration) > 150'000'000);
}

void TestTrainer::stopWhilePausedEnds()
{
    NaiveBackend backend;
    Trainer trainer;
    backend.hooks.onForward = [&](int64_t call) {
        if (call == 2) trainer.pause();
        if (call == 2) trainer.requestStop();
    };
    QVERIFY(trainer.start(denseFile(), stepsOf(100), backend, nullptr, {}, {}).has_value());
    QCOMPARE(trainer.wait()->steps, int64_t{3});
}

void TestTrainer::destructionStops()
{
    NaiveBackend backend;
    backend.hooks.onForward = [](int64_t) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
    {
        Trainer trainer;
        QVERIFY(trainer.start(denseFile(), stepsOf(100000000), backend, nullptr, {}, {}).has_value());
    } // a hang would meet the test's time limit
    Trainer never;
    QVERIFY(!never.wait().has_value());
}

void TestTrainer::nonFiniteLossIsCounted()
{
    NaiveBackend backend;
    backend.hooks.nanLoss = true;
    const Run run = runAll(denseFile(), stepsOf(6), backend);
    QVERIFY(run.result.has_value()); // it goes on
    QCOMPARE(run.result->steps, int64_t{6});
    QVERIFY(std::isnan(run.session->steps()[3].loss));
    bool noted = false;
    for (const session::QualityRow& row : run.session->quality()) {
        if (row.code == "non-finite-loss") {
            noted = true;
            QCOMPARE(row.count, int64_t{6});
        }
    }
    QVERIFY(noted);
}

void TestTrainer::fullDiskStopsTheRun()
{
    NaiveBackend backend;
    backend.hooks.onForward = [](int64_t) { std::this_thread::sleep_for(std::chrono::milliseconds(2)); };
    FullDisk sink;
    Trainer trainer;
    QVERIFY(trainer.start(denseFile(), stepsOf(1000000), backend, &sink, {}, {}).has_value());
    const auto result = trainer.wait();
    QVERIFY(!result.has_value());
    QCOMPARE(result.error().code, ErrorCode::diskFull);
    QCOMPARE(sink.builder.build()->steps().size(), size_t{10}); // what was saved stays
}

void TestTrainer::failuresBecomeErrors_data()
{
    QTest::addColumn<QString>("what");
    QTest::addColumn<QString>("part");
    QTest::newRow("self-check") << "check"
                                << "wrong results";
    QTest::newRow("exception in build") << "build"
                                        << "a bug in the backend";
    QTest::newRow("exception in a step") << "step"
                                         << "broken step";
    QTest::newRow("missing data") << "data"
                                  << "does not exist";
}

void TestTrainer::failuresBecomeErrors()
{
    QFETCH(QString, what);
    QFETCH(QString, part);
    NaiveBackend backend;
    model::ModelFile file = denseFile();
    if (what == "check")
        backend.hooks.selfCheck = base::fail(ErrorCode::unavailable, "this library computes wrong results");
    if (what == "build") backend.hooks.failBuild = true;
    if (what == "step") {
        backend.hooks.onForward = [](int64_t call) {
            if (call == 3) throw std::runtime_error("broken step");
        };
    }
    if (what == "data") {
        file.data.kind = model::DataKind::csv;
        file.data.path = "/nowhere/data.csv";
    }
    const Run run = runAll(file, stepsOf(10), backend);
    QVERIFY(!run.result.has_value());
    QVERIFY2(run.result.error().message.find(part.toStdString()) != std::string::npos,
             run.result.error().message.c_str());
    QCOMPARE(run.statuses.back().state, TrainState::failed);
    QCOMPARE(run.session->steps().size(), size_t(what == "step" ? 3 : 0)); // everything up to it is there
    QVERIFY(std::any_of(run.session->tables().quality.begin(), run.session->tables().quality.end(),
                        [](const auto& row) { return row.code == "run-failed"; }));
}

void TestTrainer::badOptionsAreRefused_data()
{
    QTest::addColumn<int>("steps");
    QTest::addColumn<int>("epochs");
    QTest::addColumn<int>("warmup");
    QTest::addColumn<int>("batch");
    QTest::addColumn<int>("threads");
    QTest::addColumn<int>("workers");
    QTest::addColumn<QString>("part");
    QTest::newRow("negative steps") << -1 << 0 << 0 << 0 << 0 << 0 << "-1 steps";
    QTest::newRow("negative epochs") << 0 << -2 << 0 << 0 << 0 << 0 << "-2 epochs";
    QTest::newRow("negative warm-up") << 10 << 0 << -1 << 0 << 0 << 0 << "-1 warm-up";
    QTest::newRow("warm-up beyond steps")
        << 10 << 0 << 11 << 0 << 0 << 0 << "11 warm-up steps are more than the 10 steps";
    QTest::newRow("warm-up beyond epochs")
        << 0 << 1 << 11 << 0 << 0 << 0 << "11 warm-up steps are more than the 10 steps";
    QTest::newRow("negative batch") << 10 << 0 << 0 << -4 << 0 << 0 << "a batch of -4";
    QTest::newRow("large batch") << 10 << 0 << 0 << 321 << 0 << 0
                                 << "a batch of 321 samples is larger than the data set of 320";
    QTest::newRow("negative threads") << 10 << 0 << 0 << 0 << -1 << 0 << "-1 threads";
    QTest::newRow("negative workers") << 10 << 0 << 0 << 0 << 0 << -1 << "-1 loader workers";
}

void TestTrainer::badOptionsAreRefused()
{
    QFETCH(int, steps);
    QFETCH(int, epochs);
    QFETCH(int, warmup);
    QFETCH(int, batch);
    QFETCH(int, threads);
    QFETCH(int, workers);
    QFETCH(QString, part);
    TrainOptions options = stepsOf(steps, warmup);
    options.epochs = epochs;
    options.batchSize = batch;
    options.threads = threads;
    options.workers = workers;
    NaiveBackend backend;
    const Run run = runAll(denseFile(), options, backend);
    QVERIFY(!run.result.has_value());
    QCOMPARE(run.result.error().code, ErrorCode::invalidArgument);
    QVERIFY2(run.result.error().message.find(part.toStdString()) != std::string::npos,
             run.result.error().message.c_str());
}

void TestTrainer::statusIsReportedSparingly()
{
    NaiveBackend backend;
    backend.hooks.onForward = [](int64_t) { std::this_thread::sleep_for(std::chrono::milliseconds(1)); };
    const auto begin = std::chrono::steady_clock::now();
    const Run run = runAll(denseFile(), stepsOf(700), backend);
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    QVERIFY(run.result.has_value());
    int running = 0;
    for (const TrainStatus& status : run.statuses)
        running += status.state == TrainState::running ? 1 : 0;
    QVERIFY(running >= 2); // the change of state and at least one report
    QVERIFY2(running <= 2 * seconds + 2, qPrintable(QString("%1 reports in %2 s").arg(running).arg(seconds)));
    const TrainStatus& last = run.statuses.back();
    QCOMPARE(last.state, TrainState::finished);
    QCOMPARE(last.step, int64_t{700});
    QCOMPARE(last.totalSteps, int64_t{700});
    QVERIFY(last.medianStepNs >= 1e6);
    QVERIFY(last.samplesPerSecond > 0 && last.samplesPerSecond < 32000);
    QCOMPARE(run.statuses.front().state, TrainState::preparing);
}

void TestTrainer::dataOfTheWrongShapeNamesTheLayer()
{
    NaiveBackend backend;
    model::ModelFile file = denseFile();
    file.data.sampleShape = {5};
    const Run run = runAll(file, stepsOf(10), backend);
    QVERIFY(!run.result.has_value());
    QVERIFY2(run.result.error().message.find("Dense(8 => 3)") != std::string::npos, run.result.error().message.c_str());
}

QTEST_GUILESS_MAIN(TestTrainer)
#include "tst_trainer.moc"
