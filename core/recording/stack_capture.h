// Copies the calling thread's stack into its ring: in the handler of the sampling signal, or where the program asks.
// Owner: core/recording. Thread: any; captureHere() also where malloc() must not be called. Units: as SampleKind tells.
#pragma once

#include "core/base/result.h"
#include "core/recording/raw_sample.h"

namespace stepscope::recording {

// Installs the handler. Error when the program has a handler of its own for the signal. It stays installed for good, as
// a signal may still be on its way when sampling ends.
base::Status installSampleHandler();
// False when somebody replaced it.
bool sampleHandlerInstalled() noexcept;

// Puts a sample of the calling thread, from the caller on, into its ring. False when the thread is not sampled now or
// the ring is full (counted as lost). Neither allocates nor locks; about half a microsecond.
bool captureHere(SampleKind kind, int64_t weight, int64_t bytes = 0) noexcept;

} // namespace stepscope::recording
