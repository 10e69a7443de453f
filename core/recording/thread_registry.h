// ThreadRegistry: every thread of the process, from its first instruction to its last, ready to be sampled.
// Owner: core/recording. Thread: any. Units: bytes, addresses.
//
// A program that wants to be sampled calls prepareProcess() first in main() (process_setup.h). That links this part
// in, and with it a pthread_create() which the program exports: threads of OpenMP, of the C++ library and of Qt come
// through it. Each thread gets an alternate signal stack, because oneDNN's matrix kernels point the stack pointer into
// the heap: a handler on the thread's own stack would destroy memory there.
//
// Signal handlers and pthread_create() have no argument through which to reach anything, so the registry is, with the
// code registry, the one thing here that exists once per process.
#pragma once

#include "core/recording/allocation_counter.h"
#include "core/recording/sample_ring.h"
#include "core/recording/sample_timer.h"
#include "core/recording/thread_marker.h"

#include <memory>
#include <mutex>
#include <vector>

namespace stepscope::recording {

// Memory for signal handlers of one thread.
class AlternateStack {
public:
    AlternateStack() = default;
    ~AlternateStack();
    AlternateStack(const AlternateStack&) = delete;
    AlternateStack& operator=(const AlternateStack&) = delete;
    // For the calling thread. Keeps one that is there and large enough. False when there is none.
    bool install();
    void remove(); // of the calling thread
    static bool present(); // the calling thread has one that is large enough

private:
    void* m_memory = nullptr;
};

struct RegisteredThread : std::enable_shared_from_this<RegisteredThread> {
    // Read by signal handlers.
    ThreadMarker marker;
    std::atomic<SampleRing*> ring{nullptr};
    std::atomic<uint32_t> capturing{0}; // the thread is writing into its ring
    std::atomic<int64_t> weight{0};     // ns per sample
    std::atomic<int64_t> deferred{0};   // ns of samples that came while the thread was capturing
    uint64_t stackLow = 0, stackHigh = 0;
    std::atomic<ThreadAllocations*> allocations{nullptr}; // of a thread with probes, where they are counted
    RegisteredThread* leader = nullptr; // the thread that made it; kept by `maker`. Others than the thread itself read
                                        // it with the registry's mutex held

    pid_t id = 0;
    uint64_t serial = 0; // never used twice, unlike the id
    const void* routine = nullptr;
    std::atomic<bool> excluded{false}; // a thread of the recording itself
    std::atomic<bool> exited{false};
    bool canBeSignalled = false; // has an alternate stack
    std::shared_ptr<RegisteredThread> maker;
    AlternateStack alternateStack;

    // Guarded by the registry's mutex.
    SampleTimer timer;
    std::unique_ptr<SampleRing> ownedRing;
    int64_t cpuNsAtStart = 0; // of sampling
};

// Told of threads that start and end; called on that thread, with the registry's mutex held.
class ThreadObserver {
public:
    virtual ~ThreadObserver() = default;
    virtual void threadStarted(RegisteredThread& thread) = 0;
    virtual void threadEnds(RegisteredThread& thread) = 0;
    virtual void childForked() = 0; // in the child, with the calling thread alone left
};

class ThreadRegistry {
public:
    using Threads = std::vector<std::shared_ptr<RegisteredThread>>;

    // Adds the calling thread; does nothing when it is there.
    void addCurrentThread(std::shared_ptr<RegisteredThread> maker, const void* routine) noexcept;
    void endCurrentThread() noexcept;
    // One observer at a time: false when there is another one.
    bool observe(ThreadObserver* observer);
    void stopObserving();
    // Calls `use` for every thread that lives, with the mutex held.
    template <class Use>
    void forEach(Use&& use)
    {
        const std::lock_guard lock(m_mutex);
        for (const auto& thread : m_threads)
            use(*thread);
    }
    Threads threads() const; // those that live, and those that ended with samples not fetched yet
    void drop(const RegisteredThread& ended); // its samples were fetched
    void excludeCurrentThread();
    std::mutex& mutex() { return m_mutex; } // of what is guarded by it elsewhere
    uint64_t forks() const { return m_forks.load(std::memory_order_relaxed); }

    void beforeFork();
    void afterForkInParent();
    void afterForkInChild();

private:
    mutable std::mutex m_mutex;
    Threads m_threads, m_ended;
    ThreadObserver* m_observer = nullptr;
    uint64_t m_nextSerial = 1;
    std::atomic<uint64_t> m_forks{0};
};

ThreadRegistry& threadRegistry();

// The calling thread; null when the program did not call prepareProcess() or the thread was made around it.
RegisteredThread* currentThread() noexcept;
// The marker to tag a sample of the thread with: its own, or that of the thread it works for.
inline const ThreadMarker& markerOf(const RegisteredThread& thread) noexcept
{
    const RegisteredThread* leader = thread.leader;
    const bool own = thread.marker.used.load(std::memory_order_relaxed);
    return own || leader == nullptr ? thread.marker : leader->marker;
}
// For threads of the recording itself: they are never sampled.
void excludeCurrentThread();

} // namespace stepscope::recording
