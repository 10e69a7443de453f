#include "core/model/shapes.h"

#include "core/model/arithmetic.h"
#include "core/model/costs.h"
#include "core/model/failure.h"

#include <fmt/format.h>

#include <algorithm>

namespace stepscope::model {

namespace {

constexpr int64_t kMaxValues = int64_t{1} << 31;     // of one array, per sample: 8 GiB
constexpr int64_t kMaxParameters = int64_t{1} << 31; // of a model: 8 GiB, and three times more with Adam

std::string plural(int64_t count, const char* one, const char* many)
{
    return fmt::format("{} {}", count, count == 1 ? one : many);
}

class ShapeWalker {
public:
    explicit ShapeWalker(Model& model) : m_model(model) {}

    void run(const Dims& input)
    {
        walk(LayerId(0u), {input, LayerId{}, false});
        countParameters();
    }

private:
    // What flows between layers.
    struct Flow {
        Dims shape;
        LayerId from;               // the layer that made it; none for the input
        bool needsGradient = false; // some layer before has parameters
    };

    Layer& at(LayerId id) { return m_model.layers[id.index()]; }

    std::string name(const Layer& layer) const
    {
        return layer.path.empty() ? fmt::format("the model {}", layer.text)
                                  : fmt::format("layer '{}' {}", layer.path, layer.text);
    }

    std::string origin(const Flow& flow)
    {
        if (!flow.from.valid()) return fmt::format("from the input {}", fluxShape(flow.shape, 0));
        return fmt::format("from {} (output {})", name(at(flow.from)), fluxShape(flow.shape, 0));
    }

    [[noreturn]] void mismatch(const Layer& layer, const std::string& what, std::string hint = {})
    {
        failAt({layer.line, layer.column}, fmt::format("{} {}", name(layer), what), std::move(hint),
               base::ErrorCode::invalidArgument);
    }

    Flow walk(LayerId id, const Flow& in)
    {
        at(id).input = in.shape;
        Flow out;
        switch (at(id).kind) {
        case LayerKind::chain: out = walkChain(id, in); break;
        case LayerKind::skipConnection: out = walkSkip(id, in); break;
        case LayerKind::parallel: out = walkParallel(id, in); break;
        default: out = walkLeaf(id, in); break;
        }
        at(id).output = out.shape;
        return out;
    }

    Flow walkLeaf(LayerId id, const Flow& in)
    {
        Layer& layer = at(id);
        layer.output = leafOutput(layer, in);
        if (product(layer.output) > kMaxValues) {
            mismatch(
                layer,
                fmt::format("makes {} values per sample, more than fit into memory", countText(product(layer.output))),
                "use smaller sizes");
        }
        setLeafCost(layer, in.needsGradient);
        return {layer.output, id, in.needsGradient || !layer.parameters.empty()};
    }

    Dims leafOutput(const Layer& layer, const Flow& in)
    {
        switch (layer.kind) {
        case LayerKind::dense:
        case LayerKind::naiveDense: return denseOutput(layer, in);
        case LayerKind::conv:
        case LayerKind::crossCor:
            checkSpatial(layer, in);
            if (in.shape[0] != layer.options.in) {
                mismatch(layer,
                         fmt::format("expects {} but gets {} {}", plural(layer.options.in, "channel", "channels"),
                                     in.shape[0], origin(in)));
            }
            return slide(layer, in, layer.options.out);
        case LayerKind::maxPool:
        case LayerKind::meanPool: checkSpatial(layer, in); return slide(layer, in, in.shape[0]);
        case LayerKind::globalMaxPool:
        case LayerKind::globalMeanPool: return globalOutput(layer, in);
        case LayerKind::batchNorm:
            if (in.shape[0] != layer.options.in) {
                mismatch(layer,
                         fmt::format("expects {} but gets {} {}", plural(layer.options.in, "channel", "channels"),
                                     in.shape[0], origin(in)));
            }
            return in.shape;
        case LayerKind::layerNorm: checkLayerNorm(layer, in); return in.shape;
        case LayerKind::flatten: return {product(in.shape)};
        case LayerKind::activation: checkSoftmax(layer, in); return in.shape;
        default: return in.shape;
        }
    }

