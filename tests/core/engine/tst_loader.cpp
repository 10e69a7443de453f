#include "core/engine/loader.h"
#include "core/engine/random.h"
#include "core/session/session_builder.h"

#include <QtTest>

#include <chrono>
#include <set>
#include <thread>

using namespace stepscope;
using engine::Batch;
using engine::Loader;
using engine::LoaderOptions;
using engine::TransformSpec;
using Kind = TransformSpec::Kind;

namespace {

// Sample i holds the value i everywhere and the label i % 7; reading can be slow or fail.
class CountingSource final : public engine::DataSource {
public:
    explicit CountingSource(int64_t size, model::Dims shape = {2}) : m_size(size), m_shape(std::move(shape)) {}
    int64_t size() const override { return m_size; }
    model::Dims sampleShape() const override { return m_shape; }
    int64_t classes() const override { return 7; }
    model::Dims targetShape() const override { return {}; }
    void read(std::span<const int64_t> indices, Batch& batch) const override
    {
        if (slow.count() > 0) std::this_thread::sleep_for(slow);
        const auto n = static_cast<size_t>(model::product(m_shape));
        for (size_t i = 0; i < indices.size(); ++i) {
            if (indices[i] == failAt) throw std::runtime_error("the disk is gone");
            for (size_t k = 0; k < n; ++k)
                batch.x[i * n + k] = static_cast<float>(indices[i]);
            batch.labels[i] = static_cast<int32_t>(indices[i] % 7);
        }
        reads.fetch_add(1);
    }
    mutable std::atomic<int> reads{0};
    std::chrono::milliseconds slow{0};
    int64_t failAt = -1;

private:
    int64_t m_size;
    model::Dims m_shape;
};

struct Seen {
    std::vector<float> x;
    std::vector<int64_t> counts;
    std::vector<int32_t> labels;
    bool operator==(const Seen&) const = default;
};

Seen takeAll(const engine::DataSource& source, const LoaderOptions& options, int64_t batches)
{
    Seen seen;
    auto loader = Loader::make(source, options);
    if (!loader) qFatal("%s", loader.error().message.c_str());
    for (int64_t b = 0; b < batches; ++b) {
        const auto batch = (*loader)->next();
        if (!batch) qFatal("%s", batch.error().message.c_str());
        seen.x.insert(seen.x.end(), (*batch)->x.begin(), (*batch)->x.end());
        seen.labels.insert(seen.labels.end(), (*batch)->labels.begin(), (*batch)->labels.end());
        seen.counts.push_back((*batch)->count);
    }
    return seen;
}

LoaderOptions options(int64_t batch, bool shuffle, int workers = 0)
{
    LoaderOptions o;
    o.batchSize = batch;
    o.shuffle = shuffle;
    o.workers = workers;
    o.seed = 42;
    return o;
}

engine::Batch imageBatch(std::vector<float> values)
{
    Batch batch;
    batch.count = 1;
    batch.x.assign(values.begin(), values.end());
    return batch;
}

} // namespace

class TestLoader : public QObject {
    Q_OBJECT
private slots:
    void unshuffledBatchesAreInOrder();
    void shuffledEpochsArePermutationsAndDiffer();
    void anyNumberOfWorkersGivesTheSameBatches_data();
    void anyNumberOfWorkersGivesTheSameBatches();
    void partialBatchIsKeptOrDropped();
    void tinyDataSpansEpochs();
    void batchesLimitsTheStream();
    void workersStayWithinTheQueue();
    void aFailureComesInItsTurn_data();
    void aFailureComesInItsTurn();
    void waitingEndsOnRequest();
    void destructionIsPrompt();
    void badOptionsAreRefused();
    void workersHaveTracksAndSpans();
    void callerSpansAreInItsPhase();
    void normaliseShiftsAndScales();
    void flipMirrorsEachRow();
    void shiftMovesAndFillsWithZero();
    void noiseHasItsDeviation();
    void perBatchGivesTheSameValues();
    void memoryIsRecycled();
};

void TestLoader::unshuffledBatchesAreInOrder()
{
    const CountingSource source(10);
    const Seen seen = takeAll(source, options(4, false), 3);
    QCOMPARE(seen.counts, (std::vector<int64_t>{4, 4, 2}));
    QCOMPARE(seen.x.size(), size_t{20});
    for (size_t i = 0; i < 20; ++i)
        QCOMPARE(seen.x[i], static_cast<float>(i / 2));
    for (size_t i = 0; i < 10; ++i)
        QCOMPARE(seen.labels[i], static_cast<int32_t>(i % 7));
}

