// Whole models on the oneDNN backend against the double reference: one step, 20 steps, small batches, dropout.
#include "tests/core/onednn/onednn_test.h"

#include <cmath>

using namespace stepscope;
using namespace stepscope::testing;

namespace {

const char* const kMlp = R"(
model = Chain(Dense(64 => 48, relu), Dense(48 => 32, relu), Dense(32 => 10))
loss = logitcrossentropy
optimiser = Adam(0.001)
)";

const char* const kNaiveMlp = R"(
model = Chain(NaiveDense(64 => 48, relu), Dense(48 => 32, tanh), NaiveDense(32 => 10))
loss = logitcrossentropy
optimiser = Adam(0.001)
)";

const char* const kLeNet = R"(
input = (28, 28, 1)
model = Chain(
    Conv((5, 5), 1 => 6, relu), MaxPool((2, 2)),
    Conv((5, 5), 6 => 16, relu), MaxPool((2, 2)),
    Flux.flatten, Dense(256 => 120, relu), Dense(120 => 84, relu), Dense(84 => 10))
loss = logitcrossentropy
optimiser = Adam(0.001)
)";

const char* const kCnn = R"(
input = (14, 14, 1)
model = Chain(
    Conv((3, 3), 1 => 16, relu; pad = SamePad()), MaxPool((2, 2)),
    Conv((3, 3), 16 => 32, relu; pad = SamePad()), MeanPool((2, 2)),
    Flux.flatten, Dense(288 => 10), softmax)
loss = crossentropy
optimiser = Adam(0.001)
)";

const char* const kVgg = R"(
input = (12, 12, 3)
model = Chain(
    Conv((3, 3), 3 => 16; pad = 1, bias = false), BatchNorm(16, relu),
    Conv((3, 3), 16 => 16; pad = 1, bias = false), BatchNorm(16, relu), MaxPool((2, 2)),
    Conv((3, 3), 16 => 32; pad = 1), BatchNorm(32, relu), MaxPool((2, 2)),
    Flux.flatten, Dense(288 => 32, relu), Dense(32 => 10))
loss = logitcrossentropy
optimiser = Adam(0.001)
)";

const char* const kResNet = R"(
input = (12, 12, 3)
model = Chain(
    Conv((3, 3), 3 => 16; pad = 1, bias = false), BatchNorm(16, relu),
    SkipConnection(Chain(
        Conv((3, 3), 16 => 16; pad = 1, bias = false), BatchNorm(16, relu),
        Conv((3, 3), 16 => 16; pad = 1, bias = false), BatchNorm(16)), +), relu,
    Parallel(+,
        Chain(Conv((3, 3), 16 => 32; pad = 1, stride = 2, bias = false), BatchNorm(32, relu),
              Conv((3, 3), 32 => 32; pad = 1, bias = false), BatchNorm(32)),
        Chain(Conv((1, 1), 16 => 32; stride = 2, bias = false), BatchNorm(32))), relu,
    GlobalMeanPool(), Flux.flatten, Dense(32 => 10))
loss = logitcrossentropy
optimiser = Adam(0.001)
)";

const char* const kRegression = R"(
input = (16, 3)
model = Chain(Conv((3,), 3 => 8, swish; pad = 1), LayerNorm(16), MeanPool((2,)), Flux.flatten, Dense(64 => 3, gelu), Dense(3 => 2))
loss = huber_loss
optimiser = OptimiserChain(WeightDecay(0.0005), AdamW(0.001, (0.9, 0.999), 0.01))
)";

constexpr int64_t kBatch = 8;

} // namespace

class TestOneDnnModels : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() { m_backend = testBackend(); }
    void oneStepMatchesTheReference_data() { models(); }
    void oneStepMatchesTheReference();
    void twentyStepsMatchTheReference_data() { models(); }
    void twentyStepsMatchTheReference();
    void smallerBatchesMatchTheReference_data() { models(); }
    void smallerBatchesMatchTheReference();
    void inferenceUsesRunningStatistics();
    void trainingAndInferenceAlternate();
    void sameSeedGivesTheSameBits_data() { models(); }
    void sameSeedGivesTheSameBits();
    void noShippedModelFallsBackToTheSlowImplementation_data() { models(); }
    void noShippedModelFallsBackToTheSlowImplementation();

private:
    static void models()
    {
        QTest::addColumn<QString>("text");
        const std::pair<const char*, const char*> all[] = {
            {"mlp", kMlp}, {"naive mlp", kNaiveMlp}, {"lenet", kLeNet},          {"cnn", kCnn},
            {"vgg", kVgg}, {"resnet", kResNet},      {"regression", kRegression}};
        for (const auto& [name, text] : all)
            QTest::newRow(name) << QString(text);
    }
    std::unique_ptr<engine::Backend> m_backend;
};

void TestOneDnnModels::oneStepMatchesTheReference()
{
    QFETCH(QString, text);
    for (bool tune : {false, true})
        for (bool fuse : {false, true})
            verify(text.toStdString(), [&] {
                engine::BuildOptions options = buildOptions(kBatch, tune);
                options.fuse = fuse;
                BackendComparison comparison(*m_backend, text.toStdString(), options, false);
                return comparison.step(comparison.randomSample(kBatch, 1));
            });
}

