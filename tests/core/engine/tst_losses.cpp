#include "core/engine/losses.h"
#include "core/engine/softmax.h"

#include <QtTest>

#include <cmath>
#include <limits>

using namespace stepscope;
using engine::evaluateLoss;
using engine::LossResult;
using model::LossKind;
using model::LossSpec;

namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

LossSpec specOf(LossKind kind)
{
    LossSpec spec;
    spec.kind = kind;
    return spec;
}

double lossOf(LossKind kind, const std::vector<float>& yhat, const std::vector<float>& y, int64_t outputs = 1)
{
    return evaluateLoss(specOf(kind), yhat.data(), nullptr, y.data(), static_cast<int64_t>(yhat.size()) / outputs,
                        outputs, nullptr)
        .loss;
}

// -sum(y .* logsoftmax(x)) / count, straight from the definition in double.
double referenceCrossEntropy(const std::vector<float>& x, const std::vector<int32_t>& labels, size_t outputs)
{
    double total = 0;
    for (size_t r = 0; r < labels.size(); ++r) {
        double max = -1e300, sum = 0;
        for (size_t j = 0; j < outputs; ++j)
            max = std::max<double>(max, x[r * outputs + j]);
        for (size_t j = 0; j < outputs; ++j)
            sum += std::exp(x[r * outputs + j] - max);
        total += std::log(sum) + max - x[r * outputs + static_cast<size_t>(labels[r])];
    }
    return total / static_cast<double>(labels.size());
}

std::vector<float> someValues(size_t n, float scale, uint32_t seed = 1)
{
    std::vector<float> values(n);
    for (float& v : values) {
        seed = seed * 1664525u + 1013904223u;
        v = (static_cast<float>(seed >> 8) / 8388608.0f - 1) * scale;
    }
    return values;
}

} // namespace

class TestLosses : public QObject {
    Q_OBJECT
private slots:
    void valuesAreThoseOfFluxTests_data();
    void valuesAreThoseOfFluxTests();
    void crossentropyWithLabelsIsThatOfFluxTests();
    void documentedCrossentropyExamples();
    void gradientIsTheDerivative_data();
    void gradientIsTheDerivative();
    void labelGradientIsTheDerivative_data();
    void labelGradientIsTheDerivative();
    void sumAggregateIsMeanTimesCount();
    void exponentialIsAccurate();
    void softmaxOfManyShapesMatchesTheDefinition_data();
    void softmaxOfManyShapesMatchesTheDefinition();
    void hugeLogitsDoNotOverflow();
    void infiniteLogitsActAsInFlux();
    void nanStaysWithinItsRow();
    void correctCountsTheFirstMaximum();
    void oneOutputTakesTheLabelAsValue();
};

void TestLosses::valuesAreThoseOfFluxTests_data()
{
    QTest::addColumn<int>("kind");
    QTest::addColumn<double>("expected");
    QTest::newRow("mse") << int(LossKind::mse) << 0.41;
    QTest::newRow("mae") << int(LossKind::mae) << 0.5;
    QTest::newRow("huber") << int(LossKind::huberLoss) << 0.205;
}

void TestLosses::valuesAreThoseOfFluxTests()
{
    QFETCH(int, kind);
    QFETCH(double, expected);
    const double loss = lossOf(static_cast<LossKind>(kind), {.9f, .1f, .1f, .9f}, {1, 1, 0, 0});
    QVERIFY2(std::abs(loss - expected) < 1e-7, qPrintable(QString::number(loss, 'g', 12)));
}

void TestLosses::crossentropyWithLabelsIsThatOfFluxTests()
{
    // One column per sample in Flux: (.1, .9), (.9, .1), (.9, .1), (.1, .9); right classes 1, 1, 0, 0.
    const std::vector<float> yhat{.1f, .9f, .9f, .1f, .9f, .1f, .1f, .9f};
    const std::vector<int32_t> labels{1, 1, 0, 0};
    LossSpec spec = specOf(LossKind::crossentropy);
    const LossResult result = evaluateLoss(spec, yhat.data(), labels.data(), nullptr, 4, 2, nullptr);
    QVERIFY(std::abs(result.loss - 1.2039728043) < 1e-6);
    QCOMPARE(result.correct, int64_t{2});
}

