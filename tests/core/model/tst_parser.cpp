// Every form and default of the model text against Flux's own (0.16.11): layers, functions, inits, variables.
#include "core/model/parser.h"
#include "core/model/shapes.h"

#include <QtTest>

#include <cmath>

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

// The layer alone, as the model.
Layer layer(const std::string& text)
{
    const ModelFile file = parsed("model = " + text);
    return file.model.layers.empty() ? Layer{} : file.model.layers[0];
}

} // namespace

class TestParser : public QObject {
    Q_OBJECT
private slots:
    void layerPrintsAsInFlux_data();
    void layerPrintsAsInFlux();
    void denseHasFluxDefaults();
    void convHasFluxDefaults();
    void spatialOptionsAreReversed();
    void samePadPutsTheExtraFirst_data();
    void samePadPutsTheExtraFirst();
    void poolStrideIsTheKernel();
    void normsHaveFluxDefaults();
    void normsTakeAllKeywords();
    void activationHasNNlibName_data();
    void activationHasNNlibName();
    void functionIsALayer_data();
    void functionIsALayer();
    void connectionIsRead_data();
    void connectionIsRead();
    void initIsRead_data();
    void initIsRead();
    void layersHaveNamesAndPaths();
    void placesCountCharactersNotBytes();
    void variablesAreReplaced();
    void laterAssignmentsDoNotChangeEarlierReads();
    void commentsAndBlanksMeanNothing();
    void pastedScriptIsRead();
};

void TestParser::layerPrintsAsInFlux_data()
{
    QTest::addColumn<QString>("written");
    QTest::addColumn<QString>("printed");
    const auto row = [](const char* written, const char* printed) {
        QTest::newRow(written) << QString(written) << QString(printed);
    };
    row("Dense(5 => 2)", "Dense(5 => 2)");
    row("Dense(5 => 2, tanh)", "Dense(5 => 2, tanh)");
    row("Dense(5 => 2; bias = false)", "Dense(5 => 2; bias=false)");
    row("Dense(5 => 2, σ; bias = false)", "Dense(5 => 2, σ; bias=false)");
    row("Dense(5, 2)", "Dense(5 => 2)");
    row("Dense(5, 2, relu)", "Dense(5 => 2, relu)");
    row("Flux.Dense(5=>2, NNlib.sigmoid)", "Dense(5 => 2, σ)");
    row("Dense(5 => 2, identity)", "Dense(5 => 2)");
    row("Dense(5 => 2, bias=false,)", "Dense(5 => 2; bias=false)");
    row("NaiveDense(128 => 256, relu)", "NaiveDense(128 => 256, relu)");
    row("Dense(5 => 2, x -> leakyrelu(x, 0.2))", "Dense(5 => 2, x -> leakyrelu(x, 0.2))");
    row("Dense(5 => 2, x -> leakyrelu(x, 0.01))", "Dense(5 => 2, leakyrelu)");
    row("Conv((5,5), 3 => 7, relu; bias = false)", "Conv((5, 5), 3 => 7, relu, bias=false)");
    row("Conv((5,5), 3 => 7; stride = 2, pad = SamePad())", "Conv((5, 5), 3 => 7, pad=2, stride=2)");
    row("Conv((1,1), 3 => 7; pad = (20,10,0,0))", "Conv((1, 1), 3 => 7, pad=(20, 10, 0, 0))");
    row("Conv((5,5), 3 => 7; stride = 2, dilation = 4)", "Conv((5, 5), 3 => 7, stride=2, dilation=4)");
    row("Conv((3,5), 3 => 6; stride = (2, 1), pad = (1, 2), groups = 3)",
        "Conv((3, 5), 3 => 6, pad=(1, 2), stride=(2, 1), groups=3)");
    row("Conv((2, 4), 1 => 1, pad = SamePad())", "Conv((2, 4), 1 => 1, pad=(1, 0, 2, 1))");
    row("Conv((1, 1), 1 => 1; pad = SamePad())", "Conv((1, 1), 1 => 1)");
    row("Conv((3,), 1 => 4)", "Conv((3,), 1 => 4)");
    row("CrossCor((5,5), 3 => 6, relu; bias=false)", "CrossCor((5, 5), 3 => 6, relu, bias=false)");
    row("DepthwiseConv((5,5), 3 => 6, relu; bias=false)", "Conv((5, 5), 3 => 6, relu, groups=3, bias=false)");
    row("MaxPool((2,2))", "MaxPool((2, 2))");
    row("MaxPool((5,5); pad=SamePad())", "MaxPool((5, 5), pad=2)");
    row("MeanPool((5,5), pad=1, stride=2)", "MeanPool((5, 5), pad=1, stride=2)");
    row("MaxPool((2, 2); stride = (2, 2))", "MaxPool((2, 2))");
    row("GlobalMeanPool()", "GlobalMeanPool()");
    row("GlobalMaxPool()", "GlobalMaxPool()");
    row("BatchNorm(3, relu)", "BatchNorm(3, relu)");
    row("BatchNorm(3; affine = false)", "BatchNorm(3, affine=false)");
    row("LayerNorm(5)", "LayerNorm(5)");
    row("LayerNorm(28, 14, relu; affine = false)", "LayerNorm(28, 14, relu, affine=false)");
    row("LayerNorm((28, 14))", "LayerNorm(28, 14)");
    row("Dropout(0.4)", "Dropout(0.4)");
    row("Dropout(0.5; dims = :)", "Dropout(0.5)");
    row("Flux.flatten", "Flux.flatten");
    row("MLUtils.flatten", "Flux.flatten");
    row("flatten", "Flux.flatten");
    row("x -> relu.(x)", "x -> relu.(x)");
    row("softmax", "softmax");
    row("gelu", "gelu_tanh");
    row("Dense(5 => 2) |> f32", "Dense(5 => 2)");
    row("Dense(5 => 2) |> f32 |> cpu", "Dense(5 => 2)");
    row("f32(Dense(5 => 2))", "Dense(5 => 2)");
}

