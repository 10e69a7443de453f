// The reference against values published by Flux, NNlib and Optimisers.jl (tests and docstrings).
#include "tests/support/layer_builder.h"
#include "tests/support/reference_network.h"

#include <QTest>

#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

using namespace stepscope;
using namespace stepscope::testing;
using model::ActivationKind;
using model::LayerKind;
using model::LossKind;
using model::RuleKind;

namespace {

const base::LayerId kRoot(0u);

Values sequence(int64_t n)
{
    Values v(n);
    std::iota(v.begin(), v.end(), 1.0);
    return v;
}

void compare(const Values& actual, const Values& expected, double tolerance = 1e-9)
{
    QCOMPARE(actual.size(), expected.size());
    for (size_t i = 0; i < actual.size(); ++i) {
        const bool equal = actual[i] == expected[i] || std::abs(actual[i] - expected[i]) <= tolerance;
        QVERIFY2(
            equal,
            qPrintable(
                QString("value %1 is %2, expected %3").arg(i).arg(actual[i], 0, 'g', 17).arg(expected[i], 0, 'g', 17)));
    }
}

ReferenceNetwork networkOf(const LayerTree& root) { return ReferenceNetwork(makeModel(root)); }

// Three steps from x = 1 with gradient 2x.
Values trajectory(const model::OptimiserSpec& spec)
{
    ReferenceOptimiser optimiser(spec);
    Values x{1}, path;
    for (int i = 0; i < 3; ++i) {
        optimiser.update(x, {2 * x[0]});
        path.push_back(x[0]);
    }
    return path;
}

model::OptimiserSpec rule(RuleKind kind, double eta)
{
    model::OptimiserSpec spec;
    spec.rule = kind;
    spec.eta = eta;
    return spec;
}

} // namespace

class TestReferenceNetwork : public QObject {
    Q_OBJECT
private slots:
    void denseMultipliesByWeightsStoredInputFirst();
    void convolutionFlipsTheKernelAndCrossCorrelationDoesNot();
    void convolutionGradientsMatchNNlib();
    void oneDimensionalConvolution();
    void asymmetricPadding();
    void groupsSeeOnlyTheirOwnChannels();
    void shapesOfASmallConvolutionalNetwork();
    void poolingMatchesNNlib();
    void batchNormTrainsAndTestsAsInFlux();
    void layerNormNormalisesEachSample();
    void dropoutScalesWhatItKeeps();
    void connectionsCombineBranches();
    void losses_data();
    void losses();
    void crossEntropiesOfTheDocumentation();
    void sumAggregation();
    void activations_data();
    void activations();
    void softmaxKeepsExtremes();
    void optimisers();
    void optimiserTrajectories_data();
    void optimiserTrajectories();
    void leakyDenseTrainsAsInTheDocumentation();
};

void TestReferenceNetwork::denseMultipliesByWeightsStoredInputFirst()
{
    ReferenceNetwork net = networkOf(dense(10, 2));
    net.parameter(kRoot, 0) = Values(20, 1.0);
    Tensor x({10}, 2);
    std::fill(x.values.begin(), x.values.begin() + 10, 1.0);
    std::fill(x.values.begin() + 10, x.values.end(), 2.0);
    compare(net.forward(x, false).values, {10, 10, 20, 20});

    ReferenceNetwork small = networkOf(dense(2, 3));
    small.parameter(kRoot, 0) = {1, 2, 3, 10, 20, 30};
    small.parameter(kRoot, 1) = {.1, .2, .3};
    compare(small.forward(Tensor({2}, 1, Values{1, 2}), false).values, {21.1, 42.2, 63.3});
}

void TestReferenceNetwork::convolutionFlipsTheKernelAndCrossCorrelationDoesNot()
{
    const Tensor x({1, 4, 5}, 1, sequence(20));
    ReferenceNetwork flipped = networkOf(conv({2, 2}, 1, 1));
    flipped.parameter(kRoot, 0) = sequence(4);
    compare(flipped.forward(x, false).values, {29, 39, 49, 59, 79, 89, 99, 109, 129, 139, 149, 159});
    QCOMPARE(flipped.output().shape, (Dims{1, 3, 4}));
    ReferenceNetwork plain = networkOf(crossCor({2, 2}, 1, 1));
    plain.parameter(kRoot, 0) = sequence(4);
    compare(plain.forward(x, false).values, {51, 61, 71, 81, 101, 111, 121, 131, 151, 161, 171, 181});
}

