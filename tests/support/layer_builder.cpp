#include "tests/support/layer_builder.h"

namespace stepscope::testing {

namespace {

using model::LayerKind;

base::LayerId append(model::Model& model, const LayerTree& tree, base::LayerId parent)
{
    const base::LayerId id(model.layers.size());
    model.layers.push_back(tree.layer);
    model.layers.back().parent = parent;
    for (const LayerTree& child : tree.children) {
        const base::LayerId childId = append(model, child, id);
        model.layers[id.index()].children.push_back(childId);
    }
    return id;
}

} // namespace

LayerTree layerOf(LayerKind kind, std::vector<LayerTree> children)
{
    LayerTree tree;
    tree.layer.kind = kind;
    tree.children = std::move(children);
    return tree;
}

LayerTree dense(int64_t in, int64_t out, model::Activation activation)
{
    LayerTree tree = layerOf(LayerKind::dense);
    tree.layer.options.in = in;
    tree.layer.options.out = out;
    tree.layer.options.activation = activation;
    return tree;
}

LayerTree conv(model::Dims kernel, int64_t in, int64_t out, model::Activation activation)
{
    LayerTree tree = dense(in, out, activation);
    tree.layer.kind = LayerKind::conv;
    tree.layer.options.kernel = std::move(kernel);
    return tree;
}

LayerTree crossCor(model::Dims kernel, int64_t in, int64_t out, model::Activation activation)
{
    LayerTree tree = conv(std::move(kernel), in, out, activation);
    tree.layer.kind = LayerKind::crossCor;
    return tree;
}

LayerTree pool(LayerKind kind, model::Dims kernel)
{
    LayerTree tree = layerOf(kind);
    tree.layer.options.kernel = std::move(kernel);
    return tree;
}

LayerTree norm(LayerKind kind, model::Dims shape, model::Activation activation)
{
    LayerTree tree = layerOf(kind);
    if (kind == LayerKind::batchNorm) tree.layer.options.in = shape.front();
    else tree.layer.options.normShape = std::move(shape);
    tree.layer.options.activation = activation;
    return tree;
}

LayerTree function(model::Activation activation)
{
    LayerTree tree = layerOf(LayerKind::activation);
    tree.layer.options.activation = activation;
    return tree;
}

LayerTree dropout(double p)
{
    LayerTree tree = layerOf(LayerKind::dropout);
    tree.layer.options.p = p;
    return tree;
}

LayerTree chain(std::vector<LayerTree> children) { return layerOf(LayerKind::chain, std::move(children)); }

LayerTree skip(LayerTree child, model::Connection connection)
{
    LayerTree tree = layerOf(LayerKind::skipConnection, {std::move(child)});
    tree.layer.options.connection = connection;
    return tree;
}

LayerTree parallel(model::Connection connection, std::vector<LayerTree> children)
{
    LayerTree tree = layerOf(LayerKind::parallel, std::move(children));
    tree.layer.options.connection = connection;
    return tree;
}

model::Model makeModel(const LayerTree& root)
{
    model::Model model;
    append(model, root, base::LayerId());
    return model;
}

} // namespace stepscope::testing
