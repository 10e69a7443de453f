// Checks a model text for the run panel: syntax, shapes, and a summary in words.
// Owner: ui/views. Thread: any; no state.
#pragma once

#include "core/base/result.h"
#include "core/model/model.h"

#include <string>

namespace stepscope::views {

struct CheckedModel {
    model::ModelFile file;
    bool shapesKnown = false; // the data decides when the text alone does not
};

// Parses the text and infers shapes where the input's shape is known without opening the data.
base::Result<CheckedModel> checkModel(const std::string& text, const std::string& file);

// "Fashion-MNIST, batch 64, shuffled, 2 workers"
std::string dataText(const model::DataSpec& data, bool given);
// "logitcrossentropy, Adam(0.001), 44_426 parameters, 24.8 MFLOP per sample"
std::string modelText(const CheckedModel& checked);

} // namespace stepscope::views
