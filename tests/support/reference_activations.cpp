#include "tests/support/reference_math.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace stepscope::testing {

namespace {

using model::ActivationKind;

constexpr double kSeluLambda = 1.0507009873554805, kSeluAlpha = 1.6732632423543772;
constexpr double kGeluCubic = 0.044715, kGeluSigmoid = 1.702;

double sigmoid(double x)
{
    const double e = std::exp(-std::abs(x));
    return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}

double softplus(double x) { return std::log1p(std::exp(-std::abs(x))) + std::max(x, 0.0); }
double sech2(double x) { return 1 - std::tanh(x) * std::tanh(x); }
double hardsigmoid(double x) { return std::clamp((x + 3) / 6, 0.0, 1.0); }
double geluInner(double x) { return std::sqrt(2 / std::numbers::pi) * (x + kGeluCubic * x * x * x); }
double geluInnerSlope(double x) { return std::sqrt(2 / std::numbers::pi) * (1 + 3 * kGeluCubic * x * x); }
double normalDensity(double x) { return std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi); }
double normalProbability(double x) { return (1 + std::erf(x / std::numbers::sqrt2)) / 2; }

} // namespace

model::Activation activation(ActivationKind kind)
{
    switch (kind) {
    case ActivationKind::leakyrelu: return {kind, 0.01};
    case ActivationKind::elu:
    case ActivationKind::celu:
    case ActivationKind::trelu: return {kind, 1};
    case ActivationKind::softshrink: return {kind, 0.5};
    default: return {kind, 0};
    }
}

double activate(const model::Activation& function, double x)
{
    const double a = function.alpha;
    switch (function.kind) {
    case ActivationKind::identity: return x;
    case ActivationKind::sigmoid: return sigmoid(x);
    case ActivationKind::hardsigmoid: return hardsigmoid(x);
    case ActivationKind::tanh: return std::tanh(x);
    case ActivationKind::hardtanh: return std::clamp(x, -1.0, 1.0);
    case ActivationKind::relu: return std::max(x, 0.0);
    case ActivationKind::relu6: return std::clamp(x, 0.0, 6.0);
    case ActivationKind::leakyrelu: return std::max(a * x, x);
    case ActivationKind::elu: return x >= 0 ? x : a * std::expm1(x);
    case ActivationKind::gelu: return x / 2 * (1 + std::tanh(geluInner(x)));
    case ActivationKind::geluErf: return x * normalProbability(x);
    case ActivationKind::geluSigmoid: return x * sigmoid(kGeluSigmoid * x);
    case ActivationKind::swish: return x * sigmoid(x);
    case ActivationKind::hardswish: return x * hardsigmoid(x);
    case ActivationKind::selu: return kSeluLambda * (x > 0 ? x : kSeluAlpha * std::expm1(x));
    case ActivationKind::celu: return x >= 0 ? x : a * std::expm1(x / a);
    case ActivationKind::softplus: return softplus(x);
    case ActivationKind::softsign: return x / (1 + std::abs(x));
    case ActivationKind::logsigmoid: return -softplus(-x);
    case ActivationKind::logcosh: return x + softplus(-2 * x) - std::numbers::ln2;
    case ActivationKind::mish: return x * std::tanh(softplus(x));
    case ActivationKind::tanhshrink: return x - std::tanh(x);
    case ActivationKind::softshrink: return std::min(std::max(0.0, x - a), x + a);
    case ActivationKind::trelu: return x > a ? x : 0;
    case ActivationKind::lisht: return x * std::tanh(x);
    case ActivationKind::softmax:
    case ActivationKind::logsoftmax: break;
    }
    return std::numeric_limits<double>::quiet_NaN();
}

