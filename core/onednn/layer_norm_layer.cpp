// LayerNorm over the fastest dimensions of a sample: (x - μ) / √(σ² + ε), then scale, bias and activation.
#include "core/onednn/eltwise.h"
#include "core/onednn/layer_node.h"

#include <fmt/format.h>

namespace stepscope::onednn {
namespace {

using compat::Desc;
using dnnl::normalization_flags;

class LayerNormLayer final : public LayerNode {
public:
    LayerNormLayer(const model::Layer& layer, base::LayerId id) : LayerNode(id), m_layer(layer)
    {
        if (layer.options.activation.kind != model::ActivationKind::identity)
            m_activation = std::make_unique<Eltwise>(layer.options.activation);
    }

    Value forward(PlanBuilder& builder, Value x) override
    {
        m_given = x;
        m_size = model::product(m_layer.options.normShape);
        const int64_t rows = x.batch() * x.features() / m_size;
        // oneDNN normalises over the last dimension; the rows are the samples' slower dimensions.
        m_x = builder.view(builder.converted(x, plainDesc(x.dims()), "to plain"), {rows, m_size});
        declareParameters(builder);
        const Pick pick = pickForward(builder);
        m_y = builder.allocate(m_x.desc);
        m_mean = builder.allocate(pick.desc.query_md(dnnl::query::dst_md, 1));
        m_variance = builder.allocate(pick.desc.query_md(dnnl::query::dst_md, 2));
        PrimitiveArguments a{{DNNL_ARG_SRC, m_x.memory}, {DNNL_ARG_DST, m_y.memory}, {DNNL_ARG_MEAN, m_mean.memory},
                             {DNNL_ARG_VARIANCE, m_variance.memory}};
        if (affine()) {
            a.push_back({DNNL_ARG_SCALE, m_scale->value});
            a.push_back({DNNL_ARG_SHIFT, m_shift->value});
        }
        builder.add({"forward", "layer_normalization"}, pick, std::move(a), 5 * values());
        Value y = m_activation ? m_activation->forward(builder, m_y) : m_y;
        y = builder.view(y, x.dims());
        y.flattened = x.flattened;
        return y;
    }

    Value backward(PlanBuilder& builder, Value dy, bool wantInput) override
    {
        const bool exclusive = dy.exclusive;
        Value g = builder.converted(dy, plainDesc(dy.dims()), "gradient layout");
        g = builder.view(g, m_x.dims());
        g.exclusive = exclusive || g.block != dy.block;
        if (m_activation) g = m_activation->backward(builder, g);
        const Pick pick = pickBackward(builder);
        Value dx = g.exclusive ? g : builder.allocateLike(g);
        dx.exclusive = true;
        PrimitiveArguments a{{DNNL_ARG_SRC, m_x.memory}, {DNNL_ARG_DIFF_DST, g.memory}, {DNNL_ARG_DIFF_SRC, dx.memory},
                             {DNNL_ARG_MEAN, m_mean.memory}, {DNNL_ARG_VARIANCE, m_variance.memory}};
        if (affine()) {
            a.push_back({DNNL_ARG_SCALE, m_scale->value});
            a.push_back({DNNL_ARG_SHIFT, m_shift->value});
            a.push_back({DNNL_ARG_DIFF_SCALE, m_scale->gradient});
            a.push_back({DNNL_ARG_DIFF_SHIFT, m_shift->gradient});
        }
        builder.add({"gradient", "layer_normalization"}, pick, std::move(a), 8 * values());
        if (!wantInput) return {};
        return builder.restored(dx, m_given, "input gradient layout");
    }

private:
    bool affine() const { return m_layer.options.affine; }
    int64_t values() const { return static_cast<int64_t>(m_x.desc.get_size() / sizeof(float)); }
    float eps() const { return static_cast<float>(m_layer.options.eps); }
    Desc vectorDesc() const { return plainDesc({m_size}); }
    normalization_flags flags() const
    {
        return affine() ? normalization_flags::use_scale | normalization_flags::use_shift : normalization_flags::none;
    }

    void declareParameters(PlanBuilder& builder)
    {
        if (!affine()) return;
        ParameterStore& store = builder.parameters();
        if (store.find(id(), 0) == nullptr) {
            store.add(id(), 0, vectorDesc(), FluxOrder::same);
            store.add(id(), 1, vectorDesc(), FluxOrder::same);
        }
        m_scale = store.find(id(), 0); // Flux's order: scale, bias
        m_shift = store.find(id(), 1);
    }

    Pick pickForward(PlanBuilder& builder)
    {
        return builder.pick(
            fmt::format("layer_norm {} a{}", describe(m_x.desc), affine() ? 1 : 0),
            [&](int skip) -> dnnl::primitive_desc_base {
                return compat::layerNormForward(builder.engine(), builder.attributes(), skip, m_x.desc, eps(), flags());
            },
            [&](const dnnl::primitive_desc_base& d) -> TimingArguments {
                TimingArguments a{{DNNL_ARG_SRC, m_x.desc}, {DNNL_ARG_DST, m_x.desc}, {DNNL_ARG_MEAN, d.query_md(dnnl::query::dst_md, 1)},
                                  {DNNL_ARG_VARIANCE, d.query_md(dnnl::query::dst_md, 2)}, {DNNL_ARG_SCRATCHPAD, d.scratchpad_desc()}};
                if (affine()) {
                    a.push_back({DNNL_ARG_SCALE, vectorDesc()});
                    a.push_back({DNNL_ARG_SHIFT, vectorDesc()});
                }
                return a;
            });
    }

    Pick pickBackward(PlanBuilder& builder)
    {
        return builder.pick(
            fmt::format("layer_norm back {} a{}", describe(m_x.desc), affine() ? 1 : 0),
            [&](int skip) -> dnnl::primitive_desc_base {
                const auto hint = compat::layerNormForward(builder.engine(), builder.attributes(), 0, m_x.desc, eps(), flags());
                return compat::layerNormBackward(builder.engine(), builder.attributes(), skip, hint, m_x.desc, m_x.desc, eps(), flags());
            },
            [&](const dnnl::primitive_desc_base& d) -> TimingArguments {
                TimingArguments a{{DNNL_ARG_SRC, m_x.desc}, {DNNL_ARG_DIFF_DST, m_x.desc}, {DNNL_ARG_DIFF_SRC, m_x.desc},
                                  {DNNL_ARG_MEAN, m_mean.desc}, {DNNL_ARG_VARIANCE, m_variance.desc},
                                  {DNNL_ARG_SCRATCHPAD, d.scratchpad_desc()}};
                if (affine())
                    for (int arg : {DNNL_ARG_SCALE, DNNL_ARG_SHIFT, DNNL_ARG_DIFF_SCALE, DNNL_ARG_DIFF_SHIFT}) a.push_back({arg, vectorDesc()});
                return a;
            });
    }

    const model::Layer& m_layer;
    std::unique_ptr<Eltwise> m_activation;
    int64_t m_size = 1;
    Value m_given, m_x, m_y, m_mean, m_variance;
    ParameterSlot* m_scale = nullptr;
    ParameterSlot* m_shift = nullptr;
};

} // namespace

LayerNodePtr makeLayerNorm(PlanBuilder& builder, base::LayerId id) { return std::make_shared<LayerNormLayer>(builder.layer(id), id); }

} // namespace stepscope::onednn
