#include "core/model/layer_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace stepscope::model {

namespace {

// A Julia tuple, back in the order of the text: "(5, 5)", "(3,)".
std::string tuple(const Dims& rowMajor)
{
    std::string text = "(";
    for (size_t i = rowMajor.size(); i-- > 0;)
        text += fmt::format("{}{}", rowMajor[i], i > 0 ? ", " : rowMajor.size() == 1 ? "," : "");
    return text + ")";
}

// Flux prints equal options as one number: stride=2.
std::string shortTuple(const Dims& rowMajor)
{
    const bool equal = std::all_of(rowMajor.begin(), rowMajor.end(), [&](int64_t v) { return v == rowMajor.front(); });
    return equal && !rowMajor.empty() ? fmt::format("{}", rowMajor.front()) : tuple(rowMajor);
}

bool all(const Dims& dims, int64_t value)
{
    return std::all_of(dims.begin(), dims.end(), [&](int64_t v) { return v == value; });
}

std::string function(const Activation& activation)
{
    const char* name = activationName(activation.kind);
    const bool plain = activation.alpha == 0
        || (activation.kind == ActivationKind::leakyrelu && activation.alpha == 0.01)
        || (activation.kind == ActivationKind::softshrink && activation.alpha == 0.5)
        || ((activation.kind == ActivationKind::elu || activation.kind == ActivationKind::celu
             || activation.kind == ActivationKind::trelu)
            && activation.alpha == 1);
    return plain ? name : fmt::format("x -> {}(x, {})", name, activation.alpha);
}

std::string activationPart(const LayerOptions& options)
{
    return options.activation.kind == ActivationKind::identity ? "" : ", " + function(options.activation);
}

// `writtenPad` is already in the order of the text.
std::string padPart(const LayerOptions& options, const Dims& writtenPad)
{
    Dims pad(writtenPad.rbegin(), writtenPad.rend());
    if (pad.empty()) {
        for (size_t i = 0; i < options.padLow.size(); ++i) { // SamePad: lo and hi of each dimension
            pad.push_back(options.padHigh[i]);
            pad.push_back(options.padLow[i]);
        }
    }
    return all(pad, 0) ? "" : ", pad=" + shortTuple(pad);
}

std::string convText(const char* name, const LayerOptions& o, const Dims& writtenPad)
{
    std::string text = fmt::format("{}({}, {} => {}{}{}", name, tuple(o.kernel), o.in, o.out, activationPart(o),
                                   padPart(o, writtenPad));
    if (!all(o.stride, 1)) text += ", stride=" + shortTuple(o.stride);
    if (!all(o.dilation, 1)) text += ", dilation=" + shortTuple(o.dilation);
    if (o.groups != 1) text += fmt::format(", groups={}", o.groups);
    if (!o.bias) text += ", bias=false";
    return text + ")";
}

std::string poolText(const char* name, const LayerOptions& o, const Dims& writtenPad)
{
    std::string text = fmt::format("{}({}{}", name, tuple(o.kernel), padPart(o, writtenPad));
    if (o.stride != o.kernel) text += ", stride=" + shortTuple(o.stride);
    return text + ")";
}

std::string denseText(const char* name, const LayerOptions& o)
{
    return fmt::format("{}({} => {}{}{})", name, o.in, o.out, activationPart(o), o.bias ? "" : "; bias=false");
}

std::string layerNormText(const LayerOptions& o)
{
    const std::string size = tuple(o.normShape);
    const std::string inner =
        o.normShape.size() == 1 ? fmt::format("{}", o.normShape[0]) : size.substr(1, size.size() - 2);
    return fmt::format("LayerNorm({}{}{})", inner, activationPart(o), o.affine ? "" : ", affine=false");
}

const char* connectionText(const LayerOptions& o)
{
    if (o.connection == Connection::concatenate) return o.concatenateDim == 1 ? "vcat" : "cat";
    return o.connection == Connection::add ? "+" : ".*";
}

} // namespace

std::string layerText(const Layer& layer, const Dims& writtenPad, const std::string& asWritten)
{
    const LayerOptions& o = layer.options;
    switch (layer.kind) {
    case LayerKind::chain: return "Chain";
    case LayerKind::dense: return denseText("Dense", o);
    case LayerKind::naiveDense: return denseText("NaiveDense", o);
    case LayerKind::conv: return convText("Conv", o, writtenPad);
    case LayerKind::crossCor: return convText("CrossCor", o, writtenPad);
    case LayerKind::maxPool: return poolText("MaxPool", o, writtenPad);
    case LayerKind::meanPool: return poolText("MeanPool", o, writtenPad);
    case LayerKind::globalMaxPool: return "GlobalMaxPool()";
    case LayerKind::globalMeanPool: return "GlobalMeanPool()";
    case LayerKind::batchNorm:
        return fmt::format("BatchNorm({}{}{})", o.in, activationPart(o), o.affine ? "" : ", affine=false");
    case LayerKind::layerNorm: return layerNormText(o);
    case LayerKind::dropout: return fmt::format("Dropout({})", o.p);
    case LayerKind::flatten: return asWritten.empty() ? "Flux.flatten" : asWritten;
    case LayerKind::activation: return asWritten.empty() ? function(o.activation) : asWritten;
    case LayerKind::skipConnection: return fmt::format("SkipConnection({})", connectionText(o));
    case LayerKind::parallel: return fmt::format("Parallel({})", connectionText(o));
    }
    return "";
}

} // namespace stepscope::model
