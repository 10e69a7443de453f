#include "tests/support/reference_network.h"

#include <algorithm>
#include <random>

namespace stepscope::testing {

namespace {

using model::ActivationKind;
using model::Connection;
using model::Layer;
using model::LayerKind;

constexpr int kRunningMean = 2, kRunningVariance = 3;

Tensor applyActivation(const model::Activation& function, const Tensor& z)
{
    Tensor y = z;
    if (function.kind == ActivationKind::softmax) y.values = softmax(z.values, z.shape.back());
    else if (function.kind == ActivationKind::logsoftmax) y.values = logsoftmax(z.values, z.shape.back());
    else
        for (double& v : y.values)
            v = activate(function, v);
    return y;
}

Tensor activationGradient(const model::Activation& function, const Tensor& z, const Tensor& y, const Tensor& dy)
{
    Tensor dz = dy;
    if (function.kind == ActivationKind::softmax) dz.values = softmaxGradient(y.values, dy.values, y.shape.back());
    else if (function.kind == ActivationKind::logsoftmax)
        dz.values = logsoftmaxGradient(y.values, dy.values, y.shape.back());
    else
        for (size_t i = 0; i < dz.values.size(); ++i)
            dz.values[i] *= derivative(function, z.values[i]);
    return dz;
}

// A pool over everything, as a window of the input's size.
model::LayerOptions globalWindow(const Tensor& x)
{
    model::LayerOptions options;
    options.kernel = Dims(x.shape.begin() + 1, x.shape.end());
    return options;
}

Tensor combine(Connection connection, const std::vector<Tensor>& branches)
{
    Tensor y = branches.front();
    if (connection == Connection::concatenate) {
        y.shape[0] = 0;
        y.values.clear();
        for (const Tensor& b : branches)
            y.shape[0] += b.shape[0];
        for (int64_t n = 0; n < y.count; ++n)
            for (const Tensor& b : branches)
                y.values.insert(y.values.end(), b.values.begin() + n * b.sampleSize(),
                                b.values.begin() + (n + 1) * b.sampleSize());
        return y;
    }
    for (size_t b = 1; b < branches.size(); ++b)
        for (size_t i = 0; i < y.values.size(); ++i) {
            if (connection == Connection::add) y.values[i] += branches[b].values[i];
            else y.values[i] *= branches[b].values[i];
        }
    return y;
}

// Gradient for branch `which` of combine().
Tensor splitGradient(Connection connection, const std::vector<Tensor>& branches, size_t which, const Tensor& dy)
{
    Tensor d = branches[which];
    if (connection == Connection::concatenate) {
        int64_t before = 0;
        for (size_t b = 0; b < which; ++b)
            before += branches[b].sampleSize();
        for (int64_t n = 0; n < dy.count; ++n)
            for (int64_t i = 0; i < d.sampleSize(); ++i)
                d.values[n * d.sampleSize() + i] = dy.values[n * dy.sampleSize() + before + i];
        return d;
    }
    d.values = dy.values;
    if (connection == Connection::multiply)
        for (size_t b = 0; b < branches.size(); ++b)
            for (size_t i = 0; b != which && i < d.values.size(); ++i)
                d.values[i] *= branches[b].values[i];
    return d;
}

void addInto(Tensor& sum, const Tensor& more)
{
    for (size_t i = 0; i < sum.values.size(); ++i)
        sum.values[i] += more.values[i];
}

} // namespace

ReferenceNetwork::ReferenceNetwork(const model::ModelFile& file)
    : ReferenceNetwork(file.model, file.loss, file.optimiser)
{
}

ReferenceNetwork::ReferenceNetwork(const model::Model& model, model::LossSpec loss, model::OptimiserSpec optimiser)
    : m_model(model),
      m_loss(loss),
      m_optimiser(std::move(optimiser))
{
    for (uint32_t i = 0; i < m_model.layers.size(); ++i)
        initialise(m_model.layers[i], m_nodes[i]);
}

void ReferenceNetwork::initialise(const Layer& layer, Node& node)
{
    const auto& o = layer.options;
    switch (layer.kind) {
    case LayerKind::dense:
    case LayerKind::naiveDense: node.parameters[0] = Values(o.in * o.out, 0.0); break;
    case LayerKind::conv:
    case LayerKind::crossCor: node.parameters[0] = Values(o.out * o.in / o.groups * sizeOf(o.kernel), 0.0); break;
    case LayerKind::batchNorm:
        if (o.affine) node.parameters = {{0, Values(o.in, 0.0)}, {1, Values(o.in, 1.0)}};
        if (o.trackStats) {
            node.parameters[kRunningMean] = Values(o.in, 0.0);
            node.parameters[kRunningVariance] = Values(o.in, 1.0);
        }
        return;
    case LayerKind::layerNorm:
        if (o.affine) node.parameters = {{0, Values(sizeOf(o.normShape), 1.0)}, {1, Values(sizeOf(o.normShape), 0.0)}};
        return;
    default: return;
    }
    if (o.bias) node.parameters[1] = Values(o.out, 0.0);
}

std::vector<int> ReferenceNetwork::parameterIndices(base::LayerId layer) const
{
    std::vector<int> indices;
    for (const auto& [index, values] : m_nodes.at(layer.value).parameters)
        indices.push_back(index);
    return indices;
}

int ReferenceNetwork::trainedParameters(base::LayerId layer) const
{
    int trained = 0;
    for (int index : parameterIndices(layer))
        trained += index < kRunningMean ? 1 : 0;
    return trained;
}

void ReferenceNetwork::randomise(uint32_t seed, double amplitude)
{
    std::mt19937 random(seed);
    std::uniform_real_distribution<double> uniform(-amplitude, amplitude);
    for (auto& [id, node] : m_nodes) {
        const LayerKind kind = m_model.layers[id].kind;
        for (auto& [index, values] : node.parameters) {
            const bool scale = (kind == LayerKind::batchNorm && (index == 1 || index == kRunningVariance))
                || (kind == LayerKind::layerNorm && index == 0);
            for (double& v : values)
                v = static_cast<float>((scale ? 1 : 0) + uniform(random));
        }
    }
}

const Tensor& ReferenceNetwork::forward(const Tensor& x, bool training)
{
    m_output = forwardLayer(base::LayerId(0u), x, training);
    return m_output;
}

Tensor ReferenceNetwork::forwardLayer(base::LayerId id, const Tensor& x, bool training)
{
    const Layer& layer = m_model.at(id);
    Node& node = m_nodes.at(id.value);
    node.x = x;
    switch (layer.kind) {
    case LayerKind::chain:
        node.y = x;
        for (base::LayerId child : layer.children)
            node.y = forwardLayer(child, node.y, training);
        break;
    case LayerKind::dense:
    case LayerKind::naiveDense:
    case LayerKind::conv:
    case LayerKind::crossCor: node.y = forwardWeighted(layer, node, x); break;
    case LayerKind::maxPool: node.y = maxPoolForward(layer.options, x); break;
    case LayerKind::meanPool: node.y = meanPoolForward(layer.options, x); break;
    case LayerKind::globalMaxPool: node.y = maxPoolForward(globalWindow(x), x); break;
    case LayerKind::globalMeanPool: node.y = meanPoolForward(globalWindow(x), x); break;
    case LayerKind::batchNorm:
    case LayerKind::layerNorm: node.y = forwardNorm(layer, node, x, training); break;
    case LayerKind::dropout:
        node.y = x;
        node.active = training && !node.mask.empty();
        for (size_t i = 0; node.active && i < x.values.size(); ++i)
            node.y.values[i] *= node.mask[i] / (1 - layer.options.p);
        break;
    case LayerKind::flatten: node.y = Tensor({x.sampleSize()}, x.count, x.values); break;
    case LayerKind::activation: node.y = applyActivation(layer.options.activation, x); break;
    case LayerKind::skipConnection:
    case LayerKind::parallel: node.y = forwardBranches(layer, node, x, training); break;
    }
    return node.y;
}

Tensor ReferenceNetwork::forwardWeighted(const Layer& layer, Node& node, const Tensor& x)
{
    const Values& weight = node.parameters.at(0);
    const Values bias = layer.options.bias ? node.parameters.at(1) : Values{};
    const bool dense = layer.kind == LayerKind::dense || layer.kind == LayerKind::naiveDense;
    node.z = dense ? denseForward(layer.options, x, weight, bias)
                   : convForward(layer.options, layer.kind == LayerKind::conv, x, weight, bias);
    return applyActivation(layer.options.activation, node.z);
}

// Which entry of the scale belongs to value i.
int64_t ReferenceNetwork::affineIndex(const Layer& layer, const Tensor& x, int64_t i) const
{
    if (layer.kind == LayerKind::batchNorm) return Grouping::perChannel(x).group(i);
    return i % sizeOf(layer.options.normShape);
}

Tensor ReferenceNetwork::forwardNorm(const Layer& layer, Node& node, const Tensor& x, bool training)
{
    const auto& o = layer.options;
    const bool batch = layer.kind == LayerKind::batchNorm;
    const Grouping grouping = batch ? Grouping::perChannel(x) : Grouping::perRun(x, sizeOf(o.normShape));
    node.active = !batch || training || !o.trackStats;
    node.moments = node.active ? grouping.moments(x.values)
                               : Moments{node.parameters[kRunningMean], node.parameters[kRunningVariance]};
    node.xhat = normalise(grouping, node.moments, o.eps, x.values);
    if (batch && training && o.trackStats) {
        const double n = double(grouping.groupSize());
        for (int64_t c = 0; c < grouping.groups(); ++c) {
            double& mean = node.parameters[kRunningMean][c];
            double& variance = node.parameters[kRunningVariance][c];
            mean = (1 - o.momentum) * mean + o.momentum * node.moments.mean[c];
            variance = (1 - o.momentum) * variance + o.momentum * node.moments.variance[c] * n / (n - 1);
        }
    }
    node.z = Tensor(x.shape, x.count, node.xhat);
    if (o.affine) {
        const Values& scale = node.parameters.at(batch ? 1 : 0);
        const Values& shift = node.parameters.at(batch ? 0 : 1);
        for (size_t i = 0; i < node.xhat.size(); ++i) {
            const int64_t a = affineIndex(layer, x, i);
            node.z.values[i] = scale[a] * node.xhat[i] + shift[a];
        }
    }
    return applyActivation(o.activation, node.z);
}

Tensor ReferenceNetwork::forwardBranches(const Layer& layer, Node& node, const Tensor& x, bool training)
{
    node.branches.clear();
    for (base::LayerId child : layer.children)
        node.branches.push_back(forwardLayer(child, x, training));
    if (layer.kind == LayerKind::skipConnection) node.branches.push_back(x);
    return combine(layer.options.connection, node.branches);
}

double ReferenceNetwork::loss(const Values& targets)
{
    return referenceLoss(m_loss, m_output.values, targets, m_output.count, &m_lossGradient);
}

double ReferenceNetwork::lossOfLabels(const std::vector<int32_t>& labels)
{
    return loss(oneHot(labels, m_output.sampleSize()));
}

int64_t ReferenceNetwork::correct(const std::vector<int32_t>& labels) const
{
    int64_t right = 0;
    for (size_t n = 0; n < labels.size(); ++n) {
        const auto row = m_output.values.begin() + static_cast<std::ptrdiff_t>(n * m_output.sampleSize());
        right += std::max_element(row, row + m_output.sampleSize()) - row == labels[n] ? 1 : 0;
    }
    return right;
}

void ReferenceNetwork::backward(const Values& dy)
{
    m_inputGradient = backwardLayer(base::LayerId(0u), Tensor(m_output.shape, m_output.count, dy));
}

Tensor ReferenceNetwork::backwardLayer(base::LayerId id, const Tensor& dy)
{
    const Layer& layer = m_model.at(id);
    Node& node = m_nodes.at(id.value);
    switch (layer.kind) {
    case LayerKind::chain: {
        Tensor d = dy;
        for (auto child = layer.children.rbegin(); child != layer.children.rend(); ++child)
            d = backwardLayer(*child, d);
        return d;
    }
    case LayerKind::dense:
    case LayerKind::naiveDense: {
        const Tensor dz = activationGradient(layer.options.activation, node.z, node.y, dy);
        DenseGradients g = denseBackward(layer.options, node.x, node.parameters.at(0), dz);
        node.gradients[0] = g.dw;
        if (layer.options.bias) node.gradients[1] = g.db;
        return g.dx;
    }
    case LayerKind::conv:
    case LayerKind::crossCor: {
        const Tensor dz = activationGradient(layer.options.activation, node.z, node.y, dy);
        ConvGradients g = convBackward(layer.options, layer.kind == LayerKind::conv, node.x, node.parameters.at(0), dz);
        node.gradients[0] = g.dw;
        if (layer.options.bias) node.gradients[1] = g.db;
        return g.dx;
    }
    case LayerKind::maxPool: return maxPoolBackward(layer.options, node.x, dy);
    case LayerKind::meanPool: return meanPoolBackward(layer.options, node.x, dy);
    case LayerKind::globalMaxPool: return maxPoolBackward(globalWindow(node.x), node.x, dy);
    case LayerKind::globalMeanPool: return meanPoolBackward(globalWindow(node.x), node.x, dy);
    case LayerKind::batchNorm:
    case LayerKind::layerNorm: return backwardNorm(layer, node, dy);
    case LayerKind::dropout: {
        Tensor dx = dy;
        for (size_t i = 0; node.active && i < dx.values.size(); ++i)
            dx.values[i] *= node.mask[i] / (1 - layer.options.p);
        return dx;
    }
    case LayerKind::flatten: return Tensor(node.x.shape, node.x.count, dy.values);
    case LayerKind::activation: return activationGradient(layer.options.activation, node.x, node.y, dy);
    case LayerKind::skipConnection:
    case LayerKind::parallel: return backwardBranches(layer, node, dy);
    }
    return dy;
}

Tensor ReferenceNetwork::backwardNorm(const Layer& layer, Node& node, const Tensor& dy)
{
    const auto& o = layer.options;
    const bool batch = layer.kind == LayerKind::batchNorm;
    const Grouping grouping = batch ? Grouping::perChannel(node.x) : Grouping::perRun(node.x, sizeOf(o.normShape));
    const Tensor dz = activationGradient(o.activation, node.z, node.y, dy);
    Values dxhat = dz.values;
    if (o.affine) {
        const int scaleIndex = batch ? 1 : 0, shiftIndex = batch ? 0 : 1;
        const Values& scale = node.parameters.at(scaleIndex);
        Values& dScale = node.gradients[scaleIndex] = Values(scale.size(), 0.0);
        Values& dShift = node.gradients[shiftIndex] = Values(scale.size(), 0.0);
        for (size_t i = 0; i < dxhat.size(); ++i) {
            const int64_t a = affineIndex(layer, node.x, i);
            dScale[a] += dz.values[i] * node.xhat[i];
            dShift[a] += dz.values[i];
            dxhat[i] *= scale[a];
        }
    }
    Tensor dx = dz;
    if (node.active) {
        dx.values = normaliseGradient(grouping, node.moments, o.eps, node.xhat, dxhat);
        return dx;
    }
    const Moments zero{Values(grouping.groups(), 0.0), node.moments.variance};
    dx.values = normalise(grouping, zero, o.eps, dxhat); // constant statistics: only the division by σ remains
    return dx;
}

Tensor ReferenceNetwork::backwardBranches(const Layer& layer, Node& node, const Tensor& dy)
{
    Tensor dx(node.x.shape, node.x.count);
    for (size_t b = 0; b < node.branches.size(); ++b) {
        const Tensor d = splitGradient(layer.options.connection, node.branches, b, dy);
        addInto(dx, b < layer.children.size() ? backwardLayer(layer.children[b], d) : d);
    }
    return dx;
}

void ReferenceNetwork::update()
{
    for (auto& [id, node] : m_nodes)
        for (auto& [index, gradient] : node.gradients)
            node.optimisers.try_emplace(index, m_optimiser).first->second.update(node.parameters.at(index), gradient);
}

} // namespace stepscope::testing
