// flatten: free, because it only changes how the next layer sees the memory.
#include "core/onednn/layer_node.h"

namespace stepscope::onednn {
namespace {

class FlattenLayer final : public LayerNode {
public:
    using LayerNode::LayerNode;

    Value forward(PlanBuilder&, Value x) override
    {
        m_flattened = x.flattened;
        x.flattened = x.flattened || x.dims().size() > 2;
        return x;
    }

    Value backward(PlanBuilder&, Value dy, bool) override
    {
        dy.flattened = m_flattened;
        return dy;
    }

private:
    bool m_flattened = false;
};

} // namespace

LayerNodePtr makeFlatten(PlanBuilder&, base::LayerId id) { return std::make_shared<FlattenLayer>(id); }

} // namespace stepscope::onednn
