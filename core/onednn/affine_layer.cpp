// Dense, Conv and CrossCor: y = f(W x + b) by oneDNN's inner product or convolution.
//
// The layouts of input, weights and output decide which implementation the library has, so they are chosen together: for
// every weight layout that some primitive asks for, the forward pass and both gradients are timed with the conversions that
// the layout would cost, and the cheapest sum wins.
#include "core/onednn/eltwise.h"
#include "core/onednn/layer_node.h"
#include "core/onednn/own_kernels.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

namespace stepscope::onednn {
namespace {

using compat::Desc;
using compat::Dims;
using Maker = std::function<dnnl::primitive_desc_base(const Desc& source, const Desc& weights, const Desc& destination, int skip)>;

// What one gradient primitive uses, when it is not the layouts of the forward pass.
struct GradientChoice {
    int mode = 0; // 0 layouts as given, 1 weights free, 2 all free, 3 our kernel for few input channels
    int ownThreads = 1;
    Pick pick;
    Desc source, weights, destination;
    double time = std::numeric_limits<double>::infinity(); // conversions included
};

struct Choice {
    Desc source, weights, destination;
    Pick forward;
    GradientChoice data, weightsGradient;
    double time = std::numeric_limits<double>::infinity();
};

class AffineLayer final : public LayerNode {
public:
    AffineLayer(PlanBuilder& builder, base::LayerId id)
        : LayerNode(id), m_layer(builder.layer(id)), m_fuseAllowed(builder.context().options.fuse)
    {
        setActivation(m_layer.options.activation);
    }

    bool fuse(const model::Activation& activation) override
    {
        if (m_fused || m_separate) return false; // it has one already, its own or a fused one
        const auto e = eltwiseAlgorithm(activation);
        if (!m_fuseAllowed || !e || !e->backwardFromResult) return false;
        setActivation(activation);
        return true;
    }

    Value forward(PlanBuilder& builder, Value x) override;
    Value backward(PlanBuilder& builder, Value dy, bool wantInput) override;

private:
    bool dense() const { return m_layer.kind == model::LayerKind::dense; }
    void setActivation(const model::Activation& activation);
    void setShapes(const Value& x);
    void setMakers(PlanBuilder& builder);
    void setConvolutionMakers(PlanBuilder& builder);
    void setDenseMakers(PlanBuilder& builder);
    dnnl::primitive_attr forwardAttributes(PlanBuilder& builder) const;
    std::string problem() const;

    Choice choose(PlanBuilder& builder, const Value& x, bool wantInput);
    std::vector<Desc> weightCandidates(PlanBuilder& builder, const Desc& source, const Desc& destination, const Desc& proposed);
    Choice evaluate(PlanBuilder& builder, const Desc& given, const Desc& source, const Desc& weights, const Desc& destination,
                    bool wantInput);
    GradientChoice chooseGradient(PlanBuilder& builder, bool data, const Choice& choice, const Desc& given);
    std::optional<ThinConvolution> thinConvolution(const Desc& gradient) const;
    void considerOwnKernel(PlanBuilder& builder, const Choice& choice, GradientChoice& best);
    void addOwnKernel(PlanBuilder& builder, const GradientChoice& g, const Value& x, const Value& dy, const Value& temporary);
    Pick pickForward(PlanBuilder& builder, const Desc& source, const Desc& weights, const Desc& destination);
    TimingArguments forwardArguments(const dnnl::primitive_desc_base& d) const;

