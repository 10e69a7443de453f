// The layer graph of a model, as read from Flux-like text.
// Owner: core/model. Thread: plain values. Units: FLOP and bytes per sample unless said otherwise.
//
// Shapes are row-major and without the batch dimension: {channels, height, width} or {features}. That is the same
// memory as Flux's column-major (width, height, channels) arrays. Spatial options (kernel, stride, ...) are in the
// same row-major order, i.e. reversed against the text. The batch is the slowest dimension.
#pragma once

#include "core/base/error.h"
#include "core/base/ids.h"

#include <cstdint>
#include <string>
#include <vector>

namespace stepscope::model {

using base::LayerId;
using Dims = std::vector<int64_t>;

int64_t product(const Dims& dims); // 1 for no dimensions

enum class LayerKind {
    chain,          // children in sequence
    dense,
    naiveDense,     // the same function as dense, as a plain triple loop
    conv,           // true convolution: the kernel is flipped, as in Flux
    crossCor,       // no flip
    maxPool,
    meanPool,       // padding counts into the mean, as in Flux
    globalMaxPool,
    globalMeanPool,
    batchNorm,
    layerNorm,
    dropout,
    flatten,
    activation,     // a function used as a layer: relu, softmax, x -> relu.(x)
    skipConnection, // connection(child(x), x)
    parallel,       // connection(child1(x), child2(x), ...)
};

enum class ActivationKind {
    identity, sigmoid, hardsigmoid, tanh, hardtanh, relu, relu6, leakyrelu, elu, gelu, geluErf, geluSigmoid, swish, hardswish,
    selu, celu, softplus, softsign, logsigmoid, logcosh, mish, tanhshrink, softshrink, trelu, lisht,
    softmax, logsoftmax, // over the features (Flux dims = 1); only as layers of their own
};

struct Activation {
    ActivationKind kind = ActivationKind::identity;
    double alpha = 0; // leakyrelu slope 0.01, elu/celu 1, softshrink 0.5, trelu 1; NNlib defaults
    friend bool operator==(const Activation&, const Activation&) = default;
};
const char* activationName(ActivationKind kind); // Flux spelling: "relu", "σ" is printed as "σ"

enum class InitKind {
    glorotUniform, glorotNormal, kaimingUniform, kaimingNormal, lecunNormal, truncatedNormal, orthogonal, identity,
    zeros, ones, randn, rand,
};
struct Init {
    InitKind kind = InitKind::glorotUniform;
    double gain = 1;                // glorot, kaiming, orthogonal
    double mean = 0, std = 1, low = -2, high = 2; // truncatedNormal, randn
    friend bool operator==(const Init&, const Init&) = default;
};

enum class Connection { add, multiply, concatenate }; // +, *, (a, b) -> cat(a, b; dims = 3) / vcat

// One trainable array in Flux's memory order; dims are the row-major reading of it:
// Dense weight {in, out}, Conv weight {out, in / groups, height, width}, vectors {n}.
struct Parameter {
    std::string name; // "weight", "bias", "β", "γ", "scale"
    Dims dims;
    Init init;
    int64_t fanIn = 1, fanOut = 1;
    int64_t count() const { return product(dims); }
};

// Options of all kinds in one plain struct; each kind reads only its own.
struct LayerOptions {
    int64_t in = 0, out = 0;    // dense: features; conv: channels; batchNorm: in = channels
    Dims kernel, stride, dilation; // 1-based dilation
    Dims padLow, padHigh;       // before / after, resolved (SamePad included)
    bool samePad = false;       // as written; the resolved pads are above
    int64_t groups = 1;
    bool bias = true;
    Activation activation;      // σ of Dense/Conv/BatchNorm/LayerNorm, or the function itself for kind activation
    Init init, initBeta{InitKind::zeros}, initGamma{InitKind::ones};
    bool affine = true;         // norms
    bool trackStats = true;     // batchNorm
    double eps = 1e-5;
    double momentum = 0.1;
    Dims normShape;             // layerNorm: trailing (fastest) dims, row-major
    double p = 0;               // dropout
    Connection connection = Connection::add; // skipConnection, parallel
    int concatenateDim = 0;     // concatenate: Flux's 1-based dimension; shape inference makes sure it is axis 0 here
};

struct Cost {
    int64_t flop = 0;
    int64_t bytes = 0; // least memory traffic in float32: inputs + outputs (parameters are counted apart)
};

struct Layer {
    LayerKind kind = LayerKind::chain;
    std::string name; // as written in Chain(name = ...), else the 1-based position
    std::string path; // names joined by '.', "" for the model itself
    std::string text; // as Flux prints it, without children: "Conv((5, 5), 1 => 6, relu)"
    int line = 0, column = 0; // where it stands in the text
    LayerId parent;
    std::vector<LayerId> children; // chain, skipConnection (one), parallel
    LayerOptions options;
    std::vector<Parameter> parameters; // own ones, Flux order (weight, bias; β, γ)
    Dims input, output;        // per sample; set by inferShapes()
    Cost forward, backward;    // per sample, children included; set by inferShapes()
    int64_t parameterCount = 0; // children included
};

struct Model {
    std::vector<Layer> layers; // pre-order; layers[0] is the whole model
    Dims input;                // per sample; empty until known
    const Layer& root() const { return layers.front(); }
    const Layer& at(LayerId id) const { return layers[id.index()]; }
};

enum class LossKind { mse, mae, crossentropy, logitcrossentropy, binarycrossentropy, logitbinarycrossentropy, huberLoss };
struct LossSpec {
    LossKind kind = LossKind::mse;
    double delta = 1;              // huber
    double eps = 0x1p-23;          // crossentropy, binarycrossentropy: eps(Float32)
    bool sumAggregate = false;     // agg = sum instead of mean
    int line = 0, column = 0;      // where it stands in the text
};
const char* lossName(LossKind kind); // Flux spelling

enum class RuleKind { descent, momentum, nesterov, rmsProp, adam, adamW };
struct OptimiserSpec {
    RuleKind rule = RuleKind::adam;
    double eta = 0.001;
    double rho = 0.9;                    // momentum, nesterov, rmsProp
    double beta1 = 0.9, beta2 = 0.999;   // adam, adamW
    double epsilon = 1e-8;
    bool centred = false;                // rmsProp
    double lambda = 0;                   // adamW
    bool couple = true;                  // adamW
    // Applied to the gradient before the rule, in the order of OptimiserChain; each array on its own.
    struct Modifier {
        enum class Kind { weightDecay, clipNorm, clipGrad } kind = Kind::weightDecay;
        double value = 0; // λ, ω, δ
        double p = 2;     // clipNorm
    };
    std::vector<Modifier> modifiers;
    std::string text; // as written
    int line = 0, column = 0; // where it stands in the text
};

enum class DataKind { made, fashionMnist, mnist, idx, csv, raw };
struct DataSpec {
    DataKind kind = DataKind::made;
    std::string path;          // directory (MNIST sets), images file (idx), csv or raw file; "" = the usual place
    std::string labelsPath;    // idx
    std::string testPath, testLabelsPath; // optional
    int64_t batchSize = 1;
    bool shuffle = false;
    bool partial = true;       // keep the last smaller batch
    int numWorkers = 0;
    int queueDepth = 0;        // 0 = 2 per worker
    int64_t samples = 0;       // made: number of samples (default 4096); others: at most so many, 0 = all
    Dims sampleShape;          // made, raw, csv: row-major, per sample; empty = from the file
    int64_t classes = 0;       // classification with that many classes; 0 = regression or from the file
    Dims targetShape;          // regression targets; empty = the model's output
    bool header = false;       // csv: first line names the columns
    int64_t targetColumns = 1; // csv: number of trailing columns that are the target
    struct Transform {
        enum class Kind { normalise, flipHorizontal, shift, noise } kind = Kind::normalise;
        double a = 0, b = 1;   // normalise: (x - a) / b; flipHorizontal: probability a; shift: at most a pixels; noise: σ = a
        bool perBatch = false; // applied once to the whole batch instead of sample by sample
    };
    std::vector<Transform> transforms;
    std::string text; // as written
    int line = 0, column = 0;  // where it stands in the text
};

// A whole model file.
struct ModelFile {
    std::string file; // for messages
    std::string text;
    Model model;
    LossSpec loss;
    bool lossGiven = false;
    OptimiserSpec optimiser;
    DataSpec data;
    bool dataGiven = false;
    uint64_t seed = 0;
    bool seedGiven = false;
    int64_t epochs = 0; // 0 = not given
    int64_t steps = 0;  // 0 = not given
};

} // namespace stepscope::model
