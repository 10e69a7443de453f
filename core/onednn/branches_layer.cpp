// SkipConnection(layer, connection) and Parallel(connection, layers...): several results of one input, combined by
// addition, multiplication or concatenation of the channels (of the features for matrices).
#include "core/onednn/eltwise.h"
#include "core/onednn/layer_node.h"

#include <fmt/format.h>

#include <algorithm>

namespace stepscope::onednn {
namespace {

class BranchesLayer final : public LayerNode {
public:
    BranchesLayer(PlanBuilder& builder, base::LayerId id)
        : LayerNode(id), m_layer(builder.layer(id)), m_skip(m_layer.kind == model::LayerKind::skipConnection)
        , m_fuseAllowed(builder.context().options.fuse)
    {
        for (base::LayerId child : m_layer.children) m_children.push_back(makeLayer(builder, child));
    }

    bool fuse(const model::Activation& activation) override
    {
        const auto e = eltwiseAlgorithm(activation);
        const bool combines = m_children.size() + (m_skip ? 1 : 0) >= 2;
        if (!m_fuseAllowed || m_fused || !combines || m_layer.options.connection != model::Connection::add || !e || !e->backwardFromResult)
            return false;
        m_fused = activation;
        return true;
    }

    Value forward(PlanBuilder& builder, Value x) override
    {
        m_given = x;
        m_results.clear();
        for (const LayerNodePtr& child : m_children) {
            builder.openLayer(child->id());
            m_results.push_back(child->forward(builder, x));
            builder.closeLayer();
        }
        if (m_skip) m_results.push_back(x);
        m_originals = m_results;
        align(builder);
        switch (m_layer.options.connection) {
        case model::Connection::add: m_y = combine(builder, dnnl::algorithm::binary_add, m_results, "add"); break;
        case model::Connection::multiply: m_y = combine(builder, dnnl::algorithm::binary_mul, m_results, "multiply"); break;
        case model::Connection::concatenate: m_y = concatenated(builder); break;
        }
        if (m_layer.options.connection == model::Connection::add) m_results.clear(); // not needed for the gradient
        for (Value& original : m_originals) original.block.reset();                 // only the layout is
        return m_y;
    }

    Value backward(PlanBuilder& builder, Value dy, bool wantInput) override
    {
        if (m_fused) dy = fusedBackward(builder, *m_fused, m_y, dy);
        else dy = builder.converted(dy, m_y.desc, "gradient layout");
        Value sum;
        const size_t branches = m_children.size() + (m_skip ? 1 : 0);
        for (size_t i = 0; i < branches; ++i) {
            Value part = branchGradient(builder, dy, i, branches);
            part = builder.restored(part, m_originals[i], "branch gradient layout");
            Value dx = part;
            if (i < m_children.size()) {
                builder.openLayer(m_children[i]->id());
                dx = m_children[i]->backward(builder, part, wantInput);
                builder.closeLayer();
            }
            if (!wantInput || !dx) continue;
            dx = builder.restored(dx, m_given, "branch gradient layout");
            sum = sum ? added(builder, sum, dx) : dx;
        }
        return wantInput ? sum : Value{};
    }

private:
    // Gives all results one layout: the first one's, or plain matrices when one of them is flattened.
    void align(PlanBuilder& builder)
    {
        const bool plain = m_layer.options.connection == model::Connection::concatenate;
        const bool matrices = std::any_of(m_results.begin(), m_results.end(), [](const Value& v) { return v.flattened || v.dims().size() == 2; });
        for (Value& result : m_results) {
            if (matrices) result = builder.plainMatrix(result, "flatten");
            else if (plain) result = builder.converted(result, plainDesc(result.dims()), "to plain");
            else result = builder.converted(result, m_results.front().desc, "branch layout");
        }
    }

    Pick pickBinary(PlanBuilder& builder, dnnl::algorithm algorithm, const compat::Desc& desc, bool fused)
    {
        dnnl::primitive_attr attr = builder.attributes();
        const auto e = fused ? eltwiseAlgorithm(*m_fused) : std::nullopt;
        if (e) {
            dnnl::post_ops ops;
            compat::appendEltwise(ops, e->forward, e->alpha, e->beta);
            attr.set_post_ops(ops);
        }
        return builder.pick(
            fmt::format("binary {} {} f{} {}", static_cast<int>(algorithm), describe(desc), e ? static_cast<int>(e->forward) : 0,
                        e ? e->alpha : 0.0f),
            [&](int skip) -> dnnl::primitive_desc_base {
                return compat::forward<dnnl::binary>(builder.engine(), attr, skip, algorithm, desc, desc, desc);
            },
            [&](const dnnl::primitive_desc_base& d) -> TimingArguments {
                return {{DNNL_ARG_SRC_0, desc}, {DNNL_ARG_SRC_1, desc}, {DNNL_ARG_DST, desc}, {DNNL_ARG_SCRATCHPAD, d.scratchpad_desc()}};
            });
    }