void TestParser::layerPrintsAsInFlux()
{
    QFETCH(QString, written);
    QFETCH(QString, printed);
    QCOMPARE(QString::fromStdString(layer(written.toStdString()).text), printed);
}

void TestParser::denseHasFluxDefaults()
{
    const Layer dense = layer("Dense(7 => 3)");
    QCOMPARE(dense.kind, LayerKind::dense);
    QCOMPARE(dense.options.in, int64_t{7});
    QCOMPARE(dense.options.out, int64_t{3});
    QVERIFY(dense.options.bias);
    QCOMPARE(dense.options.activation, Activation{});
    QCOMPARE(dense.parameters.size(), size_t{2});
    QCOMPARE(dense.parameters[0].name, std::string("weight"));
    QCOMPARE(dense.parameters[0].dims, (Dims{7, 3})); // Flux's 3 x 7 column-major array, read row-major
    QCOMPARE(dense.parameters[0].init, Init{});       // glorot_uniform(gain = 1)
    QCOMPARE(dense.parameters[0].fanIn, int64_t{7});
    QCOMPARE(dense.parameters[0].fanOut, int64_t{3});
    QCOMPARE(dense.parameters[1].name, std::string("bias"));
    QCOMPARE(dense.parameters[1].dims, Dims{3});
    QCOMPARE(dense.parameters[1].init.kind, InitKind::zeros);
    QCOMPARE(layer("Dense(7 => 3; bias = false)").parameters.size(), size_t{1});
    QCOMPARE(layer("NaiveDense(7 => 3, relu)").kind, LayerKind::naiveDense);
}

void TestParser::convHasFluxDefaults()
{
    const Layer conv = layer("Conv((5, 3), 4 => 6)");
    QCOMPARE(conv.kind, LayerKind::conv);
    QCOMPARE(conv.options.stride, (Dims{1, 1}));
    QCOMPARE(conv.options.dilation, (Dims{1, 1}));
    QCOMPARE(conv.options.padLow, (Dims{0, 0}));
    QCOMPARE(conv.options.padHigh, (Dims{0, 0}));
    QCOMPARE(conv.options.groups, int64_t{1});
    QCOMPARE(conv.parameters[0].dims, (Dims{6, 4, 3, 5})); // out, in / groups, height, width
    QCOMPARE(conv.parameters[0].fanIn, int64_t{5 * 3 * 4});
    QCOMPARE(conv.parameters[0].fanOut, int64_t{5 * 3 * 6});
    QCOMPARE(conv.parameters[1].dims, Dims{6});
    QCOMPARE(layer("Conv((3, 3), 4 => 6; groups = 2)").parameters[0].dims, (Dims{6, 2, 3, 3}));
    QCOMPARE(layer("DepthwiseConv((3, 3), 4 => 8)").options.groups, int64_t{4});
    QCOMPARE(layer("CrossCor((3, 3), 4 => 6)").kind, LayerKind::crossCor);
}