void TestLosses::documentedCrossentropyExamples()
{
    // softmax(reshape(-7:7, 3, 5)) with labels 0, 1, 2, 1, 0 -> 1.6076053; its logits give the same.
    std::vector<float> logits(15), probabilities(15);
    for (int i = 0; i < 15; ++i)
        logits[static_cast<size_t>(i)] = static_cast<float>(i - 7);
    for (size_t r = 0; r < 5; ++r) {
        const double sum = std::exp(-2.0) + std::exp(-1.0) + 1;
        for (size_t j = 0; j < 3; ++j)
            probabilities[r * 3 + j] = static_cast<float>(std::exp(static_cast<double>(j) - 2) / sum);
    }
    const std::vector<int32_t> labels{0, 1, 2, 1, 0};
    QVERIFY(std::abs(evaluateLoss(specOf(LossKind::crossentropy), probabilities.data(), labels.data(), nullptr, 5, 3,
                                  nullptr)
                         .loss
                     - 1.6076053)
            < 1e-6);
    QVERIFY(
        std::abs(
            evaluateLoss(specOf(LossKind::logitcrossentropy), logits.data(), labels.data(), nullptr, 5, 3, nullptr).loss
            - 1.6076053)
        < 1e-6);

    // reshape(vcat(-9:0, 0:9, 7.5f0), 3, 7) with labels "abcabaa" -> 1.5791205.
    std::vector<float> seven;
    for (int i = -9; i <= 0; ++i)
        seven.push_back(static_cast<float>(i));
    for (int i = 0; i <= 9; ++i)
        seven.push_back(static_cast<float>(i));
    seven.push_back(7.5f);
    const std::vector<int32_t> letters{0, 1, 2, 0, 1, 0, 0};
    const double loss =
        evaluateLoss(specOf(LossKind::logitcrossentropy), seven.data(), letters.data(), nullptr, 7, 3, nullptr).loss;
    QVERIFY2(std::abs(loss - 1.5791205) < 1e-6, qPrintable(QString::number(loss, 'g', 12)));
}

void TestLosses::gradientIsTheDerivative_data()
{
    QTest::addColumn<int>("kind");
    for (const LossKind kind : {LossKind::mse, LossKind::mae, LossKind::crossentropy, LossKind::logitcrossentropy,
                                LossKind::binarycrossentropy, LossKind::logitbinarycrossentropy, LossKind::huberLoss}) {
        QTest::newRow(std::to_string(int(kind)).c_str()) << int(kind);
    }
}

void TestLosses::gradientIsTheDerivative()
{
    QFETCH(int, kind);
    const LossSpec spec = specOf(static_cast<LossKind>(kind));
    std::vector<float> yhat{.15f, .8f, .35f, .6f, .25f, .7f}, gradient(6);
    const std::vector<float> y{.5f, .3f, .2f, .1f, .75f, .15f};
    evaluateLoss(spec, yhat.data(), nullptr, y.data(), 2, 3, gradient.data());
    for (size_t i = 0; i < 6; ++i) {
        const float h = 1.0f / 512, at = yhat[i]; // exact in float; the losses are smooth over 2h here
        yhat[i] = at + h;
        const double above = evaluateLoss(spec, yhat.data(), nullptr, y.data(), 2, 3, nullptr).loss;
        yhat[i] = at - h;
        const double below = evaluateLoss(spec, yhat.data(), nullptr, y.data(), 2, 3, nullptr).loss;
        yhat[i] = at;
        const double slope = (above - below) / (static_cast<double>(at + h) - static_cast<double>(at - h));
        QVERIFY2(std::abs(slope - gradient[i]) < 2e-4 * std::max(1.0, std::abs(slope)),
                 qPrintable(QString("%1: %2 against %3").arg(i).arg(slope).arg(gradient[i])));
    }
}

void TestLosses::labelGradientIsTheDerivative_data() { gradientIsTheDerivative_data(); }