    Dims denseOutput(const Layer& layer, const Flow& in)
    {
        const std::string expects = fmt::format("expects {}", plural(layer.options.in, "feature", "features"));
        if (in.shape.size() != 1) {
            const bool fits = product(in.shape) == layer.options.in;
            mismatch(layer, fmt::format("{} but gets an array {}", expects, origin(in)),
                     fits ? "put Flux.flatten before it"
                          : fmt::format("put Flux.flatten before it; that gives {} features",
                                        underscored(product(in.shape))));
        }
        if (in.shape[0] != layer.options.in) {
            mismatch(layer, fmt::format("{} but gets {} {}", expects, in.shape[0], origin(in)),
                     fmt::format("write {} => {}", in.shape[0], layer.options.out));
        }
        return {layer.options.out};
    }

    void checkSpatial(const Layer& layer, const Flow& in)
    {
        const size_t rank = layer.options.kernel.size();
        if (in.shape.size() == rank + 1) return;
        static const char* const kExpected[] = {"(width, channels)", "(width, height, channels)",
                                                "(width, height, depth, channels)"};
        mismatch(layer,
                 fmt::format("expects an array {} but gets {} dimension{} {}", kExpected[rank - 1], in.shape.size(),
                             in.shape.size() == 1 ? "" : "s", origin(in)),
                 in.shape.size() == rank && !in.from.valid() ? "a picture of one channel has the shape (28, 28, 1)"
                                                             : "");
    }

    // Output of a sliding window: (in + pads - dilated kernel) / stride + 1, rounded down.
    Dims slide(const Layer& layer, const Flow& in, int64_t channels)
    {
        const LayerOptions& options = layer.options;
        Dims output{channels};
        for (size_t i = 0; i < options.kernel.size(); ++i) {
            const int64_t padded = in.shape[i + 1] + options.padLow[i] + options.padHigh[i];
            const int64_t extent = options.dilation[i] * (options.kernel[i] - 1) + 1;
            if (extent > padded) {
                mismatch(layer,
                         fmt::format("does not fit: its window is {} wide, the padded input {}, {}", extent, padded,
                                     origin(in)),
                         "use a smaller kernel, more pad, or fewer poolings before it");
            }
            output.push_back((padded - extent) / options.stride[i] + 1);
        }
        return output;
    }

    Dims globalOutput(const Layer& layer, const Flow& in)
    {
        if (in.shape.size() < 2)
            mismatch(layer, fmt::format("expects an array with channels but gets {}", origin(in)),
                     "put it before Flux.flatten");
        Dims output(in.shape.size(), 1);
        output[0] = in.shape[0];
        return output;
    }

    void checkLayerNorm(const Layer& layer, const Flow& in)
    {
        const Dims& size = layer.options.normShape;
        if (size.size() <= in.shape.size() && std::equal(size.rbegin(), size.rend(), in.shape.rbegin())) return;
        mismatch(layer, fmt::format("does not match the first dimensions of what it gets {}", origin(in)),
                 "its sizes are those of the first dimensions: LayerNorm(28, 28) for (28, 28, 1)");
    }

    void checkSoftmax(const Layer& layer, const Flow& in)
    {
        const ActivationKind kind = layer.options.activation.kind;
        if (in.shape.size() == 1 || (kind != ActivationKind::softmax && kind != ActivationKind::logsoftmax)) return;
        mismatch(layer, fmt::format("would work along the first dimension, the width, of the array {}", origin(in)),
                 "put Flux.flatten before it");
    }

    void addChildCost(LayerId id, LayerId child)
    {
        addCost(at(id).forward, at(child).forward);
        addCost(at(id).backward, at(child).backward);
    }

    Flow walkChain(LayerId id, const Flow& in)
    {
        at(id).forward = at(id).backward = {};
        Flow flow = in;
        for (const LayerId child : at(id).children) {
            flow = walk(child, flow);
            addChildCost(id, child);
        }
        return flow;
    }

    Flow walkSkip(LayerId id, const Flow& in)
    {
        const LayerId child = at(id).children[0];
        const Flow inner = walk(child, in);
        at(id).forward = at(id).backward = {};
        addChildCost(id, child);
        return join(id, in, {inner, in});
    }

