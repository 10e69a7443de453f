#include "core/model/layer_kinds.h"

#include "core/model/arithmetic.h"
#include "core/model/functions.h"
#include "core/model/layer_text.h"
#include "core/model/names.h"

#include <fmt/format.h>

#include <algorithm>

namespace stepscope::model {

namespace {

constexpr int64_t kMaxOption = 1'000'000; // kernels, strides, pads, dilations

Parameter makeParameter(std::string name, Dims dims, const Init& init, int64_t fanIn = 1, int64_t fanOut = 1)
{
    return {std::move(name), std::move(dims), init, fanIn, fanOut};
}

void readBias(Arguments& arguments, LayerOptions& options)
{
    const Expr* bias = arguments.keyword("bias");
    if (bias == nullptr) return;
    if (!bias->is(Expr::Kind::boolean))
        failAt(bias->place, fmt::format("bias takes true or false, got {}", describe(*bias)),
               "a bias starts at zero, as in Flux");
    options.bias = bias->boolean;
}

void readPair(const Expr& pair, LayerOptions& options, std::string_view inName, std::string_view outName)
{
    options.in = wholeNumber(pair.items[0], inName, 1, kMaxSize);
    options.out = wholeNumber(pair.items[1], outName, 1, kMaxSize);
}

void readDense(const Expr& call, Layer& layer)
{
    layer.kind = call.text == "Dense" ? LayerKind::dense : LayerKind::naiveDense;
    Arguments arguments(call, call.text + "(in => out, σ; bias = true, init = glorot_uniform)");
    LayerOptions& options = layer.options;
    const Expr& first = arguments.at(0, "its sizes: in => out");
    size_t next = 1;
    if (first.is(Expr::Kind::pair)) readPair(first, options, "the number of inputs", "the number of outputs");
    else if (first.is(Expr::Kind::number) && arguments.count() > 1 && arguments.optional(1)->is(Expr::Kind::number)) {
        // The older form Dense(in, out, σ), which Flux still takes.
        options.in = wholeNumber(first, "the number of inputs", 1, kMaxSize);
        options.out = wholeNumber(*arguments.optional(1), "the number of outputs", 1, kMaxSize);
        next = 2;
    } else {
        failAt(first.place, fmt::format("expected the sizes 'in => out', got {}", describe(first)),
               fmt::format("write {}(784 => 10)", call.text));
    }
    if (const Expr* activation = arguments.optional(next)) options.activation = activationOf(*activation);
    readBias(arguments, options);
    if (const Expr* init = arguments.keyword("init")) options.init = initOf(*init);
    arguments.finish(next + 1);
    layer.parameters.push_back(
        makeParameter("weight", {options.in, options.out}, options.init, options.in, options.out));
    if (options.bias) layer.parameters.push_back(makeParameter("bias", {options.out}, Init{InitKind::zeros}));
    layer.text = layerText(layer, {}, {});
}

Dims reversed(std::vector<int64_t> values)
{
    std::reverse(values.begin(), values.end());
    return values;
}

Dims readKernel(const Expr& expr, const std::string& callee)
{
    if (!expr.is(Expr::Kind::tuple)) {
        const std::string k =
            expr.is(Expr::Kind::number) && expr.isInteger ? fmt::format("({0}, {0})", expr.integer) : "(3, 3)";
        failAt(expr.place, fmt::format("the kernel of {} is a tuple, got {}", callee, describe(expr)),
               fmt::format("write {}", k));
    }
    const Dims kernel = reversed(wholeNumbers(expr, "the kernel", 1, kMaxOption));
    if (kernel.size() > 3) failAt(expr.place, fmt::format("kernels have 1 to 3 dimensions, got {}", kernel.size()));
    return kernel;
}

// A number for all dimensions or one per dimension.
Dims readPerDimension(const Expr* expr, std::string_view what, size_t rank, int64_t least, Dims defaults)
{
    if (expr == nullptr) return defaults;
    const Dims values = reversed(wholeNumbers(*expr, what, least, kMaxOption));
    if (expr->is(Expr::Kind::number)) return Dims(rank, values[0]);
    if (values.size() != rank)
        failAt(expr->place,
               fmt::format("{} takes a number or {} of them for this kernel, got {}", what, rank, values.size()));
    return values;
}

// pad = 1, (1, 2), (lo, hi, lo, hi) or SamePad(). Returns the pad as written, in the order of the text.
Dims readPad(const Expr* expr, LayerOptions& options)
{
    const size_t rank = options.kernel.size();
    options.padLow.assign(rank, 0);
    options.padHigh.assign(rank, 0);
    if (expr == nullptr) return {0};
    if (expr->isCall("SamePad") || expr->isName("SamePad")) {
        if (!expr->items.empty()) failAt(expr->place, "SamePad() takes no arguments");
        options.samePad = true;
        for (size_t i = 0; i < rank; ++i) {
            const int64_t total = options.dilation[i] * (options.kernel[i] - 1); // the odd extra goes first, as in Flux
            options.padHigh[i] = total / 2;
            options.padLow[i] = total - total / 2;
        }
        return {};
    }
    if (expr->is(Expr::Kind::string) || expr->is(Expr::Kind::symbol)) {
        failAt(expr->place, fmt::format("pad takes numbers or SamePad(), got {}", describe(*expr)),
               "write pad = SamePad()");
    }
    const Dims written = wholeNumbers(*expr, "pad", 0, kMaxOption);
    if (expr->is(Expr::Kind::number)) {
        options.padLow.assign(rank, written[0]);
        options.padHigh.assign(rank, written[0]);
    } else if (written.size() == rank) {
        options.padLow = options.padHigh = reversed(written);
    } else if (written.size() == 2 * rank) {
        for (size_t d = 0; d < rank; ++d) { // lo and hi of each dimension, the first dimension first
            options.padLow[rank - 1 - d] = written[2 * d];
            options.padHigh[rank - 1 - d] = written[2 * d + 1];
        }
    } else {
        failAt(expr->place,
               fmt::format("pad takes a number, {} of them, or {} (before and after each dimension), got {}", rank,
                           2 * rank, written.size()));
    }
    return written;
}

void checkGroups(const Expr& call, const LayerOptions& options)
{
    if (options.in % options.groups != 0 || options.out % options.groups != 0) {
        failAt(call.place,
               fmt::format("{} channels in and {} out cannot be divided into {} groups", options.in, options.out,
                           options.groups),
               "both numbers of channels must be multiples of groups", base::ErrorCode::invalidArgument);
    }
}

void readConv(const Expr& call, Layer& layer)
{
    layer.kind = call.text == "CrossCor" ? LayerKind::crossCor : LayerKind::conv;
    const bool depthwise = call.text == "DepthwiseConv";
    const bool grouped = call.text == "Conv";
    Arguments arguments(
        call,
        fmt::format("{}((3, 3), in => out, σ; stride = 1, pad = 0, dilation = 1{}, bias = true, init = glorot_uniform)",
                    call.text, grouped ? ", groups = 1" : ""));
    LayerOptions& options = layer.options;
    options.kernel = readKernel(arguments.at(0, "a kernel and its channels: (3, 3), in => out"), call.text);
    const Expr& channels = arguments.at(1, "its channels: in => out");
    if (!channels.is(Expr::Kind::pair))
        failAt(channels.place, fmt::format("expected the channels 'in => out', got {}", describe(channels)),
               fmt::format("write {}((3, 3), 1 => 6)", call.text));
    readPair(channels, options, "the number of input channels", "the number of output channels");
    if (const Expr* activation = arguments.optional(2)) options.activation = activationOf(*activation);
    const size_t rank = options.kernel.size();
    options.stride = readPerDimension(arguments.keyword("stride"), "stride", rank, 1, Dims(rank, 1));
    const Expr* pad = arguments.keyword("pad");
    options.dilation = readPerDimension(arguments.keyword("dilation"), "dilation", rank, 1, Dims(rank, 1));
    const Dims writtenPad = readPad(pad, options);
    if (grouped)
        if (const Expr* groups = arguments.keyword("groups"))
            options.groups = wholeNumber(*groups, "groups", 1, kMaxSize);
    if (depthwise) options.groups = options.in;
    readBias(arguments, options);
    if (const Expr* init = arguments.keyword("init")) options.init = initOf(*init);
    arguments.finish(3);
    checkGroups(call, options);

    Dims dims{options.out, options.in / options.groups};
    int64_t cells = 1;
    for (const int64_t k : options.kernel) {
        dims.push_back(k);
        cells = saturatedProduct(cells, k);
    }
    // Flux's nfan of the weight array (k..., in / groups, out)
    layer.parameters.push_back(makeParameter("weight", dims, options.init, saturatedProduct(cells, dims[1]),
                                             saturatedProduct(cells, options.out)));
    if (options.bias) layer.parameters.push_back(makeParameter("bias", {options.out}, Init{InitKind::zeros}));
    layer.text = layerText(layer, writtenPad, {});
}

void readPool(const Expr& call, Layer& layer)
{
    layer.kind = call.text == "MaxPool" ? LayerKind::maxPool : LayerKind::meanPool;
    Arguments arguments(call, call.text + "((2, 2); pad = 0, stride = kernel)");
    LayerOptions& options = layer.options;
    options.kernel = readKernel(arguments.at(0, "a kernel: (2, 2)"), call.text);
    options.dilation = Dims(options.kernel.size(), 1);
    const Expr* pad = arguments.keyword("pad");
    options.stride = readPerDimension(arguments.keyword("stride"), "stride", options.kernel.size(), 1, options.kernel);
    const Dims writtenPad = readPad(pad, options);
    arguments.finish(1);
    for (size_t i = 0; i < options.kernel.size(); ++i) {
        if (std::max(options.padLow[i], options.padHigh[i]) < options.kernel[i]) continue;
        failAt(pad->place, fmt::format("the pad must be smaller than the kernel of {}", call.text),
               "a window would lie in the padding alone", base::ErrorCode::invalidArgument);
    }
    layer.text = layerText(layer, writtenPad, {});
}

void readGlobalPool(const Expr& call, Layer& layer)
{
    layer.kind = call.text == "GlobalMaxPool" ? LayerKind::globalMaxPool : LayerKind::globalMeanPool;
    Arguments(call, call.text + "()").finish(0);
    layer.text = layerText(layer, {}, {});
}

void refuseActive(Arguments& arguments)
{
    const Expr* active = arguments.keyword("active");
    if (active != nullptr && !active->is(Expr::Kind::nothing)) {
        failAt(active->place, "only active = nothing is supported", "train and test mode are chosen by the program",
               base::ErrorCode::unsupported);
    }
}

void readBatchNorm(const Expr& call, Layer& layer)
{
    layer.kind = LayerKind::batchNorm;
    Arguments arguments(call,
                        "BatchNorm(channels, λ; initβ = zeros32, initγ = ones32, affine = true, track_stats = true, "
                        "eps = 1f-5, momentum = 0.1f0)");
    LayerOptions& options = layer.options;
    options.in = options.out =
        wholeNumber(arguments.at(0, "its number of channels"), "the number of channels", 1, kMaxSize);
    options.initGamma.kind = InitKind::ones;
    if (const Expr* activation = arguments.either(1, "λ")) options.activation = activationOf(*activation);
    if (const Expr* e = arguments.keyword("initβ")) options.initBeta = initOf(*e);
    if (const Expr* e = arguments.keyword("initγ")) options.initGamma = initOf(*e);
    if (const Expr* e = arguments.keyword("affine")) options.affine = trueOrFalse(*e, "affine");
    if (const Expr* e = arguments.keyword("track_stats")) options.trackStats = trueOrFalse(*e, "track_stats");
    refuseActive(arguments);
    if (const Expr* e = arguments.keyword("eps", "ϵ")) options.eps = realNumber(*e, "eps", 0, 1e6);
    if (const Expr* e = arguments.keyword("momentum")) options.momentum = realNumber(*e, "momentum", 0, 1);
    arguments.finish(2);
    if (options.affine) {
        layer.parameters.push_back(makeParameter("β", {options.in}, options.initBeta));
        layer.parameters.push_back(makeParameter("γ", {options.in}, options.initGamma));
    }
    layer.text = layerText(layer, {}, {});
}

void readLayerNorm(const Expr& call, Layer& layer)
{
    layer.kind = LayerKind::layerNorm;
    Arguments arguments(call, "LayerNorm(size..., λ; affine = true, eps = 1f-5)");
    LayerOptions& options = layer.options;
    arguments.at(0, "the size it normalises over");
    size_t next = 0;
    Dims size;
    if (arguments.optional(0)->is(Expr::Kind::tuple))
        size = wholeNumbers(*arguments.optional(next++), "the size", 1, kMaxSize);
    while (size.size() < 4 && arguments.optional(next) != nullptr && arguments.optional(next)->is(Expr::Kind::number))
        size.push_back(wholeNumber(*arguments.optional(next++), "the size", 1, kMaxSize));
    if (size.empty() || size.size() > 4)
        failAt(arguments.optional(0)->place, "LayerNorm takes 1 to 4 sizes, then an activation",
               "write LayerNorm(128) or LayerNorm(28, 28, relu)");
    options.normShape = reversed(size);
    if (const Expr* activation = arguments.optional(next)) options.activation = activationOf(*activation);
    if (const Expr* e = arguments.keyword("affine")) options.affine = trueOrFalse(*e, "affine");
    if (const Expr* e = arguments.keyword("eps", "ϵ")) options.eps = realNumber(*e, "eps", 0, 1e6);
    arguments.finish(next + 1);
    if (options.affine) {
        layer.parameters.push_back(makeParameter("scale", options.normShape, Init{InitKind::ones}));
        layer.parameters.push_back(makeParameter("bias", options.normShape, Init{InitKind::zeros}));
    }
    layer.text = layerText(layer, {}, {});
}

void readDropout(const Expr& call, Layer& layer)
{
    layer.kind = LayerKind::dropout;
    Arguments arguments(call, "Dropout(p)");
    layer.options.p = realNumber(arguments.at(0, "the probability of dropping a value"), "the probability p", 0, 1);
    if (const Expr* dims = arguments.keyword("dims"))
        if (!dims->is(Expr::Kind::symbol) || !dims->text.empty())
            failAt(dims->place, "only dims = : is supported", {}, base::ErrorCode::unsupported);
    refuseActive(arguments);
    arguments.finish(1);
    layer.text = layerText(layer, {}, {});
}

} // namespace

void readLeaf(const Expr& call, Layer& layer)
{
    const std::string& name = call.text;
    if (name == "Dense" || name == "NaiveDense") readDense(call, layer);
    else if (name == "Conv" || name == "CrossCor" || name == "DepthwiseConv") readConv(call, layer);
    else if (name == "MaxPool" || name == "MeanPool") readPool(call, layer);
    else if (name == "GlobalMaxPool" || name == "GlobalMeanPool") readGlobalPool(call, layer);
    else if (name == "BatchNorm") readBatchNorm(call, layer);
    else if (name == "LayerNorm") readLayerNorm(call, layer);
    else if (name == "Dropout") readDropout(call, layer);
    else failUnknown("layer", call, layerAndActivationNames());
}

} // namespace stepscope::model
