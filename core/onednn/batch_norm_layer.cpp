// BatchNorm over the channels: batch statistics while training, running statistics in inference.
//
// oneDNN gives the batch mean and the biased variance; the running averages are ours, with Flux's unbiased variance.
#include "core/onednn/eltwise.h"
#include "core/onednn/layer_node.h"

#include <fmt/format.h>

namespace stepscope::onednn {
namespace {

using compat::Desc;
using dnnl::normalization_flags;

class BatchNormLayer final : public LayerNode {
public:
    BatchNormLayer(PlanBuilder& builder, base::LayerId id)
        : LayerNode(id), m_layer(builder.layer(id)), m_fuseAllowed(builder.context().options.fuse)
    {
        setActivation(m_layer.options.activation);
    }

    bool fuse(const model::Activation& activation) override
    {
        if (!m_fuseAllowed || m_relu || m_separate) return false; // it has one already
        if (activation.kind != model::ActivationKind::relu) return false;
        setActivation(activation);
        return true;
    }

    Value forward(PlanBuilder& builder, Value x) override
    {
        const model::LayerOptions& o = m_layer.options;
        m_given = x;
        // Behind a flatten the model's channels are the flattened features.
        m_x = x.flattened ? builder.plainMatrix(x, "flatten") : x;
        m_channels = m_x.dims()[1];
        declareParameters(builder);
        m_y = builder.allocate(m_x.desc);
        m_mean = builder.allocate(channelDesc());
        m_variance = builder.allocate(channelDesc());
        addTrainingForward(builder);
        addRunningUpdate(builder);
        if (o.trackStats) addInferenceForward(builder);
        return m_separate ? m_separate->forward(builder, m_y) : m_y;
    }

    Value backward(PlanBuilder& builder, Value dy, bool wantInput) override
    {
        if (m_separate) dy = m_separate->backward(builder, dy);
        dy = builder.converted(dy, m_x.desc, "gradient layout");
        const Desc data = m_x.desc;
        const Pick pick = builder.pick(
            fmt::format("batch_norm back {} r{} a{} after {}", describe(data), m_relu ? 1 : 0, m_layer.options.affine ? 1 : 0,
                        implementationName(m_forward.desc)),
            [&](int skip) -> dnnl::primitive_desc_base {
                // The implementation that ran: the fused relu's workspace differs between them.
                const dnnl::batch_normalization_forward::primitive_desc hint(m_forward.desc.get());
                return compat::batchNormBackward(builder.engine(), builder.attributes(), skip, hint, data, data, eps(), flags());
            },
            [&](const dnnl::primitive_desc_base& d) -> TimingArguments {
                TimingArguments a{{DNNL_ARG_SRC, data}, {DNNL_ARG_DIFF_DST, data}, {DNNL_ARG_DIFF_SRC, data}, {DNNL_ARG_MEAN, channelDesc()},
                                  {DNNL_ARG_VARIANCE, channelDesc()}, {DNNL_ARG_SCRATCHPAD, d.scratchpad_desc()}};
                if (m_layer.options.affine) {
                    for (int id : {DNNL_ARG_SCALE, DNNL_ARG_DIFF_SCALE, DNNL_ARG_DIFF_SHIFT}) a.push_back({id, channelDesc()});
                    if (compat::kBatchNormBackwardTakesShift) a.push_back({DNNL_ARG_SHIFT, channelDesc()});
                }
                if (m_relu) a.push_back({DNNL_ARG_WORKSPACE, d.query_md(dnnl::query::workspace_md, 0)});
                return a;
            });
        Value dx = dy.exclusive ? dy : builder.allocateLike(dy); // the primitive may work in place
        dx.exclusive = true;
        PrimitiveArguments a{{DNNL_ARG_SRC, m_x.memory}, {DNNL_ARG_DIFF_DST, dy.memory}, {DNNL_ARG_DIFF_SRC, dx.memory},
                             {DNNL_ARG_MEAN, m_mean.memory}, {DNNL_ARG_VARIANCE, m_variance.memory}};
        if (m_layer.options.affine) {
            a.push_back({DNNL_ARG_SCALE, m_gamma->value});
            a.push_back({DNNL_ARG_DIFF_SCALE, m_gamma->gradient});
            a.push_back({DNNL_ARG_DIFF_SHIFT, m_beta->gradient});
            if (compat::kBatchNormBackwardTakesShift) a.push_back({DNNL_ARG_SHIFT, m_beta->value});
        }
        if (m_relu) a.push_back({DNNL_ARG_WORKSPACE, m_workspace.memory});
        builder.add({"gradient", "batch_normalization"}, pick, std::move(a), 8 * values());
        if (!wantInput) return {};
        return builder.restored(dx, m_given, "input gradient layout");
    }

private:
    static constexpr dnnl::prop_kind training() { return dnnl::prop_kind::forward_training; }
    float eps() const { return static_cast<float>(m_layer.options.eps); }
    Desc channelDesc() const { return plainDesc({m_channels}); }
    int64_t values() const { return static_cast<int64_t>(m_x.desc.get_size() / sizeof(float)); }

