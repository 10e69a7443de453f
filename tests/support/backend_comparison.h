// BackendComparison: one model on a backend and on the double-precision reference, kept in step.
// Owner: tests/support. Thread: one. Works for any engine::Backend.
//
// Tolerances, relative to the largest value of each tensor: forward 1e-5, gradients 1e-4, the latter times
// sqrt(K / 100) where K > 1000 terms are summed.
#pragma once

#include "core/engine/backend.h"
#include "tests/support/reference_network.h"

#include <memory>
#include <random>
#include <string>

namespace stepscope::testing {

// A model file with inferred shapes. Throws std::runtime_error with the parser's message.
model::ModelFile readModel(const std::string& text);

// One minibatch for both sides. Values are exact in float.
struct Sample {
    engine::Batch batch;
    Tensor x;
    Values targets;              // one-hot for labels
    std::vector<int32_t> labels; // empty for regression
};

enum class TargetKind {
    matching,    // labels for the cross entropies, values in (0, 1) for the binary ones, else values around 0
    labels,      // class numbers
    distribution // for the cross entropies: dense targets that sum to one
};

// Largest |a - b| over the largest |b|, or infinity where one of them is not finite or sizes differ.
double relativeError(const std::vector<float>& a, const Values& b, double atLeast = 0);

class BackendComparison {
public:
    // Builds on both sides and checks that values set into the network are read back. The reference's parameters are
    // random when `randomParameters`, else those that the backend initialised. Throws std::runtime_error.
    BackendComparison(engine::Backend& backend, const std::string& modelText, engine::BuildOptions options,
                      bool randomParameters = true);

    engine::Network& network() { return *m_network; }
    ReferenceNetwork& reference() { return m_reference; }
    const model::ModelFile& file() const { return m_file; }

    // Random inputs, at least 1e-3 away from the kinks of the activations.
    Sample randomSample(int64_t count, uint32_t seed, TargetKind targets = TargetKind::matching) const;

    // Each returns "" or a description of the first difference.
    std::string forward(const Sample& sample, bool training);      // output, and running statistics after training
    std::string lossAndGradients(const Sample& sample);            // after forward: loss, hits, all gradients
    std::string step(const Sample& sample);                        // both of the above, in training
    void update();                                                 // optimiser on both sides
    std::string parameters(double tolerance = 1e-5);               // compares all parameters
    std::string train(int steps, int64_t count, double tolerance); // steps on fresh samples: losses within tolerance

private:
    void copyFromNetwork();
    void copyIntoNetwork();
    std::string compareGradients();
    std::string where(uint32_t layer, int parameter) const;

    model::ModelFile m_file;
    ReferenceNetwork m_reference;
    std::unique_ptr<engine::Network> m_network;
};

} // namespace stepscope::testing
