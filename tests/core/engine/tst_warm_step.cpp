// A warm step allocates nothing: counted by replacing the allocation functions of this program.
#include "naive_backend.h"

#include "core/engine/loader.h"
#include "core/engine/trainer.h"
#include "core/session/session_builder.h"

#include <QtTest>

#include <cstdlib>
#include <new>

namespace {

thread_local int64_t t_allocations = 0; // of the calling thread

void* countedAllocation(size_t size, size_t alignment)
{
    ++t_allocations;
    void* p = alignment <= alignof(std::max_align_t)
        ? std::malloc(size)
        : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
    if (p == nullptr) throw std::bad_alloc();
    return p;
}

} // namespace

void* operator new(size_t size) { return countedAllocation(size, 1); }
void* operator new(size_t size, std::align_val_t alignment)
{
    return countedAllocation(size, static_cast<size_t>(alignment));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }

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
        if (reads == 20) before = t_allocations;
        if (reads == 60) after = t_allocations;
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
        if (call == 50) before = t_allocations;
        if (call == 250) after = t_allocations;
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
