#include "core/engine/denormals.h"
#include "core/engine/optimiser.h"

#include <QtTest>

#include <cmath>
#include <limits>
#include <thread>

using namespace stepscope;
using engine::Optimiser;
using model::OptimiserSpec;
using model::RuleKind;
using Modifier = model::OptimiserSpec::Modifier;

namespace {

OptimiserSpec rule(RuleKind kind, double eta)
{
    OptimiserSpec spec;
    spec.rule = kind;
    spec.eta = eta;
    return spec;
}

} // namespace

class TestOptimiser : public QObject {
    Q_OBJECT
private slots:
    void trajectoriesFollowTheFormulas_data();
    void trajectoriesFollowTheFormulas();
    void descentIsThatOfOptimisersTests();
    void momentumStateIsThatOfOptimisersTests();
    void fluxTrainDoctest();
    void uncoupledDecayIsIndependentOfTheRate();
    void centredRmsPropFollowsItsFormula();
    void weightDecayAddsToTheGradient();
    void clipGradBoundsEachComponent();
    void clipNormScalesOneArray_data();
    void clipNormScalesOneArray();
    void modifiersApplyInOrder();
    void rangesInThreadsEqualOnePass();
    void paddingStaysZero();
    void denormalsAreFlushed();
};

void TestOptimiser::trajectoriesFollowTheFormulas_data()
{
    // x0 = 1, gradient 2x, default settings, three steps, computed in double from the formulas of Optimisers.jl.
    QTest::addColumn<int>("kind");
    QTest::addColumn<double>("eta");
    QTest::addColumn<double>("lambda");
    QTest::addColumn<QList<double>>("expected");
    QTest::newRow("Descent") << int(RuleKind::descent) << 0.1 << 0.0 << QList<double>{.8, .64, .512};
    QTest::newRow("Momentum") << int(RuleKind::momentum) << 0.01 << 0.0 << QList<double>{.98, .9424, .889712};
    QTest::newRow("Nesterov") << int(RuleKind::nesterov) << 0.001 << 0.0
                              << QList<double>{.9962, .99079444, .983957577128};
    QTest::newRow("RMSProp") << int(RuleKind::rmsProp) << 0.001 << 0.0
                             << QList<double>{.99683772239, .994547010138, .992630674367};
    QTest::newRow("Adam") << int(RuleKind::adam) << 0.001 << 0.0
                          << QList<double>{.999000000005, .998000026214, .997000096065};
    QTest::newRow("AdamW") << int(RuleKind::adamW) << 0.001 << 0.01
                           << QList<double>{.998990000005, .997980036577, .99697012733};
}

void TestOptimiser::trajectoriesFollowTheFormulas()
{
    QFETCH(int, kind);
    QFETCH(double, eta);
    QFETCH(double, lambda);
    QFETCH(QList<double>, expected);
    OptimiserSpec spec = rule(static_cast<RuleKind>(kind), eta);
    spec.lambda = lambda;
    constexpr int kSize = 37; // the vector loop and its remainder
    Optimiser optimiser(spec, kSize);
    std::vector<float> w(kSize, 1.0f), g(kSize);
    for (const double value : expected) {
        for (size_t i = 0; i < w.size(); ++i)
            g[i] = 2 * w[i];
        optimiser.beginStep();
        optimiser.update(w.data(), g.data(), 0, kSize);
        for (const float x : w)
            QVERIFY2(std::abs(x - value) < 4e-7, qPrintable(QString::number(x, 'g', 10)));
    }
    QCOMPARE(optimiser.stepCount(), int64_t{3});
}

void TestOptimiser::descentIsThatOfOptimisersTests()
{
    Optimiser optimiser(rule(RuleKind::descent, 0.1), 2);
    float w[] = {1, 2};
    const float g[] = {25, 33};
    optimiser.beginStep();
    optimiser.update(w, g, 0, 2);
    QVERIFY(std::abs(w[0] + 1.5f) < 1e-6f && std::abs(w[1] + 1.3f) < 1e-6f);
    QCOMPARE(optimiser.stateArrays(), 0);
}

void TestOptimiser::momentumStateIsThatOfOptimisersTests()
{
    // Momentum(.1) on g = [25, 33]: the state, and so the first step, is [2.5, 3.3]; a zero gradient then moves by ρ of
    // it.
    Optimiser optimiser(rule(RuleKind::momentum, 0.1), 2);
    float w[] = {0, 0}, g[] = {25, 33};
    optimiser.beginStep();
    optimiser.update(w, g, 0, 2);
    QVERIFY(std::abs(w[0] + 2.5f) < 1e-6f && std::abs(w[1] + 3.3f) < 1e-6f);
    g[0] = g[1] = 0;
    optimiser.beginStep();
    optimiser.update(w, g, 0, 2);
    QVERIFY(std::abs(w[0] + 2.5f * 1.9f) < 1e-5f && std::abs(w[1] + 3.3f * 1.9f) < 1e-5f);
}