    void setActivation(const model::Activation& activation)
    {
        m_relu = m_fuseAllowed && activation.kind == model::ActivationKind::relu;
        m_separate.reset();
        if (!m_relu && activation.kind != model::ActivationKind::identity) m_separate = std::make_unique<Eltwise>(activation);
    }

    normalization_flags flags(bool inference = false) const
    {
        auto f = normalization_flags::none;
        if (m_layer.options.affine) f = f | normalization_flags::use_scale | normalization_flags::use_shift;
        if (m_relu) f = f | normalization_flags::fuse_norm_relu;
        if (inference) f = f | normalization_flags::use_global_stats;
        return f;
    }

    dnnl::batch_normalization_forward::primitive_desc forwardDesc(PlanBuilder& builder, dnnl::prop_kind kind, normalization_flags f,
                                                                    int skip) const
    {
        return compat::batchNormForward(builder.engine(), builder.attributes(), skip, kind, m_x.desc, eps(), f);
    }

    void declareParameters(PlanBuilder& builder)
    {
        const model::LayerOptions& o = m_layer.options;
        ParameterStore& store = builder.parameters();
        if (o.affine) {
            if (store.find(id(), 0) == nullptr) {
                store.add(id(), 0, channelDesc(), FluxOrder::same);
                store.add(id(), 1, channelDesc(), FluxOrder::same);
            }
            m_beta = store.find(id(), 0); // Flux's order: β, γ
            m_gamma = store.find(id(), 1);
        }
        if (o.trackStats) {
            m_runningMean = &store.state(id(), 2, m_channels, 0.0f);
            m_runningVariance = &store.state(id(), 3, m_channels, 1.0f);
        }
    }

    Pick pickForward(PlanBuilder& builder, dnnl::prop_kind kind, normalization_flags f, const char* name)
    {
        return builder.pick(
            fmt::format("batch_norm {} {} r{} a{}", name, describe(m_x.desc), m_relu ? 1 : 0, m_layer.options.affine ? 1 : 0),
            [&](int skip) -> dnnl::primitive_desc_base {
                return forwardDesc(builder, kind, f, skip);
            },
            [&](const dnnl::primitive_desc_base& d) -> TimingArguments {
                TimingArguments a{{DNNL_ARG_SRC, m_x.desc}, {DNNL_ARG_DST, m_x.desc}, {DNNL_ARG_MEAN, channelDesc()},
                                  {DNNL_ARG_VARIANCE, channelDesc()}, {DNNL_ARG_SCRATCHPAD, d.scratchpad_desc()}};
                if (m_layer.options.affine) {
                    a.push_back({DNNL_ARG_SCALE, channelDesc()});
                    a.push_back({DNNL_ARG_SHIFT, channelDesc()});
                }
                const Desc workspace = d.query_md(dnnl::query::workspace_md, 0);
                if (workspace.get_size() > 0) a.push_back({DNNL_ARG_WORKSPACE, workspace});
                return a;
            });
    }

