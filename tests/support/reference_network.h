// ReferenceNetwork: a deliberately simple double-precision interpreter of a model, the yardstick for the backends.
// Owner: tests/support. Thread: one. Needs no inferred shapes: it computes its own.
//
// Everything is a plain loop over row-major arrays; no part of core/engine is used. Parameters are in Flux memory
// order, numbered like engine::Network: weight 0, bias 1; β 0, γ 1, running μ 2, running σ² 3 of batchNorm;
// scale 0, bias 1 of layerNorm.
#pragma once

#include "tests/support/reference_layers.h"

#include <map>

namespace stepscope::testing {

class ReferenceNetwork {
public:
    explicit ReferenceNetwork(const model::ModelFile& file);
    explicit ReferenceNetwork(const model::Model& model, model::LossSpec loss = {},
                              model::OptimiserSpec optimiser = {});

    const model::Model& model() const { return m_model; }

    // Weights start at 0, scales, γ and running σ² at 1; tests set or copy them.
    Values& parameter(base::LayerId layer, int index) { return m_nodes.at(layer.value).parameters.at(index); }
    const Values& gradient(base::LayerId layer, int index) const { return m_nodes.at(layer.value).gradients.at(index); }
    std::vector<int> parameterIndices(base::LayerId layer) const;
    // Trained parameters of a layer, without the running statistics.
    int trainedParameters(base::LayerId layer) const;
    // Every parameter uniform in [-amplitude, amplitude] (γ, scale and running σ² around 1), rounded to float.
    void randomise(uint32_t seed, double amplitude = 0.5);

    // 1 for kept values, 0 for dropped ones, in the layer's input order. Training without a mask keeps everything.
    void setDropoutMask(base::LayerId layer, Values mask) { m_nodes.at(layer.value).mask = std::move(mask); }

    const Tensor& forward(const Tensor& x, bool training);
    const Tensor& output() const { return m_output; }
    // Output of one layer in the last forward.
    const Tensor& layerOutput(base::LayerId layer) const { return m_nodes.at(layer.value).y; }
    // Loss of the last output; keeps its gradient for backward().
    double loss(const Values& targets);
    double lossOfLabels(const std::vector<int32_t>& labels);
    int64_t correct(const std::vector<int32_t>& labels) const; // samples whose largest output is the label's
    void backward() { backward(m_lossGradient); }
    void backward(const Values& dy); // from any gradient of the output
    const Tensor& inputGradient() const { return m_inputGradient; }
    void update();

private:
    struct Node {
        std::map<int, Values> parameters, gradients;
        std::map<int, ReferenceOptimiser> optimisers;
        Values mask;
        // Of the last forward: input, value before the activation, normalised value, output.
        Tensor x, z, y;
        Values xhat;
        Moments moments;
        bool active = false;          // batch statistics or a dropout mask were used
        std::vector<Tensor> branches; // of connections
    };

    Tensor forwardLayer(base::LayerId id, const Tensor& x, bool training);
    Tensor forwardWeighted(const model::Layer& layer, Node& node, const Tensor& x);
    Tensor forwardNorm(const model::Layer& layer, Node& node, const Tensor& x, bool training);
    Tensor forwardBranches(const model::Layer& layer, Node& node, const Tensor& x, bool training);
    Tensor backwardLayer(base::LayerId id, const Tensor& dy);
    Tensor backwardNorm(const model::Layer& layer, Node& node, const Tensor& dy);
    Tensor backwardBranches(const model::Layer& layer, Node& node, const Tensor& dy);
    void initialise(const model::Layer& layer, Node& node);
    int64_t affineIndex(const model::Layer& layer, const Tensor& x, int64_t i) const;

    model::Model m_model;
    model::LossSpec m_loss;
    model::OptimiserSpec m_optimiser;
    std::map<uint32_t, Node> m_nodes;
    Tensor m_output, m_inputGradient;
    Values m_lossGradient;
};

} // namespace stepscope::testing
