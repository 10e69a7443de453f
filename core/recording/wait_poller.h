// WaitPoller: finds threads that are blocked and copies their stacks from outside, without waking or signalling them.
// Owner: core/recording. Thread: the sampler's thread. Units: ns, addresses.
//
// The kernel tells in /proc/self/task/ID/syscall whether a thread waits in the kernel, and its stack pointer and program
// counter then. A thread that has used no CPU time since it was looked at last still stands where it stood. How long it
// could have run but was given no processor is in /proc/self/task/ID/schedstat; where it stood then is not to be had.
#pragma once

#include "core/recording/thread_registry.h"
#include "core/recording/unwinder.h"

#include <functional>
#include <unordered_map>

namespace stepscope::recording {

class WaitPoller {
public:
    // One thread that waits. `stack` is as `unwind` returned it.
    struct Wait {
        pid_t id = 0;
        uint64_t serial = 0;
        const void* routine = nullptr;
        uint32_t label = 0;
        int32_t step = -1;
        uint32_t stack = 0;
        int64_t runnableNs = 0; // not blocked: time since the last look without a processor; no stack
    };
    // Unwinds and interns a stack of which only the stack pointer and the program counter are known.
    using Unwind = std::function<uint32_t(const Registers&, const StackCopy&)>;

    // Looks at every thread that is not excluded and tells those that wait.
    void poll(ThreadRegistry& threads, const ProcessMemory& memory, const Unwind& unwind, std::vector<Wait>& waits);
    int64_t discarded() const { return m_discarded; } // moved on while their stack was being copied
    void forget() { m_last.clear(); }

private:
    struct Candidate { // copied under the registry's mutex
        pid_t id = 0;
        uint64_t serial = 0, stackHigh = 0, stackLow = 0;
        const void* routine = nullptr;
        uint32_t label = 0;
        int32_t step = -1;
    };
    struct Last {
        int64_t cpuNs = -1;
        int64_t runnableNs = -1; // so far
        uint32_t stack = 0;
        bool waiting = false;
        bool seen = false;
    };
    bool copyStack(const Candidate& thread, const ProcessMemory& memory, Registers& registers, StackCopy& stack);

    std::vector<Candidate> m_candidates;
    std::unordered_map<uint64_t, Last> m_last; // by serial
    std::vector<std::byte> m_bytes;
    int64_t m_discarded = 0;
};

} // namespace stepscope::recording
