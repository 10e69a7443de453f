// The oneDNN backend itself: Flux's published values, dropout, the self-check, refused input, reproducible starts.
#include "tests/core/onednn/onednn_test.h"

#include <QRegularExpression>

#include <algorithm>
#include <cmath>
#include <numeric>

using namespace stepscope;
using namespace stepscope::testing;

namespace {

const base::LayerId kFirst(1u); // the first layer inside the Chain

std::vector<float> sequence(int64_t n)
{
    std::vector<float> v(n);
    std::iota(v.begin(), v.end(), 1.0f);
    return v;
}

bool close(const std::vector<float>& actual, const std::vector<float>& expected, float tolerance = 1e-5f)
{
    if (actual.size() != expected.size()) return false;
    for (size_t i = 0; i < actual.size(); ++i)
        if (!(std::abs(actual[i] - expected[i]) <= tolerance * std::max(1.0f, std::abs(expected[i])))) return false;
    return true;
}

engine::Batch batchOf(const std::vector<float>& x, int64_t count, const std::vector<float>& targets)
{
    engine::Batch batch;
    batch.count = count;
    batch.x.assign(x.begin(), x.end());
    batch.targets.assign(targets.begin(), targets.end());
    return batch;
}

} // namespace

class TestOneDnnBackend : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() { m_backend = testBackend(); }
    void selfCheckPasses();
    void environmentNamesLibraryAndVersion();
    void convolutionMatchesNNlib();
    void asymmetricPaddingMatchesFlux();
    void poolingMatchesNNlib();
    void batchNormMatchesFlux();
    void leakyDenseTrainsAsInTheDocumentation();
    void dropoutKeepsAndScales();
    void dropoutUsesOneMaskForwardAndBackward();
    void dropoutInsideAModelMatchesTheReference();
    void dropoutDrawsNewMasksAndRepeatsThemBySeed();
    void initialValuesFollowTheSeed();
    void wrongBatchesAreRefused();
    void wrongParametersAreRefused();
    void lossWithoutGradientLeavesTheValue();

private:
    std::unique_ptr<engine::Network> build(const std::string& text, int64_t batch, uint64_t seed = 5)
    {
        engine::BuildOptions options = buildOptions(batch, true);
        options.seed = seed;
        options.poisonMemory = true;
        auto network = m_backend->build(readModel(text), options, {}, {}, {}, true);
        if (!network) throw std::runtime_error(base::toText(network.error()));
        return std::move(*network);
    }
    std::unique_ptr<engine::Backend> m_backend;
};

void TestOneDnnBackend::selfCheckPasses()
{
    const base::Status status = m_backend->selfCheck();
    QVERIFY2(status.has_value(), status ? "" : base::toText(status.error()).c_str());
}

void TestOneDnnBackend::environmentNamesLibraryAndVersion()
{
    QCOMPARE(m_backend->name(), std::string("oneDNN"));
    std::string rows;
    for (const auto& [key, value] : m_backend->environment())
        rows += key + "=" + value + "\n";
    QVERIFY2(QString::fromStdString(rows).contains(QRegularExpression("[23]\\.\\d+\\.\\d+")), rows.c_str());
}

// The loss sum(y²) / 2 would send y back; Flux's mse has no half, so that all gradients are doubled.
void TestOneDnnBackend::convolutionMatchesNNlib()
{
    const std::string options = "loss(m, x, y) = Flux.mse(m(x), y; agg = sum)\n";
    auto network = build("input = (5, 4, 1)\nmodel = Chain(Conv((2, 2), 1 => 1))\n" + options, 1);
    QVERIFY(network->setParameter(kFirst, 0, sequence(4)).has_value());
    QVERIFY(network->setBatch(batchOf(sequence(20), 1, std::vector<float>(12, 0))).has_value());
    QVERIFY(network->forward(true).has_value());
    QVERIFY(close(network->output(), {29, 39, 49, 59, 79, 89, 99, 109, 129, 139, 149, 159}));
    network->loss(true);
    QVERIFY(network->backward().has_value());
    QVERIFY(close(*network->gradient(kFirst, 0), {2 * 17378, 2 * 16250, 2 * 11738, 2 * 10610}));
    const std::vector<float> dx = *network->inputGradient();
    QVERIFY(close({dx[0], dx[5], dx[10], dx[15]}, {2 * 116, 2 * 374, 2 * 674, 2 * 258}));

    auto plain = build("input = (5, 4, 1)\nmodel = Chain(CrossCor((2, 2), 1 => 1))\nloss = mse\n", 1);
    QVERIFY(plain->setParameter(kFirst, 0, sequence(4)).has_value());
    QVERIFY(plain->setBatch(batchOf(sequence(20), 1, std::vector<float>(12, 0))).has_value());
    QVERIFY(plain->forward(false).has_value());
    QVERIFY(close(plain->output(), {51, 61, 71, 81, 101, 111, 121, 131, 151, 161, 171, 181}));

    auto line = build("input = (5, 1)\nmodel = Chain(Conv((2,), 1 => 1))\n" + options, 1);
    QVERIFY(line->setParameter(kFirst, 0, {1, 2}).has_value());
    QVERIFY(line->setBatch(batchOf(sequence(5), 1, std::vector<float>(4, 0))).has_value());
    QVERIFY(line->forward(true).has_value());
    QVERIFY(close(line->output(), {4, 7, 10, 13}));
    line->loss(true);
    QVERIFY(line->backward().has_value());
    QVERIFY(close(*line->inputGradient(), {16, 36, 54, 72, 26}));
    QVERIFY(close(*line->gradient(kFirst, 0), {268, 200}));
}

