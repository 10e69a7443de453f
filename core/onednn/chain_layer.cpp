// Chain: its children in sequence. An activation layer is handed to the layer before it where that one can fuse it.
#include "core/onednn/layer_node.h"

#include <fmt/format.h>

namespace stepscope::onednn {
namespace {

class ChainLayer final : public LayerNode {
public:
    using LayerNode::LayerNode;

    bool fuse(const model::Activation& activation) override
    {
        return !m_children.empty() && m_children.back()->fuse(activation);
    }

    void adopt(PlanBuilder& builder)
    {
        for (base::LayerId child : builder.layer(id()).children) {
            const model::Layer& layer = builder.layer(child);
            if (layer.kind == model::LayerKind::activation && !m_children.empty() && m_children.back()->fuse(layer.options.activation)) {
                builder.note(fmt::format("{} runs inside {}", layer.path, builder.layer(m_children.back()->id()).path));
                continue;
            }
            m_children.push_back(makeLayer(builder, child));
        }
    }

    Value forward(PlanBuilder& builder, Value x) override
    {
        for (const LayerNodePtr& child : m_children) {
            if (builder.stopped(child->id())) throw Stopped{};
            builder.openLayer(child->id());
            x = child->forward(builder, std::move(x));
            builder.closeLayer();
        }
        return x;
    }

    Value backward(PlanBuilder& builder, Value dy, bool) override
    {
        for (size_t i = m_children.size(); i-- > 0;) {
            const LayerNodePtr& child = m_children[i];
            const bool wanted = builder.wantsInputGradient(child->id());
            builder.openLayer(child->id());
            dy = child->backward(builder, std::move(dy), wanted);
            builder.closeLayer();
            if (!wanted) return {}; // nothing before this child has parameters
        }
        return dy;
    }

private:
    std::vector<LayerNodePtr> m_children;
};

} // namespace

LayerNodePtr makeChain(PlanBuilder& builder, base::LayerId id)
{
    auto chain = std::make_shared<ChainLayer>(id);
    chain->adopt(builder);
    return chain;
}

} // namespace stepscope::onednn
