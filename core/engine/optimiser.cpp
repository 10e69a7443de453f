#include "core/engine/optimiser.h"

#include "core/engine/target_clones.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace stepscope::engine {

namespace {

using model::RuleKind;
using Modifier = model::OptimiserSpec::Modifier;

STEPSCOPE_TARGET_CLONES
void descent(float* __restrict w, const float* __restrict g, int64_t n, float eta)
{
    for (int64_t i = 0; i < n; ++i)
        w[i] -= eta * g[i];
}

STEPSCOPE_TARGET_CLONES
void momentum(float* __restrict w, const float* __restrict g, float* __restrict v, int64_t n, float eta, float rho)
{
    for (int64_t i = 0; i < n; ++i) {
        const float next = rho * v[i] + eta * g[i];
        v[i] = next;
        w[i] -= next;
    }
}

// The step uses the velocity from before: -ρ²v + (1 + ρ)ηg.
STEPSCOPE_TARGET_CLONES
void nesterov(float* __restrict w, const float* __restrict g, float* __restrict v, int64_t n, float eta, float rho)
{
    const float rhoSquared = rho * rho, ahead = (1 + rho) * eta;
    for (int64_t i = 0; i < n; ++i) {
        const float before = v[i], gradient = g[i];
        v[i] = rho * before - eta * gradient;
        w[i] -= ahead * gradient - rhoSquared * before;
    }
}

struct RmsCoefficients {
    float eta, rho, oneMinusRho, epsilon;
};

STEPSCOPE_TARGET_CLONES
void rmsProp(float* __restrict w, const float* __restrict g, float* __restrict q, int64_t n, RmsCoefficients c)
{
    for (int64_t i = 0; i < n; ++i) {
        const float gradient = g[i];
        const float quad = c.rho * q[i] + c.oneMinusRho * gradient * gradient;
        q[i] = quad;
        w[i] -= gradient * c.eta / (std::sqrt(quad) + c.epsilon);
    }
}

STEPSCOPE_TARGET_CLONES
void rmsPropCentred(float* __restrict w, const float* __restrict g, float* __restrict q, float* __restrict mean,
                    int64_t n, RmsCoefficients c)
{
    for (int64_t i = 0; i < n; ++i) {
        const float gradient = g[i];
        const float quad = c.rho * q[i] + c.oneMinusRho * gradient * gradient;
        const float lin = c.rho * mean[i] + c.oneMinusRho * gradient;
        q[i] = quad;
        mean[i] = lin;
        const float variance = quad - lin * lin; // rounding may take it a little below zero
        w[i] -= gradient * c.eta / (std::sqrt(variance > 0 ? variance : 0.0f) + c.epsilon);
    }
}

struct AdamCoefficients {
    float beta1, oneMinusBeta1, beta2, oneMinusBeta2;
    float step;       // η / (1 - β1^t)
    float correction; // 1 / (1 - β2^t)
    float epsilon;    // outside the root
    float decay;      // of the weights themselves; 0 for Adam
};

// One pass over w, g, m and v: the update is bound by memory.
STEPSCOPE_TARGET_CLONES
void adam(float* __restrict w, const float* __restrict g, float* __restrict m, float* __restrict v, int64_t n,
          AdamCoefficients c)
{
    for (int64_t i = 0; i < n; ++i) {
        const float gradient = g[i], weight = w[i];
        const float first = c.beta1 * m[i] + c.oneMinusBeta1 * gradient;
        const float second = c.beta2 * v[i] + c.oneMinusBeta2 * gradient * gradient;
        m[i] = first;
        v[i] = second;
        w[i] = weight - (c.step * first / (std::sqrt(second * c.correction) + c.epsilon) + c.decay * weight);
    }
}

STEPSCOPE_TARGET_CLONES
void addScaled(float* __restrict g, const float* __restrict w, int64_t n, float lambda)
{
    for (int64_t i = 0; i < n; ++i)
        g[i] += lambda * w[i];
}

STEPSCOPE_TARGET_CLONES
void clampTo(float* g, int64_t n, float delta)
{
    for (int64_t i = 0; i < n; ++i)
        g[i] = g[i] < -delta ? -delta : g[i] > delta ? delta : g[i];
}

STEPSCOPE_TARGET_CLONES
void scaleBy(float* g, int64_t n, float factor)
{
    for (int64_t i = 0; i < n; ++i)
        g[i] *= factor;
}

STEPSCOPE_TARGET_CLONES
double sumOfSquares(const float* g, int64_t n)
{
    constexpr int64_t kLanes = 8; // independent sums, so that the loop vectorises without reordering a float sum
    double lanes[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        for (int64_t j = 0; j < kLanes; ++j)
            lanes[j] += static_cast<double>(g[i + j]) * static_cast<double>(g[i + j]);
    }
    double total = 0;
    for (const double lane : lanes)
        total += lane;
    for (; i < n; ++i)
        total += static_cast<double>(g[i]) * static_cast<double>(g[i]);
    return total;
}

// The p-norm of LinearAlgebra.norm, p = 0 (number of non-zeros) and ±infinity included.
double norm(const float* g, int64_t n, double p)
{
    if (p == 2) return std::sqrt(sumOfSquares(g, n));
    double total = 0;
    if (std::isinf(p)) {
        double extreme = p > 0 ? 0 : std::numeric_limits<double>::infinity();
        for (int64_t i = 0; i < n; ++i) {
            const double a = std::abs(static_cast<double>(g[i]));
            if (std::isnan(a)) return a;
            extreme = p > 0 ? std::max(extreme, a) : std::min(extreme, a);
        }
        return extreme;
    }
    for (int64_t i = 0; i < n; ++i) {
        const double a = std::abs(static_cast<double>(g[i]));
        total += p == 0 ? (a != 0 ? 1.0 : 0.0) : p == 1 ? a : std::pow(a, p);
    }
    return p == 0 || p == 1 ? total : std::pow(total, 1 / p);
}

void clipNorm(float* g, int64_t n, const Modifier& modifier)
{
    const double size = norm(g, n, modifier.p);
    if (!std::isfinite(size) || size <= modifier.value) return;
    scaleBy(g, n, static_cast<float>(modifier.value / size));
}

} // namespace

