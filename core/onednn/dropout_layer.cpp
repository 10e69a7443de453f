// Dropout: sets a share p of the values to zero while training and scales the rest by 1 / (1 - p).
//
// The mask is a function of (seed, layer, step, position), so the backward pass computes it again instead of storing it.
#include "core/onednn/layer_node.h"

namespace stepscope::onednn {
namespace {

// SplitMix64's finaliser: every output bit depends on every input bit.
inline uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

class DropoutLayer final : public LayerNode {
public:
    DropoutLayer(const model::Layer& layer, base::LayerId id) : LayerNode(id), m_layer(layer) {}

    Value forward(PlanBuilder& builder, Value x) override
    {
        const int64_t values = static_cast<int64_t>(x.desc.get_size() / sizeof(float));
        Value y = builder.allocateLike(x);
        y.flattened = x.flattened;
        addMask(builder, "forward", x, y, values, Operation::kTraining);
        builder.addFunction({"inference", "copy"}, "stepscope",
                            [in = x.data(), out = y.data(), values](int) { std::copy_n(in, values, out); }, 1, 0, 8 * values,
                            Operation::kInference);
        return y;
    }

    Value backward(PlanBuilder& builder, Value dy, bool wantInput) override
    {
        if (!wantInput) return {};
        // The position is the one in memory, so the gradient must have the layout of the forward pass.
        dy = builder.converted(dy, m_desc, "gradient layout");
        const int64_t values = static_cast<int64_t>(dy.desc.get_size() / sizeof(float));
        Value dx = dy.exclusive ? dy : builder.allocateLike(dy);
        dx.exclusive = true;
        dx.flattened = dy.flattened;
        addMask(builder, "gradient", dy, dx, values, Operation::kBoth);
        return dx;
    }

private:
    void addMask(PlanBuilder& builder, const char* name, const Value& from, const Value& to, int64_t values, Operation::Mode modes)
    {
        m_desc = from.desc;
        const double p = m_layer.options.p;
        const auto scale = static_cast<float>(p < 1 ? 1 / (1 - p) : 0);
        const auto limit = static_cast<uint32_t>(std::min(p * 4294967296.0, 4294967295.0)); // dropped below it
        const bool all = p >= 1;
        const uint64_t seed = mix(builder.context().options.seed + 0x9e3779b97f4a7c15ull * (id().value + 1));
        const uint64_t* step = &builder.plan().step;
        builder.addFunction({name, "dropout"}, "stepscope",
                            [=, in = from.data(), out = to.data()](int threads) {
                                const uint64_t base = mix(seed ^ mix(*step));
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
                                for (int64_t i = 0; i < values; ++i) {
                                    const auto random = static_cast<uint32_t>(mix(base + static_cast<uint64_t>(i)) >> 32);
                                    out[i] = all || random < limit ? 0.0f : in[i] * scale;
                                }
                            },
                            builder.threadsFor(values), values, 8 * values, modes);
    }

    const model::Layer& m_layer;
    compat::Desc m_desc;
};

} // namespace

LayerNodePtr makeDropout(PlanBuilder& builder, base::LayerId id) { return std::make_shared<DropoutLayer>(builder.layer(id), id); }

} // namespace stepscope::onednn
