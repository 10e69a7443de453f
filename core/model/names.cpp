#include "core/model/names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

namespace stepscope::model {

namespace {

struct ActivationRow {
    std::string_view name;
    ActivationKind kind;
    double alpha = 0;
};

// The first row of a kind is the spelling Flux prints; the others are aliases.
constexpr ActivationRow kActivations[] = {
    {"identity", ActivationKind::identity},
    {"σ", ActivationKind::sigmoid},
    {"sigmoid", ActivationKind::sigmoid},
    {"sigmoid_fast", ActivationKind::sigmoid},
    {"hardσ", ActivationKind::hardsigmoid},
    {"hardsigmoid", ActivationKind::hardsigmoid},
    {"tanh", ActivationKind::tanh},
    {"tanh_fast", ActivationKind::tanh},
    {"hardtanh", ActivationKind::hardtanh},
    {"relu", ActivationKind::relu},
    {"relu6", ActivationKind::relu6},
    {"leakyrelu", ActivationKind::leakyrelu, 0.01},
    {"elu", ActivationKind::elu, 1},
    {"gelu_tanh", ActivationKind::gelu},
    {"gelu", ActivationKind::gelu},
    {"gelu_erf", ActivationKind::geluErf},
    {"gelu_sigmoid", ActivationKind::geluSigmoid},
    {"swish", ActivationKind::swish},
    {"hardswish", ActivationKind::hardswish},
    {"selu", ActivationKind::selu},
    {"celu", ActivationKind::celu, 1},
    {"softplus", ActivationKind::softplus},
    {"softsign", ActivationKind::softsign},
    {"logσ", ActivationKind::logsigmoid},
    {"logsigmoid", ActivationKind::logsigmoid},
    {"logcosh", ActivationKind::logcosh},
    {"mish", ActivationKind::mish},
    {"tanhshrink", ActivationKind::tanhshrink},
    {"softshrink", ActivationKind::softshrink, 0.5},
    {"trelu", ActivationKind::trelu, 1},
    {"thresholdrelu", ActivationKind::trelu, 1},
    {"lisht", ActivationKind::lisht},
    {"softmax", ActivationKind::softmax},
    {"logsoftmax", ActivationKind::logsoftmax},
};

struct InitRow {
    std::string_view name;
    InitKind kind;
};
constexpr InitRow kInits[] = {
    {"glorot_uniform", InitKind::glorotUniform},
    {"glorot_normal", InitKind::glorotNormal},
    {"kaiming_uniform", InitKind::kaimingUniform},
    {"kaiming_normal", InitKind::kaimingNormal},
    {"lecun_normal", InitKind::lecunNormal},
    {"truncated_normal", InitKind::truncatedNormal},
    {"orthogonal", InitKind::orthogonal},
    {"identity_init", InitKind::identity},
    {"zeros32", InitKind::zeros},
    {"ones32", InitKind::ones},
    {"randn32", InitKind::randn},
    {"rand32", InitKind::rand},
    {"zeros", InitKind::zeros},
    {"ones", InitKind::ones},
    {"randn", InitKind::randn},
    {"rand", InitKind::rand},
};

// Names of PyTorch and Keras, and older names of Flux, with what Flux writes today.
struct ForeignRow {
    std::string_view name, flux;
};
constexpr ForeignRow kForeign[] = {
    {"linear", "Dense(in => out)"},
    {"conv1d", "Conv((3,), in => out)"},
    {"conv2d", "Conv((3, 3), in => out)"},
    {"conv3d", "Conv((3, 3, 3), in => out)"},
    {"maxpool2d", "MaxPool((2, 2))"},
    {"maxpooling2d", "MaxPool((2, 2))"},
    {"avgpool2d", "MeanPool((2, 2))"},
    {"averagepooling2d", "MeanPool((2, 2))"},
    {"avgpool", "MeanPool((2, 2))"},
    {"averagepool", "MeanPool((2, 2))"},
    {"adaptiveavgpool2d", "GlobalMeanPool()"},
    {"globalavgpool", "GlobalMeanPool()"},
    {"globalaveragepooling2d", "GlobalMeanPool()"},
    {"batchnorm1d", "BatchNorm(channels)"},
    {"batchnorm2d", "BatchNorm(channels)"},
    {"batchnormalization", "BatchNorm(channels)"},
    {"layernormalization", "LayerNorm(size)"},
    {"dropout2d", "Dropout(p)"},
    {"sequential", "Chain(...)"},
    {"leakyrelu", "leakyrelu"},
    {"silu", "swish"},
    {"logsigmoid", "logσ"},
    {"hardsigmoid", "hardσ"},
    {"crossentropyloss", "logitcrossentropy"},
    {"nllloss", "crossentropy"},
    {"mseloss", "mse"},
    {"l1loss", "mae"},
    {"bceloss", "binarycrossentropy"},
    {"bcewithlogitsloss", "logitbinarycrossentropy"},
    {"smoothl1loss", "huber_loss"},
    {"huberloss", "huber_loss"},
    {"sgd", "Descent(0.1), or Momentum(0.01, 0.9)"},
    {"sparse_categorical_crossentropy", "crossentropy"},
    {"mean_squared_error", "mse"},
    {"mean_absolute_error", "mae"},
    {"inputlayer", "input = (28, 28, 1)"},
    {"optimiser", "OptimiserChain(...)"},
    {"optimizerchain", "OptimiserChain(...)"},
    {"clipvalue", "ClipGrad(10)"},
    {"adamwdecay", "AdamW(0.001)"},
    {"xavier_uniform", "glorot_uniform"},
    {"xavier_normal", "glorot_normal"},
    {"he_uniform", "kaiming_uniform"},
    {"he_normal", "kaiming_normal"},
    {"trunc_normal_", "truncated_normal"},
};

constexpr std::string_view kFluxOnly[] = {
    "Scale",
    "Bilinear",
    "ConvTranspose",
    "CrossCorTranspose",
    "AdaptiveMaxPool",
    "AdaptiveMeanPool",
    "InstanceNorm",
    "GroupNorm",
    "WeightNorm",
    "AlphaDropout",
    "PairwiseFusion",
    "Maxout",
    "Embedding",
    "EmbeddingBag",
    "RNN",
    "LSTM",
    "GRU",
    "GRUv3",
    "RNNCell",
    "LSTMCell",
    "GRUCell",
    "GRUv3Cell",
    "Recurrence",
    "MultiHeadAttention",
    "Upsample",
    "PixelShuffle",
    "rrelu",
    "sparse_init",
    "msle",
    "label_smoothing",
    "kldivergence",
    "poisson_loss",
    "hinge_loss",
    "squared_hinge_loss",
    "dice_coeff_loss",
    "tversky_loss",
    "binary_focal_loss",
    "focal_loss",
    "siamese_contrastive_loss",
    "Lion",
    "RAdam",
    "AdaMax",
    "OAdam",
    "AdaGrad",
    "AdaDelta",
    "AMSGrad",
    "NAdam",
    "AdaBelief",
    "Rprop",
    "SignDecay",
    "AccumGrad",
    "MixedPrecision",
    "normalise",
    "upsample_nearest",
};

constexpr std::string_view kModules[] = {
    "Flux",          "Flux.Losses", "Losses",     "Optimisers",   "Flux.Optimisers",
    "Flux.Optimise", "Optimise",    "MLUtils",    "Flux.MLUtils", "NNlib",
    "Flux.NNlib",    "Base",        "MLDatasets", "Flux.Data",
};

std::string lower(std::string_view text)
{
    std::string result(text);
    std::transform(result.begin(), result.end(), result.begin(), [](unsigned char c) {
        return c < 0x80 ? static_cast<char>(std::tolower(c)) : static_cast<char>(c);
    });
    return result;
}

// Edits (insert, delete, replace, swap of neighbours) from one name to the other.
size_t editDistance(std::string_view a, std::string_view b)
{
    std::vector<size_t> before(b.size() + 1), previous(b.size() + 1), row(b.size() + 1);
    for (size_t j = 0; j <= b.size(); ++j)
        previous[j] = j;
    for (size_t i = 1; i <= a.size(); ++i) {
        row[0] = i;
        for (size_t j = 1; j <= b.size(); ++j) {
            row[j] = std::min({previous[j] + 1, row[j - 1] + 1, previous[j - 1] + (a[i - 1] != b[j - 1])});
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = std::min(row[j], before[j - 2] + 1);
        }
        std::swap(before, previous);
        std::swap(previous, row);
    }
    return previous[b.size()];
}

template <class Row, size_t n>
std::vector<std::string_view> namesOf(const Row (&rows)[n])
{
    std::vector<std::string_view> names;
    std::transform(std::begin(rows), std::end(rows), std::back_inserter(names),
                   [](const Row& row) { return row.name; });
    return names;
}

} // namespace

std::optional<Activation> activationByName(std::string_view name)
{
    for (const ActivationRow& row : kActivations)
        if (row.name == name) return Activation{row.kind, row.alpha};
    return std::nullopt;
}

const char* activationName(ActivationKind kind)
{
    for (const ActivationRow& row : kActivations)
        if (row.kind == kind) return row.name.data();
    return "identity";
}

std::optional<Init> initByName(std::string_view name)
{
    for (const InitRow& row : kInits) {
        if (row.name != name) continue;
        Init init{row.kind};
        if (row.kind == InitKind::kaimingUniform || row.kind == InitKind::kaimingNormal) init.gain = std::sqrt(2.0);
        return init;
    }
    return std::nullopt;
}

std::string nearestName(std::string_view name, const std::vector<std::string_view>& known, bool shortened)
{
    if (name.empty() || name.size() > 64) return {};
    const std::string wanted = lower(name);
    std::string_view best;
    size_t bestDistance = std::max<size_t>(1, name.size() / 3) + 1;
    for (const std::string_view candidate : known) {
        const size_t distance = editDistance(wanted, lower(candidate));
        if (distance < bestDistance && distance < candidate.size()) {
            bestDistance = distance;
            best = candidate;
        }
    }
    if (!best.empty() || !shortened) return std::string(best);
    const auto* longest = &best;
    for (const std::string_view& candidate : known) {
        const std::string other = lower(candidate);
        const size_t common = std::min(other.size(), wanted.size());
        if (common >= 3 && candidate.size() > longest->size() && wanted.compare(0, common, other, 0, common) == 0)
            longest = &candidate;
    }
    return std::string(*longest);
}

const std::vector<std::string_view>& layerNames()
{
    static const std::vector<std::string_view> names{"Chain",         "Dense",          "NaiveDense",     "Conv",
                                                     "DepthwiseConv", "CrossCor",       "MaxPool",        "MeanPool",
                                                     "GlobalMaxPool", "GlobalMeanPool", "BatchNorm",      "LayerNorm",
                                                     "Dropout",       "flatten",        "SkipConnection", "Parallel"};
    return names;
}
const std::vector<std::string_view>& activationNames()
{
    static const std::vector<std::string_view> names = namesOf(kActivations);
    return names;
}
const std::vector<std::string_view>& layerAndActivationNames()
{
    static const std::vector<std::string_view> names = [] {
        std::vector<std::string_view> all = layerNames();
        all.insert(all.end(), activationNames().begin(), activationNames().end());
        return all;
    }();
    return names;
}
const std::vector<std::string_view>& initNames()
{
    static const std::vector<std::string_view> names = namesOf(kInits);
    return names;
}
const std::vector<std::string_view>& lossNames()
{
    static const std::vector<std::string_view> names{
        "mse",       "mae", "crossentropy", "logitcrossentropy", "binarycrossentropy", "logitbinarycrossentropy",
        "huber_loss"};
    return names;
}
const std::vector<std::string_view>& optimiserNames()
{
    static const std::vector<std::string_view> names{"Descent",  "Momentum", "Nesterov",       "RMSProp",
                                                     "Adam",     "AdamW",    "OptimiserChain", "WeightDecay",
                                                     "ClipNorm", "ClipGrad"};
    return names;
}
const std::vector<std::string_view>& dataNames()
{
    static const std::vector<std::string_view> names{"FashionMNIST", "MNIST",  "IDX",       "CSV",
                                                     "Raw",          "Random", "DataLoader"};
    return names;
}

void failUnknown(std::string_view what, const Expr& expr, const std::vector<std::string_view>& known)
{
    const std::string shown = describe(Expr{Expr::Kind::name, expr.place, 0, 0, expr.text});
    if (std::find(std::begin(kFluxOnly), std::end(kFluxOnly), expr.text) != std::end(kFluxOnly)) {
        failAt(expr.place, fmt::format("{} is part of Flux but not yet supported here", shown),
               fmt::format("a {} is one of: {}", what, fmt::join(known, ", ")), base::ErrorCode::unsupported);
    }
    std::string message = fmt::format("unknown {} {}", what, shown);
    const std::string name = lower(expr.text);
    const auto* foreign =
        std::find_if(std::begin(kForeign), std::end(kForeign), [&](const ForeignRow& row) { return row.name == name; });
    std::string nearest = nearestName(expr.text, known);
    if (foreign != std::end(kForeign)) {
        const std::string_view flux = foreign->flux.substr(0, foreign->flux.find('('));
        const bool usable = std::find(known.begin(), known.end(), flux) != known.end();
        if (usable) nearest = flux;
        failAt(expr.place, message + (usable ? fmt::format("; did you mean '{}'?", nearest) : ""),
               fmt::format("Flux writes it {}", foreign->flux));
    }
    if (!nearest.empty()) failAt(expr.place, message + fmt::format("; did you mean '{}'?", nearest));
    failAt(expr.place, message, fmt::format("a {} is one of: {}", what, fmt::join(known, ", ")));
}

void checkModule(const Expr& expr, std::string_view what, const std::vector<std::string_view>& known)
{
    if (expr.module.empty() || std::find(std::begin(kModules), std::end(kModules), expr.module) != std::end(kModules))
        return;
    if (std::find(known.begin(), known.end(), expr.text) != known.end()) {
        failAt(expr.place, fmt::format("unknown module '{}'", shortened(expr.module)),
               fmt::format("write {} alone, or Flux.{}", expr.text, expr.text));
    }
    failUnknown(what, expr, known);
}

} // namespace stepscope::model
