#include "core/engine/losses.h"

#include "core/engine/softmax.h"

#include <algorithm>
#include <cmath>

namespace stepscope::engine {

namespace {

using model::LossKind;

// What the target of one element is, for both kinds of targets.
struct Targets {
    const int32_t* labels;
    const float* values;
    int64_t outputs;

    double at(int64_t row, int64_t column) const
    {
        if (labels == nullptr) return values[row * outputs + column];
        if (outputs == 1) return labels[row];
        return labels[row] == column ? 1.0 : 0.0;
    }
};

struct Term {
    double value;
    double slope;
};

// x log y with Flux's convention that 0 log(anything) is 0.
double xlogy(double x, double y) { return x == 0 ? 0.0 : x * std::log(y); }

double sign(double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : x; }

double sigmoid(double x)
{
    const double e = std::exp(-std::abs(x));
    return x >= 0 ? 1 / (1 + e) : e / (1 + e);
}

double logSigmoid(double x) { return std::min(x, 0.0) - std::log1p(std::exp(-std::abs(x))); }

Term squared(double d) { return {d * d, 2 * d}; }
Term absolute(double d) { return {std::abs(d), sign(d)}; }
Term huber(double d, double delta)
{
    const double a = std::abs(d);
    if (a < delta) return {0.5 * d * d, d};
    return {delta * (a - 0.5 * delta), delta * sign(d)};
}

Term binaryCrossEntropy(double yhat, double y, double eps)
{
    const double value = -xlogy(y, yhat + eps) - xlogy(1 - y, 1 - yhat + eps);
    const double slope = (y == 0 ? 0.0 : -y / (yhat + eps)) + (y == 1 ? 0.0 : (1 - y) / (1 - yhat + eps));
    return {value, slope};
}

Term logitBinaryCrossEntropy(double yhat, double y) { return {(1 - y) * yhat - logSigmoid(yhat), sigmoid(yhat) - y}; }

Term crossEntropy(double yhat, double y, double eps)
{
    if (y == 0) return {0, 0};
    return {-y * std::log(yhat + eps), -y / (yhat + eps)};
}

// Sum of term(yhat, target) over all elements; gradient = scale * slope.
template <class TermOf>
double sumTerms(const float* yhat, const Targets& targets, int64_t count, double scale, float* gradient, TermOf termOf)
{
    double total = 0;
    for (int64_t row = 0; row < count; ++row) {
        for (int64_t column = 0; column < targets.outputs; ++column) {
            const int64_t i = row * targets.outputs + column;
            const Term term = termOf(static_cast<double>(yhat[i]), targets.at(row, column));
            total += term.value;
            if (gradient != nullptr) gradient[i] = static_cast<float>(term.slope * scale);
        }
    }
    return total;
}

// Rows whose arg max is the label; the first of equal outputs counts, a row with NaN never does.
int64_t countCorrect(const model::LossSpec& spec, const float* yhat, const int32_t* labels, int64_t count,
                     int64_t outputs)
{
    int64_t correct = 0;
    if (outputs == 1) {
        const float threshold = spec.kind == LossKind::logitbinarycrossentropy ? 0.0f : 0.5f;
        for (int64_t row = 0; row < count; ++row)
            correct += (yhat[row] > threshold) == (labels[row] == 1) ? 1 : 0;
        return correct;
    }
    for (int64_t row = 0; row < count; ++row) {
        const float* y = yhat + row * outputs;
        const int32_t label = labels[row];
        const float best = y[label];
        unsigned wrong = 0;
        for (int32_t j = 0; j < static_cast<int32_t>(outputs); ++j) {
            wrong |= static_cast<unsigned>(!(y[j] <= best))
                | (static_cast<unsigned>(y[j] == best) & static_cast<unsigned>(j < label));
        }
        correct += wrong == 0 ? 1 : 0;
    }
    return correct;
}

} // namespace

LossResult evaluateLoss(const model::LossSpec& spec, const float* yhat, const int32_t* labels, const float* targets,
                        int64_t count, int64_t outputs, float* gradient)
{
    const bool perSample = spec.kind == LossKind::crossentropy || spec.kind == LossKind::logitcrossentropy;
    const double terms = static_cast<double>(perSample ? count : count * outputs);
    const double scale = spec.sumAggregate ? 1.0 : 1.0 / terms;
    const Targets target{labels, targets, outputs};
    const auto sum = [&](auto termOf) { return sumTerms(yhat, target, count, scale, gradient, termOf); };

    double total = 0;
    switch (spec.kind) {
    case LossKind::mse: total = sum([](double x, double y) { return squared(x - y); }); break;
    case LossKind::mae: total = sum([](double x, double y) { return absolute(x - y); }); break;
    case LossKind::huberLoss: total = sum([&](double x, double y) { return huber(x - y, spec.delta); }); break;
    case LossKind::binarycrossentropy:
        total = sum([&](double x, double y) { return binaryCrossEntropy(x, y, spec.eps); });
        break;
    case LossKind::logitbinarycrossentropy:
        total = sum([](double x, double y) { return logitBinaryCrossEntropy(x, y); });
        break;
    case LossKind::crossentropy: total = sum([&](double x, double y) { return crossEntropy(x, y, spec.eps); }); break;
    case LossKind::logitcrossentropy:
        total = softmaxCrossEntropy(yhat, labels, targets, count, outputs, scale, gradient);
        break;
    }
    LossResult result{total * scale, -1};
    if (labels != nullptr) result.correct = countCorrect(spec, yhat, labels, count, outputs);
    return result;
}

} // namespace stepscope::engine
