#include "core/onednn/eltwise.h"

#include <fmt/format.h>

#include <cmath>

namespace stepscope::onednn {

using model::Activation;
using model::ActivationKind;
using dnnl::algorithm;

namespace {

constexpr float kSeluLambda = 1.0507009873554805f; // NNlib src/activations.jl
constexpr float kSeluAlpha = 1.6732632423543772f;

float sigmoid(float x) { return 1.0f / (1.0f + std::exp(-x)); }
float softplus(float x) { return std::fmax(x, 0.0f) + std::log1p(std::exp(-std::fabs(x))); }
float sign(float x) { return static_cast<float>((x > 0) - (x < 0)); }

TimingArguments backwardArguments(const dnnl::primitive_desc_base& d, const compat::Desc& data, bool fromResult)
{
    return {{fromResult ? DNNL_ARG_DST : DNNL_ARG_SRC, data}, {DNNL_ARG_DIFF_DST, data}, {DNNL_ARG_DIFF_SRC, data},
            {DNNL_ARG_SCRATCHPAD, d.scratchpad_desc()}};
}

Pick pickBackward(PlanBuilder& builder, const EltwiseAlgorithm& e, algorithm backward, const compat::Desc& desc, bool fromResult)
{
    const std::string key
        = fmt::format("eltwise backward {} {} {} {}", static_cast<int>(backward), e.alpha, e.beta, describe(desc));
    return builder.pick(
        key,
        [&](int skip) -> dnnl::primitive_desc_base {
            const auto hint = compat::eltwiseForward(builder.engine(), {}, 0, e.forward, desc, e.alpha, e.beta);
            return compat::eltwiseBackward(builder.engine(), builder.attributes(), skip, hint, backward, desc, desc, e.alpha, e.beta);
        },
        [&](const dnnl::primitive_desc_base& d) { return backwardArguments(d, desc, fromResult); });
}

} // namespace

std::optional<EltwiseAlgorithm> eltwiseAlgorithm(const Activation& activation)
{
    const auto alpha = static_cast<float>(activation.alpha);
    switch (activation.kind) {
    case ActivationKind::relu: return EltwiseAlgorithm{algorithm::eltwise_relu, 0, 0, algorithm::eltwise_relu_use_dst_for_bwd};
    case ActivationKind::leakyrelu:
        if (alpha < 0) return EltwiseAlgorithm{algorithm::eltwise_relu, alpha, 0, {}};
        return EltwiseAlgorithm{algorithm::eltwise_relu, alpha, 0, algorithm::eltwise_relu_use_dst_for_bwd};
    case ActivationKind::tanh: return EltwiseAlgorithm{algorithm::eltwise_tanh, 0, 0, algorithm::eltwise_tanh_use_dst_for_bwd};
    case ActivationKind::sigmoid:
        return EltwiseAlgorithm{algorithm::eltwise_logistic, 0, 0, algorithm::eltwise_logistic_use_dst_for_bwd};
    case ActivationKind::elu:
        if (alpha < 0) return EltwiseAlgorithm{algorithm::eltwise_elu, alpha, 0, {}};
        return EltwiseAlgorithm{algorithm::eltwise_elu, alpha, 0, algorithm::eltwise_elu_use_dst_for_bwd};
    case ActivationKind::relu6: return EltwiseAlgorithm{algorithm::eltwise_clip_v2, 0, 6, algorithm::eltwise_clip_v2_use_dst_for_bwd};
    case ActivationKind::hardtanh:
        return EltwiseAlgorithm{algorithm::eltwise_clip_v2, -1, 1, algorithm::eltwise_clip_v2_use_dst_for_bwd};
    case ActivationKind::gelu: return EltwiseAlgorithm{algorithm::eltwise_gelu_tanh, 0, 0, {}};
    case ActivationKind::geluErf: return EltwiseAlgorithm{algorithm::eltwise_gelu_erf, 0, 0, {}};
    case ActivationKind::swish: return EltwiseAlgorithm{algorithm::eltwise_swish, 1, 0, {}};
    case ActivationKind::hardswish: return EltwiseAlgorithm{algorithm::eltwise_hardswish, 1.0f / 6, 0.5f, {}};
    case ActivationKind::softplus: return EltwiseAlgorithm{algorithm::eltwise_soft_relu, 1, 0, {}};
    case ActivationKind::mish: return EltwiseAlgorithm{algorithm::eltwise_mish, 0, 0, {}};
    default: return std::nullopt;
    }
}

// Definitions: NNlib src/activations.jl.
float activationValue(const Activation& activation, float x)
{
    const auto a = static_cast<float>(activation.alpha);
    switch (activation.kind) {
    case ActivationKind::hardsigmoid: return std::fmin(std::fmax((x + 3) / 6, 0.0f), 1.0f);
    case ActivationKind::selu: return kSeluLambda * (x > 0 ? x : kSeluAlpha * std::expm1(x));
    case ActivationKind::celu: return x >= 0 ? x : a * std::expm1(x / a);
    case ActivationKind::softsign: return x / (1 + std::fabs(x));
    case ActivationKind::logsigmoid: return -softplus(-x);
    case ActivationKind::logcosh: return x + softplus(-2 * x) - std::log(2.0f);
    case ActivationKind::tanhshrink: return x - std::tanh(x);
    case ActivationKind::softshrink: return sign(x) * std::fmax(std::fabs(x) - a, 0.0f);
    case ActivationKind::trelu: return x > a ? x : 0;
    case ActivationKind::lisht: return x * std::tanh(x);
    case ActivationKind::geluSigmoid: return x * sigmoid(1.702f * x);
    default: return x;
    }
}

float activationSlope(const Activation& activation, float x)
{
    const auto a = static_cast<float>(activation.alpha);
    switch (activation.kind) {
    case ActivationKind::hardsigmoid: return x > -3 && x < 3 ? 1.0f / 6 : 0.0f;
    case ActivationKind::selu: return kSeluLambda * (x > 0 ? 1.0f : kSeluAlpha * std::exp(x));
    case ActivationKind::celu: return x >= 0 ? 1.0f : std::exp(x / a);
    case ActivationKind::softsign: return 1 / ((1 + std::fabs(x)) * (1 + std::fabs(x)));
    case ActivationKind::logsigmoid: return sigmoid(-x);
    case ActivationKind::logcosh: return std::tanh(x);
    case ActivationKind::tanhshrink: return std::tanh(x) * std::tanh(x);
    case ActivationKind::softshrink: return std::fabs(x) > a ? 1.0f : 0.0f;
    case ActivationKind::trelu: return x > a ? 1.0f : 0.0f;
    case ActivationKind::lisht: {
        const float t = std::tanh(x);
        return t + x * (1 - t * t);
    }
    case ActivationKind::geluSigmoid: {
        const float s = sigmoid(1.702f * x);
        return s + 1.702f * x * s * (1 - s);
    }
    default: return 1;
    }
}

Value Eltwise::forward(PlanBuilder& builder, const Value& x)
{
    // Padding must stay zero, which a function with f(0) != 0 of ours would not keep.
    const bool padded = compat::paddedDimsOf(x.desc) != x.dims();
    const bool ours = !eltwiseAlgorithm(m_activation);
    m_given = x;
    m_x = padded && ours ? builder.converted(x, plainDesc(x.dims()), "to plain") : x;
    m_y = builder.allocateLike(m_x);
    m_y.flattened = x.flattened;
    const auto values = static_cast<int64_t>(m_x.desc.get_size() / sizeof(float));
    const std::string name = model::activationName(m_activation.kind);
    const auto e = eltwiseAlgorithm(m_activation);
    if (!e) {
        builder.addFunction({name, "activation"}, "stepscope",
                            [activation = m_activation, in = m_x.data(), out = m_y.data(), values](int threads) {
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
                                for (int64_t i = 0; i < values; ++i) out[i] = activationValue(activation, in[i]);
                            },
                            builder.threadsFor(values), values, 8 * values);
        return m_y;
    }
    const std::string key
        = fmt::format("eltwise {} {} {} {}", static_cast<int>(e->forward), e->alpha, e->beta, describe(x.desc));
    const Pick pick = builder.pick(
        key,
        [&](int skip) -> dnnl::primitive_desc_base {
            return compat::eltwiseForward(builder.engine(), builder.attributes(), skip, e->forward, x.desc, e->alpha, e->beta);
        },
        [&](const dnnl::primitive_desc_base& d) -> TimingArguments {
            return {{DNNL_ARG_SRC, x.desc}, {DNNL_ARG_DST, x.desc}, {DNNL_ARG_SCRATCHPAD, d.scratchpad_desc()}};
        });
    builder.add({name, "eltwise"}, pick, {{DNNL_ARG_SRC, x.memory}, {DNNL_ARG_DST, m_y.memory}}, values);
    return m_y;
}

Value Eltwise::backward(PlanBuilder& builder, const Value& dyGiven)
{
    const Value dy = builder.converted(dyGiven, m_x.desc, "gradient layout");
    const std::string name = std::string(model::activationName(m_activation.kind)) + " gradient";
    const auto values = static_cast<int64_t>(m_x.desc.get_size() / sizeof(float));
    Value dx = dy.exclusive ? dy : builder.allocateLike(dy);
    dx.exclusive = true;
    dx.flattened = m_x.flattened;
    const auto e = eltwiseAlgorithm(m_activation);
    if (!e) {
        builder.addFunction({name, "activation"}, "stepscope",
                            [activation = m_activation, x = m_x.data(), in = dy.data(), out = dx.data(), values](int threads) {
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
                                for (int64_t i = 0; i < values; ++i) out[i] = in[i] * activationSlope(activation, x[i]);
                            },
                            builder.threadsFor(values), 2 * values, 12 * values);
        return builder.restored(dx, m_given, "gradient layout");
    }
    const Pick pick = pickBackward(builder, *e, e->forward, m_x.desc, false);
    builder.add({name, "eltwise"}, pick, {{DNNL_ARG_SRC, m_x.memory}, {DNNL_ARG_DIFF_DST, dy.memory}, {DNNL_ARG_DIFF_SRC, dx.memory}},
                values);
    return dx;
}

Value fusedBackward(PlanBuilder& builder, const Activation& activation, const Value& y, const Value& dyGiven)
{
    const EltwiseAlgorithm e = *eltwiseAlgorithm(activation);
    const Value dy = builder.converted(dyGiven, y.desc, "gradient layout");
    Value dx = dy.exclusive ? dy : builder.allocateLike(dy);
    dx.exclusive = true;
    const Pick pick = pickBackward(builder, e, *e.backwardFromResult, y.desc, true);
    builder.add({std::string(model::activationName(activation.kind)) + " gradient", "eltwise"}, pick,
                {{DNNL_ARG_DST, y.memory}, {DNNL_ARG_DIFF_DST, dy.memory}, {DNNL_ARG_DIFF_SRC, dx.memory}},
                static_cast<int64_t>(y.desc.get_size() / sizeof(float)));
    return dx;
}

} // namespace stepscope::onednn