void TestParser::spatialOptionsAreReversed()
{
    const LayerOptions options =
        layer("Conv((1, 2, 3), 1 => 1; stride = (4, 5, 6), dilation = (7, 8, 9), pad = (1, 2, 3))").options;
    QCOMPARE(options.kernel, (Dims{3, 2, 1}));
    QCOMPARE(options.stride, (Dims{6, 5, 4}));
    QCOMPARE(options.dilation, (Dims{9, 8, 7}));
    QCOMPARE(options.padLow, (Dims{3, 2, 1}));
    QCOMPARE(options.padHigh, (Dims{3, 2, 1}));
    const LayerOptions both = layer("Conv((3, 3), 1 => 1; pad = (0, 1, 1, 2))").options; // width (0, 1), height (1, 2)
    QCOMPARE(both.padLow, (Dims{1, 0}));
    QCOMPARE(both.padHigh, (Dims{2, 1}));
}

void TestParser::samePadPutsTheExtraFirst_data()
{
    QTest::addColumn<QString>("options");
    QTest::addColumn<int>("low");
    QTest::addColumn<int>("high");
    // total = dilation * (k - 1); before: rounded up
    QTest::newRow("k 1") << "(1,), 1 => 1; pad = SamePad()" << 0 << 0;
    QTest::newRow("k 2") << "(2,), 1 => 1; pad = SamePad()" << 1 << 0;
    QTest::newRow("k 4") << "(4,), 1 => 1; pad = SamePad()" << 2 << 1;
    QTest::newRow("k 5") << "(5,), 1 => 1; pad = SamePad()" << 2 << 2;
    QTest::newRow("k 2 dilation 3") << "(2,), 1 => 1; dilation = 3, pad = SamePad()" << 2 << 1;
    QTest::newRow("without brackets") << "(2,), 1 => 1; pad = SamePad" << 1 << 0;
}

void TestParser::samePadPutsTheExtraFirst()
{
    QFETCH(QString, options);
    QFETCH(int, low);
    QFETCH(int, high);
    const LayerOptions read = layer("Conv(" + options.toStdString() + ")").options;
    QVERIFY(read.samePad);
    QCOMPARE(read.padLow, Dims{low});
    QCOMPARE(read.padHigh, Dims{high});
}

void TestParser::poolStrideIsTheKernel()
{
    QCOMPARE(layer("MaxPool((2, 3))").options.stride, (Dims{3, 2}));
    QCOMPARE(layer("MeanPool((2, 3); stride = 1)").options.stride, (Dims{1, 1}));
    QCOMPARE(layer("MeanPool((2, 3); stride = 1)").kind, LayerKind::meanPool);
    QCOMPARE(layer("MaxPool((3, 3); pad = (1, 0, 2, 1))").options.padLow, (Dims{2, 1}));
}

void TestParser::normsHaveFluxDefaults()
{
    const Layer batch = layer("BatchNorm(4)");
    QCOMPARE(batch.options.in, int64_t{4});
    QVERIFY(batch.options.affine && batch.options.trackStats);
    QCOMPARE(batch.options.eps, 1e-5);
    QCOMPARE(batch.options.momentum, 0.1);
    QCOMPARE(batch.parameters[0].name, std::string("β"));
    QCOMPARE(batch.parameters[0].init.kind, InitKind::zeros);
    QCOMPARE(batch.parameters[1].name, std::string("γ"));
    QCOMPARE(batch.parameters[1].init.kind, InitKind::ones);
    const Layer norm = layer("LayerNorm(4, 5)");
    QCOMPARE(norm.options.normShape, (Dims{5, 4}));
    QCOMPARE(norm.options.eps, 1e-5);
    QCOMPARE(norm.parameters[0].name, std::string("scale"));
    QCOMPARE(norm.parameters[0].init.kind, InitKind::ones);
    QCOMPARE(norm.parameters[1].name, std::string("bias"));
    QCOMPARE(norm.parameters[1].dims, (Dims{5, 4}));
    QVERIFY(layer("LayerNorm(4; affine = false)").parameters.empty());
}

