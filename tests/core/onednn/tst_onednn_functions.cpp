// Activations, losses and optimisers of the oneDNN backend against the double reference.
#include "tests/core/onednn/onednn_test.h"

using namespace stepscope;
using namespace stepscope::testing;

class TestOneDnnFunctions : public QObject {
    Q_OBJECT
private slots:
    void initTestCase() { m_backend = testBackend(); }
    void activations_data();
    void activations();
    void activationsOverFeatures_data();
    void activationsOverFeatures();
    void losses_data();
    void losses();
    void optimisersFollowTheirTrajectories_data();
    void optimisersFollowTheirTrajectories();
    void optimisersOfWholeModels_data();
    void optimisersOfWholeModels();

private:
    std::unique_ptr<engine::Backend> m_backend;
};

void TestOneDnnFunctions::activations_data()
{
    QTest::addColumn<QString>("function");
    for (const char* name : {"identity",
                             "σ",
                             "hardσ",
                             "tanh",
                             "hardtanh",
                             "relu",
                             "relu6",
                             "leakyrelu",
                             "elu",
                             "gelu",
                             "gelu_erf",
                             "gelu_sigmoid",
                             "swish",
                             "hardswish",
                             "selu",
                             "celu",
                             "softplus",
                             "softsign",
                             "logσ",
                             "logcosh",
                             "mish",
                             "tanhshrink",
                             "softshrink",
                             "trelu",
                             "lisht",
                             "x -> leakyrelu(x, 0.3)",
                             "x -> elu(x, 0.5)",
                             "x -> celu(x, 0.5)",
                             "x -> softshrink(x, 0.2)",
                             "x -> trelu(x, 0.7)"})
        QTest::newRow(name) << QString(name);
}

void TestOneDnnFunctions::activations()
{
    QFETCH(QString, function);
    const QString broadcast = function.startsWith("x ->") ? QString(function).replace("(x", ".(x") : function;
    const std::pair<QString, QString> places[] = {
        {"17", "Dense(17 => 16, %1)"},
        {"17", "NaiveDense(17 => 6, %1)"},
        {"6, 5, 3", "Conv((3, 3), 3 => 6, %1)"},
        {"6, 5, 3", "Conv((3, 3), 3 => 16, %1), Conv((1, 1), 16 => 3)"},
        {"6, 5, 6", "BatchNorm(6, %1)"},
        {"7", "LayerNorm(7, %1)"},
        {"17", "%2"},
        {"6, 5, 3", "%2, %2"},
        {"17", "Dense(17 => 16), %2, Dense(16 => 3)"},
        {"6, 5, 3", "Conv((2, 2), 3 => 16), %2, Conv((1, 1), 16 => 3)"},
    };
    for (const auto& [input, layers] : places)
        for (bool fuse : {true, false}) {
            const QString chain = QString(layers).replace("%1", function).replace("%2", broadcast);
            const std::string text =
                QString("input = (%1,)\nmodel = Chain(%2)\nloss = mse\n").arg(input, chain).toStdString();
            verify(text, [&] {
                engine::BuildOptions options = buildOptions(5, true);
                options.fuse = fuse;
                BackendComparison comparison(*m_backend, text, options);
                const std::string difference = comparison.step(comparison.randomSample(5, 1));
                return difference.empty() ? comparison.forward(comparison.randomSample(5, 2), false) : difference;
            });
        }
}

void TestOneDnnFunctions::activationsOverFeatures_data()
{
    QTest::addColumn<QString>("layers");
    QTest::newRow("softmax") << "softmax";
    QTest::newRow("logsoftmax") << "logsoftmax";
    QTest::newRow("dense softmax") << "Dense(7 => 5), softmax";
    QTest::newRow("dense logsoftmax dense") << "Dense(7 => 5), logsoftmax, Dense(5 => 3)";
}

void TestOneDnnFunctions::activationsOverFeatures()
{
    QFETCH(QString, layers);
    const std::string text = QString("input = (7,)\nmodel = Chain(%1)\nloss = mse\n").arg(layers).toStdString();
    verify(text, [&] {
        BackendComparison comparison(*m_backend, text, buildOptions(5, true));
        return comparison.step(comparison.randomSample(5, 1));
    });
}

void TestOneDnnFunctions::losses_data()
{
    QTest::addColumn<QString>("layers");
    QTest::addColumn<QString>("loss");
    QTest::addColumn<int>("targets");
    const auto row = [](const char* layers, const char* loss, TargetKind targets = TargetKind::matching) {
        QTest::addRow("%s after %s, targets %d", loss, layers, int(targets)) << layers << loss << int(targets);
    };
    for (const char* loss : {"mse", "mae", "huber_loss", "logitbinarycrossentropy"}) {
        row("Dense(7 => 5)", loss);
        row("Conv((2,), 1 => 3)", loss);
        row("Dense(7 => 5)", loss, TargetKind::labels);
    }
    row("Dense(7 => 5, σ)", "binarycrossentropy");
    row("Dense(7 => 1), σ", "binarycrossentropy");
    row("Dense(7 => 5), softmax", "crossentropy");
    row("Dense(7 => 5), softmax", "crossentropy", TargetKind::distribution);
    row("Dense(7 => 5)", "logitcrossentropy");
    row("Dense(7 => 17)", "logitcrossentropy");
    row("Dense(7 => 5)", "logitcrossentropy", TargetKind::distribution);
    row("Dense(7 => 5)", "loss(m, x, y) = Flux.mse(m(x), y; agg = sum)");
    row("Dense(7 => 5)", "loss(m, x, y) = Flux.huber_loss(m(x), y; delta = 0.3)");
    row("Dense(7 => 5)", "loss(m, x, y) = Flux.logitcrossentropy(m(x), y; agg = sum)");
    row("Dense(7 => 5), softmax", "loss(m, x, y) = Flux.crossentropy(m(x), y; eps = 0.01)");
}

