// Builds model::Model trees by hand, so that the reference can be tested without the parser.
// Owner: tests/support. Spatial options are row-major (height before width).
#pragma once

#include "core/model/model.h"

namespace stepscope::testing {

struct LayerTree {
    model::Layer layer;
    std::vector<LayerTree> children;
};

// Options that the named functions below do not set are the caller's to change in `.layer.options`.
LayerTree layerOf(model::LayerKind kind, std::vector<LayerTree> children = {});
LayerTree dense(int64_t in, int64_t out, model::Activation activation = {});
LayerTree conv(model::Dims kernel, int64_t in, int64_t out, model::Activation activation = {});
LayerTree crossCor(model::Dims kernel, int64_t in, int64_t out, model::Activation activation = {});
LayerTree pool(model::LayerKind kind, model::Dims kernel);
LayerTree norm(model::LayerKind kind, model::Dims shape, model::Activation activation = {});
LayerTree function(model::Activation activation);
LayerTree dropout(double p);
LayerTree chain(std::vector<LayerTree> children);
LayerTree skip(LayerTree child, model::Connection connection);
LayerTree parallel(model::Connection connection, std::vector<LayerTree> children);

// Pre-order layers with parents and children set; shapes and parameters are not inferred.
model::Model makeModel(const LayerTree& root);

} // namespace stepscope::testing
