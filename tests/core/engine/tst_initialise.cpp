#include "core/engine/initialise.h"
#include "core/engine/random.h"

#include <QtTest>

#include <algorithm>
#include <cmath>

using namespace stepscope;
using engine::initialValues;
using engine::Random;
using model::InitKind;
using model::Parameter;

namespace {

Parameter parameter(InitKind kind, model::Dims dims, int64_t fanIn, int64_t fanOut)
{
    Parameter p;
    p.dims = std::move(dims);
    p.init.kind = kind;
    p.fanIn = fanIn;
    p.fanOut = fanOut;
    return p;
}

double meanOf(const std::vector<float>& v)
{
    double sum = 0;
    for (const float x : v)
        sum += x;
    return sum / static_cast<double>(v.size());
}

double varianceOf(const std::vector<float>& v)
{
    const double mean = meanOf(v);
    double sum = 0;
    for (const float x : v)
        sum += (x - mean) * (x - mean);
    return sum / static_cast<double>(v.size());
}

} // namespace

class TestInitialise : public QObject {
    Q_OBJECT
private slots:
    void glorotVarianceIsTwoOverTheFans_data();
    void glorotVarianceIsTwoOverTheFans();
    void kaimingUniformStaysWithinItsBound();
    void normalKindsHaveTheirDeviation();
    void truncatedNormalKeepsItsLimits();
    void truncatedNormalFarFromItsMeanEnds();
    void orthogonalIsSemiOrthogonal_data();
    void orthogonalIsSemiOrthogonal();
    void identityPutsTheGainOnTheDiagonal();
    void constantsAreConstant();
    void valuesDependOnSeedLayerAndIndexOnly();
    void generatorMatchesItsReference();
    void normalNumbersHaveNormalMoments();
    void belowIsUniform();
};

void TestInitialise::glorotVarianceIsTwoOverTheFans_data()
{
    QTest::addColumn<QList<int>>("dims");
    QTest::addColumn<int>("fanIn");
    QTest::addColumn<int>("fanOut");
    QTest::newRow("dense 100 x 400") << QList<int>{400, 100} << 400 << 100;
    QTest::newRow("conv (2, 3, 32, 64)") << QList<int>{64, 32, 3, 2} << 6 * 32 << 6 * 64;
}

void TestInitialise::glorotVarianceIsTwoOverTheFans()
{
    QFETCH(QList<int>, dims);
    QFETCH(int, fanIn);
    QFETCH(int, fanOut);
    for (const InitKind kind : {InitKind::glorotUniform, InitKind::glorotNormal}) {
        const std::vector<float> v =
            initialValues(parameter(kind, model::Dims(dims.begin(), dims.end()), fanIn, fanOut), 1, 2, 0);
        const double expected = 2.0 / (fanIn + fanOut);
        QVERIFY(varianceOf(v) > 0.9 * expected && varianceOf(v) < 1.1 * expected);
        QVERIFY(std::abs(meanOf(v)) < 4 * std::sqrt(expected / static_cast<double>(v.size())));
    }
}

void TestInitialise::kaimingUniformStaysWithinItsBound()
{
    Parameter p = parameter(InitKind::kaimingUniform, {400, 100}, 400, 100);
    p.init.gain = std::sqrt(2.0);
    const std::vector<float> v = initialValues(p, 3, 0, 0);
    const double bound = std::sqrt(6.0 / 400);
    const auto [low, high] = std::minmax_element(v.begin(), v.end());
    QVERIFY(*low >= -bound && *high <= bound);
    QVERIFY(*low<-0.99 * bound&& * high> 0.99 * bound);
}

void TestInitialise::normalKindsHaveTheirDeviation()
{
    Parameter kaiming = parameter(InitKind::kaimingNormal, {400, 100}, 400, 100);
    kaiming.init.gain = std::sqrt(2.0);
    QVERIFY(std::abs(varianceOf(initialValues(kaiming, 1, 0, 0)) / (2.0 / 400) - 1) < 0.05);
    QVERIFY(std::abs(varianceOf(initialValues(parameter(InitKind::lecunNormal, {400, 100}, 400, 100), 1, 0, 0))
                         / (1.0 / 400)
                     - 1)
            < 0.05);
    Parameter randn = parameter(InitKind::randn, {50000}, 1, 1);
    QVERIFY(std::abs(varianceOf(initialValues(randn, 1, 0, 0)) - 1) < 0.03);
    const std::vector<float> rand = initialValues(parameter(InitKind::rand, {50000}, 1, 1), 1, 0, 0);
    QVERIFY(std::abs(meanOf(rand) - 0.5) < 0.01 && std::abs(varianceOf(rand) - 1.0 / 12) < 0.003);
}

void TestInitialise::truncatedNormalKeepsItsLimits()
{
    const std::vector<float> v = initialValues(parameter(InitKind::truncatedNormal, {50000}, 1, 1), 1, 0, 0);
    QVERIFY(std::all_of(v.begin(), v.end(), [](float x) { return x >= -2 && x <= 2; }));
    // Variance of the standard normal cut at ±2: 1 - 4 φ(2) / (2 Φ(2) - 1) = 0.7737
    QVERIFY2(std::abs(varianceOf(v) - 0.7737) < 0.02, qPrintable(QString::number(varianceOf(v))));
}