void TestParser::normsTakeAllKeywords()
{
    const Layer batch = layer("BatchNorm(4, relu; initβ = ones32, initγ = Flux.randn32, affine = true, track_stats = "
                              "false, active = nothing, eps = 1f-3, momentum = 0.2f0)");
    QCOMPARE(batch.options.activation.kind, ActivationKind::relu);
    QCOMPARE(batch.parameters[0].init.kind, InitKind::ones);
    QCOMPARE(batch.parameters[1].init.kind, InitKind::randn);
    QVERIFY(!batch.options.trackStats);
    QCOMPARE(batch.options.eps, 1e-3);
    QCOMPARE(batch.options.momentum, 0.2);
    QCOMPARE(layer("BatchNorm(4; ϵ = 1e-4)").options.eps, 1e-4);
    QCOMPARE(layer("LayerNorm(4, tanh; eps = 1e-4)").options.activation.kind, ActivationKind::tanh);
    QCOMPARE(layer("LayerNorm(4, tanh; eps = 1e-4)").options.eps, 1e-4);
}

void TestParser::activationHasNNlibName_data()
{
    QTest::addColumn<QString>("name");
    QTest::addColumn<int>("kind");
    QTest::addColumn<double>("alpha");
    using enum ActivationKind;
    const auto row = [](const char* name, ActivationKind kind, double alpha = 0) {
        QTest::newRow(name) << QString(name) << int(kind) << alpha;
    };
    row("identity", identity);
    row("σ", sigmoid);
    row("sigmoid", sigmoid);
    row("hardσ", hardsigmoid);
    row("hardsigmoid", hardsigmoid);
    row("tanh", tanh);
    row("hardtanh", hardtanh);
    row("relu", relu);
    row("relu6", relu6);
    row("leakyrelu", leakyrelu, 0.01);
    row("elu", elu, 1);
    row("gelu", gelu);
    row("gelu_tanh", gelu);
    row("gelu_erf", geluErf);
    row("gelu_sigmoid", geluSigmoid);
    row("swish", swish);
    row("hardswish", hardswish);
    row("selu", selu);
    row("celu", celu, 1);
    row("softplus", softplus);
    row("softsign", softsign);
    row("logσ", logsigmoid);
    row("logsigmoid", logsigmoid);
    row("logcosh", logcosh);
    row("mish", mish);
    row("tanhshrink", tanhshrink);
    row("softshrink", softshrink, 0.5);
    row("trelu", trelu, 1);
    row("lisht", lisht);
    row("x -> leakyrelu(x, 0.2)", leakyrelu, 0.2);
    row("x -> elu.(x, 2)", elu, 2);
    row("(x) -> relu(x)", relu);
    row("x -> x", identity);
}

void TestParser::activationHasNNlibName()
{
    QFETCH(QString, name);
    QFETCH(int, kind);
    QFETCH(double, alpha);
    for (const char* form :
         {"Dense(2 => 2, %1)", "Conv((1, 1), 2 => 2, %1)", "BatchNorm(2, %1)", "LayerNorm(2, %1)", "%1"}) {
        const LayerOptions options = layer(QString(form).arg(name).toStdString()).options;
        QCOMPARE(int(options.activation.kind), kind);
        QCOMPARE(options.activation.alpha, alpha);
    }
}

void TestParser::functionIsALayer_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<int>("kind");
    QTest::addColumn<int>("activation");
    const auto row = [](const char* text, LayerKind kind, ActivationKind activation) {
        QTest::newRow(text) << QString(text) << int(kind) << int(activation);
    };
    row("softmax", LayerKind::activation, ActivationKind::softmax);
    row("NNlib.logsoftmax", LayerKind::activation, ActivationKind::logsoftmax);
    row("x -> softmax(x; dims = 1)", LayerKind::activation, ActivationKind::softmax);
    row("x -> relu.(x)", LayerKind::activation, ActivationKind::relu);
    row("x -> tanh.(x)", LayerKind::activation, ActivationKind::tanh);
    row("flatten", LayerKind::flatten, ActivationKind::identity);
    row("Flux.MLUtils.flatten", LayerKind::flatten, ActivationKind::identity);
    row("x -> Flux.flatten(x)", LayerKind::flatten, ActivationKind::identity);
    row("x -> reshape(x, :, size(x, 4))", LayerKind::flatten, ActivationKind::identity);
}

void TestParser::functionIsALayer()
{
    QFETCH(QString, text);
    QFETCH(int, kind);
    QFETCH(int, activation);
    const Layer read = layer(text.toStdString());
    QCOMPARE(int(read.kind), kind);
    QCOMPARE(int(read.options.activation.kind), activation);
    QVERIFY(!read.text.empty());
}

