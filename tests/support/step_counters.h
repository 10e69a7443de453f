// What a warm step costs beside its time: allocations and page faults. A program that links the target
// tests/step_counters has operator new replaced by one that counts.
#pragma once

#include <cstdint>

namespace stepscope::support {

struct StepCounters {
    int64_t threadAllocations = 0; // operator new on the calling thread, whoever calls it
    int64_t ownAllocations = 0;    // on all threads, called by the program's own code; those of shared libraries are theirs
    int64_t pageFaults = 0;        // of all threads, minor and major

    friend StepCounters operator-(const StepCounters& a, const StepCounters& b)
    {
        return {a.threadAllocations - b.threadAllocations, a.ownAllocations - b.ownAllocations, a.pageFaults - b.pageFaults};
    }
};

// Since the start of the thread or the program. The difference of two readings on one thread is what lay between.
StepCounters stepCounters();

} // namespace stepscope::support