Optimiser::Optimiser(const model::OptimiserSpec& spec, int64_t size) : m_spec(spec), m_size(size)
{
    const int arrays = stateArrays();
    const size_t n = static_cast<size_t>(size);
    if (arrays >= 1) m_first.assign(n, 0.0f);
    if (arrays >= 2) (m_spec.rule == RuleKind::rmsProp ? m_third : m_second).assign(n, 0.0f);
}

int Optimiser::stateArrays() const
{
    switch (m_spec.rule) {
    case RuleKind::descent: return 0;
    case RuleKind::momentum:
    case RuleKind::nesterov: return 1;
    case RuleKind::rmsProp: return m_spec.centred ? 2 : 1;
    case RuleKind::adam:
    case RuleKind::adamW: return 2;
    }
    return 0;
}

void Optimiser::beginStep()
{
    ++m_step;
    m_power1 *= m_spec.beta1;
    m_power2 *= m_spec.beta2;
}

void Optimiser::update(float* w, const float* g, int64_t offset, int64_t n)
{
    const auto f = [](double value) { return static_cast<float>(value); };
    const float eta = f(m_spec.eta), rho = f(m_spec.rho), epsilon = f(m_spec.epsilon);
    w += offset;
    g += offset;
    switch (m_spec.rule) {
    case RuleKind::descent: descent(w, g, n, eta); break;
    case RuleKind::momentum: momentum(w, g, m_first.data() + offset, n, eta, rho); break;
    case RuleKind::nesterov: nesterov(w, g, m_first.data() + offset, n, eta, rho); break;
    case RuleKind::rmsProp: {
        const RmsCoefficients c{eta, rho, f(1 - m_spec.rho), epsilon};
        if (m_spec.centred) rmsPropCentred(w, g, m_first.data() + offset, m_third.data() + offset, n, c);
        else rmsProp(w, g, m_first.data() + offset, n, c);
        break;
    }
    case RuleKind::adam:
    case RuleKind::adamW: {
        const bool decays = m_spec.rule == RuleKind::adamW;
        const double decay = !decays ? 0 : m_spec.couple ? m_spec.eta * m_spec.lambda : m_spec.lambda;
        const AdamCoefficients c{f(m_spec.beta1),
                                 f(1 - m_spec.beta1),
                                 f(m_spec.beta2),
                                 f(1 - m_spec.beta2),
                                 f(m_spec.eta / (1 - m_power1)),
                                 f(1 / (1 - m_power2)),
                                 epsilon,
                                 f(decay)};
        adam(w, g, m_first.data() + offset, m_second.data() + offset, n, c);
        break;
    }
    }
}

void Optimiser::modify(const float* w, float* g, int64_t offset, int64_t n) const
{
    w += offset;
    g += offset;
    for (const Modifier& modifier : m_spec.modifiers) {
        switch (modifier.kind) {
        case Modifier::Kind::weightDecay: addScaled(g, w, n, static_cast<float>(modifier.value)); break;
        case Modifier::Kind::clipGrad: clampTo(g, n, static_cast<float>(modifier.value)); break;
        case Modifier::Kind::clipNorm: clipNorm(g, n, modifier); break;
        }
    }
}

} // namespace stepscope::engine