void TestOneDnnFunctions::losses()
{
    QFETCH(QString, layers);
    QFETCH(QString, loss);
    QFETCH(int, targets);
    const QString input = layers.startsWith("Conv") ? "7, 1" : "7,";
    const QString assignment = loss.startsWith("loss") ? loss : "loss = " + loss;
    const std::string text =
        QString("input = (%1)\nmodel = Chain(%2)\n%3\n").arg(input, layers, assignment).toStdString();
    verify(text, [&] {
        BackendComparison comparison(*m_backend, text, buildOptions(5, true));
        return comparison.step(comparison.randomSample(5, 1, TargetKind(targets)));
    });
}

void TestOneDnnFunctions::optimisersFollowTheirTrajectories_data()
{
    QTest::addColumn<QString>("optimiser");
    QTest::addColumn<QVector<double>>("expected");
    const auto row = [](const char* optimiser, QVector<double> path) {
        QTest::newRow(optimiser) << QString(optimiser) << path;
    };
    row("Descent(0.1)", {.8, .64, .512});
    row("Momentum()", {.98, .9424, .889712});
    row("Nesterov()", {.9962, .99079444, .983957577128});
    row("RMSProp()", {.99683772239, .994547010138, .992630674367});
    row("Adam()", {.999000000005, .998000026214, .997000096065});
    row("AdamW(0.001, (0.9, 0.999), 0.01)", {.998990000005, .997980036577, .99697012733});
}

// The loss w² of a single weight: the gradient is 2w.
void TestOneDnnFunctions::optimisersFollowTheirTrajectories()
{
    QFETCH(QString, optimiser);
    QFETCH(QVector<double>, expected);
    const std::string text =
        ("model = Chain(Dense(1 => 1; bias = false, init = ones))\nloss = mse\noptimiser = " + optimiser).toStdString();
    verify(text, [&] {
        const model::ModelFile file = readModel(text);
        auto built = m_backend->build(file, buildOptions(1, false), {}, {}, {});
        if (!built) return base::toText(built.error());
        engine::Network& network = **built;
        engine::Batch batch;
        batch.count = 1;
        batch.x.assign(1, 1.0f);
        batch.targets.assign(1, 0.0f);
        for (double value : expected) {
            if (!network.setBatch(batch) || !network.forward(true)) return std::string("forward failed");
            network.loss(true);
            if (!network.backward() || !network.update()) return std::string("backward failed");
            const auto weight = network.parameter(base::LayerId(1u), 0);
            if (!weight || std::abs(weight->at(0) - value) > 3e-7)
                return "weight is " + std::to_string(weight ? weight->at(0) : 0) + ", expected "
                    + std::to_string(value);
        }
        return std::string();
    });
}

void TestOneDnnFunctions::optimisersOfWholeModels_data()
{
    QTest::addColumn<QString>("optimiser");
    for (const char* optimiser :
         {"Descent(0.1)", "Momentum(0.01)", "Nesterov(0.01)", "RMSProp(0.001)", "RMSProp(0.001; centred = true)",
          "Adam(0.001)", "AdamW(0.001, (0.9, 0.999), 0.01)", "AdamW(0.001, (0.8, 0.99), 0.01; couple = false)",
          "OptimiserChain(WeightDecay(0.01), Adam(0.001))", "OptimiserChain(ClipNorm(0.05), Descent(0.5))",
          "OptimiserChain(ClipGrad(0.01), Momentum(0.1))",
          "OptimiserChain(WeightDecay(0.1), ClipNorm(0.1), ClipGrad(0.02), Descent(0.5))"})
        QTest::newRow(optimiser) << QString(optimiser);
}

void TestOneDnnFunctions::optimisersOfWholeModels()
{
    QFETCH(QString, optimiser);
    const std::string text =
        "input = (9, 8, 3)\nmodel = Chain(Conv((3, 3), 3 => 6; bias = false), BatchNorm(6, tanh), Flux.flatten, "
        "Dense(252 => 17, tanh), Dense(17 => 5))\nloss = logitcrossentropy\noptimiser = "
        + optimiser.toStdString() + "\n";
    verify(text, [&] {
        BackendComparison comparison(*m_backend, text, buildOptions(5, true), false);
        for (int i = 0; i < 3; ++i) {
            const std::string difference = comparison.step(comparison.randomSample(5, 1 + i));
            if (!difference.empty()) return difference;
            comparison.update();
        }
        return comparison.parameters(1e-3);
    });
}

QTEST_GUILESS_MAIN(TestOneDnnFunctions)
#include "tst_onednn_functions.moc"
