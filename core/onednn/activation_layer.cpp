// An activation function as a layer of its own, softmax and logsoftmax included.
#include "core/onednn/eltwise.h"
#include "core/onednn/layer_node.h"

#include <fmt/format.h>

namespace stepscope::onednn {
namespace {

class ActivationLayer final : public LayerNode {
public:
    ActivationLayer(const model::Layer& layer, base::LayerId id) : LayerNode(id), m_eltwise(layer.options.activation) {}
    Value forward(PlanBuilder& builder, Value x) override { return m_eltwise.forward(builder, x); }
    Value backward(PlanBuilder& builder, Value dy, bool wantInput) override
    {
        return wantInput ? m_eltwise.backward(builder, dy) : Value{};
    }

private:
    Eltwise m_eltwise;
};

// identity: nothing to do.
class IdentityLayer final : public LayerNode {
public:
    using LayerNode::LayerNode;
    Value forward(PlanBuilder&, Value x) override { return x; }
    Value backward(PlanBuilder&, Value dy, bool) override { return dy; }
};

// Over the fastest dimension (Flux: dims = 1).
class SoftmaxLayer final : public LayerNode {
public:
    SoftmaxLayer(const model::Layer& layer, base::LayerId id)
        : LayerNode(id)
        , m_algorithm(layer.options.activation.kind == model::ActivationKind::softmax ? dnnl::algorithm::softmax_accurate
                                                                                      : dnnl::algorithm::softmax_log)
    {
    }

    Value forward(PlanBuilder& builder, Value x) override
    {
        m_given = x;
        m_x = x.flattened ? builder.plainMatrix(x, "flatten") : builder.converted(x, plainDesc(x.dims()), "to plain");
        const Pick pick = builder.pick(
            fmt::format("softmax {} {}", static_cast<int>(m_algorithm), describe(m_x.desc)),
            [&](int skip) -> dnnl::primitive_desc_base {
                return forwardDesc(builder, skip);
            },
            [&](const dnnl::primitive_desc_base& d) -> TimingArguments {
                return {{DNNL_ARG_SRC, m_x.desc}, {DNNL_ARG_DST, m_x.desc}, {DNNL_ARG_SCRATCHPAD, d.scratchpad_desc()}};
            });
        m_y = builder.allocate(m_x.desc);
        builder.add({"forward", "softmax"}, pick, {{DNNL_ARG_SRC, m_x.memory}, {DNNL_ARG_DST, m_y.memory}}, 5 * values());
        return m_y;
    }

    Value backward(PlanBuilder& builder, Value dy, bool wantInput) override
    {
        if (!wantInput) return {};
        dy = builder.converted(dy, m_y.desc, "gradient layout");
        const Pick pick = builder.pick(
            fmt::format("softmax back {} {}", static_cast<int>(m_algorithm), describe(m_x.desc)),
            [&](int skip) -> dnnl::primitive_desc_base {
                return compat::backward<compat::SoftmaxBackward>(builder.engine(), builder.attributes(), skip, forwardDesc(builder, 0), m_algorithm,
                                                                 m_x.desc, m_x.desc, m_x.desc, axis());
            },
            [&](const dnnl::primitive_desc_base& d) -> TimingArguments {
                return {{DNNL_ARG_DST, m_y.desc}, {DNNL_ARG_DIFF_DST, m_y.desc}, {DNNL_ARG_DIFF_SRC, m_y.desc},
                        {DNNL_ARG_SCRATCHPAD, d.scratchpad_desc()}};
            });
        const Value dx = builder.allocate(m_x.desc);
        builder.add({"gradient", "softmax"}, pick,
                    {{DNNL_ARG_DST, m_y.memory}, {DNNL_ARG_DIFF_DST, dy.memory}, {DNNL_ARG_DIFF_SRC, dx.memory}}, 4 * values());
        return builder.restored(dx, m_given, "input gradient layout");
    }

private:
    int axis() const { return static_cast<int>(m_x.dims().size()) - 1; }
    int64_t values() const { return static_cast<int64_t>(m_x.desc.get_size() / sizeof(float)); }

    compat::SoftmaxForward::primitive_desc forwardDesc(PlanBuilder& builder, int skip) const
    {
        return compat::forward<compat::SoftmaxForward>(builder.engine(), builder.attributes(), skip, dnnl::prop_kind::forward_training, m_algorithm,
                                                       m_x.desc, m_x.desc, axis());
    }
    dnnl::algorithm m_algorithm;
    Value m_given, m_x, m_y;
};

} // namespace

LayerNodePtr makeActivation(PlanBuilder& builder, base::LayerId id)
{
    const model::Layer& layer = builder.layer(id);
    switch (layer.options.activation.kind) {
    case model::ActivationKind::identity: return std::make_shared<IdentityLayer>(id);
    case model::ActivationKind::softmax:
    case model::ActivationKind::logsoftmax: return std::make_shared<SoftmaxLayer>(layer, id);
    default: return std::make_shared<ActivationLayer>(layer, id);
    }
}

} // namespace stepscope::onednn
