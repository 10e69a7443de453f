// What a program does first in main() to be sampled.
// Owner: core/recording. Thread: main(), before any other thread.
#pragma once

namespace stepscope::recording {

// Registers the first thread, takes over pthread_create() for those that follow, and names our agent to libraries that
// generate code (see thread_registry.h and generated_code.h). The agent lies beside the program, or in
// ../lib/stepscope; without it generated code has no names, and false is returned. Respects an INTEL_JIT_PROFILER64
// that the user set. Costs some 100 µs; nothing is sampled before a CpuSampler starts.
bool prepareProcess();

} // namespace stepscope::recording