void TestReferenceNetwork::convolutionGradientsMatchNNlib()
{
    ReferenceNetwork net = networkOf(conv({2, 2}, 1, 1));
    net.parameter(kRoot, 0) = sequence(4);
    net.forward(Tensor({1, 4, 5}, 1, sequence(20)), true);
    net.backward(net.output().values);
    compare(net.gradient(kRoot, 0), {17378, 16250, 11738, 10610});
    const Values& dx = net.inputGradient().values;
    compare({dx[0], dx[5], dx[10], dx[15]}, {116, 374, 674, 258});
}

void TestReferenceNetwork::oneDimensionalConvolution()
{
    const Tensor x({1, 5}, 1, sequence(5));
    LayerTree layer = conv({2}, 1, 1);
    ReferenceNetwork net = networkOf(layer);
    net.parameter(kRoot, 0) = {1, 2};
    compare(net.forward(x, true).values, {4, 7, 10, 13});
    QCOMPARE(net.output().shape, (Dims{1, 4}));
    net.backward(net.output().values);
    compare(net.inputGradient().values, {8, 18, 27, 36, 13});
    compare(net.gradient(kRoot, 0), {134, 100});

    layer.layer.options.padLow = layer.layer.options.padHigh = {1};
    ReferenceNetwork padded = networkOf(layer);
    padded.parameter(kRoot, 0) = {1, 2};
    compare(padded.forward(x, false).values, {1, 4, 7, 10, 13, 10});

    layer.layer.options.padLow = layer.layer.options.padHigh = {0};
    layer.layer.options.dilation = {2};
    ReferenceNetwork dilated = networkOf(layer);
    dilated.parameter(kRoot, 0) = {1, 2};
    compare(dilated.forward(x, false).values, {5, 8, 11});
}

void TestReferenceNetwork::asymmetricPadding()
{
    LayerTree layer = conv({3, 3}, 1, 1, activation(ActivationKind::relu));
    layer.layer.options.padLow = {1, 0}; // Flux pad = (0, 1, 1, 2): width low, high, then height
    layer.layer.options.padHigh = {2, 1};
    ReferenceNetwork net = networkOf(layer);
    net.parameter(kRoot, 0) = Values(9, 1.0);
    const Tensor& y = net.forward(Tensor({1, 28, 28}, 1, 1.0), false);
    QCOMPARE(y.shape, (Dims{1, 29, 27}));
    const auto at = [&](int64_t column, int64_t row) { return y.values[(row - 1) * 27 + column - 1]; };
    compare({at(1, 1), at(2, 2), at(27, 1), at(1, 29), at(27, 29)}, {6, 9, 4, 3, 2});
}

void TestReferenceNetwork::groupsSeeOnlyTheirOwnChannels()
{
    // Depthwise: each channel has its own 1x1 weights, two outputs per input channel.
    LayerTree layer = conv({1, 1}, 2, 4);
    layer.layer.options.groups = 2;
    ReferenceNetwork net = networkOf(layer);
    net.parameter(kRoot, 0) = {1, 2, 3, 4};
    compare(net.forward(Tensor({2, 1, 1}, 1, Values{10, 100}), false).values, {10, 20, 300, 400});
}

void TestReferenceNetwork::shapesOfASmallConvolutionalNetwork()
{
    ReferenceNetwork net =
        networkOf(chain({conv({2, 2}, 1, 16), pool(LayerKind::maxPool, {2, 2}), conv({2, 2}, 16, 8),
                         pool(LayerKind::maxPool, {2, 2}), layerOf(LayerKind::flatten), dense(288, 10)}));
    const Tensor& y = net.forward(Tensor({1, 28, 28}, 5, 1.0), false);
    QCOMPARE(net.layerOutput(base::LayerId(5u)).shape, Dims{288});
    QCOMPARE(y.shape, Dims{10});
    QCOMPARE(y.count, int64_t(5));
}

void TestReferenceNetwork::poolingMatchesNNlib()
{
    const Tensor x({1, 4, 5}, 1, sequence(20));
    compare(networkOf(pool(LayerKind::maxPool, {2, 2})).forward(x, false).values, {7, 9, 17, 19});
    LayerTree mean = pool(LayerKind::meanPool, {2, 2});
    ReferenceNetwork net = networkOf(mean);
    compare(net.forward(x, true).values, {4, 6, 14, 16});
    net.backward(net.output().values);
    const Values& dx = net.inputGradient().values;
    compare({dx[0], dx[5], dx[10], dx[15], dx[4]}, {1, 1, 3.5, 3.5, 0});

    mean.layer.options.padLow = mean.layer.options.padHigh = {1, 1};
    compare(networkOf(mean).forward(x, false).values, {.25, 1.25, 2.25, 4.25, 10, 12, 4, 8.75, 9.75});
    compare(networkOf(layerOf(LayerKind::globalMeanPool)).forward(x, false).values, {10.5});
    ReferenceNetwork largest = networkOf(layerOf(LayerKind::globalMaxPool));
    compare(largest.forward(x, false).values, {20});
    QCOMPARE(largest.output().shape, (Dims{1, 1, 1}));
}