void TestLoader::shuffledEpochsArePermutationsAndDiffer()
{
    const CountingSource source(100, {1});
    const Seen seen = takeAll(source, options(10, true), 20);
    const std::vector<float> first(seen.x.begin(), seen.x.begin() + 100), second(seen.x.begin() + 100, seen.x.end());
    QCOMPARE(std::set<float>(first.begin(), first.end()).size(), size_t{100});
    QCOMPARE(std::set<float>(second.begin(), second.end()).size(), size_t{100});
    QVERIFY(first != second);
    QVERIFY(!std::is_sorted(first.begin(), first.end()));
    LoaderOptions other = options(10, true);
    other.seed = 43;
    QVERIFY(takeAll(source, other, 10).x != first);
}

void TestLoader::anyNumberOfWorkersGivesTheSameBatches_data()
{
    QTest::addColumn<int>("workers");
    QTest::addColumn<int>("queue");
    for (const auto& [workers, queue] : {std::pair{1, 0}, {2, 0}, {3, 1}, {5, 12}}) {
        QTest::newRow(qPrintable(QString("%1 workers, queue %2").arg(workers).arg(queue))) << workers << queue;
    }
}

void TestLoader::anyNumberOfWorkersGivesTheSameBatches()
{
    QFETCH(int, workers);
    QFETCH(int, queue);
    const CountingSource source(53, {1, 2, 3});
    LoaderOptions o = options(8, true);
    o.transforms = {{Kind::flipHorizontal, 0.5}, {Kind::shift, 1}, {Kind::noise, 0.1}, {Kind::normalise, 1, 2}};
    const Seen expected = takeAll(source, o, 30);
    o.workers = workers;
    o.queueDepth = queue;
    QVERIFY(takeAll(source, o, 30) == expected);
}

void TestLoader::partialBatchIsKeptOrDropped()
{
    const CountingSource source(10);
    LoaderOptions o = options(4, false);
    QCOMPARE((*Loader::make(source, o))->batchesPerEpoch(), int64_t{3});
    o.partial = false;
    QCOMPARE((*Loader::make(source, o))->batchesPerEpoch(), int64_t{2});
    QCOMPARE(takeAll(source, o, 3).counts, (std::vector<int64_t>{4, 4, 4}));
    QCOMPARE(takeAll(source, o, 3).x[16], 0.0f); // the third is the first of the second epoch
}

void TestLoader::tinyDataSpansEpochs()
{
    const CountingSource source(3, {1});
    LoaderOptions o = options(3, true, 4); // eight epochs in flight at once
    const Seen seen = takeAll(source, o, 40);
    for (size_t e = 0; e < 40; ++e)
        QCOMPARE(std::set<float>(seen.x.begin() + static_cast<std::ptrdiff_t>(3 * e),
                                 seen.x.begin() + static_cast<std::ptrdiff_t>(3 * e + 3))
                     .size(),
                 size_t{3});
    o.workers = 0;
    QVERIFY(takeAll(source, o, 40) == seen);
}

void TestLoader::batchesLimitsTheStream()
{
    const CountingSource source(100);
    for (const int workers : {0, 2}) {
        LoaderOptions o = options(10, false, workers);
        o.batches = 3;
        source.reads = 0;
        auto loader = *Loader::make(source, o);
        for (int i = 0; i < 3; ++i)
            QVERIFY(loader->next().has_value());
        const auto more = loader->next();
        QVERIFY(!more.has_value());
        QCOMPARE(more.error().code, base::ErrorCode::notFound);
        loader.reset();
        QCOMPARE(source.reads.load(), 3);
    }
}

void TestLoader::workersStayWithinTheQueue()
{
    const CountingSource source(1000);
    LoaderOptions o = options(1, false, 2);
    o.queueDepth = 3;
    auto loader = *Loader::make(source, o);
    QVERIFY(QTest::qWaitFor([&] { return loader->readyBatches() >= 3; }, 20000));
    QVERIFY(loader->next().has_value());
    // One is held, three are ahead, and the fifth place does not exist.
    QVERIFY(QTest::qWaitFor([&] { return loader->readyBatches() == 3; }, 20000));
    QTest::qWait(50);
    QVERIFY(source.reads.load() <= 5);
    QCOMPARE(loader->readyBatches(), 3);
}

void TestLoader::aFailureComesInItsTurn_data()
{
    QTest::addColumn<int>("workers");
    QTest::newRow("caller") << 0;
    QTest::newRow("workers") << 3;
}

