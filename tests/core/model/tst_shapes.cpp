// Shapes against Flux's own tests, costs against the formulas, and the messages of mismatches.
#include "core/model/parser.h"
#include "core/model/shapes.h"

#include <QtTest>

#include <map>

using namespace stepscope;
using model::Dims;

namespace {

struct Outcome {
    model::ModelFile file;
    std::string error;
};

Outcome inferred(const std::string& text, const Dims& input)
{
    Outcome outcome;
    base::Result<model::ModelFile> file = model::parseModelText(text, "m.jl");
    if (!file) {
        outcome.error = base::toText(file.error());
        return outcome;
    }
    outcome.file = std::move(*file);
    if (const base::Status status = model::inferShapes(outcome.file, input); !status)
        outcome.error = base::toText(status.error());
    return outcome;
}

QByteArray shape(const Dims& dims) { return QByteArray::fromStdString(model::fluxShape(dims, 0)); }

} // namespace

class TestShapes : public QObject {
    Q_OBJECT
private slots:
    void outputShapeIsFluxs_data();
    void outputShapeIsFluxs();
    void costsFollowTheFormulas();
    void costsOfSpatialLayersFollowTheFormulas();
    void containersAddUpTheirChildren();
    void firstLayerHasNoDataGradient();
    void mismatchNamesBothLayers_data();
    void mismatchNamesBothLayers();
    void wideLayersAreRefused_data();
    void wideLayersAreRefused();
    void badInputShapesAreRefused();
    void impliedInputComesFromTheFirstLayer_data();
    void impliedInputComesFromTheFirstLayer();
    void knownInputPrefersTheText();
    void inputInTheTextInfersAtOnce();
    void binaryLossTakesOneOutputForTwoClasses();
    void inferringTwiceGivesTheSame();
};