void TestReferenceNetwork::batchNormTrainsAndTestsAsInFlux()
{
    ReferenceNetwork net = networkOf(norm(LayerKind::batchNorm, {2}));
    const Tensor x({2}, 3, Values{1, 2, 3, 4, 5, 6});
    compare(net.forward(x, true).values, {-1.22474, -1.22474, 0, 0, 1.22474, 1.22474}, 1e-5);
    compare(net.parameter(kRoot, 2), {.3, .4});
    compare(net.parameter(kRoot, 3), {1.3, 1.3});
    compare({net.forward(x, false).values[0]}, {.7 / std::sqrt(1.3)}, 1e-5);
}

void TestReferenceNetwork::layerNormNormalisesEachSample()
{
    ReferenceNetwork net = networkOf(norm(LayerKind::layerNorm, {3}));
    net.parameter(kRoot, 0) = {1, 2, 3};
    net.parameter(kRoot, 1) = {0, 0, 10};
    const double s = std::sqrt(1.5); // of 1, 2, 3: biased variance 2/3
    compare(net.forward(Tensor({3}, 2, Values{1, 2, 3, 10, 20, 30}), false).values,
            {-s, 0, 3 * s + 10, -s, 0, 3 * s + 10}, 1e-4);
}

void TestReferenceNetwork::dropoutScalesWhatItKeeps()
{
    ReferenceNetwork net = networkOf(dropout(.2));
    net.setDropoutMask(kRoot, {1, 0, 1});
    const Tensor x({3}, 1, Values{4, 5, 6});
    compare(net.forward(x, true).values, {5, 0, 7.5});
    net.backward({1, 1, 1});
    compare(net.inputGradient().values, {1.25, 0, 1.25});
    compare(net.forward(x, false).values, {4, 5, 6});
}

void TestReferenceNetwork::connectionsCombineBranches()
{
    const Tensor x({2}, 2, Values{1, 2, 3, 4});
    const LayerTree relu = function(activation(ActivationKind::relu));
    compare(networkOf(skip(relu, model::Connection::add)).forward(x, false).values, {2, 4, 6, 8});
    compare(networkOf(skip(relu, model::Connection::multiply)).forward(x, false).values, {1, 4, 9, 16});
    ReferenceNetwork both = networkOf(parallel(model::Connection::concatenate, {relu, layerOf(LayerKind::flatten)}));
    compare(both.forward(x, true).values, {1, 2, 1, 2, 3, 4, 3, 4});
    both.backward({1, 2, 10, 20, 3, 4, 30, 40});
    compare(both.inputGradient().values, {11, 22, 33, 44});
}

void TestReferenceNetwork::losses_data()
{
    QTest::addColumn<int>("kind");
    QTest::addColumn<double>("expected");
    QTest::newRow("mse") << int(LossKind::mse) << .41;
    QTest::newRow("mae") << int(LossKind::mae) << .5;
    QTest::newRow("huber") << int(LossKind::huberLoss) << .205;
    // -(ln .9 + ln .1 + ln .9 + ln .1) / 4
    QTest::newRow("binarycrossentropy") << int(LossKind::binarycrossentropy) << 1.2039728043;
}

void TestReferenceNetwork::losses()
{
    QFETCH(int, kind);
    QFETCH(double, expected);
    const Values yhat{.9, .1, .1, .9}, y{1, 1, 0, 0};
    model::LossSpec spec{LossKind(kind)};
    spec.eps = 0;
    compare({referenceLoss(spec, yhat, y, 4, nullptr)}, {expected});
}