void TestOneDnnBackend::asymmetricPaddingMatchesFlux()
{
    auto network = build("input = (28, 28, 1)\nmodel = Chain(Conv((3, 3), 1 => 1, relu; pad = (0, 1, 1, 2), "
                         "init = ones))\nloss = mse\n",
                         1);
    QVERIFY(network->setBatch(batchOf(std::vector<float>(784, 1), 1, std::vector<float>(27 * 29, 0))).has_value());
    QVERIFY(network->forward(false).has_value());
    const std::vector<float> y = network->output();
    QCOMPARE(y.size(), size_t(27 * 29));
    const auto at = [&](int column, int row) { return y[(row - 1) * 27 + column - 1]; };
    QVERIFY(close({at(1, 1), at(2, 2), at(27, 1), at(1, 29), at(27, 29)}, {6, 9, 4, 3, 2}));
}

void TestOneDnnBackend::poolingMatchesNNlib()
{
    const auto run = [&](const char* layer) {
        auto network = build(std::string("input = (5, 4, 1)\nmodel = Chain(") + layer + ")\nloss = mse\n", 1);
        const int64_t outputs = model::product(network->model().root().output);
        const bool ran = network->setBatch(batchOf(sequence(20), 1, std::vector<float>(outputs, 0))).has_value()
            && network->forward(true).has_value();
        return ran ? network->output() : std::vector<float>{};
    };
    QVERIFY(close(run("MaxPool((2, 2))"), {7, 9, 17, 19}));
    QVERIFY(close(run("MeanPool((2, 2))"), {4, 6, 14, 16}));
    QVERIFY(close(run("MeanPool((2, 2); pad = 1)"), {.25, 1.25, 2.25, 4.25, 10, 12, 4, 8.75, 9.75}));
    QVERIFY(close(run("GlobalMaxPool()"), {20}));
    QVERIFY(close(run("GlobalMeanPool()"), {10.5}));
}

void TestOneDnnBackend::batchNormMatchesFlux()
{
    auto network = build("model = Chain(BatchNorm(2))\ninput = (2,)\nloss = mse\n", 3);
    const engine::Batch batch = batchOf(sequence(6), 3, std::vector<float>(6, 0));
    QVERIFY(network->setBatch(batch).has_value());
    QVERIFY(network->forward(true).has_value());
    QVERIFY(close(network->output(), {-1.22474f, -1.22474f, 0, 0, 1.22474f, 1.22474f}));
    QVERIFY(close(*network->parameter(kFirst, 2), {.3f, .4f}));
    QVERIFY(close(*network->parameter(kFirst, 3), {1.3f, 1.3f}));
    QVERIFY(network->setBatch(batch).has_value());
    QVERIFY(network->forward(false).has_value());
    QVERIFY(close({network->output()[0]}, {.7f / std::sqrt(1.3f)}));
    QVERIFY(close(*network->parameter(kFirst, 2), {.3f, .4f})); // inference does not move the statistics
}