    Flow walkParallel(LayerId id, const Flow& in)
    {
        at(id).forward = at(id).backward = {};
        std::vector<Flow> flows;
        for (const LayerId child : at(id).children) {
            flows.push_back(walk(child, in));
            addChildCost(id, child);
        }
        return join(id, in, flows);
    }

    Flow join(LayerId id, const Flow& in, const std::vector<Flow>& flows)
    {
        Layer& layer = at(id);
        Flow out{flows[0].shape, id, in.needsGradient};
        for (const Flow& flow : flows)
            out.needsGradient = out.needsGradient || flow.needsGradient;
        if (layer.options.connection == Connection::concatenate) out.shape = concatenated(layer, flows);
        else {
            for (const Flow& flow : flows)
                if (flow.shape != flows[0].shape) {
                    mismatch(layer,
                             fmt::format("joins values of different shapes: {} and {}", origin(flows[0]), origin(flow)),
                             "both must have the same shape; a Conv((1, 1), in => out) can adapt one");
                }
        }
        std::vector<Dims> shapes;
        for (const Flow& flow : flows)
            shapes.push_back(flow.shape);
        const JoinCost cost = joinCost(layer.options.connection, shapes, in.shape, out.shape, in.needsGradient);
        addCost(layer.forward, cost.forward);
        if (out.needsGradient) addCost(layer.backward, cost.backward);
        return out;
    }

    Dims concatenated(const Layer& layer, const std::vector<Flow>& flows)
    {
        Dims shape = flows[0].shape;
        const auto rank = static_cast<int>(shape.size());
        if (layer.options.concatenateDim != rank) {
            mismatch(layer,
                     fmt::format("concatenates along dimension {} of arrays {}", layer.options.concatenateDim,
                                 fluxShape(shape, 0)),
                     rank == 1 ? "features are joined by vcat"
                               : fmt::format("channels are joined by (a, b) -> cat(a, b; dims = {})", rank),
                     base::ErrorCode::unsupported);
        }
        for (size_t i = 1; i < flows.size(); ++i) {
            const Dims& next = flows[i].shape;
            if (next.size() != shape.size() || !std::equal(next.begin() + 1, next.end(), shape.begin() + 1)) {
                mismatch(layer,
                         fmt::format("concatenates arrays of different sizes: {} and {}", origin(flows[0]),
                                     origin(flows[i])),
                         "only the channels may differ");
            }
            shape[0] = saturatedSum(shape[0], next[0]);
        }
        if (product(shape) > kMaxValues)
            mismatch(layer,
                     fmt::format("makes {} values per sample, more than fit into memory", countText(product(shape))),
                     "use smaller sizes");
        return shape;
    }

    [[noreturn]] void mismatch(const Layer& layer, const std::string& what, std::string hint, base::ErrorCode code)
    {
        failAt({layer.line, layer.column}, fmt::format("{} {}", name(layer), what), std::move(hint), code);
    }

    // Children stand after their parents, so one pass from the back adds them up.
    void countParameters()
    {
        for (Layer& layer : m_model.layers) {
            layer.parameterCount = 0;
            for (const Parameter& parameter : layer.parameters)
                layer.parameterCount = saturatedSum(layer.parameterCount, parameter.count());
            if (layer.parameterCount <= kMaxParameters) continue;
            mismatch(layer,
                     fmt::format("has {} parameters ({} in Float32), more than can be trained",
                                 countText(layer.parameterCount), byteText(saturatedProduct(layer.parameterCount, 4))),
                     fmt::format("the limit is {} parameters", underscored(kMaxParameters)));
        }
        for (size_t i = m_model.layers.size(); i-- > 1;) {
            Layer& parent = at(m_model.layers[i].parent);
            parent.parameterCount = saturatedSum(parent.parameterCount, m_model.layers[i].parameterCount);
        }
        if (m_model.layers[0].parameterCount <= kMaxParameters) return;
        mismatch(
            m_model.layers[0],
            fmt::format("has {} parameters, more than can be trained", countText(m_model.layers[0].parameterCount)),
            fmt::format("the limit is {} parameters", underscored(kMaxParameters)));
    }

