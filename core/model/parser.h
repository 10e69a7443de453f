// Reads a model file: Flux notation that can be pasted from Julia.
// Owner: core/model. Thread: any; no state. See resources/help/model-text.md for the language.
#pragma once

#include "core/base/result.h"
#include "core/model/model.h"

#include <string>
#include <string_view>

namespace stepscope::model {

// Parses `text`; `file` is used in messages only. Errors carry file, line and column, what was expected and the
// nearest known name. Shapes are not known yet (see inferShapes), unless the text has `input = (28, 28, 1)`.
base::Result<ModelFile> parseModelText(std::string_view text, std::string file);
// Reads and parses a file.
base::Result<ModelFile> readModelFile(const std::string& path);

} // namespace stepscope::model