void TestShapes::outputShapeIsFluxs_data()
{
    QTest::addColumn<QString>("layers");
    QTest::addColumn<QVector<int>>("input"); // Flux order
    QTest::addColumn<QByteArray>("output");  // Flux order
    // Flux test/layers/conv.jl
    QTest::newRow("asymmetric pad") << "Conv((3, 3), 1 => 1, relu; pad = (0, 1, 1, 2))" << QVector<int>{28, 28, 1}
                                    << QByteArray("(27, 29, 1, :)");
    QTest::newRow("conv, pool, flatten, dense") << "Conv((2, 2), 1 => 16, relu), MaxPool((2, 2)), Conv((2, 2), 16 => "
                                                   "8, relu), MaxPool((2, 2)), Flux.flatten, Dense(288 => 10)"
                                                << QVector<int>{28, 28, 1} << QByteArray("(10, :)");
    QTest::newRow("flatten to 288")
        << "Conv((2, 2), 1 => 16, relu), MaxPool((2, 2)), Conv((2, 2), 16 => 8, relu), MaxPool((2, 2)), Flux.flatten"
        << QVector<int>{28, 28, 1} << QByteArray("(288, :)");
    // SamePad: ceil(in / stride), whatever the kernel and dilation
    QTest::newRow("SamePad odd kernel") << "Conv((3, 5), 1 => 2; pad = SamePad())" << QVector<int>{10, 9, 1}
                                        << QByteArray("(10, 9, 2, :)");
    QTest::newRow("SamePad even kernel") << "Conv((2, 4), 1 => 2; pad = SamePad())" << QVector<int>{10, 9, 1}
                                         << QByteArray("(10, 9, 2, :)");
    QTest::newRow("SamePad stride 2") << "Conv((3, 3), 1 => 2; stride = 2, pad = SamePad())" << QVector<int>{10, 9, 1}
                                      << QByteArray("(5, 5, 2, :)");
    QTest::newRow("SamePad dilation") << "Conv((3, 3), 1 => 2; dilation = 3, pad = SamePad())" << QVector<int>{10, 9, 1}
                                      << QByteArray("(10, 9, 2, :)");
    QTest::newRow("SamePad pool") << "MaxPool((3, 3); stride = 2, pad = SamePad())" << QVector<int>{9, 7, 4}
                                  << QByteArray("(5, 4, 4, :)");
    // floor((in + lo + hi - ((k - 1) d + 1)) / s) + 1
    QTest::newRow("stride per dimension")
        << "Conv((3, 3), 1 => 2; stride = (2, 1))" << QVector<int>{10, 9, 1} << QByteArray("(4, 7, 2, :)");
    QTest::newRow("pad per dimension") << "Conv((3, 3), 1 => 2; pad = (2, 0))" << QVector<int>{10, 9, 1}
                                       << QByteArray("(12, 7, 2, :)");
    QTest::newRow("dilation per dimension")
        << "Conv((3, 3), 1 => 2; dilation = (1, 4))" << QVector<int>{10, 9, 1} << QByteArray("(8, 1, 2, :)");
    QTest::newRow("one dimension") << "Conv((2,), 1 => 1; pad = 1)" << QVector<int>{5, 1} << QByteArray("(6, 1, :)");
    QTest::newRow("one dimension, dilation")
        << "Conv((2,), 1 => 1; dilation = 2)" << QVector<int>{5, 1} << QByteArray("(3, 1, :)");
    QTest::newRow("three dimensions") << "Conv((2, 3, 4), 1 => 5)" << QVector<int>{8, 8, 8, 1}
                                      << QByteArray("(7, 6, 5, 5, :)");
    QTest::newRow("cross correlation") << "CrossCor((2, 2), 1 => 1)" << QVector<int>{5, 4, 1}
                                       << QByteArray("(4, 3, 1, :)");
    QTest::newRow("groups") << "Conv((3, 3), 4 => 8; groups = 2)" << QVector<int>{5, 5, 4}
                            << QByteArray("(3, 3, 8, :)");
    // NNlib test/pooling.jl
    QTest::newRow("pool 5x4") << "MaxPool((2, 2))" << QVector<int>{5, 4, 1} << QByteArray("(2, 2, 1, :)");
    QTest::newRow("mean pool pad 1") << "MeanPool((2, 2); pad = 1)" << QVector<int>{5, 4, 1}
                                     << QByteArray("(3, 3, 1, :)");
    QTest::newRow("pool stride 1") << "MeanPool((2, 2); stride = 1)" << QVector<int>{5, 4, 1}
                                   << QByteArray("(4, 3, 1, :)");
    QTest::newRow("global mean") << "GlobalMeanPool()" << QVector<int>{7, 5, 3} << QByteArray("(1, 1, 3, :)");
    QTest::newRow("global max") << "GlobalMaxPool()" << QVector<int>{7, 3} << QByteArray("(1, 3, :)");
    QTest::newRow("flatten") << "flatten" << QVector<int>{3, 4, 5} << QByteArray("(60, :)");
    QTest::newRow("batch norm of features") << "BatchNorm(7)" << QVector<int>{7} << QByteArray("(7, :)");
    QTest::newRow("batch norm of pictures") << "BatchNorm(3)" << QVector<int>{7, 5, 3} << QByteArray("(7, 5, 3, :)");
    QTest::newRow("layer norm of the first dimensions")
        << "LayerNorm(7, 5)" << QVector<int>{7, 5, 3} << QByteArray("(7, 5, 3, :)");
    QTest::newRow("skip with cat") << "SkipConnection(Conv((1, 1), 3 => 4), (mx, x) -> cat(mx, x; dims = 3))"
                                   << QVector<int>{7, 5, 3} << QByteArray("(7, 5, 7, :)");
    QTest::newRow("parallel vcat") << "Parallel(vcat, Dense(3 => 2), Dense(3 => 5), identity)" << QVector<int>{3}
                                   << QByteArray("(10, :)");
    QTest::newRow("parallel sum") << "Parallel(+, Dense(3 => 2), Dense(3 => 2))" << QVector<int>{3}
                                  << QByteArray("(2, :)");
}

void TestShapes::outputShapeIsFluxs()
{
    QFETCH(QString, layers);
    QFETCH(QVector<int>, input);
    QFETCH(QByteArray, output);
    const Outcome outcome = inferred("model = Chain(" + layers.toStdString() + ")", Dims(input.rbegin(), input.rend()));
    QCOMPARE(outcome.error, std::string());
    QCOMPARE(shape(outcome.file.model.root().output), output);
}

