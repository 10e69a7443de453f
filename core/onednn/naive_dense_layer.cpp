// NaiveDense: the same function as Dense, written as the plain triple loop of a first attempt. It exists to be compared with
// the library's layer, so it stays slow on purpose: one thread, no blocking, weights read across the rows, a fresh row of
// memory for every sample, a fresh pass for the bias and for the activation.
#include "core/onednn/eltwise.h"
#include "core/onednn/layer_node.h"

#include <algorithm>
#include <vector>

namespace stepscope::onednn {
namespace {

struct Sizes {
    int64_t batch = 0, in = 0, out = 0;
};

// y[n, o] = Σ_i W[i, o] x[n, i] + b[o]; W in Flux's memory order.
__attribute__((noinline)) void naiveForward(const float* x, const float* weights, const float* bias, float* y, Sizes s)
{
    for (int64_t n = 0; n < s.batch; ++n) {
        std::vector<float> row(static_cast<size_t>(s.out));
        for (int64_t o = 0; o < s.out; ++o) {
            float sum = 0;
            for (int64_t i = 0; i < s.in; ++i) sum += weights[i * s.out + o] * x[n * s.in + i];
            row[static_cast<size_t>(o)] = sum;
        }
        std::copy(row.begin(), row.end(), y + n * s.out);
    }
    if (bias == nullptr) return;
    for (int64_t n = 0; n < s.batch; ++n)
        for (int64_t o = 0; o < s.out; ++o) y[n * s.out + o] += bias[o];
}

__attribute__((noinline)) void naiveWeightsGradient(const float* x, const float* dy, float* dWeights, float* dBias, Sizes s)
{
    for (int64_t o = 0; o < s.out; ++o) {
        for (int64_t i = 0; i < s.in; ++i) {
            float sum = 0;
            for (int64_t n = 0; n < s.batch; ++n) sum += dy[n * s.out + o] * x[n * s.in + i];
            dWeights[i * s.out + o] = sum;
        }
    }
    if (dBias == nullptr) return;
    for (int64_t o = 0; o < s.out; ++o) {
        dBias[o] = 0;
        for (int64_t n = 0; n < s.batch; ++n) dBias[o] += dy[n * s.out + o];
    }
}

__attribute__((noinline)) void naiveInputGradient(const float* weights, const float* dy, float* dx, Sizes s)
{
    for (int64_t n = 0; n < s.batch; ++n) {
        std::vector<float> row(static_cast<size_t>(s.in));
        for (int64_t i = 0; i < s.in; ++i) {
            float sum = 0;
            for (int64_t o = 0; o < s.out; ++o) sum += weights[i * s.out + o] * dy[n * s.out + o];
            row[static_cast<size_t>(i)] = sum;
        }
        std::copy(row.begin(), row.end(), dx + n * s.in);
    }
}

class NaiveDenseLayer final : public LayerNode {
public:
    NaiveDenseLayer(const model::Layer& layer, base::LayerId id) : LayerNode(id), m_layer(layer)
    {
        if (layer.options.activation.kind != model::ActivationKind::identity)
            m_activation = std::make_unique<Eltwise>(layer.options.activation);
    }

    Value forward(PlanBuilder& builder, Value x) override
    {
        m_given = x;
        m_x = builder.plainMatrix(x, "flatten");
        m_sizes = {m_x.batch(), m_layer.options.in, m_layer.options.out};
        declareParameters(builder);
        m_y = builder.allocate(plainDesc({m_sizes.batch, m_sizes.out}));
        builder.addFunction({"forward", "naive loop"}, "triple loop",
                            [this, x_ = m_x.data(), y = m_y.data()](int) {
                                naiveForward(x_, data(m_weights->value), m_bias != nullptr ? data(m_bias->value) : nullptr, y, m_sizes);
                            },
                            1, flop(), bytes(), Operation::kBoth, session::kNaive);
        return m_activation ? m_activation->forward(builder, m_y) : m_y;
    }

    Value backward(PlanBuilder& builder, Value dy, bool wantInput) override
    {
        if (m_activation) dy = m_activation->backward(builder, dy);
        dy = builder.converted(dy, m_y.desc, "gradient layout");
        builder.addFunction({"weights gradient", "naive loop"}, "triple loop",
                            [this, x = m_x.data(), g = dy.data()](int) {
                                naiveWeightsGradient(x, g, data(m_weights->gradient), m_bias != nullptr ? data(m_bias->gradient) : nullptr,
                                                     m_sizes);
                            },
                            1, flop(), bytes(), Operation::kBoth, session::kNaive);
        if (!wantInput) return {};
        const Value dx = builder.allocate(m_x.desc);
        builder.addFunction({"input gradient", "naive loop"}, "triple loop",
                            [this, g = dy.data(), out = dx.data()](int) { naiveInputGradient(data(m_weights->value), g, out, m_sizes); },
                            1, flop(), bytes(), Operation::kBoth, session::kNaive);
        return builder.restored(dx, m_given, "input gradient layout");
    }

private:
    static float* data(const dnnl::memory& memory) { return static_cast<float*>(memory.get_data_handle()); }
    int64_t flop() const { return 2 * m_sizes.batch * m_sizes.in * m_sizes.out; }
    int64_t bytes() const
    {
        return static_cast<int64_t>(sizeof(float)) * (m_sizes.batch * (m_sizes.in + m_sizes.out) + m_sizes.in * m_sizes.out);
    }

    void declareParameters(PlanBuilder& builder)
    {
        ParameterStore& store = builder.parameters();
        if (store.find(id(), 0) == nullptr) {
            // {out, in} with the outputs fastest is Flux's memory order.
            const compat::Desc desc({m_sizes.out, m_sizes.in}, dnnl::memory::data_type::f32, dnnl::memory::format_tag::ba);
            store.add(id(), 0, desc, FluxOrder::transposed);
            if (m_layer.options.bias) store.add(id(), 1, plainDesc({m_sizes.out}), FluxOrder::same);
        }
        m_weights = store.find(id(), 0);
        m_bias = m_layer.options.bias ? store.find(id(), 1) : nullptr;
    }

    const model::Layer& m_layer;
    std::unique_ptr<Eltwise> m_activation;
    Sizes m_sizes;
    Value m_given, m_x, m_y;
    ParameterSlot* m_weights = nullptr;
    ParameterSlot* m_bias = nullptr;
};

} // namespace

LayerNodePtr makeNaiveDense(PlanBuilder& builder, base::LayerId id)
{
    return std::make_shared<NaiveDenseLayer>(builder.layer(id), id);
}

} // namespace stepscope::onednn