void TestOneDnnModels::twentyStepsMatchTheReference()
{
    QFETCH(QString, text);
    verify(text.toStdString(), [&] {
        BackendComparison comparison(*m_backend, text.toStdString(), buildOptions(kBatch, true), false);
        return comparison.train(20, kBatch, 1e-3);
    });
}

void TestOneDnnModels::smallerBatchesMatchTheReference()
{
    QFETCH(QString, text);
    verify(text.toStdString(), [&] {
        BackendComparison comparison(*m_backend, text.toStdString(), buildOptions(kBatch, true), false);
        for (int64_t count : {kBatch, int64_t(3), kBatch, int64_t(5), int64_t(3)}) {
            const Sample sample = comparison.randomSample(count, 7 + uint32_t(count));
            std::string difference = comparison.step(sample);
            if (difference.empty()) difference = comparison.forward(sample, false);
            if (!difference.empty()) return "batch of " + std::to_string(count) + ": " + difference;
        }
        return std::string();
    });
}

void TestOneDnnModels::inferenceUsesRunningStatistics()
{
    const std::string text = "input = (5, 4, 3)\nmodel = Chain(BatchNorm(3))\nloss = mse\n";
    verify(text, [&] {
        BackendComparison comparison(*m_backend, text, buildOptions(kBatch, true), false);
        const Sample sample = comparison.randomSample(kBatch, 1);
        // Fresh statistics (0, 1) leave the values as they are but for eps.
        std::string difference = comparison.forward(sample, false);
        if (!difference.empty()) return difference;
        const double same = relativeError(comparison.network().output(), sample.x.values);
        if (!(same < 1e-4)) return "fresh statistics change the input by " + std::to_string(same);
        return comparison.step(sample);
    });
}

void TestOneDnnModels::trainingAndInferenceAlternate()
{
    // Not Adam: it makes steps of full size out of the rounding noise of a bias in front of a batch norm, which
    // training does not notice but inference does.
    const std::string text = QString(kVgg).replace("Adam(0.001)", "Momentum(0.01)").toStdString();
    verify(text, [&] {
        BackendComparison comparison(*m_backend, text, buildOptions(kBatch, true), false);
        for (int i = 0; i < 3; ++i) {
            std::string difference = comparison.forward(comparison.randomSample(kBatch, 20 + i), false);
            if (difference.empty()) difference = comparison.step(comparison.randomSample(kBatch, 30 + i));
            if (!difference.empty()) return "round " + std::to_string(i) + ": " + difference;
            comparison.update();
        }
        return std::string();
    });
}

void TestOneDnnModels::sameSeedGivesTheSameBits()
{
    QFETCH(QString, text);
    verify(text.toStdString(), [&] {
        engine::BuildOptions options = buildOptions(kBatch, true);
        options.threads = 1;
        BackendComparison first(*m_backend, text.toStdString(), options, false);
        BackendComparison second(*m_backend, text.toStdString(), options, false);
        for (BackendComparison* run : {&first, &second})
            for (int i = 0; i < 20; ++i) {
                const Sample sample = run->randomSample(kBatch, 40 + i);
                engine::Network& network = run->network();
                if (!network.setBatch(sample.batch) || !network.forward(true)) return std::string("forward failed");
                network.loss(true);
                if (!network.backward() || !network.update()) return std::string("backward failed");
            }
        for (uint32_t layer = 0; layer < first.file().model.layers.size(); ++layer)
            for (int p : first.reference().parameterIndices(base::LayerId(layer)))
                if (*first.network().parameter(base::LayerId(layer), p)
                    != *second.network().parameter(base::LayerId(layer), p))
                    return "layer " + std::to_string(layer) + ": other values in the second run";
        return std::string();
    });
}

void TestOneDnnModels::noShippedModelFallsBackToTheSlowImplementation()
{
    QFETCH(QString, text);
    // oneDNN 2.6 knows the gradient of softmax only as reference code where the processor lacks AVX-512.
    text.replace(", softmax)", ")").replace("= crossentropy", "= logitcrossentropy");
    verify(text.toStdString(), [&] {
        std::string difference;
        // Without tuning, too: that is also how a network is built once timing has taken too long.
        for (const bool tune : {true, false}) {
            // Without the input's gradient, which only tests ask for.
            const auto network = m_backend->build(readModel(text.toStdString()), buildOptions(kBatch, tune), {}, {}, {});
            if (!network) return base::toText(network.error());
            const engine::BuildInfo& info = (*network)->info();
            if (info.primitives == 0) difference += "no primitives\n";
            if (info.referencePrimitives > 0)
                for (const std::string& note : info.notes)
                    difference += (tune ? "tuned: " : "not tuned: ") + note + "\n";
        }
        return difference;
    });
}

QTEST_GUILESS_MAIN(TestOneDnnModels)
#include "tst_onednn_models.moc"