void TestShapes::costsFollowTheFormulas()
{
    const Outcome outcome = inferred("model = Chain(Dense(100 => 200, relu), Dense(200 => 50))", {100});
    QCOMPARE(outcome.error, std::string());
    const model::Layer& second = outcome.file.model.layers[2];
    QCOMPARE(second.forward.flop, int64_t{2 * 200 * 50});
    QCOMPARE(second.backward.flop, int64_t{2 * 2 * 200 * 50}); // data and weights
    QCOMPARE(second.forward.bytes, int64_t{4 * (200 + 50)});
    QCOMPARE(second.backward.bytes, int64_t{4 * (200 + 50 + 200)}); // x and dy in, dx out
    QCOMPARE(second.parameterCount, int64_t{200 * 50 + 50});
    QCOMPARE(second.parameters[0].fanIn, int64_t{200});
    QCOMPARE(second.parameters[0].fanOut, int64_t{50});
}

void TestShapes::costsOfSpatialLayersFollowTheFormulas()
{
    const Outcome outcome =
        inferred("model = Chain(Conv((3, 3), 4 => 8; groups = 2), MaxPool((2, 2)), BatchNorm(8), relu)", {4, 10, 12});
    QCOMPARE(outcome.error, std::string());
    const auto& layers = outcome.file.model.layers;
    // 8 x 10 pixels of 8 channels, each a sum over 3 x 3 x 2
    QCOMPARE(layers[1].forward.flop, int64_t{2 * 8 * 10 * 8 * 9 * 2});
    QCOMPARE(layers[1].backward.flop, int64_t{2 * 8 * 10 * 8 * 9 * 2}); // no data gradient
    QCOMPARE(layers[1].parameters[0].fanIn, int64_t{9 * 2});
    QCOMPARE(layers[1].parameters[0].fanOut, int64_t{9 * 8});
    QCOMPARE(layers[2].forward.flop, int64_t{4 * 4 * 5 * 8});
    QCOMPARE(layers[3].forward.flop, int64_t{6 * 4 * 5 * 8});
    QCOMPARE(layers[4].forward.flop, int64_t{4 * 5 * 8});
    QCOMPARE(layers[4].forward.bytes, int64_t{4 * 2 * 4 * 5 * 8});
}

void TestShapes::containersAddUpTheirChildren()
{
    const Outcome outcome =
        inferred("model = Chain(a = Dense(8 => 8), b = SkipConnection(Chain(Dense(8 => 4), Dense(4 => 8)), +))", {8});
    QCOMPARE(outcome.error, std::string());
    const model::Model& model = outcome.file.model;
    QCOMPARE(model.root().forward.flop, int64_t{2 * 64 + 2 * 32 + 2 * 32 + 8}); // the sum is 8 additions
    QCOMPARE(model.root().backward.flop,
             int64_t{2 * 64 + 2 * (2 * 32 + 2 * 32) + 8}); // gradients of both branches add up
    QCOMPARE(model.root().parameterCount, int64_t{72 + 36 + 40});
    QCOMPARE(model.layers[2].parameterCount, int64_t{36 + 40});
    QCOMPARE(model.layers[2].path, std::string("b"));
    QCOMPARE(model.layers[5].path, std::string("b.1.2"));
}

void TestShapes::firstLayerHasNoDataGradient()
{
    const Outcome outcome = inferred("model = Chain(relu, Dense(8 => 4), relu, Dense(4 => 2))", {8});
    QCOMPARE(outcome.error, std::string());
    const auto& layers = outcome.file.model.layers;
    QCOMPARE(layers[1].backward.flop, int64_t{0});
    QCOMPARE(layers[1].backward.bytes, int64_t{0});
    QCOMPARE(layers[2].backward.flop, int64_t{2 * 32});
    QCOMPARE(layers[3].backward.flop, int64_t{4});
    QCOMPARE(layers[4].backward.flop, int64_t{2 * 2 * 8});
}