void TestLosses::labelGradientIsTheDerivative()
{
    QFETCH(int, kind);
    const LossSpec spec = specOf(static_cast<LossKind>(kind));
    const std::vector<float> yhat{.15f, .8f, .35f, .6f, .25f, .7f};
    const std::vector<int32_t> labels{2, 0};
    const std::vector<float> oneHot{0, 0, 1, 1, 0, 0};
    std::vector<float> fromLabels(6), fromTargets(6);
    const double a = evaluateLoss(spec, yhat.data(), labels.data(), nullptr, 2, 3, fromLabels.data()).loss;
    const double b = evaluateLoss(spec, yhat.data(), nullptr, oneHot.data(), 2, 3, fromTargets.data()).loss;
    QVERIFY(std::abs(a - b) < 1e-7);
    for (size_t i = 0; i < 6; ++i)
        QVERIFY(std::abs(fromLabels[i] - fromTargets[i]) < 1e-6f);
}

void TestLosses::sumAggregateIsMeanTimesCount()
{
    const std::vector<float> yhat = someValues(12, 2), y = someValues(12, 1, 7);
    LossSpec mean = specOf(LossKind::mse), sum = mean;
    sum.sumAggregate = true;
    const double a = evaluateLoss(mean, yhat.data(), nullptr, y.data(), 4, 3, nullptr).loss;
    QVERIFY(std::abs(evaluateLoss(sum, yhat.data(), nullptr, y.data(), 4, 3, nullptr).loss - 12 * a) < 1e-6);
    mean.kind = sum.kind = LossKind::logitcrossentropy;
    const std::vector<int32_t> labels{0, 1, 2, 0};
    const double c = evaluateLoss(mean, yhat.data(), labels.data(), nullptr, 4, 3, nullptr).loss;
    QVERIFY(std::abs(evaluateLoss(sum, yhat.data(), labels.data(), nullptr, 4, 3, nullptr).loss - 4 * c) < 1e-6);
}

void TestLosses::exponentialIsAccurate()
{
    std::vector<float> x;
    for (float v = -87; v < 88; v += 0.00731f)
        x.push_back(v);
    std::vector<float> y = x;
    engine::expInPlace(y.data(), static_cast<int64_t>(y.size()));
    double worst = 0;
    for (size_t i = 0; i < x.size(); ++i)
        worst = std::max(worst, std::abs(y[i] / std::exp(static_cast<double>(x[i])) - 1));
    QVERIFY2(worst < 2e-7, qPrintable(QString::number(worst)));
    std::vector<float> special{-kInf, -1000, 0, 1000, kInf, kNan};
    engine::expInPlace(special.data(), 6);
    QCOMPARE(special[0], 0.0f);
    QCOMPARE(special[1], 0.0f);
    QCOMPARE(special[2], 1.0f);
    QCOMPARE(special[3], kInf);
    QCOMPARE(special[4], kInf);
    QVERIFY(std::isnan(special[5]));
}

void TestLosses::softmaxOfManyShapesMatchesTheDefinition_data()
{
    QTest::addColumn<int>("count");
    QTest::addColumn<int>("outputs");
    for (const auto& [count, outputs] :
         {std::pair{64, 10}, {1, 2}, {3, 1}, {7, 17}, {700, 3}, {2, 5000}, {1, 4096}, {5, 1000}}) {
        QTest::newRow(qPrintable(QString("%1x%2").arg(count).arg(outputs))) << count << outputs;
    }
}

void TestLosses::softmaxOfManyShapesMatchesTheDefinition()
{
    QFETCH(int, count);
    QFETCH(int, outputs);
    const size_t n = static_cast<size_t>(outputs);
    const std::vector<float> x = someValues(static_cast<size_t>(count) * n, 8);
    std::vector<int32_t> labels(static_cast<size_t>(count));
    for (size_t i = 0; i < labels.size(); ++i)
        labels[i] = static_cast<int32_t>((i * 7) % n);
    std::vector<float> gradient(x.size());
    const LossSpec spec = specOf(LossKind::logitcrossentropy);
    const double expected = referenceCrossEntropy(x, labels, n);
    const double withGradient =
        evaluateLoss(spec, x.data(), labels.data(), nullptr, count, outputs, gradient.data()).loss;
    const double alone = evaluateLoss(spec, x.data(), labels.data(), nullptr, count, outputs, nullptr).loss;
    QVERIFY(std::abs(withGradient - expected) < 1e-6 * std::max(1.0, expected));
    QVERIFY(std::abs(alone - expected) < 1e-6 * std::max(1.0, expected));
    double rowSum = 0; // softmax - one-hot sums to zero in every row
    for (size_t j = 0; j < n; ++j)
        rowSum += gradient[j];
    QVERIFY(std::abs(rowSum) < 1e-6);
}