void TestOptimiser::fluxTrainDoctest()
{
    // Dense(2 => 1, leakyrelu; init = ones), Momentum(0.1), x = [0.2, -0.3], y = 0.4, loss 100 sum(abs(m(x) - y)):
    // after two steps the bias is 10.19.
    const float x[] = {0.2f, -0.3f};
    float w[] = {1, 1, 0}, g[3];
    Optimiser optimiser(rule(RuleKind::momentum, 0.1), 3);
    for (int step = 0; step < 2; ++step) {
        const float z = w[0] * x[0] + w[1] * x[1] + w[2];
        const float slope = z > 0 ? 1.0f : 0.01f;
        const float dz = 100 * ((z * slope - 0.4f) > 0 ? 1.0f : -1.0f) * slope;
        g[0] = dz * x[0];
        g[1] = dz * x[1];
        g[2] = dz;
        optimiser.beginStep();
        optimiser.update(w, g, 0, 3);
    }
    QVERIFY2(std::abs(w[2] - 10.19f) < 1e-4f, qPrintable(QString::number(w[2])));
    // The state after it is [-2.018 3.027], [-10.09]: a zero gradient moves by 0.9 of it.
    const float before[] = {w[0], w[1], w[2]};
    const float zero[] = {0, 0, 0};
    optimiser.beginStep();
    optimiser.update(w, zero, 0, 3);
    QVERIFY(std::abs(w[0] - before[0] - 0.9f * 2.018f) < 1e-4f);
    QVERIFY(std::abs(w[1] - before[1] + 0.9f * 3.027f) < 1e-4f);
    QVERIFY(std::abs(w[2] - before[2] - 0.9f * 10.09f) < 1e-4f);
}

void TestOptimiser::uncoupledDecayIsIndependentOfTheRate()
{
    // couple = false: x -= η adam + λ x; the first Adam step is η for any gradient.
    OptimiserSpec spec = rule(RuleKind::adamW, 0.001);
    spec.lambda = 0.25;
    spec.couple = false;
    Optimiser optimiser(spec, 1);
    float w = 2;
    const float g = 5;
    optimiser.beginStep();
    optimiser.update(&w, &g, 0, 1);
    QVERIFY(std::abs(w - (2 - 0.001f - 0.5f)) < 1e-6f);
}

void TestOptimiser::centredRmsPropFollowsItsFormula()
{
    OptimiserSpec spec = rule(RuleKind::rmsProp, 0.001);
    spec.centred = true;
    Optimiser optimiser(spec, 1);
    double x = 1, quad = 0, lin = 0;
    float w = 1;
    for (int step = 0; step < 3; ++step) {
        const double g = 2 * x;
        quad = 0.9 * quad + 0.1 * g * g;
        lin = 0.9 * lin + 0.1 * g;
        x -= g * 0.001 / (std::sqrt(quad - lin * lin) + 1e-8);
        const float gradient = 2 * w;
        optimiser.beginStep();
        optimiser.update(&w, &gradient, 0, 1);
        QVERIFY(std::abs(w - x) < 5e-7);
    }
    QCOMPARE(optimiser.stateArrays(), 2);
}

void TestOptimiser::weightDecayAddsToTheGradient()
{
    OptimiserSpec spec = rule(RuleKind::descent, 1);
    spec.modifiers.push_back({Modifier::Kind::weightDecay, 0.1});
    Optimiser optimiser(spec, 3);
    float w[] = {1, 10, 100}, g[] = {1, 2, 3};
    optimiser.beginStep();
    optimiser.modify(w, g, 0, 3);
    optimiser.update(w, g, 0, 3);
    const float expected[] = {-.1f, 7, 87};
    for (int i = 0; i < 3; ++i)
        QVERIFY(std::abs(w[i] - expected[i]) < 1e-5f);
}

void TestOptimiser::clipGradBoundsEachComponent()
{
    OptimiserSpec spec = rule(RuleKind::descent, 1);
    spec.modifiers.push_back({Modifier::Kind::clipGrad, 13});
    const Optimiser optimiser(spec, 4);
    const float w[4] = {};
    float g[] = {1, 10, 100, -20};
    optimiser.modify(w, g, 0, 4);
    QCOMPARE(g[0], 1.0f);
    QCOMPARE(g[1], 10.0f);
    QCOMPARE(g[2], 13.0f);
    QCOMPARE(g[3], -13.0f);
}

