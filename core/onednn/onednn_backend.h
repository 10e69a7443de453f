// The CPU backend on oneDNN.
// Owner: core/onednn. Thread: see engine::Backend.
#pragma once

#include "core/engine/backend.h"

#include <memory>
#include <string>

namespace stepscope::onednn {

struct BackendSettings {
    // File that keeps the tuned choices for later runs; "" = only for the life of the backend.
    std::string tuningFile;
    bool freshTuning = false; // times everything anew and then writes the file
};

std::unique_ptr<engine::Backend> createBackend(BackendSettings settings = {});

// ~/.cache/stepscope/onednn-tuning (XDG_CACHE_HOME respected); "" when there is no home.
std::string defaultTuningFile();

// The parts of self-check, each in a few milliseconds: what oneDNN 3.7 gets wrong on machines that hide their cache sizes.
base::Status checkReorder();     // a plain -> padded blocked conversion over memory filled with NaN, and back
base::Status checkConvolution(); // a small convolution, forward and both gradients, against plain loops

} // namespace stepscope::onednn
