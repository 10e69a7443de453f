// ThreadMarker: what a thread works on right now, where a signal handler can copy it.
// Owner: core/recording. Thread: written by its own thread; read by that thread's signal handler, by the handlers of
// its OpenMP workers and by the sampler's thread.
#pragma once

#include "core/base/ids.h"

#include <atomic>
#include <cstdint>

namespace stepscope::recording {

struct ThreadMarker {
    std::atomic<uint32_t> label{base::LabelId::kNone}; // of the innermost open probe
    std::atomic<int32_t> step{-1};
    std::atomic<bool> used{false}; // false: the thread has no probes and works for the thread that made it
};

} // namespace stepscope::recording
