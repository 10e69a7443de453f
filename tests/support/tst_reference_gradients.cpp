// Every gradient of the reference against central differences in double.
#include "tests/support/layer_builder.h"
#include "tests/support/reference_network.h"

#include <QTest>

#include <cmath>
#include <random>

using namespace stepscope;
using namespace stepscope::testing;
using model::ActivationKind;
using model::Connection;
using model::LayerKind;
using model::LossKind;

Q_DECLARE_METATYPE(stepscope::testing::LayerTree)

namespace {

// Random floats that keep 1e-3 away from every kink of NNlib's activations (multiples of one half).
Values randomValues(size_t n, uint32_t seed, double low = -2, double high = 2)
{
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(low, high);
    Values v(n);
    for (double& x : v)
        do
            x = static_cast<float>(uniform(random));
        while (std::abs(x * 2 - std::round(x * 2)) < 2e-3);
    return v;
}

double largest(const Values& v)
{
    double m = 0;
    for (double x : v)
        m = std::max(m, std::abs(x));
    return m;
}

// Compares `analytic` with the slope of f along each entry of `at`, relative to the largest slope.
template <class Function>
void compareSlopes(const char* what, Values& at, const Values& analytic, double h, Function f)
{
    QCOMPARE(analytic.size(), at.size());
    const double scale = std::max(largest(analytic), 1e-3);
    for (size_t i = 0; i < at.size(); ++i) {
        const double x = at[i];
        at[i] = x + h;
        const double above = f();
        at[i] = x - h;
        const double below = f();
        at[i] = x;
        const double slope = (above - below) / (2 * h);
        QVERIFY2(std::abs(slope - analytic[i]) <= 1e-6 * scale,
                 qPrintable(QString("%1[%2]: slope %3, gradient %4").arg(what).arg(i).arg(slope).arg(analytic[i])));
    }
}

LayerTree with(LayerTree tree, void (*change)(model::LayerOptions&))
{
    change(tree.layer.options);
    return tree;
}

} // namespace

class TestReferenceGradients : public QObject {
    Q_OBJECT
private slots:
    void layers_data();
    void layers();
    void inferenceStatisticsAreConstants();
    void losses_data();
    void losses();
};

void TestReferenceGradients::layers_data()
{
    QTest::addColumn<LayerTree>("tree");
    QTest::addColumn<std::vector<int64_t>>("input");
    const auto row = [](const char* name, const LayerTree& tree, Dims input) { QTest::newRow(name) << tree << input; };
    const auto tanh = activation(ActivationKind::tanh);

    row("dense", dense(4, 3, tanh), {4});
    row("dense over rows", dense(4, 3), {2, 4});
    row("dense without bias", with(dense(4, 3), [](auto& o) { o.bias = false; }), {4});
    row("naive dense",
        [&] {
            LayerTree t = dense(4, 3, tanh);
            t.layer.kind = LayerKind::naiveDense;
            return t;
        }(),
        {4});
    row("conv", conv({3, 2}, 2, 3, tanh), {2, 5, 6});
    row("conv, stride, pads, dilation",
        with(conv({3, 2}, 2, 3),
             [](auto& o) {
                 o.stride = {2, 1}, o.padLow = {1, 0}, o.padHigh = {2, 3}, o.dilation = {1, 2};
             }),
        {2, 5, 6});
    row("conv, groups, no bias", with(conv({2, 2}, 4, 6), [](auto& o) { o.groups = 2, o.bias = false; }), {4, 3, 3});
    row("conv, depthwise", with(conv({2, 2}, 3, 6), [](auto& o) { o.groups = 3; }), {3, 3, 4});
    row("conv 1-D", with(conv({3}, 2, 3), [](auto& o) { o.padLow = {1}, o.padHigh = {2}; }), {2, 7});
    row("conv 3-D", conv({2, 1, 2}, 2, 2), {2, 3, 2, 3});
    row("cross-correlation", crossCor({3, 2}, 2, 3, tanh), {2, 5, 6});
    row("max pool", pool(LayerKind::maxPool, {2, 2}), {2, 5, 6});
    row("max pool, overlapping, padded",
        with(pool(LayerKind::maxPool, {3, 2}),
             [](auto& o) {
                 o.stride = {2, 1}, o.padLow = {1, 0}, o.padHigh = {1, 1};
             }),
        {2, 5, 6});
    row("mean pool",
        with(pool(LayerKind::meanPool, {3, 2}),
             [](auto& o) {
                 o.stride = {2, 1}, o.padLow = {1, 0}, o.padHigh = {1, 1};
             }),
        {2, 5, 6});
    row("global max pool", layerOf(LayerKind::globalMaxPool), {3, 3, 4});
    row("global mean pool", layerOf(LayerKind::globalMeanPool), {3, 3, 4});
    row("batch norm of features", norm(LayerKind::batchNorm, {3}, tanh), {3});
    row("batch norm of channels", norm(LayerKind::batchNorm, {3}), {3, 2, 4});
    row("batch norm, not affine",
        with(norm(LayerKind::batchNorm, {3}), [](auto& o) { o.affine = false, o.trackStats = false; }), {3, 2, 2});
    row("layer norm", norm(LayerKind::layerNorm, {5}, tanh), {5});
    row("layer norm of planes", norm(LayerKind::layerNorm, {3, 4}), {2, 3, 4});
    row("layer norm, not affine", with(norm(LayerKind::layerNorm, {4}), [](auto& o) { o.affine = false; }), {3, 4});
    row("dropout", dropout(.4), {12});
    row("flatten", chain({layerOf(LayerKind::flatten), dense(12, 2)}), {3, 2, 2});
    row("softmax", function(activation(ActivationKind::softmax)), {6});
    row("logsoftmax", function(activation(ActivationKind::logsoftmax)), {6});
    for (int kind = 0; kind < int(ActivationKind::softmax); ++kind)
        row(qPrintable(QString("activation %1").arg(kind)), function(activation(ActivationKind(kind))), {40});
    row("skip +", skip(dense(4, 4, tanh), Connection::add), {4});
    row("skip *", skip(dense(4, 4, tanh), Connection::multiply), {4});
    row("skip cat", skip(conv({1, 1}, 2, 3), Connection::concatenate), {2, 2, 3});
    row("parallel +", parallel(Connection::add, {dense(4, 3), dense(4, 3, tanh), dense(4, 3)}), {4});
    row("parallel *", parallel(Connection::multiply, {dense(4, 3), dense(4, 3, tanh), dense(4, 3)}), {4});
    row("parallel cat", parallel(Connection::concatenate, {conv({1, 1}, 2, 3), conv({1, 1}, 2, 1, tanh)}), {2, 2, 3});
    row("nested",
        chain({conv({3, 3}, 1, 2, tanh), norm(LayerKind::batchNorm, {2}),
               skip(chain({conv({1, 1}, 2, 2), function(tanh)}), Connection::add), pool(LayerKind::maxPool, {2, 2}),
               layerOf(LayerKind::flatten), dense(8, 3)}),
        {1, 6, 6});
}