void TestReferenceNetwork::crossEntropiesOfTheDocumentation()
{
    const model::LossSpec probability{LossKind::crossentropy}, logit{LossKind::logitcrossentropy};
    compare({referenceLoss(probability, {.1, .9, .9, .1, .9, .1, .1, .9}, oneHot({1, 1, 0, 0}, 2), 4, nullptr)},
            {1.2039728043}, 1e-6);
    Values ramp(15);
    std::iota(ramp.begin(), ramp.end(), -7.0);
    compare({referenceLoss(probability, softmax(ramp, 3), oneHot({0, 1, 2, 1, 0}, 3), 5, nullptr)}, {1.6076053}, 1e-6);
    compare({referenceLoss(logit, ramp, oneHot({0, 1, 2, 1, 0}, 3), 5, nullptr)}, {1.6076053}, 1e-6);
    const Values logits{-9, -8, -7, -6, -5, -4, -3, -2, -1, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 7.5};
    compare({referenceLoss(logit, logits, oneHot({0, 1, 2, 0, 1, 0, 0}, 3), 7, nullptr)}, {1.5791205}, 1e-6);
    const Values bits{1, 0, 1};
    compare({referenceLoss({LossKind::binarycrossentropy}, {.731059, .5, .731059}, bits, 3, nullptr)}, {.43989}, 1e-5);
    compare({referenceLoss({LossKind::logitbinarycrossentropy}, {2, -1, std::numbers::pi}, bits, 3, nullptr)},
            {.160832}, 1e-6);
}

void TestReferenceNetwork::sumAggregation()
{
    model::LossSpec spec{LossKind::mse};
    spec.sumAggregate = true;
    Values gradient;
    compare({referenceLoss(spec, {1, 2}, {0, 0}, 1, &gradient)}, {5});
    compare(gradient, {2, 4});
}

void TestReferenceNetwork::activations_data()
{
    QTest::addColumn<int>("kind");
    QTest::addColumn<double>("x");
    QTest::addColumn<double>("expected");
    const auto row = [](const char* name, ActivationKind kind, double x, double y) {
        QTest::addRow("%s(%g)", name, x) << int(kind) << x << y;
    };
    row("gelu_tanh", ActivationKind::gelu, 1, .8411919906);
    row("gelu_tanh", ActivationKind::gelu, -1, -.1588080094);
    row("gelu_erf", ActivationKind::geluErf, 1, .8413447461);
    row("gelu_sigmoid", ActivationKind::geluSigmoid, 1, 1 / (1 + std::exp(-1.702)));
    row("tanhshrink", ActivationKind::tanhshrink, 1, .2384058440);
    row("softplus", ActivationKind::softplus, 0, std::numbers::ln2);
    row("softplus", ActivationKind::softplus, 1000, 1000);
    row("leakyrelu", ActivationKind::leakyrelu, -1, -.01);
    row("leakyrelu", ActivationKind::leakyrelu, 2, 2);
    row("hardsigmoid", ActivationKind::hardsigmoid, 1, 2.0 / 3);
    row("hardsigmoid", ActivationKind::hardsigmoid, -4, 0);
    row("hardswish", ActivationKind::hardswish, 1, 2.0 / 3);
    row("hardswish", ActivationKind::hardswish, 5, 5);
    row("hardtanh", ActivationKind::hardtanh, -2, -1);
    row("relu", ActivationKind::relu, -2, 0);
    row("relu6", ActivationKind::relu6, 7, 6);
    row("sigmoid", ActivationKind::sigmoid, 1, .7310585786);
    row("sigmoid", ActivationKind::sigmoid, -1000, 0);
    row("swish", ActivationKind::swish, 1, .7310585786);
    row("tanh", ActivationKind::tanh, 1, .7615941560);
    row("elu", ActivationKind::elu, -1, -.6321205588);
    row("celu", ActivationKind::celu, -1, -.6321205588);
    row("selu", ActivationKind::selu, 1, 1.0507009874);
    row("selu", ActivationKind::selu, -1, -1.1113307378);
    row("softsign", ActivationKind::softsign, -1, -.5);
    row("logsigmoid", ActivationKind::logsigmoid, 0, -std::numbers::ln2);
    row("logcosh", ActivationKind::logcosh, 1, .4337808305);
    row("mish", ActivationKind::mish, 1, .8650983883);
    row("softshrink", ActivationKind::softshrink, 1, .5);
    row("softshrink", ActivationKind::softshrink, -.25, 0);
    row("trelu", ActivationKind::trelu, .75, 0);
    row("trelu", ActivationKind::trelu, 2, 2);
    row("lisht", ActivationKind::lisht, -1, .7615941560);
    row("identity", ActivationKind::identity, -3, -3);
}

void TestReferenceNetwork::activations()
{
    QFETCH(int, kind);
    QFETCH(double, x);
    QFETCH(double, expected);
    compare({activate(activation(ActivationKind(kind)), x)}, {expected}, 1e-9);
}

