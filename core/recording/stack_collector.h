// StackCollector: unwinds and interns raw samples, and keeps what came of them for the Collector.
// Owner: core/recording. Thread: take() and poll() on the sampler's thread; takeBatch(), clear() and counts() on any.
// Units: ticks of the probe clock, ns.
#pragma once

#include "core/recording/raw_sample.h"
#include "core/recording/sampled_batch.h"
#include "core/recording/wait_poller.h"

#include <mutex>
#include <unordered_map>

namespace stepscope::recording {

class StackCollector {
public:
    struct Counts {
        int64_t samples = 0, incomplete = 0, approximate = 0, blocked = 0, discarded = 0;
        int64_t weight = 0; // ns of CPU time covered
    };

    StackCollector();
    ~StackCollector();

    void refresh(); // before a round of take() and poll()
    void take(const RegisteredThread& thread, std::span<const std::byte> record);
    // Looks for threads that wait; each counts for `weight` ns.
    void poll(ThreadRegistry& threads, int64_t weight);
    void forgetWaits() { m_poller.forget(); }

    void setWall(bool wall);
    SampledBatch takeBatch(); // everything since the last call
    void clear();
    Counts counts() const;

private:
    uint32_t unwind(const Registers& registers, const StackCopy& stack, uint64_t ticks);
    uint32_t runnableStack();
    uint32_t indexOf(uint64_t serial, pid_t id, const void* routine);
    std::string threadName(pid_t id, const void* routine);
    void takeTail(SampledBatch& batch);

    Unwinder m_unwinder;
    WaitPoller m_poller;
    std::vector<CodeFrame> m_found;
    std::vector<WaitPoller::Wait> m_waits;
    std::unordered_map<uint64_t, uint32_t> m_threadIndex; // by serial
    int m_openMpWorkers = 0;

    mutable std::mutex m_mutex; // of everything below
    StackTrie m_trie;
    std::vector<SampledThread> m_threads;
    std::vector<StackSample> m_samples;
    std::vector<uint8_t> m_quality; // by stack: see kIncomplete and kApproximate
    Counts m_counts;
    uint64_t m_clearedAt = 0;
    uint32_t m_generation = 0;
    bool m_wall = false;
    size_t m_sentModules = 0, m_sentNames = 0, m_sentFrames = 0, m_sentStacks = 0, m_sentThreads = 0;
};

} // namespace stepscope::recording
