// The list of layer kinds and the functions that build them.
#include "core/onednn/layer_node.h"

namespace stepscope::onednn {

LayerNodePtr makeLayer(PlanBuilder& builder, base::LayerId id)
{
    using model::LayerKind;
    switch (builder.layer(id).kind) {
    case LayerKind::chain: return makeChain(builder, id);
    case LayerKind::dense:
    case LayerKind::conv:
    case LayerKind::crossCor: return makeAffine(builder, id);
    case LayerKind::naiveDense: return makeNaiveDense(builder, id);
    case LayerKind::maxPool:
    case LayerKind::meanPool:
    case LayerKind::globalMaxPool:
    case LayerKind::globalMeanPool: return makePool(builder, id);
    case LayerKind::batchNorm: return makeBatchNorm(builder, id);
    case LayerKind::layerNorm: return makeLayerNorm(builder, id);
    case LayerKind::dropout: return makeDropout(builder, id);
    case LayerKind::flatten: return makeFlatten(builder, id);
    case LayerKind::activation: return makeActivation(builder, id);
    case LayerKind::skipConnection:
    case LayerKind::parallel: return makeBranches(builder, id);
    }
    return nullptr;
}

} // namespace stepscope::onednn
