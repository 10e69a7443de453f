// Losses, optimisers, data and run settings of the model text: forms and Flux's defaults.
#include "core/model/parser.h"
#include "core/model/shapes.h"

#include <QtTest>

#include <limits>

using namespace stepscope;
using namespace stepscope::model;

namespace {

ModelFile parsed(const std::string& text)
{
    base::Result<ModelFile> file = parseModelText(text, "m.jl");
    if (!file) {
        qWarning("%s\n%s", base::toText(file.error()).c_str(), text.c_str());
        return {};
    }
    return std::move(*file);
}

LossSpec loss(const std::string& statement) { return parsed("model = relu\n" + statement).loss; }
OptimiserSpec optimiser(const std::string& text) { return parsed("model = relu\noptimiser = " + text).optimiser; }
DataSpec data(const std::string& text) { return parsed("model = relu\ndata = " + text).data; }

} // namespace

class TestParserSettings : public QObject {
    Q_OBJECT
private slots:
    void lossIsRead_data();
    void lossIsRead();
    void lossOptionsAreRead();
    void optimiserHasFluxDefaults_data();
    void optimiserHasFluxDefaults();
    void optimiserTakesPositionsAndKeywords();
    void optimiserChainKeepsItsOrder();
    void dataHasFluxDefaults();
    void dataFormsAreRead();
    void transformsAreRead();
    void runSettingsAreRead();
    void exampleOfTheHelpPageIsRead();
    void numbersAreJulias_data();
    void numbersAreJulias();
};

void TestParserSettings::lossIsRead_data()
{
    QTest::addColumn<QString>("statement");
    QTest::addColumn<int>("kind");
    const auto row = [](const char* text, LossKind kind) { QTest::newRow(text) << QString(text) << int(kind); };
    row("loss = mse", LossKind::mse);
    row("loss = Flux.mae", LossKind::mae);
    row("loss = Flux.Losses.crossentropy", LossKind::crossentropy);
    row("loss = logitcrossentropy", LossKind::logitcrossentropy);
    row("loss = binarycrossentropy", LossKind::binarycrossentropy);
    row("loss = Flux.logitbinarycrossentropy", LossKind::logitbinarycrossentropy);
    row("loss = huber_loss", LossKind::huberLoss);
    row("loss(ŷ, y) = Flux.logitcrossentropy(ŷ, y)", LossKind::logitcrossentropy);
    row("loss(m, x, y) = Flux.mse(m(x), y)", LossKind::mse);
    row("loss(x, y) = Flux.mse(model(x), y)", LossKind::mse);
    row("loss = (m, x, y) -> Flux.crossentropy(m(x), y)", LossKind::crossentropy);
    row("loss = (ŷ, y) ->\n  mae(ŷ, y)", LossKind::mae);
    row("loss(m, x, y) =\n    Flux.mse(m(x), y)", LossKind::mse);
}

void TestParserSettings::lossIsRead()
{
    QFETCH(QString, statement);
    QFETCH(int, kind);
    const ModelFile file = parsed("model = relu\n" + statement.toStdString());
    QVERIFY(file.lossGiven);
    QCOMPARE(int(file.loss.kind), kind);
    QCOMPARE(file.loss.sumAggregate, false);
    QCOMPARE(file.loss.line, 2);
}

void TestParserSettings::lossOptionsAreRead()
{
    QCOMPARE(loss("loss = huber_loss").delta, 1.0);
    QCOMPARE(loss("loss(m, x, y) = Flux.huber_loss(m(x), y; delta = 0.5)").delta, 0.5);
    QCOMPARE(loss("loss = huber_loss(delta = 0.5)").delta, 0.5);
    QCOMPARE(loss("loss(ŷ, y) = mse(ŷ, y; agg = sum)").sumAggregate, true);
    QCOMPARE(loss("loss(ŷ, y) = mse(ŷ, y, agg = mean)").sumAggregate, false);
    QCOMPARE(loss("loss = crossentropy").eps, double(std::numeric_limits<float>::epsilon()));
    QCOMPARE(loss("loss(ŷ, y) = crossentropy(ŷ, y; dims = 1, eps = 1e-4)").eps, 1e-4);
    QVERIFY(!parsed("model = relu").lossGiven);
}