void TestReferenceNetwork::softmaxKeepsExtremes()
{
    const double infinity = std::numeric_limits<double>::infinity();
    compare(softmax({1, 3, 2, infinity}, 2), {.11920292, .880797, 0, 1}, 1e-6);
    compare(softmax({-1e5, -1e5}, 2), {.5, .5});
    compare(logsoftmax({1, 2, 3000}, 3), {-2999, -2998, 0});
}

void TestReferenceNetwork::optimisers()
{
    Values x{1, 2};
    ReferenceOptimiser(rule(RuleKind::descent, .1)).update(x, {25, 33});
    compare(x, {-1.5, -1.3});

    x = {1, 2};
    ReferenceOptimiser momentum(rule(RuleKind::momentum, .1));
    momentum.update(x, {25, 33});
    compare(momentum.first(), {2.5, 3.3});

    using Modifier = model::OptimiserSpec::Modifier;
    model::OptimiserSpec plain = rule(RuleKind::descent, 1);
    plain.modifiers = {{Modifier::Kind::weightDecay, .1}};
    x = {1, 10, 100};
    ReferenceOptimiser(plain).update(x, {1, 2, 3});
    compare(x, {-.1, 7, 87});

    plain.modifiers = {{Modifier::Kind::clipGrad, 13}};
    x = {0, 0, 0};
    ReferenceOptimiser(plain).update(x, {1, 10, -100});
    compare(x, {-1, -10, 13});

    plain.modifiers = {{Modifier::Kind::clipNorm, 10}};
    x = {0, 0};
    ReferenceOptimiser(plain).update(x, {30, 40});
    compare(x, {-6, -8});
    x = {0, 0};
    ReferenceOptimiser(plain).update(x, {3, 4});
    compare(x, {-3, -4});
}

void TestReferenceNetwork::optimiserTrajectories_data()
{
    QTest::addColumn<int>("kind");
    QTest::addColumn<double>("eta");
    QTest::addColumn<double>("lambda");
    QTest::addColumn<QVector<double>>("expected");
    const auto row = [](const char* name, RuleKind kind, double eta, double lambda, QVector<double> path) {
        QTest::newRow(name) << int(kind) << eta << lambda << path;
    };
    row("Descent", RuleKind::descent, .1, 0, {.8, .64, .512});
    row("Momentum", RuleKind::momentum, .01, 0, {.98, .9424, .889712});
    row("Nesterov", RuleKind::nesterov, .001, 0, {.9962, .99079444, .983957577128});
    row("RMSProp", RuleKind::rmsProp, .001, 0, {.99683772239, .994547010138, .992630674367});
    row("Adam", RuleKind::adam, .001, 0, {.999000000005, .998000026214, .997000096065});
    row("AdamW", RuleKind::adamW, .001, .01, {.998990000005, .997980036577, .99697012733});
}

void TestReferenceNetwork::optimiserTrajectories()
{
    QFETCH(int, kind);
    QFETCH(double, eta);
    QFETCH(double, lambda);
    QFETCH(QVector<double>, expected);
    model::OptimiserSpec spec = rule(RuleKind(kind), eta);
    spec.lambda = lambda;
    compare(trajectory(spec), Values(expected.begin(), expected.end()), 2e-12);
}

void TestReferenceNetwork::leakyDenseTrainsAsInTheDocumentation()
{
    model::LossSpec loss{LossKind::mae};
    loss.sumAggregate = true;
    ReferenceNetwork net(makeModel(dense(2, 1, activation(ActivationKind::leakyrelu))), loss,
                         rule(RuleKind::momentum, .1));
    net.parameter(kRoot, 0) = {1, 1};
    Values weightBefore, biasBefore;
    for (int i = 0; i < 2; ++i) {
        weightBefore = net.parameter(kRoot, 0);
        biasBefore = net.parameter(kRoot, 1);
        const double y = net.forward(Tensor({2}, 1, Values{.2, -.3}), true).values[0];
        net.backward({y < .4 ? -100.0 : 100.0}); // of 100 * |y - 0.4|
        net.update();
    }
    compare(net.parameter(kRoot, 1), {10.19});
    const Values& weight = net.parameter(kRoot, 0); // the velocity is what the last step took away
    compare({weightBefore[0] - weight[0], weightBefore[1] - weight[1], biasBefore[0] - net.parameter(kRoot, 1)[0]},
            {-2.018, 3.027, -10.09});
}

QTEST_GUILESS_MAIN(TestReferenceNetwork)
#include "tst_reference_network.moc"