    PrimitiveArguments forwardArguments(const dnnl::memory& mean, const dnnl::memory& variance) const
    {
        PrimitiveArguments a{{DNNL_ARG_SRC, m_x.memory}, {DNNL_ARG_DST, m_y.memory}, {DNNL_ARG_MEAN, mean}, {DNNL_ARG_VARIANCE, variance}};
        if (m_layer.options.affine) {
            a.push_back({DNNL_ARG_SCALE, m_gamma->value});
            a.push_back({DNNL_ARG_SHIFT, m_beta->value});
        }
        return a;
    }

    void addTrainingForward(PlanBuilder& builder)
    {
        m_forward = pickForward(builder, training(), flags(), "train");
        const Pick& pick = m_forward;
        PrimitiveArguments a = forwardArguments(m_mean.memory, m_variance.memory);
        if (m_relu) {
            m_workspace = builder.allocate(pick.desc.query_md(dnnl::query::workspace_md, 0));
            a.push_back({DNNL_ARG_WORKSPACE, m_workspace.memory});
        }
        // Without running statistics Flux normalises by the batch in inference, too.
        const auto modes = m_layer.options.trackStats ? Operation::kTraining : Operation::kBoth;
        builder.add({m_relu ? "forward + relu" : "forward", "batch_normalization"}, pick, std::move(a), 5 * values(), modes);
    }

    void addInferenceForward(PlanBuilder& builder)
    {
        const Pick pick = pickForward(builder, dnnl::prop_kind::forward_inference, flags(true), "infer");
        const dnnl::memory mean(channelDesc(), builder.engine(), m_runningMean->values.data());
        const dnnl::memory variance(channelDesc(), builder.engine(), m_runningVariance->values.data());
        builder.add({"inference", "batch_normalization"}, pick, forwardArguments(mean, variance), 2 * values(), Operation::kInference);
    }

    // μ ← (1 - m) μ + m mean; σ² ← (1 - m) σ² + m variance n / (n - 1). Source: Flux src/layers/normalise.jl.
    void addRunningUpdate(PlanBuilder& builder)
    {
        if (!m_layer.options.trackStats) return;
        const auto momentum = static_cast<float>(m_layer.options.momentum);
        const int64_t n = model::product(model::Dims(m_x.dims())) / m_channels;
        const float unbiased = n > 1 ? static_cast<float>(n) / static_cast<float>(n - 1) : 1.0f;
        builder.addFunction({"running statistics", "statistics"}, "stepscope",
                            [=, mean = m_mean.data(), variance = m_variance.data(), runningMean = m_runningMean->values.data(),
                             runningVariance = m_runningVariance->values.data(), channels = m_channels](int) {
                                for (int64_t c = 0; c < channels; ++c) {
                                    runningMean[c] = (1 - momentum) * runningMean[c] + momentum * mean[c];
                                    runningVariance[c] = (1 - momentum) * runningVariance[c] + momentum * unbiased * variance[c];
                                }
                            },
                            1, 6 * m_channels, 24 * m_channels, Operation::kTraining);
    }

    const model::Layer& m_layer;
    bool m_fuseAllowed;
    bool m_relu = false;
    std::unique_ptr<Eltwise> m_separate;
    int64_t m_channels = 0;
    Pick m_forward;
    Value m_given, m_x, m_y, m_mean, m_variance, m_workspace;
    ParameterSlot* m_beta = nullptr;
    ParameterSlot* m_gamma = nullptr;
    StateSlot* m_runningMean = nullptr;
    StateSlot* m_runningVariance = nullptr;
};

} // namespace

LayerNodePtr makeBatchNorm(PlanBuilder& builder, base::LayerId id) { return std::make_shared<BatchNormLayer>(builder, id); }

} // namespace stepscope::onednn
