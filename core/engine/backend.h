// Backend: runs a model's training steps on one kind of device. Network: one model built on a backend.
// Owner: core/engine. Thread: a Network is built and used on one thread, the training thread. Units: ns, bytes, FLOP.
#pragma once

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/engine/batch.h"
#include "core/engine/losses.h"
#include "core/model/model.h"
#include "core/recording/recorder.h"

#include <memory>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

namespace stepscope::engine {

struct BuildOptions {
    int64_t batchSize = 1;
    std::vector<int64_t> smallerBatches; // sizes that will come, too: prepared with the network instead of inside a step
    int threads = 0;           // 0 = chosen by timing
    bool fuse = true;          // fuse activations into the layer before, where training allows
    bool tune = true;          // choose implementations and layouts by timing; off: the library's first choice
    uint64_t seed = 0;         // initial values and dropout
    bool poisonMemory = false; // tests: fill fresh memory with NaN
};

// Where spans of the running network go. Null members: not recorded.
struct Recording {
    recording::Recorder* recorder = nullptr;  // registers labels and primitives at build time
    recording::SpanBuffer* buffer = nullptr;  // of the training thread
};

struct BuildInfo {
    int threads = 1;              // largest number of threads a primitive uses
    int64_t primitives = 0;       // per step
    int64_t referencePrimitives = 0;
    int64_t reorders = 0;
    int64_t parameterBytes = 0, activationBytes = 0, stateBytes = 0;
    double buildSeconds = 0;
    std::vector<std::string> notes; // decisions worth telling: "conv2 backward: plain layout is faster (31 us against 44)"
};

class Network {
public:
    virtual ~Network() = default;

    // One training step is: setBatch, forward, loss, backward, update. Each writes its layer and primitive spans, not
    // the phase span (the Trainer does). A batch smaller than the built size is allowed; the first of each size
    // creates primitives (a creation span). A larger one is an error.
    virtual base::Status setBatch(const Batch& batch) = 0;
    virtual base::Status forward(bool training) = 0; // training: batch statistics and dropout
    virtual LossResult loss(bool wantGradient) = 0;
    virtual base::Status backward() = 0;
    virtual base::Status update() = 0;
    // Waits for the device and makes results readable. Does nothing on the CPU.
    virtual base::Status synchronise() = 0;

    virtual const BuildInfo& info() const = 0;
    virtual const model::Model& model() const = 0;

    // Values in Flux memory order (see model::Parameter), for tests and files. `parameter` counts over
    // model().layers[layer].parameters; batchNorm also has the running μ and σ² as parameters 2 and 3 (after β and γ).
    virtual base::Result<std::vector<float>> parameter(base::LayerId layer, int parameter) const = 0;
    virtual base::Status setParameter(base::LayerId layer, int parameter, const std::vector<float>& values) = 0;
    virtual base::Result<std::vector<float>> gradient(base::LayerId layer, int parameter) const = 0;
    // Output of the last forward, count x outputs, row-major.
    virtual std::vector<float> output() const = 0;
    // Gradient of the loss for the model's input, count x sample; only for networks built with wantInputGradient.
    virtual base::Result<std::vector<float>> inputGradient() const = 0;
};

class Backend {
public:
    virtual ~Backend() = default;
    virtual std::string name() const = 0; // "oneDNN"
    // Library, version, instruction set ... as environment rows.
    virtual std::vector<std::pair<std::string, std::string>> environment() const = 0;
    // Refuses a backend that computes wrong results on this machine. A few milliseconds.
    virtual base::Status selfCheck() = 0;
    // Shapes must be inferred. wantInputGradient also computes the gradient for the input (tests).
    virtual base::Result<std::unique_ptr<Network>> build(const model::ModelFile& file, const BuildOptions& options,
                                                         const Recording& recording, std::stop_token stop,
                                                         const base::Progress& progress, bool wantInputGradient = false) = 0;
};

} // namespace stepscope::engine