void TestLosses::hugeLogitsDoNotOverflow()
{
    // logsoftmax [1, 2, 3000] -> [-2999, -2998, 0]; softmax [-1e5, -1e5] -> [.5, .5]
    const std::vector<float> x{1, 2, 3000};
    std::vector<float> gradient(3);
    const LossSpec spec = specOf(LossKind::logitcrossentropy);
    for (int32_t label = 0; label < 3; ++label) {
        const double loss = evaluateLoss(spec, x.data(), &label, nullptr, 1, 3, gradient.data()).loss;
        QCOMPARE(loss, label == 0 ? 2999.0 : label == 1 ? 2998.0 : 0.0);
    }
    const std::vector<float> low{-1e5f, -1e5f};
    const int32_t zero = 0;
    QVERIFY(std::abs(evaluateLoss(spec, low.data(), &zero, nullptr, 1, 2, gradient.data()).loss - std::log(2.0))
            < 1e-7);
    QCOMPARE(gradient[1], 0.5f);
}

void TestLosses::infiniteLogitsActAsInFlux()
{
    // softmax [1 2; 3 Inf]: the second column gives [0, 1]
    const std::vector<float> x{2, kInf};
    std::vector<float> gradient(2);
    const LossSpec spec = specOf(LossKind::logitcrossentropy);
    const int32_t one = 1, zero = 0;
    QCOMPARE(evaluateLoss(spec, x.data(), &one, nullptr, 1, 2, gradient.data()).loss, 0.0);
    QCOMPARE(gradient[0], 0.0f);
    QCOMPARE(gradient[1], 0.0f);
    QVERIFY(std::isinf(evaluateLoss(spec, x.data(), &zero, nullptr, 1, 2, gradient.data()).loss));
    const std::vector<float> allLow{-kInf, -kInf};
    QVERIFY(std::abs(evaluateLoss(spec, allLow.data(), &zero, nullptr, 1, 2, nullptr).loss - std::log(2.0)) < 1e-7);
}

void TestLosses::nanStaysWithinItsRow()
{
    const std::vector<float> x{1, kNan, 2, 1, 2, 3};
    const std::vector<int32_t> labels{0, 2};
    std::vector<float> gradient(6);
    const LossResult result =
        evaluateLoss(specOf(LossKind::logitcrossentropy), x.data(), labels.data(), nullptr, 2, 3, gradient.data());
    QVERIFY(std::isnan(result.loss));
    for (size_t j = 0; j < 3; ++j)
        QVERIFY(std::isnan(gradient[j]));
    for (size_t j = 3; j < 6; ++j)
        QVERIFY(std::isfinite(gradient[j]));
    QCOMPARE(result.correct, int64_t{1});
}

void TestLosses::correctCountsTheFirstMaximum()
{
    const std::vector<float> x{5, 5, 1, 5, 5, 1, 0, 1, 2};
    const std::vector<int32_t> labels{0, 1, 2};
    QCOMPARE(evaluateLoss(specOf(LossKind::logitcrossentropy), x.data(), labels.data(), nullptr, 3, 3, nullptr).correct,
             int64_t{2});
}

void TestLosses::oneOutputTakesTheLabelAsValue()
{
    const std::vector<float> yhat{.9f, .2f, .6f};
    const std::vector<int32_t> labels{1, 0, 0};
    const LossResult result =
        evaluateLoss(specOf(LossKind::binarycrossentropy), yhat.data(), labels.data(), nullptr, 3, 1, nullptr);
    const double eps = 1.1920929e-07;
    const double expected = -(std::log(.9 + eps) + std::log(.8 + eps) + std::log(.4 + eps)) / 3;
    QVERIFY(std::abs(result.loss - expected) < 1e-6);
    QCOMPARE(result.correct, int64_t{2});
}

QTEST_GUILESS_MAIN(TestLosses)
#include "tst_losses.moc"