    Model& m_model;
};

// The layer whose output is the model's.
const Layer& lastLayer(const Model& model)
{
    const Layer* layer = &model.root();
    while (layer->kind == LayerKind::chain && !layer->children.empty())
        layer = &model.at(layer->children.back());
    return *layer;
}

// The loss compares the output with the targets, where the text tells their shape.
void checkLoss(const ModelFile& file)
{
    if (!file.lossGiven) return;
    const Layer& last = lastLayer(file.model);
    const Dims& output = file.model.root().output;
    const bool imagesOf10 =
        file.dataGiven && (file.data.kind == DataKind::fashionMnist || file.data.kind == DataKind::mnist);
    const int64_t classes = imagesOf10 ? 10 : file.data.classes;
    const std::string name = last.path.empty() ? last.text : fmt::format("layer '{}' {}", last.path, last.text);
    const auto failHere = [&](const std::string& message, const std::string& hint) {
        failAt({last.line, last.column}, message, hint, base::ErrorCode::invalidArgument);
    };
    const bool perClass = file.loss.kind == LossKind::crossentropy || file.loss.kind == LossKind::logitcrossentropy;
    if ((perClass || classes > 0) && output.size() != 1) {
        failHere(fmt::format("the output {} of {} is an array, but {} compares it with one number per class",
                             fluxShape(output, 0), name, lossName(file.loss.kind)),
                 "put Flux.flatten and a Dense layer at the end");
    }
    const bool binary =
        file.loss.kind == LossKind::binarycrossentropy || file.loss.kind == LossKind::logitbinarycrossentropy;
    if (binary && classes == 2 && output[0] == 1) return; // one output is the probability of the second class
    if (classes > 0 && output[0] != classes) {
        failHere(
            fmt::format("the model ends in {} outputs ({}), but the data has {} classes", output[0], name, classes),
            fmt::format("let the last layer give {} outputs", classes));
    }
    if (classes == 0 && !file.data.targetShape.empty() && file.data.targetShape != output) {
        failHere(fmt::format("the output {} of {} does not match the data's targets {}", fluxShape(output, 0), name,
                             fluxShape(file.data.targetShape, 0)),
                 "both must have the same shape");
    }
}

} // namespace

std::string fluxShape(const Dims& dims, int64_t batch)
{
    std::string text = "(";
    for (size_t i = dims.size(); i-- > 0;)
        text += fmt::format("{}, ", dims[i]);
    return text + (batch == 0 ? ":)" : fmt::format("{})", batch));
}

Dims impliedInput(const Model& model)
{
    if (model.layers.empty()) return {};
    for (const Layer& layer : model.layers) { // pre-order: the first layers come first
        switch (layer.kind) {
        case LayerKind::chain:
        case LayerKind::skipConnection:
        case LayerKind::parallel:
        case LayerKind::dropout:
        case LayerKind::activation: continue;
        case LayerKind::dense:
        case LayerKind::naiveDense: return {layer.options.in};
        default: return {};
        }
    }
    return {};
}

Dims knownInput(const ModelFile& file)
{
    if (!file.model.input.empty()) return file.model.input;
    if (!file.data.sampleShape.empty()) return file.data.sampleShape;
    if (file.dataGiven && (file.data.kind == DataKind::fashionMnist || file.data.kind == DataKind::mnist))
        return {1, 28, 28};
    return impliedInput(file.model);
}

base::Status inferShapes(ModelFile& file, const Dims& input)
{
    base::Where where;
    where.file = file.file;
    if (file.model.layers.empty()) return base::fail(base::ErrorCode::invalidArgument, "there is no model", where);
    const bool positive = std::all_of(input.begin(), input.end(), [](int64_t dim) { return dim > 0; });
    if (input.empty() || input.size() > 4 || !positive || product(input) > kMaxValues) {
        return base::fail(base::ErrorCode::invalidArgument,
                          fmt::format("the input {} is not a shape of 1 to 4 positive sizes that fits into memory",
                                      fluxShape(input, 0)),
                          where, "set it in the model file: input = (28, 28, 1)");
    }
    try {
        ShapeWalker(file.model).run(input);
        checkLoss(file);
    } catch (Failure& failure) {
        failure.error.where.file = file.file;
        return base::fail(std::move(failure.error));
    } catch (const std::exception& exception) {
        return base::fail(base::ErrorCode::internal, exception.what(), where);
    }
    file.model.input = input;
    return {};
}

} // namespace stepscope::model
