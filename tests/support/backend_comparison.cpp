#include "tests/support/backend_comparison.h"

#include "core/model/parser.h"
#include "core/model/shapes.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace stepscope::testing {

namespace {

using model::Layer;
using model::LayerKind;
using model::LossKind;

constexpr double kForward = 1e-5, kGradient = 1e-4;

template <class T>
T valueOrThrow(base::Result<T> result)
{
    if (!result) throw std::runtime_error(base::toText(result.error()));
    return std::move(*result);
}

void checked(const base::Status& status)
{
    if (!status) throw std::runtime_error(base::toText(status.error()));
}

double largest(const Values& v)
{
    double m = 0;
    for (double x : v)
        m = std::max(m, std::abs(x));
    return m;
}

std::vector<float> toFloat(const Values& v) { return {v.begin(), v.end()}; }

// How many products are summed into one entry of a parameter's gradient.
double reductionLength(const Layer& layer, const Tensor& y)
{
    if (layer.kind == LayerKind::layerNorm) return double(y.values.size()) / double(sizeOf(layer.options.normShape));
    if (layer.kind == LayerKind::dense || layer.kind == LayerKind::naiveDense)
        return double(y.values.size()) / double(y.shape.back());
    return double(y.values.size()) / double(y.shape.front());
}

double gradientTolerance(double terms) { return terms > 1000 ? kGradient * std::sqrt(terms / 100) : kGradient; }

} // namespace

model::ModelFile readModel(const std::string& text)
{
    model::ModelFile file = valueOrThrow(model::parseModelText(text, "test.jl"));
    const Dims input = file.model.input.empty() ? model::impliedInput(file.model) : file.model.input;
    if (input.empty()) throw std::runtime_error("the model text needs input = (...)");
    checked(model::inferShapes(file, input));
    return file;
}

double relativeError(const std::vector<float>& a, const Values& b, double atLeast)
{
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    if (a.size() != b.size()) return kInfinity;
    double difference = 0;
    for (size_t i = 0; i < a.size(); ++i) {
        const double d = std::abs(a[i] - b[i]);
        if (!std::isfinite(d)) return kInfinity;
        difference = std::max(difference, d);
    }
    const double scale = std::max(largest(b), atLeast);
    if (difference == 0) return 0;
    return scale == 0 ? kInfinity : difference / scale;
}

BackendComparison::BackendComparison(engine::Backend& backend, const std::string& modelText,
                                     engine::BuildOptions options, bool randomParameters)
    : m_file(readModel(modelText)),
      m_reference(m_file)
{
    options.poisonMemory = true;
    m_network = valueOrThrow(backend.build(m_file, options, {}, {}, {}, true));
    if (randomParameters) {
        m_reference.randomise(11);
        copyIntoNetwork();
    } else {
        copyFromNetwork();
    }
}

void BackendComparison::copyFromNetwork()
{
    for (uint32_t layer = 0; layer < m_file.model.layers.size(); ++layer)
        for (int p : m_reference.parameterIndices(base::LayerId(layer))) {
            const auto values = valueOrThrow(m_network->parameter(base::LayerId(layer), p));
            Values& target = m_reference.parameter(base::LayerId(layer), p);
            if (values.size() != target.size()) throw std::runtime_error(where(layer, p) + ": wrong number of values");
            target.assign(values.begin(), values.end());
        }
}

void BackendComparison::copyIntoNetwork()
{
    for (uint32_t layer = 0; layer < m_file.model.layers.size(); ++layer)
        for (int p : m_reference.parameterIndices(base::LayerId(layer))) {
            const auto values = toFloat(m_reference.parameter(base::LayerId(layer), p));
            checked(m_network->setParameter(base::LayerId(layer), p, values));
            if (valueOrThrow(m_network->parameter(base::LayerId(layer), p)) != values)
                throw std::runtime_error(where(layer, p) + ": other values read than set");
        }
}

std::string BackendComparison::where(uint32_t layer, int parameter) const
{
    const Layer& l = m_file.model.layers[layer];
    return fmt::format("layer {} {} parameter {}", layer, l.text, parameter);
}

Sample BackendComparison::randomSample(int64_t count, uint32_t seed, TargetKind kind) const
{
    std::mt19937 random(seed);
    const auto value = [&](double low, double high) {
        for (;;) {
            const double x = static_cast<float>(std::uniform_real_distribution<double>(low, high)(random));
            if (std::abs(x * 2 - std::round(x * 2)) >= 2e-3) return x;
        }
    };
    Sample s;
    s.x = Tensor(m_file.model.root().input, count);
    for (double& x : s.x.values)
        x = value(-2, 2);
    const int64_t outputs = sizeOf(m_file.model.root().output);
    const LossKind loss = m_file.loss.kind;
    const bool classes = loss == LossKind::crossentropy || loss == LossKind::logitcrossentropy;
    const bool binary = loss == LossKind::binarycrossentropy || loss == LossKind::logitbinarycrossentropy;
    if (kind == TargetKind::labels || (kind == TargetKind::matching && classes)) {
        for (int64_t n = 0; n < count; ++n)
            s.labels.push_back(static_cast<int32_t>(random() % outputs));
        s.targets = oneHot(s.labels, outputs);
    } else {
        for (int64_t i = 0; i < count * outputs; ++i)
            s.targets.push_back(binary ? value(0, 1) : value(-1, 1));
        if (kind == TargetKind::distribution) {
            s.targets = softmax(s.targets, outputs);
            for (double& t : s.targets)
                t = static_cast<float>(t);
        }
    }
    s.batch.count = count;
    s.batch.x.assign(s.x.values.begin(), s.x.values.end());
    s.batch.labels.assign(s.labels.begin(), s.labels.end());
    if (s.labels.empty()) s.batch.targets.assign(s.targets.begin(), s.targets.end());
    return s;
}