void TestParserSettings::optimiserHasFluxDefaults_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<int>("rule");
    QTest::addColumn<double>("eta");
    QTest::newRow("Descent") << "Descent()" << int(RuleKind::descent) << 0.1;
    QTest::newRow("Momentum") << "Momentum()" << int(RuleKind::momentum) << 0.01;
    QTest::newRow("Nesterov") << "Nesterov()" << int(RuleKind::nesterov) << 0.001;
    QTest::newRow("RMSProp") << "RMSProp()" << int(RuleKind::rmsProp) << 0.001;
    QTest::newRow("Adam") << "Adam()" << int(RuleKind::adam) << 0.001;
    QTest::newRow("AdamW") << "AdamW()" << int(RuleKind::adamW) << 0.001;
}

void TestParserSettings::optimiserHasFluxDefaults()
{
    QFETCH(QString, text);
    QFETCH(int, rule);
    QFETCH(double, eta);
    const OptimiserSpec spec = optimiser(text.toStdString());
    QCOMPARE(int(spec.rule), rule);
    QCOMPARE(spec.eta, eta);
    QCOMPARE(spec.rho, 0.9);
    QCOMPARE(spec.beta1, 0.9);
    QCOMPARE(spec.beta2, 0.999);
    QCOMPARE(spec.epsilon, 1e-8);
    QCOMPARE(spec.lambda, 0.0);
    QVERIFY(spec.couple && !spec.centred && spec.modifiers.empty());
    QCOMPARE(spec.text, text.toStdString());
}

void TestParserSettings::optimiserTakesPositionsAndKeywords()
{
    OptimiserSpec spec = optimiser("Optimisers.Adam(3f-4, (0.8, 0.95), 1e-6)");
    QCOMPARE(spec.eta, 3e-4);
    QCOMPARE(spec.beta1, 0.8);
    QCOMPARE(spec.beta2, 0.95);
    QCOMPARE(spec.epsilon, 1e-6);
    spec = optimiser("AdamW(eta = 0.01, lambda = 0.1, couple = false)");
    QCOMPARE(spec.eta, 0.01);
    QCOMPARE(spec.lambda, 0.1);
    QVERIFY(!spec.couple);
    spec = optimiser("AdamW(0.01, (0.9, 0.99), 0.2, 1e-7)");
    QCOMPARE(spec.lambda, 0.2);
    QCOMPARE(spec.epsilon, 1e-7);
    spec = optimiser("Momentum(0.1, 0.5)");
    QCOMPARE(spec.rho, 0.5);
    spec = optimiser("RMSProp(0.01, 0.8, 1e-6; centred = true)");
    QCOMPARE(spec.rho, 0.8);
    QCOMPARE(spec.epsilon, 1e-6);
    QVERIFY(spec.centred);
    for (const char* statement :
         {"optimizer = Descent(0.3)", "opt = Descent(0.3)", "opt_state = Flux.setup(Descent(0.3), model)",
          "rule = Descent(0.3)\nopt_state = Flux.setup(rule, model)"}) {
        spec = parsed("model = Dense(1 => 1)\n" + std::string(statement)).optimiser;
        QCOMPARE(int(spec.rule), int(RuleKind::descent));
        QCOMPARE(spec.eta, 0.3);
    }
}

void TestParserSettings::optimiserChainKeepsItsOrder()
{
    using Kind = OptimiserSpec::Modifier::Kind;
    const OptimiserSpec spec = optimiser("OptimiserChain(WeightDecay(), OptimiserChain(ClipNorm(1), ClipGrad(0.5)), "
                                         "ClipNorm(omega = 2, p = 1), Adam(0.002))");
    QCOMPARE(spec.eta, 0.002);
    QCOMPARE(spec.modifiers.size(), size_t{4});
    QCOMPARE(int(spec.modifiers[0].kind), int(Kind::weightDecay));
    QCOMPARE(spec.modifiers[0].value, 5e-4);
    QCOMPARE(int(spec.modifiers[1].kind), int(Kind::clipNorm));
    QCOMPARE(spec.modifiers[1].value, 1.0);
    QCOMPARE(spec.modifiers[1].p, 2.0);
    QCOMPARE(int(spec.modifiers[2].kind), int(Kind::clipGrad));
    QCOMPARE(spec.modifiers[2].value, 0.5);
    QCOMPARE(spec.modifiers[3].p, 1.0);
    QCOMPARE(optimiser("OptimiserChain(ClipNorm(), Descent())").modifiers[0].value, 10.0);
    QCOMPARE(optimiser("OptimiserChain(ClipGrad(), Descent())").modifiers[0].value, 10.0);
}

