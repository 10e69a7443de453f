// Shape inference and costs.
// Owner: core/model. Thread: any. Units: FLOP (a multiply-add counts 2) and bytes, per sample.
#pragma once

#include "core/base/result.h"
#include "core/model/model.h"

namespace stepscope::model {

// Sets input, output, costs and parameter shapes of every layer for one sample of shape `input` (row-major, without
// batch). A mismatch is an Error that names both layers, both shapes and the place of the second in the text.
base::Status inferShapes(ModelFile& file, const Dims& input);

// The shape the first layers imply when the data cannot tell: {in} for Dense; empty when it cannot be known.
Dims impliedInput(const Model& model);

// The input shape as far as the file alone can tell: `input = ...`, else the data's (28 x 28 for the MNIST sets), else the
// implied one. Empty when it cannot be known.
Dims knownInput(const ModelFile& file);

// "(28, 28, 1, 64)": Flux order, batch last; a batch of 0 prints ":".
std::string fluxShape(const Dims& dims, int64_t batch);

} // namespace stepscope::model