void TestParser::connectionIsRead_data()
{
    QTest::addColumn<QString>("connection");
    QTest::addColumn<int>("kind");
    QTest::addColumn<int>("dimension");
    const auto row = [](const char* text, Connection kind, int dimension) {
        QTest::newRow(text) << QString(text) << int(kind) << dimension;
    };
    row("+", Connection::add, 0);
    row(".+", Connection::add, 0);
    row("(mx, x) -> mx + x", Connection::add, 0);
    row("(mx, x) -> x .+ mx", Connection::add, 0);
    row("*", Connection::multiply, 0);
    row(".*", Connection::multiply, 0);
    row("(a, b) -> a .* b", Connection::multiply, 0);
    row("vcat", Connection::concatenate, 1);
    row("(mx, x) -> vcat(mx, x)", Connection::concatenate, 1);
    row("(mx, x) -> cat(mx, x; dims = 3)", Connection::concatenate, 3);
    row("(mx, x) -> cat(mx, x, dims=3)", Connection::concatenate, 3);
    row("(xs...) -> cat(xs...; dims = 3)", Connection::concatenate, 3);
}

void TestParser::connectionIsRead()
{
    QFETCH(QString, connection);
    QFETCH(int, kind);
    QFETCH(int, dimension);
    for (const char* form :
         {"SkipConnection(relu, %1)", "Parallel(%1, relu, tanh)", "Parallel(%1; a = relu, b = tanh)"}) {
        const LayerOptions options = layer(QString(form).arg(connection).toStdString()).options;
        QCOMPARE(int(options.connection), kind);
        QCOMPARE(options.concatenateDim, dimension);
    }
}

void TestParser::initIsRead_data()
{
    QTest::addColumn<QString>("text");
    QTest::addColumn<int>("kind");
    QTest::addColumn<double>("gain");
    using enum InitKind;
    const auto row = [](const char* text, InitKind kind, double gain = 1) {
        QTest::newRow(text) << QString(text) << int(kind) << gain;
    };
    row("glorot_uniform", glorotUniform);
    row("Flux.glorot_normal", glorotNormal);
    row("kaiming_uniform", kaimingUniform, std::sqrt(2.0));
    row("Flux.kaiming_normal()", kaimingNormal, std::sqrt(2.0));
    row("Flux.kaiming_normal(gain = 2)", kaimingNormal, 2);
    row("kaiming_normal(gain = √2)", kaimingNormal, std::sqrt(2.0));
    row("kaiming_normal(; gain = sqrt(3))", kaimingNormal, std::sqrt(3.0));
    row("glorot_uniform(gain = 0.5f0)", glorotUniform, 0.5);
    row("lecun_normal", lecunNormal);
    row("truncated_normal", truncatedNormal);
    row("orthogonal(gain = 3)", orthogonal, 3);
    row("Flux.identity_init", identity);
    row("zeros32", zeros);
    row("ones32", ones);
    row("randn32", randn);
    row("rand32", rand);
}

void TestParser::initIsRead()
{
    QFETCH(QString, text);
    QFETCH(int, kind);
    QFETCH(double, gain);
    for (const char* form : {"Dense(2 => 3; init = %1)", "Conv((1, 1), 2 => 3, init = %1)",
                             "CrossCor((1, 1), 2 => 3, init = %1)", "NaiveDense(2 => 3; init = %1)"}) {
        const Layer read = layer(QString(form).arg(text).toStdString());
        QCOMPARE(int(read.parameters[0].init.kind), kind);
        QCOMPARE(read.parameters[0].init.gain, gain);
        QCOMPARE(read.parameters[1].init.kind, InitKind::zeros);
    }
    const Init cut = layer("Dense(2 => 3; init = truncated_normal(mean = 1, std = 0.1, lo = -1, hi = 3))").options.init;
    QCOMPARE(cut.mean, 1.0);
    QCOMPARE(cut.std, 0.1);
    QCOMPARE(cut.low, -1.0);
    QCOMPARE(cut.high, 3.0);
}

void TestParser::layersHaveNamesAndPaths()
{
    const ModelFile file = parsed("model = Chain(\n  conv1 = Conv((3, 3), 1 => 2),\n  body = Chain([relu, Parallel(+; "
                                  "left = relu, right = SkipConnection(tanh, +))]),\n)");
    const auto& layers = file.model.layers;
    QCOMPARE(layers.size(), size_t{8});
    const std::vector<std::string> paths{"",       "conv1",       "body",         "body.1",
                                         "body.2", "body.2.left", "body.2.right", "body.2.right.1"};
    for (size_t i = 0; i < layers.size(); ++i)
        QCOMPARE(layers[i].path, paths[i]);
    QCOMPARE(layers[0].text, std::string("Chain"));
    QCOMPARE(layers[4].text, std::string("Parallel(+)"));
    QCOMPARE(layers[4].children.size(), size_t{2});
    QCOMPARE(layers[5].parent.index(), size_t{4});
    QVERIFY(!layers[0].parent.valid());
    QCOMPARE(layers[1].line, 2);
    QCOMPARE(layers[1].column, 11);
    QCOMPARE(layers[7].line, 3);
    QCOMPARE(layers[7].column, 71);
}