void TestParserSettings::dataHasFluxDefaults()
{
    const DataSpec spec = data("FashionMNIST()");
    QCOMPARE(int(spec.kind), int(DataKind::fashionMnist));
    QCOMPARE(spec.batchSize, int64_t{1}); // DataLoader's defaults
    QVERIFY(!spec.shuffle && spec.partial);
    QCOMPARE(spec.numWorkers, 0);
    QCOMPARE(spec.queueDepth, 0);
    QCOMPARE(spec.samples, int64_t{0});
    QVERIFY(spec.path.empty() && spec.transforms.empty());
    QVERIFY(!parsed("model = relu").dataGiven);
}

void TestParserSettings::dataFormsAreRead()
{
    DataSpec spec = data("FashionMNIST(\n  dir = \"/data/f m\", # here\n  batchsize = 64, shuffle = true, partial = "
                         "false, num_workers = 2, queue = 8, samples = 1_000)");
    QCOMPARE(spec.path, std::string("/data/f m"));
    QCOMPARE(spec.batchSize, int64_t{64});
    QVERIFY(spec.shuffle && !spec.partial);
    QCOMPARE(spec.numWorkers, 2);
    QCOMPARE(spec.queueDepth, 8);
    QCOMPARE(spec.samples, int64_t{1000});
    QCOMPARE(spec.text,
             std::string("FashionMNIST(dir = \"/data/f m\", batchsize = 64, shuffle = true, partial = false, "
                         "num_workers = 2, queue = 8, samples = 1_000)"));
    QCOMPARE(int(data("MNIST(\"/m\")").kind), int(DataKind::mnist));
    QCOMPARE(data("MNIST(\"/m\")").path, std::string("/m"));
    spec = data("IDX(\"i\", \"l\"; test = (\"ti\", \"tl\"), classes = 10)");
    QCOMPARE(int(spec.kind), int(DataKind::idx));
    QCOMPARE(spec.path + spec.labelsPath + spec.testPath + spec.testLabelsPath, std::string("iltitl"));
    QCOMPARE(spec.classes, int64_t{10});
    spec =
        data("CSV(\"f.csv\"; target_columns = 2, header = true, shape = (4, 3), target_shape = 2, test = \"t.csv\")");
    QCOMPARE(int(spec.kind), int(DataKind::csv));
    QCOMPARE(spec.targetColumns, int64_t{2});
    QVERIFY(spec.header);
    QCOMPARE(spec.sampleShape, (Dims{3, 4}));
    QCOMPARE(spec.targetShape, Dims{2});
    QCOMPARE(spec.testPath, std::string("t.csv"));
    QCOMPARE(data("CSV(\"f.csv\")").targetColumns, int64_t{1});
    spec = data("Raw(\"f.f32\"; shape = (28, 14, 3), classes = 10)");
    QCOMPARE(int(spec.kind), int(DataKind::raw));
    QCOMPARE(spec.sampleShape, (Dims{3, 14, 28}));
    QCOMPARE(spec.classes, int64_t{10});
    QVERIFY(spec.labelsPath.empty());
    spec = data("Raw(\"x\", \"l\"; test = (\"tx\", \"tl\"), target_shape = (1,))");
    QCOMPARE(spec.path + spec.labelsPath + spec.testPath + spec.testLabelsPath, std::string("xltxtl"));
    QCOMPARE(spec.targetShape, Dims{1});
    QCOMPARE(data("Raw(\"x\"; targets = \"t\", test = \"v\")").labelsPath, std::string("t"));
    spec = data("Random((28, 28, 1); classes = 10, samples = 512)");
    QCOMPARE(int(spec.kind), int(DataKind::made));
    QCOMPARE(spec.samples, int64_t{512});
    QCOMPARE(data("Random(10)").samples, int64_t{4096});
    QCOMPARE(data("Random(10)").sampleShape, Dims{10});
    spec = data("DataLoader(FashionMNIST(); batchsize = 32, shuffle = true)");
    QCOMPARE(int(spec.kind), int(DataKind::fashionMnist));
    QCOMPARE(spec.batchSize, int64_t{32});
    QCOMPARE(spec.line, 2);
}