// Flux.train! doctest: loss 100 |m(x) - y|, two steps. The factor 100 is put into the learning rate.
void TestOneDnnBackend::leakyDenseTrainsAsInTheDocumentation()
{
    auto network = build("model = Chain(Dense(2 => 1, leakyrelu; init = ones))\n"
                         "loss(m, x, y) = Flux.mae(m(x), y; agg = sum)\noptimiser = Momentum(10)\n",
                         1);
    const engine::Batch batch = batchOf({.2f, -.3f}, 1, {.4f});
    std::vector<float> before;
    for (int i = 0; i < 2; ++i) {
        before = *network->parameter(kFirst, 0);
        QVERIFY(network->setBatch(batch).has_value());
        QVERIFY(network->forward(true).has_value());
        network->loss(true);
        QVERIFY(network->backward().has_value());
        QVERIFY(network->update().has_value());
    }
    QVERIFY(close(*network->parameter(kFirst, 1), {10.19f}));
    const std::vector<float> after = *network->parameter(kFirst, 0);
    QVERIFY(close({before[0] - after[0], before[1] - after[1]}, {-2.018f, 3.027f}));
}

void TestOneDnnBackend::dropoutKeepsAndScales()
{
    auto network = build("model = Chain(Dropout(0.3))\ninput = (1000,)\nloss = mse\n", 64);
    const engine::Batch batch = batchOf(std::vector<float>(64000, 2), 64, std::vector<float>(64000, 0));
    QVERIFY(network->setBatch(batch).has_value());
    QVERIFY(network->forward(true).has_value());
    int64_t kept = 0;
    for (float y : network->output()) {
        QVERIFY(y == 0 || std::abs(y - 2 / 0.7f) < 1e-5f);
        kept += y != 0;
    }
    // Five standard deviations of a binomial count of 64000 at 0.7.
    QVERIFY2(std::abs(double(kept) - 44800) < 5 * std::sqrt(64000 * .3 * .7), std::to_string(kept).c_str());
    QVERIFY(network->setBatch(batch).has_value());
    QVERIFY(network->forward(false).has_value());
    QVERIFY(close(network->output(), std::vector<float>(64000, 2)));
}

void TestOneDnnBackend::dropoutUsesOneMaskForwardAndBackward()
{
    auto network =
        build("model = Chain(Dropout(0.5))\ninput = (33,)\nloss(m, x, y) = Flux.mse(m(x), y; agg = sum)\n", 5);
    QVERIFY(network->setBatch(batchOf(std::vector<float>(165, 1), 5, std::vector<float>(165, -1))).has_value());
    QVERIFY(network->forward(true).has_value());
    const std::vector<float> y = network->output();
    network->loss(true);
    QVERIFY(network->backward().has_value());
    const std::vector<float> dx = *network->inputGradient();
    for (size_t i = 0; i < y.size(); ++i) // kept: y = 2, dL/dy = 6, times 2
        QVERIFY2(std::abs(dx[i] - (y[i] == 0 ? 0 : 12)) < 1e-4, std::to_string(dx[i]).c_str());
}

// The input gradient is zero exactly where the leading dropout dropped: that gives the reference its mask.
void TestOneDnnBackend::dropoutInsideAModelMatchesTheReference()
{
    const std::string text =
        "model = Chain(Dropout(0.4), Dense(20 => 16, tanh), Dropout(0), Dense(16 => 3))\nloss = mse\n";
    verify(text, [&] {
        BackendComparison comparison(*m_backend, text, buildOptions(5, true));
        const Sample sample = comparison.randomSample(5, 1);
        engine::Network& network = comparison.network();
        if (!network.setBatch(sample.batch) || !network.forward(true)) return std::string("forward failed");
        network.loss(true);
        if (!network.backward()) return std::string("backward failed");
        Values mask;
        const std::vector<float> dx = *network.inputGradient();
        for (float d : dx)
            mask.push_back(d == 0 ? 0 : 1);
        comparison.reference().setDropoutMask(kFirst, mask);
        const Tensor& expected = comparison.reference().forward(sample.x, true);
        const double error = relativeError(network.output(), expected.values);
        if (!(error < 1e-5)) return "output differs by " + std::to_string(error);
        comparison.reference().loss(sample.targets);
        comparison.reference().backward();
        const double slope = relativeError(*network.gradient(base::LayerId(2u), 0),
                                           comparison.reference().gradient(base::LayerId(2u), 0));
        return slope < 1e-4 ? std::string() : "gradient differs by " + std::to_string(slope);
    });
}