void TestLoader::aFailureComesInItsTurn()
{
    QFETCH(int, workers);
    CountingSource source(100);
    source.failAt = 25;
    auto loader = *Loader::make(source, options(10, false, workers));
    for (int i = 0; i < 2; ++i)
        QVERIFY(loader->next().has_value());
    const auto failed = loader->next();
    QVERIFY(!failed.has_value());
    QVERIFY2(failed.error().message.find("batch 3 of epoch 1") != std::string::npos, failed.error().message.c_str());
    QVERIFY(failed.error().message.find("the disk is gone") != std::string::npos);
    QVERIFY(!loader->next().has_value()); // and it stays
}

void TestLoader::waitingEndsOnRequest()
{
    CountingSource source(100);
    source.slow = std::chrono::seconds(2);
    auto loader = *Loader::make(source, options(10, false, 1));
    std::atomic<bool> stop{true};
    const auto cancelled = loader->next(&stop);
    QVERIFY(!cancelled.has_value());
    QCOMPARE(cancelled.error().code, base::ErrorCode::cancelled);
}

void TestLoader::destructionIsPrompt()
{
    CountingSource source(1000);
    for (int i = 0; i < 20; ++i) {
        auto loader = *Loader::make(source, options(1, true, 4));
        if (i % 2 == 0) QVERIFY(loader->next().has_value());
    } // a hang would meet the test's time limit
    QVERIFY(source.reads.load() < 20 * 12);
}

void TestLoader::badOptionsAreRefused()
{
    const CountingSource source(10), empty(0);
    const auto messageOf = [](const engine::DataSource& s, const LoaderOptions& o) {
        auto loader = Loader::make(s, o);
        return loader ? std::string() : loader.error().message;
    };
    QVERIFY(messageOf(source, options(11, false)).find("larger than the data set of 10") != std::string::npos);
    QVERIFY(!messageOf(source, options(0, false)).empty());
    QVERIFY(!messageOf(source, options(1, false, -1)).empty());
    QVERIFY(!messageOf(source, options(1, false, 100000)).empty());
    QVERIFY(messageOf(empty, options(1, false)).find("empty") != std::string::npos);
    LoaderOptions flip = options(2, false);
    flip.transforms = {{Kind::flipHorizontal, 0.5}};
    QVERIFY(messageOf(source, flip).find("FlipHorizontal needs images") != std::string::npos);
    flip.transforms = {{Kind::normalise, 0, 0}};
    QVERIFY(!messageOf(source, flip).empty());
}

void TestLoader::workersHaveTracksAndSpans()
{
    const CountingSource source(60, {1, 2, 2});
    session::SessionBuilder builder;
    recording::Recorder recorder(builder);
    recording::SpanBuffer* caller = recorder.registerTrack("training");
    LoaderOptions o = options(10, true, 2);
    o.batches = 6;
    o.transforms = {{Kind::normalise, 0, 1, true}, {Kind::noise, 1}};
    {
        auto loader = *Loader::make(source, o, {&recorder, caller, session::Phase::dataWait});
        for (int i = 0; i < 6; ++i)
            QVERIFY(loader->next().has_value());
    }
    QVERIFY(recorder.finish().has_value());
    const session::SessionPtr s = builder.build();
    std::set<std::string> names;
    for (const session::Track& track : s->tracks())
        names.insert(track.name);
    QCOMPARE(names, (std::set<std::string>{"training", "loader 0", "loader 1"}));
    std::map<std::string, int> counts;
    const session::SpanTable& spans = s->spans();
    for (size_t row = 0; row < spans.size(); ++row) {
        const session::Label& label = s->labels()[spans.label[row]];
        const std::string name(s->string(label.name));
        ++counts[name];
        QCOMPARE(label.phase, session::Phase::loading);
        QCOMPARE(label.kind, session::SpanKind::task);
        if (name == "read" || name == "Noise" || name == "Normalise per batch") {
            QVERIFY(spans.parent[row] != session::SpanTable::kNoParent);
            QCOMPARE(s->string(s->labels()[spans.label[spans.parent[row]]].name), std::string_view("make batch"));
        }
    }
    QCOMPARE(counts,
             (std::map<std::string, int>{
                 {"make batch", 6}, {"read", 6}, {"Normalise per batch", 6}, {"Noise", 6}, {"order samples", 1}}));
}

void TestLoader::callerSpansAreInItsPhase()
{
    const CountingSource source(20);
    session::SessionBuilder builder;
    recording::Recorder recorder(builder);
    recording::SpanBuffer* caller = recorder.registerTrack("training");
    auto loader = *Loader::make(source, options(10, false), {&recorder, caller, session::Phase::dataWait});
    QVERIFY(loader->next().has_value());
    loader.reset();
    QVERIFY(recorder.finish().has_value());
    const session::SessionPtr s = builder.build();
    QCOMPARE(s->tracks().size(), size_t{1});
    QCOMPARE(s->spans().size(), size_t{2}); // make batch, read
    for (const uint32_t label : s->spans().label)
        QCOMPARE(s->labels()[label].phase, session::Phase::dataWait);
}

