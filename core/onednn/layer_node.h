// LayerNode: one layer of a plan. Each *_layer.cpp implements one kind; builtin.cpp lists them.
// Owner: core/onednn. Thread: the training thread, while a plan is built.
#pragma once

#include "core/onednn/plan.h"

#include <memory>

namespace stepscope::onednn {

class LayerNode {
public:
    explicit LayerNode(base::LayerId id) : m_id(id) {}
    virtual ~LayerNode() = default;
    LayerNode(const LayerNode&) = delete;
    LayerNode& operator=(const LayerNode&) = delete;

    // Takes over an activation that follows the layer; asked before forward(). False: it must be a layer of its own.
    virtual bool fuse(const model::Activation&) { return false; }
    // Emits the forward operations and returns the output.
    virtual Value forward(PlanBuilder& builder, Value x) = 0;
    // Emits the backward operations. Returns the gradient for x, or an empty value when wantInput is false.
    virtual Value backward(PlanBuilder& builder, Value dy, bool wantInput) = 0;

    base::LayerId id() const { return m_id; }

private:
    base::LayerId m_id;
};

using LayerNodePtr = std::shared_ptr<LayerNode>;

// Factories, one per file.
LayerNodePtr makeChain(PlanBuilder& builder, base::LayerId id);
LayerNodePtr makeAffine(PlanBuilder& builder, base::LayerId id);
LayerNodePtr makeNaiveDense(PlanBuilder& builder, base::LayerId id);
LayerNodePtr makePool(PlanBuilder& builder, base::LayerId id);
LayerNodePtr makeBatchNorm(PlanBuilder& builder, base::LayerId id);
LayerNodePtr makeLayerNorm(PlanBuilder& builder, base::LayerId id);
LayerNodePtr makeDropout(PlanBuilder& builder, base::LayerId id);
LayerNodePtr makeFlatten(PlanBuilder& builder, base::LayerId id);
LayerNodePtr makeActivation(PlanBuilder& builder, base::LayerId id);
LayerNodePtr makeBranches(PlanBuilder& builder, base::LayerId id); // SkipConnection, Parallel

// builtin.cpp: the node of a layer's kind.
LayerNodePtr makeLayer(PlanBuilder& builder, base::LayerId id);

} // namespace stepscope::onednn
