// A warm step allocates nothing: counted by the allocation functions that take the place of this program's.
#include "naive_backend.h"

#include "core/engine/loader.h"
#include "core/engine/trainer.h"
#include "core/session/session_builder.h"
#include "tests/support/step_counters.h"

#include <QtTest>

using namespace stepscope;

namespace {

// Counts on the thread that reads.
class WatchedSource final : public engine::DataSource {
public:
    int64_t size() const override { return 100; }
    model::Dims sampleShape() const override { return {1, 4, 4}; }
    int64_t classes() const override { return 2; }
    model::Dims targetShape() const override { return {}; }
    void read(std::span<const int64_t> indices, engine::Batch& batch) const override
    {
        for (size_t i = 0; i < indices.size() * 16; ++i)
            batch.x[i] = static_cast<float>(i);
        for (size_t i = 0; i < indices.size(); ++i)
            batch.labels[i] = 0;
        ++reads;
        if (reads == 20) before = support::stepCounters().threadAllocations;
        if (reads == 60) after = support::stepCounters().threadAllocations;
    }
    mutable int reads = 0; // by one thread
    mutable int64_t before = -1, after = -1;
};

} // namespace

class TestWarmStep : public QObject {
    Q_OBJECT
private slots:
    void theTrainingThreadAllocatesNothing_data();
    void theTrainingThreadAllocatesNothing();
    void theLoaderAllocatesNothing_data();
    void theLoaderAllocatesNothing();
};

void TestWarmStep::theTrainingThreadAllocatesNothing_data()
{
    QTest::addColumn<int>("workers");
    QTest::newRow("no workers") << 0;
    QTest::newRow("workers") << 2;
}

void TestWarmStep::theTrainingThreadAllocatesNothing()
{
    QFETCH(int, workers);
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
    file.data.samples = 100; // with a smaller last batch
    file.data.batchSize = 32;
    file.data.shuffle = true;
    file.data.transforms = {{model::DataSpec::Transform::Kind::normalise, 0.5, 0.5},
                            {model::DataSpec::Transform::Kind::noise, 0.1}};
    file.dataGiven = true;
    testing::NaiveBackend backend;
    int64_t before = -1, after = -1;
    backend.hooks.onForward = [&](int64_t call) {
        if (call == 50) before = support::stepCounters().threadAllocations;
        if (call == 250) after = support::stepCounters().threadAllocations;
    };
    engine::TrainOptions options;
    options.steps = 300;
    options.workers = workers;
    options.evaluate = false;
    session::SessionBuilder sink;
    engine::Trainer trainer;
    QVERIFY(trainer.start(file, options, backend, &sink, {}, {}).has_value());
    QVERIFY(trainer.wait().has_value());
    QVERIFY(before > 0); // preparation allocates, and it was counted
    QCOMPARE(after - before, int64_t{0});
}

void TestWarmStep::theLoaderAllocatesNothing_data() { theTrainingThreadAllocatesNothing_data(); }

void TestWarmStep::theLoaderAllocatesNothing()
{
    QFETCH(int, workers);
    const WatchedSource source;
    engine::LoaderOptions options;
    options.batchSize = 8;
    options.shuffle = true;
    options.workers = std::min(workers, 1); // one thread reads, so that its count is the loader's
    options.transforms = {{engine::TransformSpec::Kind::flipHorizontal, 0.5}, {engine::TransformSpec::Kind::shift, 1}};
    {
        auto loader = *engine::Loader::make(source, options);
        for (int i = 0; i < 80; ++i)
            QVERIFY(loader->next().has_value());
    }
    QVERIFY(source.before >= 0);
    QCOMPARE(source.after - source.before, int64_t{0});
}

QTEST_GUILESS_MAIN(TestWarmStep)
#include "tst_warm_step.moc"