    void addBinary(PlanBuilder& builder, dnnl::algorithm algorithm, const Value& a, const Value& b, const Value& to, bool fused,
                   const std::string& name)
    {
        builder.add({name, "binary"}, pickBinary(builder, algorithm, to.desc, fused),
                    {{DNNL_ARG_SRC_0, a.memory}, {DNNL_ARG_SRC_1, b.memory}, {DNNL_ARG_DST, to.memory}},
                    static_cast<int64_t>(to.desc.get_size() / sizeof(float)));
    }

    Value combine(PlanBuilder& builder, dnnl::algorithm algorithm, const std::vector<Value>& values, const std::string& name)
    {
        if (values.size() == 1) return values.front();
        const Value result = builder.allocateLike(values.front());
        for (size_t i = 1; i < values.size(); ++i) {
            const bool last = i + 1 == values.size();
            const bool fused = last && m_fused.has_value();
            const std::string what = fused ? name + " + " + model::activationName(m_fused->kind) : name;
            addBinary(builder, algorithm, i == 1 ? values[0] : result, values[i], result, fused, what);
        }
        return result;
    }

    Value added(PlanBuilder& builder, const Value& a, const Value& b)
    {
        Value to = a.exclusive ? a : b.exclusive ? b : builder.allocateLike(a);
        to.exclusive = true;
        to.reluApplied = false; // to one part only
        addBinary(builder, dnnl::algorithm::binary_add, a, b, to, false, "add gradients");
        return to;
    }

    // Channels are dimension 1, so per sample the parts lie one behind the other.
    Value concatenated(PlanBuilder& builder)
    {
        compat::Dims dims = m_results.front().dims();
        dims[1] = 0;
        for (const Value& v : m_results) dims[1] += v.dims()[1];
        const Value y = builder.allocate(plainDesc(dims));
        int64_t offset = 0;
        for (const Value& v : m_results) {
            const int64_t part = v.features(), whole = y.features(), batch = v.batch();
            builder.addFunction({"concatenate", "copy"}, "stepscope",
                                [=, in = v.data(), out = y.data() + offset](int) {
                                    for (int64_t n = 0; n < batch; ++n) std::copy_n(in + n * part, part, out + n * whole);
                                },
                                1, 0, 8 * batch * part);
            m_offsets.push_back(offset);
            offset += part;
        }
        return y;
    }

    Value branchGradient(PlanBuilder& builder, const Value& dy, size_t i, size_t branches)
    {
        switch (m_layer.options.connection) {
        case model::Connection::add: {
            Value shared = dy;
            shared.exclusive = dy.exclusive && branches == 1; // every branch reads the same gradient
            return shared;
        }
        case model::Connection::multiply: {
            const Value part = builder.allocateLike(dy);
            bool first = true;
            for (size_t j = 0; j < branches; ++j) {
                if (j == i) continue;
                addBinary(builder, dnnl::algorithm::binary_mul, first ? dy : part, m_results[j], part, false, "multiply gradient");
                first = false;
            }
            return branches == 1 ? dy : part;
        }
        case model::Connection::concatenate: break;
        }
        const Value part = builder.allocate(m_results[i].desc);
        const int64_t size = part.features(), whole = dy.features(), batch = part.batch();
        builder.addFunction({"split gradient", "copy"}, "stepscope",
                            [=, in = dy.data() + m_offsets[i], out = part.data()](int) {
                                for (int64_t n = 0; n < batch; ++n) std::copy_n(in + n * whole, size, out + n * size);
                            },
                            1, 0, 8 * batch * size);
        return part;
    }

    const model::Layer& m_layer;
    bool m_skip;
    bool m_fuseAllowed;
    std::vector<LayerNodePtr> m_children;
    std::optional<model::Activation> m_fused;
    std::vector<Value> m_results, m_originals;
    std::vector<int64_t> m_offsets;
    Value m_given, m_y;
};

} // namespace

LayerNodePtr makeBranches(PlanBuilder& builder, base::LayerId id) { return std::make_shared<BranchesLayer>(builder, id); }

} // namespace stepscope::onednn