std::string BackendComparison::forward(const Sample& sample, bool training)
{
    checked(m_network->setBatch(sample.batch));
    checked(m_network->forward(training));
    checked(m_network->synchronise());
    const Tensor& expected = m_reference.forward(sample.x, training);
    const double error = relativeError(m_network->output(), expected.values);
    if (!(error <= kForward)) return fmt::format("output differs by {:.3g} of its largest value", error);
    for (uint32_t layer = 0; layer < m_file.model.layers.size(); ++layer)
        for (int p : m_reference.parameterIndices(base::LayerId(layer)))
            if (p >= 2) {
                const auto values = valueOrThrow(m_network->parameter(base::LayerId(layer), p));
                const double e = relativeError(values, m_reference.parameter(base::LayerId(layer), p));
                if (!(e <= kForward)) return fmt::format("{}: statistics differ by {:.3g}", where(layer, p), e);
            }
    return {};
}

std::string BackendComparison::lossAndGradients(const Sample& sample)
{
    const engine::LossResult result = m_network->loss(true);
    const double expected = m_reference.loss(sample.targets);
    if (!(std::abs(result.loss - expected) <= kForward * std::max(std::abs(expected), 1e-2)))
        return fmt::format("loss is {:.9g}, expected {:.9g}", result.loss, expected);
    if (!sample.labels.empty() && result.correct != m_reference.correct(sample.labels))
        return fmt::format("{} hits, expected {}", result.correct, m_reference.correct(sample.labels));
    checked(m_network->backward());
    checked(m_network->synchronise());
    m_reference.backward();
    return compareGradients();
}

std::string BackendComparison::compareGradients()
{
    for (uint32_t layer = 0; layer < m_file.model.layers.size(); ++layer) {
        const base::LayerId id(layer);
        for (int p = 0; p < m_reference.trainedParameters(id); ++p) {
            // A bias is a weight of the constant 1. In front of a batch norm its gradient is zero but for rounding, so
            // that only its size against the weights' gradient has a meaning.
            const double atLeast = p == 0 ? 0 : 0.1 * largest(m_reference.gradient(id, 0));
            const double error =
                relativeError(valueOrThrow(m_network->gradient(id, p)), m_reference.gradient(id, p), atLeast);
            const double terms = reductionLength(m_file.model.layers[layer], m_reference.layerOutput(id));
            if (!(error <= gradientTolerance(terms)))
                return fmt::format("{}: gradient differs by {:.3g} of its largest value", where(layer, p), error);
        }
    }
    const double error = relativeError(valueOrThrow(m_network->inputGradient()), m_reference.inputGradient().values);
    if (!(error <= kGradient)) return fmt::format("input gradient differs by {:.3g} of its largest value", error);
    return {};
}

std::string BackendComparison::step(const Sample& sample)
{
    const std::string difference = forward(sample, true);
    return difference.empty() ? lossAndGradients(sample) : difference;
}

void BackendComparison::update()
{
    checked(m_network->update());
    checked(m_network->synchronise());
    m_reference.update();
}

std::string BackendComparison::parameters(double tolerance)
{
    for (uint32_t layer = 0; layer < m_file.model.layers.size(); ++layer)
        for (int p : m_reference.parameterIndices(base::LayerId(layer))) {
            const auto values = valueOrThrow(m_network->parameter(base::LayerId(layer), p));
            const double error = relativeError(values, m_reference.parameter(base::LayerId(layer), p));
            if (!(error <= tolerance)) return fmt::format("{} differs by {:.3g}", where(layer, p), error);
        }
    return {};
}

std::string BackendComparison::train(int steps, int64_t count, double tolerance)
{
    for (int i = 0; i < steps; ++i) {
        const Sample sample = randomSample(count, 1000 + i % 4); // four batches over and over: the loss must move
        checked(m_network->setBatch(sample.batch));
        checked(m_network->forward(true));
        const double loss = m_network->loss(true).loss;
        checked(m_network->backward());
        checked(m_network->update());
        m_reference.forward(sample.x, true);
        const double expected = m_reference.loss(sample.targets);
        m_reference.backward();
        m_reference.update();
        if (!(std::abs(loss - expected) <= tolerance * std::max(std::abs(expected), 1e-2)))
            return fmt::format("step {}: loss is {:.9g}, expected {:.9g}", i + 1, loss, expected);
    }
    return {};
}

} // namespace stepscope::testing
