// The summary of `stepscope info` against Flux's notation and hand-calculated figures.
#include "core/model/parser.h"
#include "core/model/shapes.h"
#include "core/model/summary.h"

#include <QtTest>

#include <filesystem>
#include <map>

using namespace stepscope;

namespace {

const std::filesystem::path kModels = std::filesystem::path(STEPSCOPE_SOURCE_DIR) / "resources/models";

model::ModelFile sample(const std::string& name)
{
    auto file = model::readModelFile((kModels / name).string());
    if (!file) qFatal("%s", base::toText(file.error()).c_str());
    if (const auto status = model::inferShapes(*file, model::knownInput(*file)); !status)
        qFatal("%s", base::toText(status.error()).c_str());
    return std::move(*file);
}

} // namespace

class TestSummary : public QObject {
    Q_OBJECT
private slots:
    void everySampleModelIsKnown();
    void sampleModelHasThePublishedSize_data();
    void sampleModelHasThePublishedSize();
    void lenetReadsAsFluxPrintsIt();
    void statisticsOfBatchNormAreCountedApart();
    void containersAreNestedWithTheirConnections();
    void withoutShapesOnlyParametersAreShown();
    void commentsStandInOneColumn();
    void shapesPrintInFluxOrder();
};

void TestSummary::everySampleModelIsKnown()
{
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(kModels)) {
        if (entry.path().extension() != ".jl") continue;
        ++count;
        const model::ModelFile file = sample(entry.path().filename().string());
        QVERIFY2(!file.model.root().output.empty(), entry.path().c_str());
        QVERIFY2(file.lossGiven && file.dataGiven && file.seedGiven, entry.path().c_str());
    }
    QVERIFY(count >= 7);
}

