// Losses and optimisers of the reference.
#include "tests/support/reference_math.h"

#include <algorithm>
#include <cmath>

namespace stepscope::testing {

namespace {

using model::LossKind;
using model::RuleKind;

double xlogy(double x, double y) { return x == 0 ? 0 : x * std::log(y); }
double logsigmoid(double x) { return activate({model::ActivationKind::logsigmoid, 0}, x); }

struct Term {
    double value, slope; // slope by ŷ
};

// One element's share of an element-wise loss.
Term elementTerm(const model::LossSpec& spec, double yhat, double y)
{
    const double d = yhat - y, eps = spec.eps;
    switch (spec.kind) {
    case LossKind::mse: return {d * d, 2 * d};
    case LossKind::mae: return {std::abs(d), d > 0 ? 1.0 : d < 0 ? -1.0 : 0.0};
    case LossKind::huberLoss:
        if (std::abs(d) < spec.delta) return {d * d / 2, d};
        return {spec.delta * (std::abs(d) - spec.delta / 2), d > 0 ? spec.delta : -spec.delta};
    case LossKind::crossentropy: return {-xlogy(y, yhat + eps), -y / (yhat + eps)};
    case LossKind::binarycrossentropy:
        return {-xlogy(y, yhat + eps) - xlogy(1 - y, 1 - yhat + eps), -y / (yhat + eps) + (1 - y) / (1 - yhat + eps)};
    case LossKind::logitbinarycrossentropy:
        return {(1 - y) * yhat - logsigmoid(yhat), (1 - y) - 1 / (1 + std::exp(yhat))};
    case LossKind::logitcrossentropy: break; // not element-wise
    }
    return {0, 0};
}

bool sumsOverOutputs(LossKind kind) { return kind == LossKind::crossentropy || kind == LossKind::logitcrossentropy; }

} // namespace

double referenceLoss(const model::LossSpec& spec, const Values& yhat, const Values& targets, int64_t count,
                     Values* gradient)
{
    const int64_t outputs = static_cast<int64_t>(yhat.size()) / count;
    const double divisor = spec.sumAggregate ? 1.0 : sumsOverOutputs(spec.kind) ? double(count) : double(yhat.size());
    Values slopes(yhat.size());
    double sum = 0;
    if (spec.kind == LossKind::logitcrossentropy) {
        const Values logp = logsoftmax(yhat, outputs);
        for (size_t i = 0; i < yhat.size(); ++i) {
            sum -= targets[i] == 0 ? 0 : targets[i] * logp[i];
            slopes[i] = -targets[i];
        }
        slopes = logsoftmaxGradient(logp, slopes, outputs);
    } else {
        for (size_t i = 0; i < yhat.size(); ++i) {
            const Term term = elementTerm(spec, yhat[i], targets[i]);
            sum += term.value;
            slopes[i] = term.slope;
        }
    }
    for (double& slope : slopes)
        slope /= divisor;
    if (gradient) *gradient = slopes;
    return sum / divisor;
}

Values oneHot(const std::vector<int32_t>& labels, int64_t classes)
{
    Values targets(labels.size() * classes, 0.0);
    for (size_t i = 0; i < labels.size(); ++i)
        targets[i * classes + labels[i]] = 1;
    return targets;
}

void ReferenceOptimiser::modify(const Values& x, Values& g) const
{
    using Kind = model::OptimiserSpec::Modifier::Kind;
    for (const auto& modifier : m_spec.modifiers) {
        double scale = 1;
        if (modifier.kind == Kind::clipNorm) {
            double norm = 0;
            for (double v : g)
                norm = std::isinf(modifier.p) ? std::max(norm, std::abs(v)) : norm + std::pow(std::abs(v), modifier.p);
            if (!std::isinf(modifier.p)) norm = std::pow(norm, 1 / modifier.p);
            scale = norm > modifier.value ? modifier.value / norm : 1;
        }
        for (size_t i = 0; i < g.size(); ++i) {
            switch (modifier.kind) {
            case Kind::weightDecay: g[i] += modifier.value * x[i]; break;
            case Kind::clipGrad: g[i] = std::clamp(g[i], -modifier.value, modifier.value); break;
            case Kind::clipNorm: g[i] *= scale; break;
            }
        }
    }
}

double ReferenceOptimiser::step(size_t i, double x, double g)
{
    const auto& s = m_spec;
    double& first = m_first[i];
    double& second = m_second[i];
    switch (s.rule) {
    case RuleKind::descent: return s.eta * g;
    case RuleKind::momentum: return first = s.rho * first + s.eta * g;
    case RuleKind::nesterov: {
        const double dx = -s.rho * s.rho * first + (1 + s.rho) * s.eta * g;
        first = s.rho * first - s.eta * g;
        return dx;
    }
    case RuleKind::rmsProp:
        second = s.rho * second + (1 - s.rho) * g * g;
        if (s.centred) first = s.rho * first + (1 - s.rho) * g;
        return s.eta * g / (std::sqrt(second - (s.centred ? first * first : 0)) + s.epsilon);
    case RuleKind::adam:
    case RuleKind::adamW: {
        first = s.beta1 * first + (1 - s.beta1) * g;
        second = s.beta2 * second + (1 - s.beta2) * g * g;
        const double mean = first / (1 - std::pow(s.beta1, double(m_step)));
        const double square = second / (1 - std::pow(s.beta2, double(m_step)));
        const double dx = s.eta * mean / (std::sqrt(square) + s.epsilon);
        if (s.rule == RuleKind::adam) return dx;
        return dx + (s.couple ? s.eta * s.lambda : s.lambda) * x;
    }
    }
    return 0;
}

void ReferenceOptimiser::update(Values& x, Values g)
{
    m_first.resize(x.size());
    m_second.resize(x.size());
    ++m_step;
    modify(x, g);
    for (size_t i = 0; i < x.size(); ++i)
        x[i] -= step(i, x[i], g[i]);
}

} // namespace stepscope::testing