void TestOptimiser::clipNormScalesOneArray_data()
{
    QTest::addColumn<double>("p");
    QTest::addColumn<double>("norm"); // of [3, -4, 12]
    const double inf = std::numeric_limits<double>::infinity();
    QTest::newRow("1") << 1.0 << 19.0;
    QTest::newRow("2") << 2.0 << 13.0;
    QTest::newRow("3") << 3.0 << std::cbrt(27.0 + 64.0 + 1728.0);
    QTest::newRow("inf") << inf << 12.0;
    QTest::newRow("0") << 0.0 << 3.0;
}

void TestOptimiser::clipNormScalesOneArray()
{
    QFETCH(double, p);
    QFETCH(double, norm);
    OptimiserSpec spec = rule(RuleKind::descent, 1);
    spec.modifiers.push_back({Modifier::Kind::clipNorm, 2, p});
    const Optimiser optimiser(spec, 6);
    const float w[6] = {};
    float g[] = {100, 3, -4, 12, 100, 100};
    optimiser.modify(w, g, 1, 3); // the neighbours do not count
    QVERIFY(std::abs(g[1] - 3 * 2 / norm) < 1e-5);
    QVERIFY(std::abs(g[2] + 4 * 2 / norm) < 1e-5);
    QVERIFY(std::abs(g[3] - 12 * 2 / norm) < 1e-5);
    QCOMPARE(g[0], 100.0f);
    QCOMPARE(g[4], 100.0f);
    float small[] = {0, 0.1f, -0.1f, 0.1f, 0, 0};
    if (p != 0) { // below the threshold nothing changes
        optimiser.modify(w, small, 1, 3);
        QCOMPARE(small[1], 0.1f);
    }
}

void TestOptimiser::modifiersApplyInOrder()
{
    OptimiserSpec spec = rule(RuleKind::descent, 1);
    spec.modifiers = {{Modifier::Kind::weightDecay, 1}, {Modifier::Kind::clipGrad, 3}};
    OptimiserSpec reversed = spec;
    std::swap(reversed.modifiers[0], reversed.modifiers[1]);
    const float w = 5;
    float a = 10, b = 10;
    Optimiser(spec, 1).modify(&w, &a, 0, 1);
    Optimiser(reversed, 1).modify(&w, &b, 0, 1);
    QCOMPARE(a, 3.0f); // 10 + 5, clipped
    QCOMPARE(b, 8.0f); // 3 + 5
}

void TestOptimiser::rangesInThreadsEqualOnePass()
{
    constexpr int64_t kSize = 10007;
    const OptimiserSpec spec = rule(RuleKind::adam, 0.001);
    Optimiser whole(spec, kSize), parts(spec, kSize);
    std::vector<float> a(kSize), g(kSize);
    for (size_t i = 0; i < a.size(); ++i) {
        a[i] = static_cast<float>(i % 97) - 48;
        g[i] = static_cast<float>(i % 89) / 89 - 0.5f;
    }
    std::vector<float> b = a;
    for (int step = 0; step < 3; ++step) {
        whole.beginStep();
        whole.update(a.data(), g.data(), 0, kSize);
        parts.beginStep();
        std::thread other([&] { parts.update(b.data(), g.data(), 0, 5003); });
        parts.update(b.data(), g.data(), 5003, kSize - 5003);
        other.join();
    }
    // Equal but for the rounding of the loops' remainders.
    for (size_t i = 0; i < a.size(); ++i)
        QVERIFY(std::abs(a[i] - b[i]) <= 1e-6f * std::abs(a[i]));
}

void TestOptimiser::paddingStaysZero()
{
    for (const RuleKind kind : {RuleKind::descent, RuleKind::momentum, RuleKind::nesterov, RuleKind::rmsProp,
                                RuleKind::adam, RuleKind::adamW}) {
        OptimiserSpec spec = rule(kind, 0.1);
        spec.lambda = 0.1;
        spec.modifiers = {{Modifier::Kind::weightDecay, 0.1}, {Modifier::Kind::clipNorm, 1}};
        Optimiser optimiser(spec, 16);
        float w[16] = {1, 2}, g[16] = {3, 4};
        for (int step = 0; step < 3; ++step) {
            optimiser.beginStep();
            optimiser.modify(w, g, 0, 16);
            optimiser.update(w, g, 0, 16);
        }
        for (int i = 2; i < 16; ++i)
            QCOMPARE(w[i], 0.0f);
        QVERIFY(w[0] != 1.0f);
    }
}

void TestOptimiser::denormalsAreFlushed()
{
    float product = -1;
    std::thread([&] {
        engine::flushDenormals();
        volatile float small = 1e-30f;
        product = small * 1e-10f;
    }).join();
#if defined(__x86_64__) || defined(__aarch64__)
    QCOMPARE(product, 0.0f);
#endif
}

QTEST_GUILESS_MAIN(TestOptimiser)
#include "tst_optimiser.moc"
