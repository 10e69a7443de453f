#include "core/model/costs.h"

#include "core/model/arithmetic.h"

namespace stepscope::model {

namespace {

constexpr int64_t kFloat = 4; // bytes

int64_t times(int64_t a, int64_t b) { return saturatedProduct(a, b); }

bool isSoftmax(const Activation& activation)
{
    return activation.kind == ActivationKind::softmax || activation.kind == ActivationKind::logsoftmax;
}

// FLOP of the forward pass. Multiply-adds of Dense and Conv count 2; the bias starts the sum and an activation inside a
// layer counts nothing. Norms: mean 1, variance 3, scale and shift 2 per value. softmax: shift, exp, sum, divide.
int64_t forwardFlop(const Layer& layer, int64_t in, int64_t out)
{
    switch (layer.kind) {
    case LayerKind::dense:
    case LayerKind::naiveDense: return times(2, times(layer.options.in, layer.options.out));
    case LayerKind::conv:
    case LayerKind::crossCor: {
        const Dims pixels(layer.output.begin() + 1, layer.output.end());
        return times(2, times(product(layer.parameters[0].dims), product(pixels)));
    }
    case LayerKind::maxPool:
    case LayerKind::meanPool: return times(product(layer.options.kernel), out);
    case LayerKind::globalMaxPool:
    case LayerKind::globalMeanPool:
    case LayerKind::dropout: return in;
    case LayerKind::batchNorm:
    case LayerKind::layerNorm: return times(6, in);
    case LayerKind::activation:
        return layer.options.activation.kind == ActivationKind::identity
            ? 0
            : times(isSoftmax(layer.options.activation) ? 4 : 1, in);
    default: return 0;
    }
}

// Backward: parameters' gradients and, where needed, the input's. The first layer with parameters has none of the
// latter.
int64_t backwardFlop(const Layer& layer, int64_t in, int64_t out, bool inputGradient)
{
    const int64_t forward = forwardFlop(layer, in, out);
    switch (layer.kind) {
    case LayerKind::dense:
    case LayerKind::naiveDense:
    case LayerKind::conv:
    case LayerKind::crossCor: return times(inputGradient ? 2 : 1, forward);
    case LayerKind::batchNorm:
    case LayerKind::layerNorm: // sums of dy and dy x̂: 5 per value; the input's gradient 5 more
        return times((layer.parameters.empty() && !inputGradient ? 0 : 5) + (inputGradient ? 5 : 0), in);
    case LayerKind::maxPool: return inputGradient ? out : 0;
    default: return inputGradient ? forward : 0;
    }
}

} // namespace

void addCost(Cost& to, const Cost& cost)
{
    to.flop = saturatedSum(to.flop, cost.flop);
    to.bytes = saturatedSum(to.bytes, cost.bytes);
}

void setLeafCost(Layer& layer, bool inputGradient)
{
    layer.forward = layer.backward = {};
    const bool view = layer.kind == LayerKind::flatten
        || (layer.kind == LayerKind::activation && layer.options.activation.kind == ActivationKind::identity);
    if (view) return; // no data moves
    const int64_t in = product(layer.input), out = product(layer.output);
    layer.forward = {forwardFlop(layer, in, out), times(kFloat, saturatedSum(in, out))};
    if (layer.parameters.empty() && !inputGradient) return;
    const int64_t values = saturatedSum(saturatedSum(in, out), inputGradient ? in : 0); // reads x and dy, writes dx
    layer.backward = {backwardFlop(layer, in, out, inputGradient), times(kFloat, values)};
}

JoinCost joinCost(Connection connection, const std::vector<Dims>& joined, const Dims& input, const Dims& output,
                  bool inputGradient)
{
    int64_t read = 0;
    for (const Dims& dims : joined)
        read = saturatedSum(read, product(dims));
    const int64_t out = product(output), in = product(input), more = static_cast<int64_t>(joined.size()) - 1;
    JoinCost cost;
    cost.forward = {connection == Connection::concatenate ? 0 : times(more, out),
                    times(kFloat, saturatedSum(read, out))};
    // Backward: a sum passes dy on, a product multiplies it; the branches' gradients for the shared input are added up.
    cost.backward.flop = connection == Connection::multiply ? times(times(more, 2), out) : 0;
    cost.backward.bytes = connection == Connection::add ? 0 : times(kFloat, saturatedSum(read, out));
    if (inputGradient) {
        cost.backward.flop = saturatedSum(cost.backward.flop, times(more, in));
        cost.backward.bytes = saturatedSum(cost.backward.bytes, times(kFloat, times(more + 2, in)));
    }
    return cost;
}

} // namespace stepscope::model