void TestParser::placesCountCharactersNotBytes()
{
    const ModelFile file = parsed("\xEF\xBB\xBFmodel = Chain(σ, #= ŷηλ =# x -> relu.(x))\r\n");
    QCOMPARE(file.model.layers.size(), size_t{3});
    QCOMPARE(file.model.layers[0].column, 9);
    QCOMPARE(file.model.layers[1].column, 15);
    QCOMPARE(file.model.layers[2].column, 28);
}

void TestParser::variablesAreReplaced()
{
    const ModelFile good = parsed("const k = (3, 3); act = relu\nn = 16\nblock = Chain(Conv(k, n => 2 * n, act; pad = "
                                  "(n ÷ 16)), act)\nmodel = Chain(block, flatten)\nopts = 0.5\noptimiser = Adam(opts)");
    QCOMPARE(good.model.layers[2].text, std::string("Conv((3, 3), 16 => 32, relu, pad=1)"));
    QCOMPARE(good.model.layers[3].text, std::string("relu"));
    QCOMPARE(good.optimiser.eta, 0.5);
    const ModelFile shorthand = parsed("stride = 2\nmodel = Conv((3, 3), 1 => 1; stride)");
    QCOMPARE(shorthand.model.layers[0].options.stride, (Dims{2, 2}));
}

void TestParser::laterAssignmentsDoNotChangeEarlierReads()
{
    const ModelFile file = parsed("n = 4\na = Dense(n => n)\nn = 8\nmodel = Chain(a, Dense(4 => n))");
    QCOMPARE(file.model.layers[1].text, std::string("Dense(4 => 4)"));
    QCOMPARE(file.model.layers[2].text, std::string("Dense(4 => 8)"));
    const ModelFile parameter = parsed("x = 5\nmodel = x -> relu.(x)"); // the parameter hides the variable
    QCOMPARE(parameter.model.layers[0].options.activation.kind, ActivationKind::relu);
}

void TestParser::commentsAndBlanksMeanNothing()
{
    const char* text = "#= a #= nested =# comment =#\r\nusing Flux, Statistics # packages\nusing Flux: Chain,\n    "
                       "Dense\nimport Optimisers\n\n\n"
                       "model\xC2\xA0=\tChain(\n  # first\n  Dense(2 => 3, # two\n    relu;\n    bias = true,\n  "
                       "),\n\n  Dense(3 => 1)\n)\n";
    const ModelFile file = parsed(text);
    QCOMPARE(file.model.layers.size(), size_t{3});
    QCOMPARE(file.model.layers[1].line, 10);
}

void TestParser::pastedScriptIsRead()
{
    const ModelFile file = parsed(R"(using Flux, MLUtils
const η = 3f-4
batchsize = 128
model = Chain(
    Chain(
        Conv((3, 3), 1 => 8, relu; pad = SamePad(), stride = 2, init = Flux.kaiming_normal(gain = 2)),
        BatchNorm(8),
    ),
    SkipConnection(Chain(Conv((3, 3), 8 => 8; pad = 1, bias = false), BatchNorm(8, relu)), +),
    x -> relu.(x),
    GlobalMeanPool(), Flux.flatten,
    Dropout(0.2), Dense(8 => 10),
) |> f32

loss(m, x, y) = Flux.logitcrossentropy(m(x), y)
opt = OptimiserChain(WeightDecay(5e-4), ClipNorm(1), Adam(η))
opt_state = Flux.setup(opt, model)
data = DataLoader(FashionMNIST(); batchsize = batchsize, shuffle = true)
)");
    QCOMPARE(file.model.layers.size(), size_t{13});
    QCOMPARE(file.optimiser.eta, 3e-4);
    QCOMPARE(file.optimiser.modifiers.size(), size_t{2});
    QCOMPARE(file.data.batchSize, int64_t{128});
    ModelFile inferred = file;
    QVERIFY(inferShapes(inferred, {1, 28, 28}).has_value());
    QCOMPARE(inferred.model.root().output, Dims{10});
}

QTEST_GUILESS_MAIN(TestParser)
#include "tst_parser.moc"