void TestOneDnnBackend::dropoutDrawsNewMasksAndRepeatsThemBySeed()
{
    const std::string text = "model = Chain(Dropout(0.5), Dropout(0.5))\ninput = (64,)\nloss = mse\n";
    const engine::Batch batch = batchOf(std::vector<float>(256, 1), 4, std::vector<float>(256, 0));
    const auto outputs = [&](uint64_t seed) {
        auto network = build(text, 4, seed);
        std::vector<std::vector<float>> all;
        for (int i = 0; i < 3; ++i)
            if (network->setBatch(batch) && network->forward(true)) all.push_back(network->output());
        return all;
    };
    const auto first = outputs(1), again = outputs(1), other = outputs(2);
    QCOMPARE(first.size(), size_t(3));
    QVERIFY(first[0] != first[1] && first[1] != first[2]);
    QVERIFY(first == again);
    QVERIFY(first != other);
    // Two independent halves keep a quarter, not a half: the layers do not share one mask.
    int kept = 0;
    for (const auto& y : first)
        kept += int(std::count_if(y.begin(), y.end(), [](float v) { return v != 0; }));
    QVERIFY2(std::abs(kept - 192) < 5 * std::sqrt(768 * .25 * .75), std::to_string(kept).c_str());
}

void TestOneDnnBackend::initialValuesFollowTheSeed()
{
    const std::string text = "model = Chain(Dense(100 => 400), Dense(400 => 10))\nloss = mse\n";
    const std::vector<float> a = *build(text, 1, 1)->parameter(kFirst, 0);
    const std::vector<float> b = *build(text, 1, 1)->parameter(kFirst, 0);
    const std::vector<float> c = *build(text, 1, 2)->parameter(kFirst, 0);
    QVERIFY(a == b);
    QVERIFY(a != c);
    double square = 0;
    for (float v : a)
        square += v * v / double(a.size());
    QVERIFY2(std::abs(square / (2.0 / 500) - 1) < .1, std::to_string(square).c_str()); // Flux: var of glorot_uniform
    QVERIFY(close(*build(text, 1, 1)->parameter(kFirst, 1), std::vector<float>(400, 0)));
}

void TestOneDnnBackend::wrongBatchesAreRefused()
{
    auto network = build("model = Chain(Dense(3 => 2))\nloss = mse\n", 2);
    QVERIFY(!network->setBatch(batchOf(sequence(9), 3, std::vector<float>(6, 0)))); // larger than built
    QVERIFY(!network->setBatch(batchOf(sequence(5), 2, std::vector<float>(4, 0)))); // values missing
    QVERIFY(!network->setBatch(batchOf(sequence(6), 2, std::vector<float>(3, 0)))); // targets missing
    QVERIFY(!network->setBatch(batchOf({}, 0, {})));
    QVERIFY(network->setBatch(batchOf(sequence(6), 2, std::vector<float>(4, 0))).has_value());
    QVERIFY(network->forward(false).has_value());

    auto classes = build("model = Chain(Dense(3 => 2))\nloss = logitcrossentropy\n", 1);
    engine::Batch batch = batchOf(sequence(3), 1, {});
    batch.labels.assign(1, 2); // only 0 and 1 exist
    QVERIFY(!classes->setBatch(batch));
    batch.labels.assign(1, -1);
    QVERIFY(!classes->setBatch(batch));
}

void TestOneDnnBackend::wrongParametersAreRefused()
{
    auto network = build("model = Chain(Dense(3 => 2))\nloss = mse\n", 2);
    QVERIFY(!network->setParameter(kFirst, 0, sequence(5)));
    QVERIFY(!network->setParameter(kFirst, 2, sequence(6)));
    QVERIFY(!network->setParameter(base::LayerId(0u), 0, sequence(6)));
    QVERIFY(!network->setParameter(base::LayerId(7u), 0, sequence(6)));
    QVERIFY(!network->parameter(kFirst, -1));
    QVERIFY(!network->parameter(base::LayerId(), 0));
    QVERIFY(!network->gradient(kFirst, 2));
}

void TestOneDnnBackend::lossWithoutGradientLeavesTheValue()
{
    auto network = build("model = Chain(Dense(3 => 2))\nloss = mse\n", 2);
    QVERIFY(network->setBatch(batchOf(sequence(6), 2, std::vector<float>(4, 0))).has_value());
    QVERIFY(network->forward(false).has_value());
    const std::vector<float> y = network->output();
    double expected = 0;
    for (float v : y)
        expected += double(v) * v / 4;
    QVERIFY(std::abs(network->loss(false).loss - expected) <= 1e-5 * expected);
    QCOMPARE(network->loss(false).correct, int64_t(-1));
}

QTEST_GUILESS_MAIN(TestOneDnnBackend)
#include "tst_onednn_backend.moc"
