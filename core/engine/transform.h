// Transforms of loaded samples: what `transforms = (...)` of the data names.
// Owner: core/engine. Thread: apply() from several threads on different batches; no state.
#pragma once

#include "core/base/result.h"
#include "core/engine/batch.h"
#include "core/model/model.h"

#include <span>
#include <string>

namespace stepscope::engine {

using TransformSpec = model::DataSpec::Transform;

// "Normalise", "FlipHorizontal", "Shift", "Noise"; " per batch" is appended for those.
std::string transformName(const TransformSpec& transform);

// Flip and shift need images: samples of at least two dimensions, the last two being height and width.
base::Status checkTransforms(std::span<const TransformSpec> transforms, const model::Dims& sampleShape);

// Transforms the x of a whole batch in place. Random choices depend on (seed, epoch, sample number, position) alone, so
// that they are equal for any number of workers and whether done per sample or per batch. Per sample: one sample after
// the other, each with its own set-up; per batch: one pass over the batch.
void applyTransform(const TransformSpec& transform, uint64_t position, const model::Dims& sampleShape,
                    std::span<const int64_t> samples, uint64_t seed, Batch& batch);

} // namespace stepscope::engine