void TestInitialise::truncatedNormalFarFromItsMeanEnds()
{
    Parameter p = parameter(InitKind::truncatedNormal, {1000}, 1, 1);
    p.init.mean = -50;
    p.init.std = 1;
    p.init.low = 0;
    p.init.high = 1e9;
    const std::vector<float> v = initialValues(p, 1, 0, 0);
    // Of a normal far in its tail only an exponential rest with mean σ² / distance = 0.02 is left.
    QVERIFY(std::abs(meanOf(v) - 0.02) < 0.005);
    p.init.std = 0;
    QCOMPARE(initialValues(p, 1, 0, 0)[0], 0.0f);
}

void TestInitialise::orthogonalIsSemiOrthogonal_data()
{
    QTest::addColumn<QList<int>>("dims");
    QTest::addColumn<int>("columns");
    QTest::newRow("5 x 7") << QList<int>{7, 5} << 7;
    QTest::newRow("7 x 5") << QList<int>{5, 7} << 5;
    QTest::newRow("(3, 3, 2, 4)") << QList<int>{4, 2, 3, 3} << 4;
}

void TestInitialise::orthogonalIsSemiOrthogonal()
{
    QFETCH(QList<int>, dims);
    QFETCH(int, columns);
    Parameter p = parameter(InitKind::orthogonal, model::Dims(dims.begin(), dims.end()), 1, 1);
    p.init.gain = 3;
    const std::vector<float> v = initialValues(p, 5, 0, 0);
    const int rows = static_cast<int>(v.size()) / columns;
    const auto at = [&](int r, int c) { return static_cast<double>(v[static_cast<size_t>(c * rows + r)]); };
    const int vectors = std::min(rows, columns), length = std::max(rows, columns);
    for (int i = 0; i < vectors; ++i) {
        for (int j = 0; j < vectors; ++j) {
            double dot = 0;
            for (int k = 0; k < length; ++k)
                dot += rows >= columns ? at(k, i) * at(k, j) : at(i, k) * at(j, k);
            QVERIFY(std::abs(dot - (i == j ? 9 : 0)) < 1e-5);
        }
    }
}

void TestInitialise::identityPutsTheGainOnTheDiagonal()
{
    // Flux.identity_init(3, 5): element (row i, column i), columns of three values each.
    const std::vector<float> dense = initialValues(parameter(InitKind::identity, {5, 3}, 5, 3), 0, 0, 0);
    QCOMPARE(std::count(dense.begin(), dense.end(), 1.0f), 3);
    QVERIFY(dense[0] == 1 && dense[4] == 1 && dense[8] == 1);
    // identity_init(3, 3, 2, 2): the middle of each kernel whose channels are equal.
    const std::vector<float> conv = initialValues(parameter(InitKind::identity, {2, 2, 3, 3}, 18, 18), 0, 0, 0);
    QCOMPARE(std::count(conv.begin(), conv.end(), 1.0f), 2);
    QVERIFY(conv[4] == 1 && conv[27 + 4] == 1);
    const std::vector<float> bias = initialValues(parameter(InitKind::identity, {4}, 1, 4), 0, 0, 0);
    QCOMPARE(std::count(bias.begin(), bias.end(), 0.0f), 4);
}

void TestInitialise::constantsAreConstant()
{
    QCOMPARE(initialValues(parameter(InitKind::zeros, {3}, 1, 1), 9, 0, 0), std::vector<float>(3, 0.0f));
    QCOMPARE(initialValues(parameter(InitKind::ones, {3}, 1, 1), 9, 0, 0), std::vector<float>(3, 1.0f));
}

void TestInitialise::valuesDependOnSeedLayerAndIndexOnly()
{
    const Parameter p = parameter(InitKind::glorotUniform, {20, 30}, 20, 30);
    QCOMPARE(initialValues(p, 1, 2, 3), initialValues(p, 1, 2, 3));
    QVERIFY(initialValues(p, 1, 2, 3) != initialValues(p, 2, 2, 3));
    QVERIFY(initialValues(p, 1, 2, 3) != initialValues(p, 1, 3, 3));
    QVERIFY(initialValues(p, 1, 2, 3) != initialValues(p, 1, 3, 2));
}

void TestInitialise::generatorMatchesItsReference()
{
    // SplitMix64 of state 0 gives e220a8397b1dcdaf first, of state 1234567 it gives 6457827717110365317 (published
    // values).
    QCOMPARE(engine::mix(0), uint64_t{0xe220a8397b1dcdaf});
    QCOMPARE(engine::mix(1234567), uint64_t{6457827717110365317u});
}

void TestInitialise::normalNumbersHaveNormalMoments()
{
    Random random(11);
    constexpr int kCount = 200000;
    double sums[5] = {};
    int withinOne = 0;
    for (int i = 0; i < kCount; ++i) {
        const double x = random.normal();
        for (int k = 1; k <= 4; ++k)
            sums[k] += std::pow(x, k);
        withinOne += std::abs(x) < 1 ? 1 : 0;
    }
    QVERIFY(std::abs(sums[1] / kCount) < 0.01);
    QVERIFY(std::abs(sums[2] / kCount - 1) < 0.015);
    QVERIFY(std::abs(sums[3] / kCount) < 0.04);
    QVERIFY(std::abs(sums[4] / kCount - 3) < 0.12);
    QVERIFY(std::abs(withinOne / double(kCount) - 0.682689) < 0.005);
}

void TestInitialise::belowIsUniform()
{
    Random random(5);
    int counts[6] = {};
    for (int i = 0; i < 60000; ++i)
        ++counts[random.below(6)];
    for (const int count : counts)
        QVERIFY(std::abs(count - 10000) < 400); // more than four deviations
}

QTEST_GUILESS_MAIN(TestInitialise)
#include "tst_initialise.moc"