void TestShapes::mismatchNamesBothLayers_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<QVector<int>>("input");
    QTest::addColumn<QString>("message");
    const QVector<int> picture{28, 28, 1};
    QTest::newRow("dense after flatten")
        << "model = Chain(\n  flatten = Flux.flatten,\n  fc1 = Dense(400 => 120, relu))" << QVector<int>{4, 4, 16}
        << "m.jl:3:9: layer 'fc1' Dense(400 => 120, relu) expects 400 features but gets 256 from layer 'flatten' "
           "Flux.flatten (output (256, :))\nhint: write 256 => 120";
    QTest::newRow("dense without flatten")
        << "model = Chain(MaxPool((2, 2)), Dense(196 => 10))" << picture
        << "m.jl:1:32: layer '2' Dense(196 => 10) expects 196 features but gets an array from layer '1' MaxPool((2, "
           "2)) (output (14, 14, 1, :))\nhint: put Flux.flatten before it";
    QTest::newRow("dense on the input") << "model = Chain(Dense(784 => 10))" << picture
                                        << "m.jl:1:15: layer '1' Dense(784 => 10) expects 784 features but gets an "
                                           "array from the input (28, 28, 1, :)\nhint: put Flux.flatten before it";
    QTest::newRow("flatten gives another number")
        << "model = Chain(Dense(10 => 10))" << picture
        << "m.jl:1:15: layer '1' Dense(10 => 10) expects 10 features but gets an array from the input (28, 28, 1, "
           ":)\nhint: put Flux.flatten before it; that gives 784 features";
    QTest::newRow("channels")
        << "model = Chain(Conv((3, 3), 3 => 8))" << picture
        << "m.jl:1:15: layer '1' Conv((3, 3), 3 => 8) expects 3 channels but gets 1 from the input (28, 28, 1, :)";
    QTest::newRow("channels in a nested chain")
        << "model = Chain(a = Chain(Conv((3, 3), 1 => 8), relu), b = Chain(Conv((3, 3), 4 => 2)))" << picture
        << "m.jl:1:64: layer 'b.1' Conv((3, 3), 4 => 2) expects 4 channels but gets 8 from layer 'a.2' relu (output "
           "(26, 26, 8, :))";
    QTest::newRow("batch norm") << "model = Chain(Conv((3, 3), 1 => 8), BatchNorm(4, relu))" << picture
                                << "m.jl:1:37: layer '2' BatchNorm(4, relu) expects 4 channels but gets 8 from layer "
                                   "'1' Conv((3, 3), 1 => 8) (output (26, 26, 8, :))";
    QTest::newRow("picture without channels")
        << "model = Chain(Conv((3, 3), 1 => 8))" << QVector<int>{28, 28}
        << "m.jl:1:15: layer '1' Conv((3, 3), 1 => 8) expects an array (width, height, channels) but gets 2 dimensions "
           "from the input (28, 28, :)\nhint: a picture of one channel has the shape (28, 28, 1)";
    QTest::newRow("window too wide") << "model = Chain(MaxPool((14, 14)), Conv((5, 5), 1 => 2))" << picture
                                     << "m.jl:1:34: layer '2' Conv((5, 5), 1 => 2) does not fit: its window is 5 wide, "
                                        "the padded input 2, from layer '1' MaxPool((14, 14)) (output (2, 2, 1, "
                                        ":))\nhint: use a smaller kernel, more pad, or fewer poolings before it";
    QTest::newRow("layer norm")
        << "model = Chain(LayerNorm(5))" << QVector<int>{7}
        << "m.jl:1:15: layer '1' LayerNorm(5) does not match the first dimensions of what it gets from the input (7, "
           ":)\nhint: its sizes are those of the first dimensions: LayerNorm(28, 28) for (28, 28, 1)";
    QTest::newRow("skip") << "model = Chain(Dense(3 => 4), SkipConnection(Dense(4 => 5), +))" << QVector<int>{3}
                          << "m.jl:1:30: layer '2' SkipConnection(+) joins values of different shapes: from layer "
                             "'2.1' Dense(4 => 5) (output (5, :)) and from layer '1' Dense(3 => 4) (output (4, "
                             ":))\nhint: both must have the same shape; a Conv((1, 1), in => out) can adapt one";
    QTest::newRow("vcat of pictures") << "model = Chain(Parallel(vcat, relu, relu))" << picture
                                      << "m.jl:1:15: layer '1' Parallel(vcat) concatenates along dimension 1 of arrays "
                                         "(28, 28, 1, :)\nhint: channels are joined by (a, b) -> cat(a, b; dims = 3)";
    QTest::newRow("softmax of pictures")
        << "model = Chain(softmax)" << picture
        << "m.jl:1:15: layer '1' softmax would work along the first dimension, the width, of the array from the input "
           "(28, 28, 1, :)\nhint: put Flux.flatten before it";
    QTest::newRow("classes")
        << "model = Chain(flatten, Dense(784 => 12))\nloss = logitcrossentropy\ndata = FashionMNIST()" << picture
        << "m.jl:1:24: the model ends in 12 outputs (layer '2' Dense(784 => 12)), but the data has 10 classes\nhint: "
           "let the last layer give 10 outputs";
    QTest::newRow("cross entropy of a picture")
        << "model = Conv((1, 1), 1 => 2)\nloss = crossentropy" << picture
        << "m.jl:1:9: the output (28, 28, 2, :) of Conv((1, 1), 1 => 2) is an array, but crossentropy compares it with "
           "one number per class\nhint: put Flux.flatten and a Dense layer at the end";
    QTest::newRow("targets") << "model = Dense(3 => 2)\nloss = mse\ndata = Random(3; target_shape = 4)"
                             << QVector<int>{3}
                             << "m.jl:1:9: the output (2, :) of Dense(3 => 2) does not match the data's targets (4, "
                                ":)\nhint: both must have the same shape";
}