void TestParserSettings::transformsAreRead()
{
    using Kind = DataSpec::Transform::Kind;
    const DataSpec spec =
        data("MNIST(transforms = (Normalise(0.286, 0.353), FlipHorizontal(0.25), PerBatch(Shift(2)), Noise(0.1)))");
    QCOMPARE(spec.transforms.size(), size_t{4});
    QCOMPARE(int(spec.transforms[0].kind), int(Kind::normalise));
    QCOMPARE(spec.transforms[0].a, 0.286);
    QCOMPARE(spec.transforms[0].b, 0.353);
    QCOMPARE(int(spec.transforms[1].kind), int(Kind::flipHorizontal));
    QCOMPARE(spec.transforms[1].a, 0.25);
    QVERIFY(!spec.transforms[1].perBatch);
    QCOMPARE(int(spec.transforms[2].kind), int(Kind::shift));
    QCOMPARE(spec.transforms[2].a, 2.0);
    QVERIFY(spec.transforms[2].perBatch);
    QCOMPARE(int(spec.transforms[3].kind), int(Kind::noise));
    QCOMPARE(data("MNIST(transforms = [FlipHorizontal()])").transforms[0].a, 0.5);
    QCOMPARE(data("MNIST(transforms = Shift(1))").transforms.size(), size_t{1});
}

void TestParserSettings::runSettingsAreRead()
{
    const ModelFile file =
        parsed("model = Conv((1, 1), 3 => 1); input = (8, 4, 3); seed = 7; epochs = 3\nsteps = 5_000");
    QCOMPARE(file.model.input, (Dims{3, 4, 8}));
    QVERIFY(file.seedGiven);
    QCOMPARE(file.seed, uint64_t{7});
    QCOMPARE(file.epochs, int64_t{3});
    QCOMPARE(file.steps, int64_t{5000});
    QCOMPARE(file.file, std::string("m.jl"));
    QCOMPARE(parsed("Random.seed!(42)\nmodel = relu").seed, uint64_t{42});
    const ModelFile bare = parsed("model = relu");
    QVERIFY(!bare.seedGiven && bare.epochs == 0 && bare.steps == 0 && bare.model.input.empty());
}

void TestParserSettings::exampleOfTheHelpPageIsRead()
{
    QFile page(QStringLiteral(STEPSCOPE_SOURCE_DIR "/resources/help/model-text.md"));
    QVERIFY(page.open(QIODevice::ReadOnly));
    const QString example = QString::fromUtf8(page.readAll()).section("```", 1, 1).section('\n', 1);
    ModelFile file = parsed(example.toStdString());
    QVERIFY2(inferShapes(file, knownInput(file)).has_value(), qPrintable(example));
    QCOMPARE(file.model.root().output, Dims{10});
    QCOMPARE(file.epochs, int64_t{3});
}

void TestParserSettings::numbersAreJulias_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<double>("value");
    const auto row = [](const char* text, double value) { QTest::newRow(text) << QString(text) << value; };
    row("0.25", 0.25);
    row(".25", 0.25);
    row("1.", 1);
    row("1e-3", 1e-3);
    row("1E-3", 1e-3);
    row("1f-3", 1e-3);
    row("5f0", 5);
    row("1_000.5", 1000.5);
    row("2 * 3 + 4", 10);
    row("2 + 3 * 4", 14);
    row("(2 + 3) * 4", 20);
    row("7 / 2", 3.5);
    row("7 ÷ 2", 3);
    row("10 - 4 - 3", 3);
    row("2 ^ 3 ^ 2", 512);
    row("-2 + 5", 3);
    row("2^-1", 0.5);
    row("sqrt(16)", 4);
    row("√16 + 1", 5);
    row("3 −\n 1", 2);
    row("Float32(0.5)", 0.5);
}

void TestParserSettings::numbersAreJulias()
{
    QFETCH(QString, text);
    QFETCH(double, value);
    QCOMPARE(optimiser("Descent(" + text.toStdString() + ")").eta, value);
}

QTEST_GUILESS_MAIN(TestParserSettings)
#include "tst_parser_settings.moc"