void TestLoader::normaliseShiftsAndScales()
{
    Batch batch = imageBatch({1, 2, 3, 5});
    const int64_t sample = 0;
    engine::applyTransform({Kind::normalise, 1, 2}, 0, {4}, {&sample, 1}, 0, batch);
    QCOMPARE(std::vector<float>(batch.x.begin(), batch.x.end()), (std::vector<float>{0, 0.5f, 1, 2}));
}

void TestLoader::flipMirrorsEachRow()
{
    const int64_t sample = 3;
    Batch batch = imageBatch({1, 2, 3, 4, 5, 6});
    engine::applyTransform({Kind::flipHorizontal, 1}, 0, {1, 2, 3}, {&sample, 1}, 0, batch);
    QCOMPARE(std::vector<float>(batch.x.begin(), batch.x.end()), (std::vector<float>{3, 2, 1, 6, 5, 4}));
    engine::applyTransform({Kind::flipHorizontal, 0}, 0, {1, 2, 3}, {&sample, 1}, 0, batch);
    QCOMPARE(batch.x[0], 3.0f);
}

void TestLoader::shiftMovesAndFillsWithZero()
{
    // Every result is the image moved by some (dx, dy) of at most one pixel; all nine occur.
    const std::vector<float> image{1, 2, 3, 4, 5, 6, 7, 8, 9};
    std::set<std::pair<int, int>> found;
    for (int64_t sample = 0; sample < 300; ++sample) {
        Batch batch = imageBatch(image);
        engine::applyTransform({Kind::shift, 1}, 0, {1, 3, 3}, {&sample, 1}, 9, batch);
        int matches = 0;
        for (int dy = -1; dy <= 1; ++dy) {
            for (int dx = -1; dx <= 1; ++dx) {
                bool equal = true;
                for (int y = 0; y < 3; ++y) {
                    for (int x = 0; x < 3; ++x) {
                        const int fx = x - dx, fy = y - dy;
                        const float expected =
                            fx < 0 || fx > 2 || fy < 0 || fy > 2 ? 0.0f : image[static_cast<size_t>(fy * 3 + fx)];
                        equal = equal && batch.x[static_cast<size_t>(y * 3 + x)] == expected;
                    }
                }
                if (equal) {
                    ++matches;
                    found.insert({dx, dy});
                }
            }
        }
        QCOMPARE(matches, 1);
    }
    QCOMPARE(found.size(), size_t{9});
    const int64_t sample = 1;
    Batch far = imageBatch(image); // farther than the image is wide
    engine::applyTransform({Kind::shift, 100}, 0, {1, 3, 3}, {&sample, 1}, 9, far);
    QCOMPARE(far.x.size(), size_t{9});
}

void TestLoader::noiseHasItsDeviation()
{
    Batch batch = imageBatch(std::vector<float>(20000, 3.0f));
    const int64_t sample = 0;
    engine::applyTransform({Kind::noise, 0.5}, 0, {20000}, {&sample, 1}, 1, batch);
    double sum = 0, squares = 0;
    for (const float x : batch.x) {
        sum += x - 3;
        squares += (x - 3) * (x - 3);
    }
    QVERIFY(std::abs(sum / 20000) < 0.02);
    QVERIFY(std::abs(squares / 20000 - 0.25) < 0.02);
}

void TestLoader::perBatchGivesTheSameValues()
{
    const CountingSource source(30, {1, 4, 4});
    LoaderOptions o = options(10, true);
    o.transforms = {{Kind::normalise, 3, 2}, {Kind::flipHorizontal, 0.5}, {Kind::shift, 2}, {Kind::noise, 1}};
    const Seen perSample = takeAll(source, o, 6);
    for (TransformSpec& transform : o.transforms)
        transform.perBatch = true;
    QVERIFY(takeAll(source, o, 6) == perSample);
}

void TestLoader::memoryIsRecycled()
{
    const CountingSource source(100);
    LoaderOptions o = options(16, true, 2);
    auto loader = *Loader::make(source, o);
    std::set<const float*> places;
    for (int i = 0; i < 50; ++i) {
        const auto batch = loader->next();
        QVERIFY(batch.has_value());
        places.insert((*batch)->x.data());
    }
    QVERIFY(places.size() <= 5); // 2 per worker and the one held
}

QTEST_GUILESS_MAIN(TestLoader)
#include "tst_loader.moc"
