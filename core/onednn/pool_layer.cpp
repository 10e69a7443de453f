// MaxPool, MeanPool and their global forms. Mean pooling counts the padding, as NNlib does.
#include "core/onednn/layer_node.h"
#include "core/onednn/own_kernels.h"

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
        m_afterRelu = x.fromRelu;
        m_x = x;
        const Desc wanted = anyDesc(m_output); // the library keeps the input's layout
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
        m_inputDesc = m_x.desc;
        if (ownIsFaster(builder)) {
            m_x = {};
            return forwardByOwnKernel(builder, x);
        }
        PrimitiveArguments arguments{{DNNL_ARG_SRC, x.memory}, {DNNL_ARG_DST, m_y.memory}};
        if (isMax()) { // where the maxima were
            m_workspace = builder.allocate(m_forward.desc.query_md(dnnl::query::workspace_md, 0));
            arguments.push_back({DNNL_ARG_WORKSPACE, m_workspace.memory});
        }
        builder.add({"forward", "pooling"}, m_forward, std::move(arguments), windowFlop());
        m_x = {}; // not needed for the gradient
        return m_y;
    }

    Value backward(PlanBuilder& builder, Value dy, bool wantInput) override
    {
        if (!wantInput) return {};
        dy = builder.converted(dy, m_y.desc, "gradient layout");
        if (m_own) return backwardByOwnKernel(builder, dy);
        const Desc destination = m_y.desc;
        const Pick pick = pickBackward(builder, destination);
        Value dx = builder.allocate(m_inputDesc);
        PrimitiveArguments arguments{{DNNL_ARG_DIFF_DST, dy.memory}, {DNNL_ARG_DIFF_SRC, dx.memory}};
        if (isMax()) arguments.push_back({DNNL_ARG_WORKSPACE, m_workspace.memory});
        builder.add({"input gradient", "pooling"}, pick, std::move(arguments), backwardFlop());
        return dx;
    }

private:
    Pick pickBackward(PlanBuilder& builder, const Desc& destination)
    {
        const std::string key = fmt::format("pool back after {} {} k{} s{} l{} h{} {} {}", implementationName(m_forward.desc), static_cast<int>(m_algorithm), fmt::join(m_kernel, "x"),
                                            fmt::join(m_strides, "x"), fmt::join(m_low, "x"), fmt::join(m_high, "x"),
                                            describe(m_inputDesc), describe(destination));
        return builder.pick(
            key,
            [&](int skip) -> dnnl::primitive_desc_base {
                return compat::backward<compat::PoolBackward>(builder.engine(), builder.attributes(), skip, hint(),
                                                              m_algorithm, m_inputDesc, destination, m_strides, m_kernel, m_dilation, m_low,
                                                              m_high);
            },
            [&](const dnnl::primitive_desc_base& d) -> TimingArguments {
                return {{DNNL_ARG_DIFF_DST, destination}, {DNNL_ARG_DIFF_SRC, m_inputDesc},
                        {DNNL_ARG_WORKSPACE, d.query_md(dnnl::query::workspace_md, 0)}, {DNNL_ARG_SCRATCHPAD, d.scratchpad_desc()}};
            });
    }

    // Compares forward and backward together: the library's backward needs the library's forward.
    bool ownIsFaster(PlanBuilder& builder)
    {
        const auto in = laneLayout(m_inputDesc), out = laneLayout(m_y.desc);
        if (!isMax() || !builder.context().options.tune || !in || !out || in->lanes != out->lanes || in->outer != out->outer) return false;
        const MaxPoolShape shape{in->outer, in->lanes, in->height, in->width, out->height, out->width, m_kernel[0], m_kernel[1],
                                 m_strides[0], m_strides[1], m_low[0], m_low[1]};
        const Value winner = builder.allocate(m_y.desc);
        auto* won = reinterpret_cast<int32_t*>(winner.data());
        const std::string key = fmt::format("max pool own {} k{} s{} l{} {}", describe(m_inputDesc), fmt::join(m_kernel, "x"),
                                            fmt::join(m_strides, "x"), fmt::join(m_low, "x"), fmt::join(m_output, "x"));
        const Value dx = builder.allocate(m_inputDesc); // only timed on; returns to the pool
        maxPoolForward(shape, m_x.data(), m_y.data(), won, 1); // so that the backward timing finds winners
        const auto forward = builder.pickOwn(key + " forward", [&](int t) { maxPoolForward(shape, m_x.data(), m_y.data(), won, t); });
        const auto backward = builder.pickOwn(key + " backward", [&](int t) { maxPoolBackward(shape, m_y.data(), won, nullptr, dx.data(), t); });
        if (forward.time + backward.time >= m_forward.time + pickBackward(builder, m_y.desc).time) return false;
        m_own = Own{shape, winner, forward.threads, backward.threads};
        return true;
    }

    Value forwardByOwnKernel(PlanBuilder& builder, const Value& x)
    {
        builder.addFunction({"forward", "pooling"}, kOwnName,
                            [shape = m_own->shape, in = x.data(), out = m_y.data(), won = reinterpret_cast<int32_t*>(m_own->winner.data())](int t) {
                                maxPoolForward(shape, in, out, won, t);
                            },
                            m_own->forwardThreads, windowFlop(), static_cast<int64_t>(m_inputDesc.get_size() + 2 * m_y.desc.get_size()));
        return m_y;
    }

    Value backwardByOwnKernel(PlanBuilder& builder, const Value& dy)
    {
        Value dx = builder.allocate(m_inputDesc);
        dx.reluApplied = m_afterRelu;
        builder.addFunction({m_afterRelu ? "input gradient + relu gradient" : "input gradient", "pooling"}, kOwnName,
                            [shape = m_own->shape, in = dy.data(), y = m_afterRelu ? m_y.data() : nullptr, out = dx.data(), won = reinterpret_cast<int32_t*>(m_own->winner.data())](int t) {
                                maxPoolBackward(shape, in, won, y, out, t);
                            },
                            m_own->backwardThreads, backwardFlop(), static_cast<int64_t>(m_inputDesc.get_size() + 2 * m_y.desc.get_size()));
        return dx;
    }

    static constexpr const char* kOwnName = "stepscope:lanes";
    struct Own {
        MaxPoolShape shape;
        Value winner;
        int forwardThreads = 1, backwardThreads = 1;
    };

    bool isMax() const { return m_algorithm == dnnl::algorithm::pooling_max; }

    int64_t windowFlop() const
    {
        return model::product(compat::dimsOf(m_y.desc)) * model::product(m_kernel);
    }

    // As the cost model of the layers counts: a maximum hands one value on, a mean spreads it over the window.
    int64_t backwardFlop() const { return isMax() ? model::product(compat::dimsOf(m_y.desc)) : windowFlop(); }

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

    // The forward implementation that ran, whose workspace the gradient reads.
    compat::PoolForward::primitive_desc hint() const { return compat::PoolForward::primitive_desc(m_forward.desc.get()); }

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
    std::optional<Own> m_own;
    bool m_afterRelu = false;
};

} // namespace

LayerNodePtr makePool(PlanBuilder& builder, base::LayerId id) { return std::make_shared<PoolLayer>(builder.layer(id), id); }

} // namespace stepscope::onednn