double derivative(const model::Activation& function, double x)
{
    const double a = function.alpha;
    switch (function.kind) {
    case ActivationKind::identity: return 1;
    case ActivationKind::sigmoid: return sigmoid(x) * (1 - sigmoid(x));
    case ActivationKind::hardsigmoid: return std::abs(x) < 3 ? 1.0 / 6 : 0;
    case ActivationKind::tanh: return sech2(x);
    case ActivationKind::hardtanh: return std::abs(x) < 1 ? 1 : 0;
    case ActivationKind::relu: return x > 0 ? 1 : 0;
    case ActivationKind::relu6: return x > 0 && x < 6 ? 1 : 0;
    case ActivationKind::leakyrelu: return x > 0 ? 1 : a;
    case ActivationKind::elu: return x >= 0 ? 1 : a * std::exp(x);
    case ActivationKind::gelu:
        return (1 + std::tanh(geluInner(x))) / 2 + x / 2 * sech2(geluInner(x)) * geluInnerSlope(x);
    case ActivationKind::geluErf: return normalProbability(x) + x * normalDensity(x);
    case ActivationKind::geluSigmoid: {
        const double s = sigmoid(kGeluSigmoid * x);
        return s + kGeluSigmoid * x * s * (1 - s);
    }
    case ActivationKind::swish: return sigmoid(x) + x * sigmoid(x) * (1 - sigmoid(x));
    case ActivationKind::hardswish: return x <= -3 ? 0 : x >= 3 ? 1 : (2 * x + 3) / 6;
    case ActivationKind::selu: return kSeluLambda * (x > 0 ? 1 : kSeluAlpha * std::exp(x));
    case ActivationKind::celu: return x >= 0 ? 1 : std::exp(x / a);
    case ActivationKind::softplus: return sigmoid(x);
    case ActivationKind::softsign: return 1 / ((1 + std::abs(x)) * (1 + std::abs(x)));
    case ActivationKind::logsigmoid: return sigmoid(-x);
    case ActivationKind::logcosh: return std::tanh(x);
    case ActivationKind::mish: return std::tanh(softplus(x)) + x * sech2(softplus(x)) * sigmoid(x);
    case ActivationKind::tanhshrink: return std::tanh(x) * std::tanh(x);
    case ActivationKind::softshrink: return std::abs(x) > a ? 1 : 0;
    case ActivationKind::trelu: return x > a ? 1 : 0;
    case ActivationKind::lisht: return std::tanh(x) + x * sech2(x);
    case ActivationKind::softmax:
    case ActivationKind::logsoftmax: break;
    }
    return std::numeric_limits<double>::quiet_NaN();
}

Values softmax(const Values& x, int64_t length)
{
    Values y(x.size());
    for (size_t row = 0; row < x.size(); row += length) {
        const double largest = *std::max_element(x.begin() + row, x.begin() + row + length);
        double sum = 0;
        for (size_t i = row; i < row + length; ++i) {
            y[i] = x[i] == largest ? 1 : std::exp(x[i] - largest); // an infinite largest value takes everything
            sum += y[i];
        }
        for (size_t i = row; i < row + length; ++i)
            y[i] /= sum;
    }
    return y;
}

Values logsoftmax(const Values& x, int64_t length)
{
    Values y(x.size());
    for (size_t row = 0; row < x.size(); row += length) {
        const double largest = *std::max_element(x.begin() + row, x.begin() + row + length);
        double sum = 0;
        for (size_t i = row; i < row + length; ++i)
            sum += std::exp(x[i] - largest);
        for (size_t i = row; i < row + length; ++i)
            y[i] = x[i] - largest - std::log(sum);
    }
    return y;
}

Values softmaxGradient(const Values& y, const Values& dy, int64_t length)
{
    Values dx(y.size());
    for (size_t row = 0; row < y.size(); row += length) {
        double dot = 0;
        for (size_t i = row; i < row + length; ++i)
            dot += y[i] * dy[i];
        for (size_t i = row; i < row + length; ++i)
            dx[i] = y[i] * (dy[i] - dot);
    }
    return dx;
}

Values logsoftmaxGradient(const Values& y, const Values& dy, int64_t length)
{
    Values dx(y.size());
    for (size_t row = 0; row < y.size(); row += length) {
        double sum = 0;
        for (size_t i = row; i < row + length; ++i)
            sum += dy[i];
        for (size_t i = row; i < row + length; ++i)
            dx[i] = dy[i] - std::exp(y[i]) * sum;
    }
    return dx;
}

} // namespace stepscope::testing