void TestReferenceGradients::layers()
{
    QFETCH(LayerTree, tree);
    QFETCH(std::vector<int64_t>, input);
    ReferenceNetwork net(makeModel(tree));
    net.randomise(3);
    Tensor x(input, 3);
    x.values = randomValues(x.values.size(), 5, -4, 8);
    if (tree.layer.kind == LayerKind::dropout) {
        Values mask = randomValues(x.values.size(), 9);
        for (double& m : mask)
            m = m > 0 ? 1 : 0;
        net.setDropoutMask(base::LayerId(0u), mask);
    }
    const Values weights = randomValues(net.forward(x, true).values.size(), 7);
    const auto weightedSum = [&] {
        const Values& y = net.forward(x, true).values;
        double sum = 0;
        for (size_t i = 0; i < y.size(); ++i)
            sum += weights[i] * y[i];
        return sum;
    };
    net.backward(weights);
    const double h = tree.layer.kind == LayerKind::maxPool || tree.layer.kind == LayerKind::globalMaxPool ? 1e-6 : 1e-5;
    const Values dx = net.inputGradient().values;
    compareSlopes("x", x.values, dx, h, weightedSum);
    for (uint32_t layer = 0; layer < net.model().layers.size(); ++layer)
        for (int p = 0; p < net.trainedParameters(base::LayerId(layer)); ++p) {
            const Values gradient = net.gradient(base::LayerId(layer), p);
            const QByteArray what = QString("layer %1, parameter %2").arg(layer).arg(p).toUtf8();
            compareSlopes(what, net.parameter(base::LayerId(layer), p), gradient, h, weightedSum);
        }
}

void TestReferenceGradients::inferenceStatisticsAreConstants()
{
    ReferenceNetwork net(makeModel(norm(LayerKind::batchNorm, {2})));
    net.randomise(3);
    Tensor x({2}, 3, randomValues(6, 5));
    const Values weights = randomValues(6, 7);
    net.forward(x, false);
    net.backward(weights);
    const Values dx = net.inputGradient().values;
    compareSlopes("x", x.values, dx, 1e-5, [&] {
        const Values& y = net.forward(x, false).values;
        double sum = 0;
        for (size_t i = 0; i < y.size(); ++i)
            sum += weights[i] * y[i];
        return sum;
    });
}

void TestReferenceGradients::losses_data()
{
    QTest::addColumn<int>("kind");
    QTest::addColumn<bool>("sum");
    QTest::addColumn<bool>("probability");
    const auto row = [](const char* name, LossKind kind, bool probability) {
        QTest::newRow(name) << int(kind) << false << probability;
        QTest::addRow("%s, sum", name) << int(kind) << true << probability;
    };
    row("mse", LossKind::mse, false);
    row("mae", LossKind::mae, false);
    row("crossentropy", LossKind::crossentropy, true);
    row("logitcrossentropy", LossKind::logitcrossentropy, false);
    row("binarycrossentropy", LossKind::binarycrossentropy, true);
    row("logitbinarycrossentropy", LossKind::logitbinarycrossentropy, false);
    row("huber_loss", LossKind::huberLoss, false);
}

void TestReferenceGradients::losses()
{
    QFETCH(int, kind);
    QFETCH(bool, sum);
    QFETCH(bool, probability);
    model::LossSpec spec{LossKind(kind)};
    spec.sumAggregate = sum;
    spec.delta = .7;
    Values yhat = probability ? randomValues(15, 1, .05, .95) : randomValues(15, 1);
    const Values targets = probability ? randomValues(15, 2, 0, 1) : randomValues(15, 2, -1, 1);
    Values gradient;
    referenceLoss(spec, yhat, targets, 3, &gradient);
    compareSlopes("ŷ", yhat, gradient, 1e-5, [&] { return referenceLoss(spec, yhat, targets, 3, nullptr); });
}

QTEST_GUILESS_MAIN(TestReferenceGradients)
#include "tst_reference_gradients.moc"
