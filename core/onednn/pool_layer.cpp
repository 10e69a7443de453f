// MaxPool, MeanPool and their global forms. Mean pooling counts the padding, as NNlib does.
#include "core/onednn/layer_node.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace stepscope::onednn {
namespace {

using compat::Desc;
using compat::Dims;

class PoolLayer final : public LayerNode {
public:
    PoolLayer(const model::Layer& layer, base::LayerId id) : LayerNode(id), m_layer(layer) {}

    Value forward(PlanBuilder& builder, Value x) override
    {
        setGeometry(x);
        m_x = x;
        const Desc wanted = outputDesc(builder, x);
        const std::string key = fmt::format("pool {} k{} s{} l{} h{} {} {}", static_cast<int>(m_algorithm), fmt::join(m_kernel, "x"),
                                            fmt::join(m_strides, "x"), fmt::join(m_low, "x"), fmt::join(m_high, "x"), describe(x.desc),
                                            fmt::join(compat::dimsOf(wanted), "x"));
        m_forward = builder.pick(
            key, [&](int skip) -> dnnl::primitive_desc_base { return forwardDesc(builder, wanted, skip); },
            [&](const dnnl::primitive_desc_base& d) -> TimingArguments {
                return {{DNNL_ARG_SRC, m_x.desc}, {DNNL_ARG_DST, d.query_md(dnnl::query::dst_md, 0)},
                        {DNNL_ARG_WORKSPACE, d.query_md(dnnl::query::workspace_md, 0)}, {DNNL_ARG_SCRATCHPAD, d.scratchpad_desc()}};
            });
        m_y = builder.allocate(m_forward.desc.query_md(dnnl::query::dst_md, 0));
        PrimitiveArguments arguments{{DNNL_ARG_SRC, x.memory}, {DNNL_ARG_DST, m_y.memory}};
        if (isMax()) { // where the maxima were
            m_workspace = builder.allocate(m_forward.desc.query_md(dnnl::query::workspace_md, 0));
            arguments.push_back({DNNL_ARG_WORKSPACE, m_workspace.memory});
        }
        builder.add({"forward", "pooling"}, m_forward, std::move(arguments), windowFlop());
        m_inputDesc = m_x.desc;
        m_x = {}; // not needed for the gradient
        return m_y;
    }

    Value backward(PlanBuilder& builder, Value dy, bool wantInput) override
    {
        if (!wantInput) return {};
        dy = builder.converted(dy, m_y.desc, "gradient layout");
        const Desc destination = m_y.desc;
        const std::string key = fmt::format("pool back {} k{} s{} l{} h{} {} {}", static_cast<int>(m_algorithm), fmt::join(m_kernel, "x"),
                                            fmt::join(m_strides, "x"), fmt::join(m_low, "x"), fmt::join(m_high, "x"),
                                            describe(m_inputDesc), describe(destination));
        const Pick pick = builder.pick(
            key,
            [&](int skip) -> dnnl::primitive_desc_base {
                return compat::backward<compat::PoolBackward>(builder.engine(), builder.attributes(), skip, forwardDesc(builder, destination, 0),
                                                              m_algorithm, m_inputDesc, destination, m_strides, m_kernel, m_dilation, m_low,
                                                              m_high);
            },
            [&](const dnnl::primitive_desc_base& d) -> TimingArguments {
                return {{DNNL_ARG_DIFF_DST, destination}, {DNNL_ARG_DIFF_SRC, m_inputDesc},
                        {DNNL_ARG_WORKSPACE, d.query_md(dnnl::query::workspace_md, 0)}, {DNNL_ARG_SCRATCHPAD, d.scratchpad_desc()}};
            });
        Value dx = builder.allocate(m_inputDesc);
        PrimitiveArguments arguments{{DNNL_ARG_DIFF_DST, dy.memory}, {DNNL_ARG_DIFF_SRC, dx.memory}};
        if (isMax()) arguments.push_back({DNNL_ARG_WORKSPACE, m_workspace.memory});
        builder.add({"input gradient", "pooling"}, pick, std::move(arguments), windowFlop());
        return dx;
    }

private:
    bool isMax() const { return m_algorithm == dnnl::algorithm::pooling_max; }

    int64_t windowFlop() const
    {
        return model::product(compat::dimsOf(m_y.desc)) * model::product(m_kernel);
    }

    void setGeometry(const Value& x)
    {
        using model::LayerKind;
        const bool global = m_layer.kind == LayerKind::globalMaxPool || m_layer.kind == LayerKind::globalMeanPool;
        const bool max = m_layer.kind == LayerKind::maxPool || m_layer.kind == LayerKind::globalMaxPool;
        m_algorithm = max ? dnnl::algorithm::pooling_max : dnnl::algorithm::pooling_avg_include_padding;
        const Dims in = x.dims();
        const model::LayerOptions& o = m_layer.options;
        if (global) {
            m_kernel.assign(in.begin() + 2, in.end());
            m_strides = m_kernel;
            m_low.assign(m_kernel.size(), 0);
            m_high = m_low;
        } else {
            m_kernel.assign(o.kernel.begin(), o.kernel.end());
            m_strides.assign(o.stride.begin(), o.stride.end());
            m_low.assign(o.padLow.begin(), o.padLow.end());
            m_high.assign(o.padHigh.begin(), o.padHigh.end());
        }
        m_dilation.assign(m_kernel.size(), 0); // oneDNN counts from 0
        m_output = {in[0]};
        for (int64_t d : m_layer.output) m_output.push_back(d);
        if (m_output.size() != in.size()) m_output.resize(in.size(), 1);
    }

    // The output keeps the input's layout; oneDNN chooses it when left free, for plain input as well.
    Desc outputDesc(PlanBuilder&, const Value&) const { return anyDesc(m_output); }

    compat::PoolForward::primitive_desc forwardDesc(PlanBuilder& builder, const Desc& destination, int skip) const
    {
        return compat::forward<compat::PoolForward>(builder.engine(), builder.attributes(), skip, dnnl::prop_kind::forward_training, m_algorithm,
                                                    m_x ? m_x.desc : m_inputDesc, destination, m_strides, m_kernel, m_dilation, m_low, m_high);
    }

    const model::Layer& m_layer;
    dnnl::algorithm m_algorithm = dnnl::algorithm::pooling_max;
    Dims m_kernel, m_strides, m_low, m_high, m_dilation, m_output;
    Value m_x, m_y, m_workspace;
    Desc m_inputDesc;
    Pick m_forward;
};

} // namespace

LayerNodePtr makePool(PlanBuilder& builder, base::LayerId id) { return std::make_shared<PoolLayer>(builder.layer(id), id); }

} // namespace stepscope::onednn