void TestSummary::sampleModelHasThePublishedSize_data()
{
    QTest::addColumn<QString>("file");
    QTest::addColumn<qint64>("parameters");
    QTest::addColumn<qint64>("forwardFlop"); // of Dense and Conv: 2 per multiply-add; -1: not compared
    QTest::newRow("LeNet-5") << "fashion-lenet.jl" << qint64{44'426}
                             << qint64{2 * (24 * 24 * 6 * 25 + 8 * 8 * 16 * 25 * 6 + 256 * 120 + 120 * 84 + 84 * 10)};
    QTest::newRow("perceptron") << "mlp.jl" << qint64{784 * 512 + 512 + 512 * 256 + 256 + 256 * 10 + 10}
                                << qint64{2 * (784 * 512 + 512 * 256 + 256 * 10)};
    QTest::newRow("CNN") << "cnn.jl" << qint64{160 + 4'640 + 200'832 + 1'290}
                         << qint64{2 * (784 * 16 * 9 + 196 * 32 * 16 * 9 + 1568 * 128 + 1280)};
    QTest::newRow("VGG") << "vgg.jl"
                         << qint64{864 + 9216 + 18432 + 36864 + 73728 + 147456 + 2 * 2 * (32 + 64 + 128) + 2048 * 256
                                   + 256 + 2570}
                         << qint64{-1};
    QTest::newRow("ResNet-20") << "resnet20.jl" << qint64{272'474}
                               << qint64{-1}; // with 1x1 shortcuts, as published for CIFAR
    QTest::newRow("naive") << "naive-vs-library.jl" << qint64{128 * 129 + 2 * 256 * 129 + 128 * 257 + 2570}
                           << qint64{-1};
    QTest::newRow("regression") << "regression-seed.jl" << qint64{241} << qint64{2 * (200 + 20)};
}

void TestSummary::sampleModelHasThePublishedSize()
{
    QFETCH(QString, file);
    QFETCH(qint64, parameters);
    QFETCH(qint64, forwardFlop);
    const model::ModelFile model = sample(file.toStdString());
    QCOMPARE(qint64{model.model.root().parameterCount}, parameters);
    if (forwardFlop < 0) return;
    qint64 flop = 0;
    for (const model::Layer& layer : model.model.layers)
        if (layer.kind == model::LayerKind::dense || layer.kind == model::LayerKind::conv) flop += layer.forward.flop;
    QCOMPARE(flop, forwardFlop);
}

// The golden was written by hand from Flux's notation and the formulas of the help page.
void TestSummary::lenetReadsAsFluxPrintsIt()
{
    QFile golden(QStringLiteral(STEPSCOPE_SOURCE_DIR "/tests/golden/model/fashion-lenet.txt"));
    QVERIFY(golden.open(QIODevice::ReadOnly));
    const QStringList expected = QString::fromUtf8(golden.readAll()).split('\n');
    const QStringList actual = QString::fromStdString(model::summary(sample("fashion-lenet.jl"))).split('\n');
    for (qsizetype i = 0; i < std::min(expected.size(), actual.size()); ++i)
        QCOMPARE(actual[i].simplified(), expected[i].simplified());
    QCOMPARE(actual.size(), expected.size());
}

void TestSummary::statisticsOfBatchNormAreCountedApart()
{
    const auto file =
        model::parseModelText("model = Chain(Dense(2 => 4), BatchNorm(4, relu), BatchNorm(4; affine = false))", "m.jl");
    QVERIFY(file.has_value());
    const QString text = QString::fromStdString(model::summary(*file));
    QVERIFY2(text.contains("BatchNorm(4, relu),                  # 8 parameters, plus 8"), qPrintable(text));
    QVERIFY2(text.contains("BatchNorm(4, affine=false),          # plus 8"), qPrintable(text));
    // 12 + 8 trainable numbers in 4 arrays; μ and σ² of both norms
    QVERIFY2(text.contains(
                 "# Total: 4 trainable arrays, 20 parameters,\n# plus 4 non-trainable, 16 parameters, 144 bytes.\n"),
             qPrintable(text));
}

void TestSummary::containersAreNestedWithTheirConnections()
{
    const auto file = model::parseModelText("model = Chain(a = SkipConnection(Chain(Dense(2 => 2), relu), +), "
                                            "Parallel(vcat, x = identity, y = Dense(2 => 1)))",
                                            "m.jl");
    QVERIFY(!file.has_value()); // one name, one without: refused
    const auto named = model::parseModelText("model = Chain(a = SkipConnection(Chain(Dense(2 => 2), relu), +), b = "
                                             "Parallel(vcat, x = identity, y = Dense(2 => 1)))",
                                             "m.jl");
    QVERIFY(named.has_value());
    QStringList lines;
    for (const QString& line : QString::fromStdString(model::summary(*named)).split('\n'))
        lines << line.section('#', 0, 0).trimmed();
    const QStringList expected{"Chain(",
                               "a = SkipConnection(",
                               "Chain(",
                               "Dense(2 => 2),",
                               "relu,",
                               "),",
                               "+,",
                               "),",
                               "b = Parallel(",
                               "vcat,",
                               "x = identity,",
                               "y = Dense(2 => 1),",
                               "),",
                               ")"};
    QCOMPARE(lines.mid(0, expected.size()), expected);
}

void TestSummary::withoutShapesOnlyParametersAreShown()
{
    const auto file = model::parseModelText("model = Chain(Dense(10 => 20, relu), Dense(20 => 1))", "m.jl");
    QVERIFY(file.has_value());
    QCOMPARE(QString::fromStdString(model::summary(*file)),
             QString("Chain(\n"
                     "  Dense(10 => 20, relu),               # 220 parameters\n"
                     "  Dense(20 => 1),                      # 21 parameters\n"
                     ")\n"
                     "# Total: 4 arrays, 241 parameters, 964 bytes.\n"));
}

void TestSummary::commentsStandInOneColumn()
{
    const QStringList lines = QString::fromStdString(model::summary(sample("resnet20.jl"))).split('\n');
    qsizetype column = -1;
    int compared = 0;
    for (const QString& line : lines) {
        if (!line.contains("BatchNorm") && !line.contains("Conv(") && !line.contains("relu,")) continue;
        if (!line.contains('#')) continue;
        if (column < 0) column = line.indexOf('#');
        QCOMPARE(line.indexOf('#'), column);
        ++compared;
    }
    QVERIFY(compared >= 50);
}

void TestSummary::shapesPrintInFluxOrder()
{
    QCOMPARE(model::fluxShape({1, 28, 14}, 64), std::string("(14, 28, 1, 64)"));
    QCOMPARE(model::fluxShape({256}, 0), std::string("(256, :)"));
}

QTEST_GUILESS_MAIN(TestSummary)
#include "tst_summary.moc"
