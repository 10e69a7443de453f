// Checks data against the model that is to learn it.
// Owner: core/engine. Thread: any; no state.
#pragma once

#include "core/engine/data_source.h"

#include <string>

namespace stepscope::engine {

// Class labels must be within the model's outputs, targets must have as many values. openData() does this too when it
// is given the model's output. `path` is for the message.
base::Status checkTargets(const DataSource& source, const model::Dims& output, const model::LossSpec& loss,
                          const std::string& path);

} // namespace stepscope::engine