    const model::Layer& m_layer;
    bool m_fuseAllowed;
    std::optional<EltwiseAlgorithm> m_fused; // activation inside the forward primitive
    model::Activation m_fusedActivation;
    std::unique_ptr<Eltwise> m_separate;     // or as an operation of its own
    Dims m_weightDims, m_outputDims;
    Desc m_bias;
    int64_t m_flop = 0;
    Maker m_makeForward, m_makeData, m_makeWeights;
    Choice m_choice;
    Value m_x, m_y, m_inputGiven;
    Desc m_inputDesc; // layout in which the layer before gave x
    ParameterSlot* m_weights = nullptr;
    ParameterSlot* m_biasSlot = nullptr;
};

void AffineLayer::setActivation(const model::Activation& activation)
{
    m_fused.reset();
    m_separate.reset();
    if (activation.kind == model::ActivationKind::identity) return;
    const auto e = eltwiseAlgorithm(activation);
    if (m_fuseAllowed && e && e->backwardFromResult) {
        m_fused = e;
        m_fusedActivation = activation;
    } else {
        m_separate = std::make_unique<Eltwise>(activation);
    }
}

dnnl::primitive_attr AffineLayer::forwardAttributes(PlanBuilder& builder) const
{
    dnnl::primitive_attr attr = builder.attributes();
    if (m_fused) {
        dnnl::post_ops ops;
        compat::appendEltwise(ops, m_fused->forward, m_fused->alpha, m_fused->beta);
        attr.set_post_ops(ops);
    }
    return attr;
}

void AffineLayer::setShapes(const Value& x)
{
    const model::LayerOptions& o = m_layer.options;
    const Dims in = x.dims();
    m_outputDims = {in[0]};
    for (int64_t d : m_layer.output) m_outputDims.push_back(d);
    const int64_t outputs = m_outputDims[1];
    if (dense()) {
        m_weightDims = in; // {out, features} or, behind a flatten, {out, channels, height, width}
        m_weightDims[0] = outputs;
        m_flop = 2 * in[0] * outputs * x.features();
    } else {
        m_weightDims = o.groups > 1 ? Dims{o.groups, o.out / o.groups, o.in / o.groups} : Dims{o.out, o.in};
        m_weightDims.insert(m_weightDims.end(), o.kernel.begin(), o.kernel.end());
        m_flop = 2 * model::product(m_outputDims) * (o.in / o.groups) * model::product(o.kernel);
    }
    m_bias = o.bias ? Desc(Dims{outputs}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::a) : Desc();
}

void AffineLayer::setConvolutionMakers(PlanBuilder& builder)
{
    using Forward = dnnl::convolution_forward;
    using Data = dnnl::convolution_backward_data;
    using Weights = dnnl::convolution_backward_weights;
    const model::LayerOptions& o = m_layer.options;
    const Dims strides(o.stride.begin(), o.stride.end()), low(o.padLow.begin(), o.padLow.end()), high(o.padHigh.begin(), o.padHigh.end());
    Dims dilates(o.dilation.begin(), o.dilation.end());
    for (int64_t& d : dilates) --d; // oneDNN counts from 0
    constexpr auto algorithm = dnnl::algorithm::convolution_direct;
    constexpr auto training = dnnl::prop_kind::forward_training;
    const dnnl::engine engine = builder.engine();
    const dnnl::primitive_attr attr = forwardAttributes(builder), plain = builder.attributes();
    const Desc bias = m_bias;
    const bool hasBias = o.bias;
    const auto forward = [=](const dnnl::primitive_attr& a, int skip, const Desc& s, const Desc& w, const Desc& d) {
        return hasBias ? compat::forward<Forward>(engine, a, skip, training, algorithm, s, w, bias, d, strides, dilates, low, high)
                       : compat::forward<Forward>(engine, a, skip, training, algorithm, s, w, d, strides, dilates, low, high);
    };
    m_makeForward = [=](const Desc& s, const Desc& w, const Desc& d, int skip) -> dnnl::primitive_desc_base {
        return forward(attr, skip, s, w, d);
    };
    m_makeData = [=](const Desc& s, const Desc& w, const Desc& d, int skip) -> dnnl::primitive_desc_base {
        const auto hint = forward(plain, 0, s, w, d);
        return compat::backward<Data>(engine, plain, skip, hint, algorithm, s, w, d, strides, dilates, low, high);
    };
    m_makeWeights = [=](const Desc& s, const Desc& w, const Desc& d, int skip) -> dnnl::primitive_desc_base {
        const auto hint = forward(plain, 0, s, w, d);
        return hasBias ? compat::backward<Weights>(engine, plain, skip, hint, algorithm, s, w, bias, d, strides, dilates, low, high)
                            : compat::backward<Weights>(engine, plain, skip, hint, algorithm, s, w, d, strides, dilates, low, high);
    };
}

void AffineLayer::setDenseMakers(PlanBuilder& builder)
{
    using Forward = dnnl::inner_product_forward;
    using Data = dnnl::inner_product_backward_data;
    using Weights = dnnl::inner_product_backward_weights;
    constexpr auto training = dnnl::prop_kind::forward_training;
    const dnnl::engine engine = builder.engine();
    const dnnl::primitive_attr attr = forwardAttributes(builder), plain = builder.attributes();
    const Desc bias = m_bias;
    const bool hasBias = m_layer.options.bias;
    const auto forward = [=](const dnnl::primitive_attr& a, int skip, const Desc& s, const Desc& w, const Desc& d) {
        return hasBias ? compat::forward<Forward>(engine, a, skip, training, s, w, bias, d) : compat::forward<Forward>(engine, a, skip, training, s, w, d);
    };
    m_makeForward = [=](const Desc& s, const Desc& w, const Desc& d, int skip) -> dnnl::primitive_desc_base {
        return forward(attr, skip, s, w, d);
    };
    m_makeData = [=](const Desc& s, const Desc& w, const Desc& d, int skip) -> dnnl::primitive_desc_base {
        const auto hint = forward(plain, 0, s, w, d);
        return compat::backward<Data>(engine, plain, skip, hint, s, w, d);
    };
    m_makeWeights = [=](const Desc& s, const Desc& w, const Desc& d, int skip) -> dnnl::primitive_desc_base {
        const auto hint = forward(plain, 0, s, w, d);
        return hasBias ? compat::backward<Weights>(engine, plain, skip, hint, s, w, bias, d)
                            : compat::backward<Weights>(engine, plain, skip, hint, s, w, d);
    };
}

void AffineLayer::setMakers(PlanBuilder& builder)
{
    if (dense()) setDenseMakers(builder);
    else setConvolutionMakers(builder);
}

std::string AffineLayer::problem() const
{
    const model::LayerOptions& o = m_layer.options;
    std::string text = fmt::format("{} w{} b{} f{}", dense() ? "dense" : "conv", fmt::join(m_weightDims, "x"), o.bias ? 1 : 0,
                                   m_fused ? static_cast<int>(m_fused->forward) : 0);
    if (!dense())
        text += fmt::format(" s{} d{} l{} h{}", fmt::join(o.stride, "x"), fmt::join(o.dilation, "x"), fmt::join(o.padLow, "x"),
                            fmt::join(o.padHigh, "x"));
    return text;
}

// ---- choosing layouts ----

TimingArguments AffineLayer::forwardArguments(const dnnl::primitive_desc_base& d) const
{
    const auto md = [&](dnnl::query q) { return d.query_md(q, 0); };
    return {{DNNL_ARG_SRC, md(dnnl::query::src_md)}, {DNNL_ARG_WEIGHTS, md(dnnl::query::weights_md)}, {DNNL_ARG_BIAS, m_bias},
            {DNNL_ARG_DST, md(dnnl::query::dst_md)}, {DNNL_ARG_SCRATCHPAD, d.scratchpad_desc()}};
}

Pick AffineLayer::pickForward(PlanBuilder& builder, const Desc& source, const Desc& weights, const Desc& destination)
{
    const std::string key
        = fmt::format("{} forward {} {} {}", problem(), describe(source), describe(weights), describe(destination));
    return builder.pick(key, [&](int skip) { return m_makeForward(source, weights, destination, skip); },
                        [&](const dnnl::primitive_desc_base& d) { return forwardArguments(d); });
}

GradientChoice AffineLayer::chooseGradient(PlanBuilder& builder, bool data, const Choice& choice, const Desc& given)
{
    GradientChoice best;
    const Dims sourceDims = compat::dimsOf(choice.source);
    for (int mode = 0; mode < 3; ++mode) {
        // Without time for tuning the first choice is taken, but never reference code while there is something else to ask for.
        const bool settled = best.pick && !isReference(best.pick.desc);
        if (settled && (!builder.context().options.tune || builder.context().tuner->exhausted())) break;
        const Desc s = mode == 2 ? anyDesc(sourceDims) : choice.source;
        const Desc w = mode >= 1 ? anyDesc(m_weightDims) : choice.weights;
        const Desc d = mode == 2 ? anyDesc(m_outputDims) : choice.destination;
        std::string key = fmt::format("{} {} m{}", problem(), data ? "data" : "weights", mode);
        if (mode < 2) key += fmt::format(" {} {}", describe(choice.source), describe(choice.destination));
        if (mode < 1) key += " " + describe(choice.weights);
        if (mode == 2) key += fmt::format(" in {} out {}", fmt::join(sourceDims, "x"), fmt::join(m_outputDims, "x"));
        try {
            GradientChoice c;
            c.mode = mode;
            c.pick = builder.pick(
                key, [&](int skip) { return data ? m_makeData(s, w, d, skip) : m_makeWeights(s, w, d, skip); },
                [&](const dnnl::primitive_desc_base& desc) -> TimingArguments {
                    const auto md = [&](dnnl::query q) { return desc.query_md(q, 0); };
                    if (data)
                        return {{DNNL_ARG_DIFF_SRC, md(dnnl::query::diff_src_md)}, {DNNL_ARG_WEIGHTS, md(dnnl::query::weights_md)},
                                {DNNL_ARG_DIFF_DST, md(dnnl::query::diff_dst_md)}, {DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc()}};
                    return {{DNNL_ARG_SRC, md(dnnl::query::src_md)}, {DNNL_ARG_DIFF_WEIGHTS, md(dnnl::query::diff_weights_md)},
                            {DNNL_ARG_DIFF_BIAS, m_bias}, {DNNL_ARG_DIFF_DST, md(dnnl::query::diff_dst_md)},
                            {DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc()}};
                });
            const auto md = [&](dnnl::query q) { return c.pick.desc.query_md(q, 0); };
            c.destination = md(dnnl::query::diff_dst_md);
            c.time = c.pick.time + builder.reorderTime(choice.destination, c.destination);
            if (data) {
                c.source = md(dnnl::query::diff_src_md);
                c.weights = md(dnnl::query::weights_md);
                c.time += builder.reorderTime(choice.weights, c.weights) + builder.reorderTime(c.source, given);
            } else {
                c.source = md(dnnl::query::src_md);
                c.weights = md(dnnl::query::diff_weights_md);
                c.time += builder.reorderTime(c.weights, choice.weights) + builder.reorderTime(choice.source, c.source);
            }
            if (c.time < best.time) best = c;
        } catch (const dnnl::error&) {
            continue; // this combination has no implementation
        }
    }
    if (!data) considerOwnKernel(builder, choice, best);
    return best;
}

std::optional<ThinConvolution> AffineLayer::thinConvolution(const Desc& gradient) const
{
    const model::LayerOptions& o = m_layer.options;
    const auto lanes = laneLayout(gradient);
    if (dense() || !lanes || o.groups != 1 || m_weightDims.size() != 4 || o.dilation != model::Dims{1, 1}) return std::nullopt;
    const model::Dims& in = m_layer.input;
    ThinConvolution s{m_outputDims[0], o.in, o.out, in[1], in[2], m_outputDims[2], m_outputDims[3], o.kernel[0], o.kernel[1],
                      o.stride[0], o.stride[1], o.padLow[0], o.padLow[1], *lanes};
    if (!s.supported()) return std::nullopt;
    return s;
}

void AffineLayer::considerOwnKernel(PlanBuilder& builder, const Choice& choice, GradientChoice& best)
{
    const auto shape = thinConvolution(choice.destination);
    if (!shape || !builder.context().options.tune) return;
    GradientChoice c;
    c.mode = 3;
    c.source = plainDesc(compat::dimsOf(choice.source));
    c.weights = plainDesc(m_weightDims);
    c.destination = choice.destination;
    // Only timed on; the blocks return to the pool.
    const Value x = builder.allocate(c.source), dy = builder.allocate(c.destination), dw = builder.allocate(c.weights);
    const Value scratch = builder.allocate(plainDesc({shape->scratch(builder.context().maxThreads)}));
    const auto own = builder.pickOwn(fmt::format("{} weights own {}", problem(), describe(c.destination)), [&](int t) {
        thinWeightsGradient(*shape, x.data(), dy.data(), dw.data(), nullptr, scratch.data(), t);
    });
    c.ownThreads = own.threads;
    c.time = own.time + builder.reorderTime(c.weights, choice.weights) + (c.source == m_inputDesc ? 0 : builder.reorderTime(choice.source, c.source));
    if (c.time < best.time) best = c;
}

void AffineLayer::addOwnKernel(PlanBuilder& builder, const GradientChoice& g, const Value& x, const Value& dy, const Value& temporary)
{
    const ThinConvolution shape = *thinConvolution(g.destination);
    const Value scratch = builder.allocate(plainDesc({shape.scratch(g.ownThreads)}));
    const dnnl::memory weights = temporary ? temporary.memory : m_weights->gradient; // handles are set when the parameters are committed
    const dnnl::memory bias = m_biasSlot != nullptr ? m_biasSlot->gradient : dnnl::memory();
    builder.addFunction({"weights gradient", "convolution"}, "stepscope:few channels",
                        [=, x = x.data(), dy = dy.data(), scratch = scratch.data()](int threads) {
                            auto* b = bias ? static_cast<float*>(bias.get_data_handle()) : nullptr;
                            thinWeightsGradient(shape, x, dy, static_cast<float*>(weights.get_data_handle()), b, scratch, threads);
                        },
                        g.ownThreads, m_flop, static_cast<int64_t>(g.source.get_size() + g.destination.get_size() + g.weights.get_size()));
}

Choice AffineLayer::evaluate(PlanBuilder& builder, const Desc& given, const Desc& source, const Desc& weights, const Desc& destination,
                             bool wantInput)
{
    Choice c;
    c.source = source;
    c.weights = weights;
    c.destination = destination;
    try {
        c.forward = pickForward(builder, source, weights, destination);
        c.weightsGradient = chooseGradient(builder, false, c, given);
        c.time = c.forward.time + c.weightsGradient.time + builder.reorderTime(given, source);
        if (wantInput) {
            c.data = chooseGradient(builder, true, c, given);
            c.time += c.data.time;
        }
    } catch (const dnnl::error&) {
        c.time = std::numeric_limits<double>::infinity();
    }
    return c;
}

std::vector<Desc> AffineLayer::weightCandidates(PlanBuilder& builder, const Desc& source, const Desc& destination, const Desc& proposed)
{
    std::vector<Desc> all{proposed};
    if (!builder.context().options.tune || builder.context().tuner->exhausted()) return all;
    const auto add = [&](const Desc& desc) {
        if (std::find(all.begin(), all.end(), desc) == all.end()) all.push_back(desc);
    };
    const Desc any = anyDesc(m_weightDims);
    const auto ask = [&](const Maker& make, dnnl::query query) {
        try {
            setThreads(builder.threadChoices().back());
            add(make(source, any, destination, 0).query_md(query, 0));
        } catch (const dnnl::error&) {
            return; // no such primitive for these layouts
        }
    };
    ask(m_makeWeights, dnnl::query::diff_weights_md);
    ask(m_makeData, dnnl::query::weights_md);
    add(plainDesc(m_weightDims));
    if (m_weightDims.size() == 2) add(Desc(m_weightDims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::ba));
    return all;
}

Choice AffineLayer::choose(PlanBuilder& builder, const Value& x, bool wantInput)
{
    Choice best;
    const Dims inputDims = x.dims();
    const auto layout = builder.context().variant.layout;
    std::vector<Desc> sources; // the library's wish first: the layer before may have a layout that only reference code can read
    if (layout == PlanVariant::Layout::automatic) sources.push_back(anyDesc(inputDims));
    sources.push_back(x.desc);
    const Desc wantedOutput = [&] {
        if (m_outputDims.size() == 4 && layout == PlanVariant::Layout::channelsLast)
            return Desc(m_outputDims, dnnl::memory::data_type::f32, dnnl::memory::format_tag::nhwc);
        if (layout == PlanVariant::Layout::plain || m_outputDims.size() == 2) return plainDesc(m_outputDims);
        return anyDesc(m_outputDims);
    }();
    const Desc fixed = m_weights != nullptr ? m_weights->desc : Desc();
    for (const Desc& wanted : sources) {
        constexpr int kForwardTried = 2;
        std::vector<std::pair<Desc, Desc>> seen;
        for (int skip = 0; skip < kForwardTried; ++skip) {
            try {
                setThreads(builder.threadChoices().back());
                const auto proposal = m_makeForward(wanted, m_weights != nullptr ? fixed : anyDesc(m_weightDims), wantedOutput, skip);
                if (isReference(proposal) && best.time < std::numeric_limits<double>::infinity()) continue;
                const Desc source = proposal.query_md(dnnl::query::src_md, 0), destination = proposal.query_md(dnnl::query::dst_md, 0);
                if (std::find(seen.begin(), seen.end(), std::pair(source, destination)) != seen.end()) continue;
                seen.emplace_back(source, destination);
                const std::vector<Desc> candidates = m_weights != nullptr
                    ? std::vector<Desc>{fixed}
                    : weightCandidates(builder, source, destination, proposal.query_md(dnnl::query::weights_md, 0));
                for (const Desc& weights : candidates) {
                    const Choice c = evaluate(builder, x.desc, source, weights, destination, wantInput);
                    if (c.time < best.time) best = c;
                }
                if (!builder.context().options.tune || builder.context().tuner->exhausted()) break;
            } catch (const dnnl::error&) {
                break; // no further implementation
            }
        }
    }
    if (!best.forward) throw dnnl::error(dnnl_unimplemented, "no implementation");
    return best;
}

// ---- building ----

Value AffineLayer::forward(PlanBuilder& builder, Value x)
{
    m_inputGiven = x;
    m_inputDesc = x.desc;
    setShapes(x);
    setMakers(builder);
    m_weights = builder.parameters().find(id(), 0);
    // The gradient for the input is timed even for a first layer only if it is wanted.
    const bool wantInput = builder.wantsInputGradient(id());
    m_choice = choose(builder, x, wantInput);
    if (m_weights == nullptr) {
        m_weights = &builder.parameters().add(id(), 0, m_choice.weights, dense() ? FluxOrder::transposed
            : m_layer.kind == model::LayerKind::conv                          ? FluxOrder::flippedKernel
                                                                              : FluxOrder::same);
        if (m_layer.options.bias) builder.parameters().add(id(), 1, m_bias, FluxOrder::same);
    }
    m_biasSlot = m_layer.options.bias ? builder.parameters().find(id(), 1) : nullptr;

    m_x = builder.converted(x, m_choice.source, "input layout");
    m_y = builder.allocate(m_choice.destination);
    PrimitiveArguments arguments{{DNNL_ARG_SRC, m_x.memory}, {DNNL_ARG_WEIGHTS, m_weights->value}, {DNNL_ARG_DST, m_y.memory}};
    if (m_biasSlot != nullptr) arguments.push_back({DNNL_ARG_BIAS, m_biasSlot->value});
    std::string what = "forward";
    if (m_fused) what += std::string(" + ") + model::activationName(m_fusedActivation.kind);
    builder.add({what, dense() ? "inner_product" : "convolution"}, m_choice.forward, std::move(arguments), m_flop);
    m_y.fromRelu = m_fused && m_fused->forward == dnnl::algorithm::eltwise_relu && m_fused->alpha == 0;
    return m_separate ? m_separate->forward(builder, m_y) : m_y;
}

Value AffineLayer::backward(PlanBuilder& builder, Value dy, bool wantInput)
{
    const std::string kind = dense() ? "inner_product" : "convolution";
    if (m_separate) dy = m_separate->backward(builder, dy);
    if (m_fused && !dy.reluApplied) dy = fusedBackward(builder, m_fusedActivation, m_y, dy);
    else dy = builder.converted(dy, m_choice.destination, "gradient layout");

    const GradientChoice& g = m_choice.weightsGradient;
    const Value gy = builder.converted(dy, g.destination, "gradient layout for weights");
    const Value gx = g.source == m_inputDesc ? m_inputGiven : builder.converted(m_x, g.source, "input layout for weights");
    const bool direct = g.weights == m_weights->desc;
    Value temporary;
    if (!direct) temporary = builder.allocate(g.weights);
    PrimitiveArguments arguments{{DNNL_ARG_SRC, gx.memory}, {DNNL_ARG_DIFF_DST, gy.memory},
                                 {DNNL_ARG_DIFF_WEIGHTS, direct ? m_weights->gradient : temporary.memory}};
    if (m_biasSlot != nullptr) arguments.push_back({DNNL_ARG_DIFF_BIAS, m_biasSlot->gradient});
    if (g.mode == 3) addOwnKernel(builder, g, gx, gy, temporary);
    else builder.add({"weights gradient", kind}, g.pick, std::move(arguments), m_flop);
    if (!direct) builder.convertInto(temporary, m_weights->gradient, "weights gradient layout");
    if (!wantInput) return {};

    const GradientChoice& d = m_choice.data;
    const Value dd = builder.converted(dy, d.destination, "gradient layout for input");
    dnnl::memory weights = m_weights->value;
    Value convertedWeights;
    if (!(d.weights == m_weights->desc)) {
        Value source;
        source.desc = m_weights->desc;
        source.memory = m_weights->value;
        convertedWeights = builder.allocate(d.weights);
        builder.convertInto(source, convertedWeights.memory, "weights layout");
        weights = convertedWeights.memory;
    }
    Value dx = builder.allocate(d.source);
    builder.add({"input gradient", kind}, d.pick, {{DNNL_ARG_DIFF_SRC, dx.memory}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DIFF_DST, dd.memory}},
                m_flop);
    dx = builder.converted(dx, m_inputDesc, "input gradient layout");
    dx.flattened = m_inputGiven.flattened;
    return dx;
}

} // namespace

LayerNodePtr makeAffine(PlanBuilder& builder, base::LayerId id) { return std::make_shared<AffineLayer>(builder, id); }

} // namespace stepscope::onednn