void TestShapes::mismatchNamesBothLayers()
{
    QFETCH(QString, text);
    QFETCH(QVector<int>, input);
    QFETCH(QString, message);
    const Outcome outcome = inferred(text.toStdString(), Dims(input.rbegin(), input.rend()));
    QCOMPARE(QString::fromStdString(outcome.error), message);
}

void TestShapes::wideLayersAreRefused_data()
{
    QTest::addColumn<QString>("model");
    QTest::addColumn<QVector<int>>("input");
    QTest::addColumn<QString>("message");
    QTest::newRow("dense")
        << "Dense(1000000000 => 1000000000)" << QVector<int>{1'000'000'000}
        << "m.jl:1:9: the model Dense(1000000000 => 1000000000) has 1_000_000_001_000_000_000 parameters (3.469 EiB in "
           "Float32), more than can be trained\nhint: the limit is 2_147_483_648 parameters";
    QTest::newRow("all layers together") << "Chain(Dense(1 => 1000000000), Dense(1000000000 => 1))" << QVector<int>{1}
                                         << "m.jl:1:9: the model Chain has 3_000_000_001 parameters, more than can be "
                                            "trained\nhint: the limit is 2_147_483_648 parameters";
    QTest::newRow("beyond 64 bits")
        << "Conv((1000000, 1000000, 1000000), 1 => 1000000; pad = 1000000)" << QVector<int>{28, 28, 28, 1}
        << "m.jl:1:9: the model Conv((1000000, 1000000, 1000000), 1 => 1000000, pad=1000000) makes more than "
           "9_223_372_036_854_775_807 values per sample, more than fit into memory\nhint: use smaller sizes";
    QTest::newRow("padding") << "Conv((1, 1), 1 => 1; pad = 1000000)" << QVector<int>{28, 28, 1}
                             << "m.jl:1:9: the model Conv((1, 1), 1 => 1, pad=1000000) makes 4_000_112_000_784 values "
                                "per sample, more than fit into memory\nhint: use smaller sizes";
}

void TestShapes::wideLayersAreRefused()
{
    QFETCH(QString, model);
    QFETCH(QVector<int>, input);
    QFETCH(QString, message);
    const Outcome outcome = inferred("model = " + model.toStdString(), Dims(input.rbegin(), input.rend()));
    QCOMPARE(QString::fromStdString(outcome.error), message);
}

void TestShapes::badInputShapesAreRefused()
{
    for (const Dims& input : {Dims{}, Dims{0}, Dims{1, -28, 28}, Dims{1, 2, 3, 4, 5}, Dims{1 << 20, 1 << 20}}) {
        const Outcome outcome = inferred("model = Chain(relu)", input);
        QVERIFY2(outcome.error.find("is not a shape of 1 to 4 positive sizes") != std::string::npos,
                 outcome.error.c_str());
        QVERIFY(outcome.error.find("hint: set it in the model file: input = (28, 28, 1)") != std::string::npos);
    }
}

void TestShapes::impliedInputComesFromTheFirstLayer_data()
{
    QTest::addColumn<QString>("model");
    QTest::addColumn<QVector<int>>("input");
    QTest::newRow("dense") << "Chain(Dense(7 => 2))" << QVector<int>{7};
    QTest::newRow("after relu, nested") << "Chain(relu, Chain(Dropout(0.5), Dense(7 => 2)), Dense(2 => 3))"
                                        << QVector<int>{7};
    QTest::newRow("parallel") << "Parallel(+, Dense(7 => 2), Dense(7 => 2))" << QVector<int>{7};
    QTest::newRow("flatten hides it") << "Chain(flatten, Dense(7 => 2))" << QVector<int>{};
    QTest::newRow("conv") << "Chain(Conv((3, 3), 1 => 2))" << QVector<int>{};
}

void TestShapes::impliedInputComesFromTheFirstLayer()
{
    QFETCH(QString, model);
    QFETCH(QVector<int>, input);
    const auto file = model::parseModelText("model = " + model.toStdString(), "m.jl");
    QVERIFY(file.has_value());
    QCOMPARE(model::impliedInput(file->model), Dims(input.begin(), input.end()));
}

void TestShapes::knownInputPrefersTheText()
{
    const auto known = [](const std::string& text) {
        const auto file = model::parseModelText(text, "m.jl");
        return file ? model::knownInput(*file) : Dims{-1};
    };
    QCOMPARE(known("model = relu\ninput = (28, 14, 3)\ndata = Random((5,); classes = 2)"), (Dims{3, 14, 28}));
    QCOMPARE(known("model = relu\ndata = Random((5, 4); target_shape = (5, 4))"), (Dims{4, 5}));
    QCOMPARE(known("model = flatten\ndata = FashionMNIST()"), (Dims{1, 28, 28}));
    QCOMPARE(known("model = Dense(3 => 1)\ndata = CSV(\"a.csv\")"), (Dims{3}));
    QCOMPARE(known("model = flatten\ndata = CSV(\"a.csv\")"), Dims{});
}

void TestShapes::inputInTheTextInfersAtOnce()
{
    const auto file = model::parseModelText("input = (28, 28, 1)\nmodel = Chain(flatten, Dense(784 => 10))", "m.jl");
    QVERIFY(file.has_value());
    QCOMPARE(file->model.root().output, Dims{10});
    const auto wrong = model::parseModelText("input = (28, 28, 1)\nmodel = Chain(flatten, Dense(785 => 10))", "m.jl");
    QVERIFY(!wrong.has_value());
    QCOMPARE(wrong.error().where.line, 2);
    QCOMPARE(wrong.error().where.column, 24);
}

void TestShapes::binaryLossTakesOneOutputForTwoClasses()
{
    const std::string data = "data = Random(3; classes = 2)\n";
    QCOMPARE(inferred(data + "loss = logitbinarycrossentropy\nmodel = Dense(3 => 1)", {3}).error, std::string());
    QVERIFY(!inferred(data + "loss = logitcrossentropy\nmodel = Dense(3 => 1)", {3}).error.empty());
    QVERIFY(!inferred(data + "loss = logitbinarycrossentropy\nmodel = Dense(3 => 3)", {3}).error.empty());
}

void TestShapes::inferringTwiceGivesTheSame()
{
    Outcome outcome = inferred(
        "model = Chain(Conv((3, 3), 1 => 2), SkipConnection(relu, +), flatten, Dense(1352 => 3))", {1, 28, 28});
    QCOMPARE(outcome.error, std::string());
    const model::Cost before = outcome.file.model.root().forward;
    const int64_t parameters = outcome.file.model.root().parameterCount;
    QVERIFY(model::inferShapes(outcome.file, {1, 28, 28}).has_value());
    QCOMPARE(outcome.file.model.root().forward.flop, before.flop);
    QCOMPARE(outcome.file.model.root().forward.bytes, before.bytes);
    QCOMPARE(outcome.file.model.root().parameterCount, parameters);
}

QTEST_GUILESS_MAIN(TestShapes)
#include "tst_shapes.moc"
