// Counts allocations where they happen: malloc(), free() and their relatives, and through them operator new.
// Owner: core/recording. Thread: any. Units: bytes as asked for; `live` in bytes with what the allocator adds to a
// block; ticks.
//
// The functions themselves are replaced in programs that link the CMake target stepscope_allocation_hooks
// (allocation_hooks.cpp). An allocator has no argument through which to reach anything, so the counters are, like the
// thread registry, a thing that exists once per process. While counting is off a replaced function costs one test.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace stepscope::recording {

struct AllocationTotals {
    uint64_t allocations = 0, bytes = 0;
    int64_t live = 0;
    friend bool operator==(const AllocationTotals&, const AllocationTotals&) = default;
};

// What one thread allocated. Only its own thread writes, so counts are exact without locks; others may read.
struct alignas(64) ThreadAllocations {
    std::atomic<uint64_t> allocations{0}; // calls that gave memory; realloc() counts as one
    std::atomic<uint64_t> bytes{0};
    std::atomic<uint64_t> lookAt{0};      // `bytes` at which the next allocation gets a closer look
    std::atomic<int64_t> live{0};         // allocated less freed by this thread: negative for one that frees others' memory
    std::atomic<int64_t> peak{0};         // largest `live` since it was last set
    std::atomic<uint64_t> ticks{0};       // spent in the allocator, when it is timed
    // Of the sampling of stacks; its own thread's alone.
    uint64_t sampleAt = 0;                // `bytes` of the next stack
    uint64_t random = 0;
    uint32_t samplingRound = 0, samplesInRound = 0;
    uint64_t bytesPerSample = 0;          // that sampleAt was drawn with; 0 while sampling is off
    // Of threads without probes that work for this one, such as those of OpenMP.
    alignas(64) std::atomic<uint64_t> helperAllocations{0};
    std::atomic<uint64_t> helperBytes{0};
    std::atomic<bool> ownProbes{false};   // the thread is attributed by its own probes; see attributeByProbes()
    std::atomic<bool> ofRecording{false}; // a thread of the recording itself: left out of sums, that is
    AllocationTotals beforeRecording;     // only so much is in them
    std::atomic<bool> taken{false};       // belongs to a living thread
};

// "" when this program counts; else why it does not: a sanitizer's allocator, or no hooks linked in.
const char* whyNoAllocationCounts() noexcept;

enum AllocationMode : uint32_t {
    kCountAllocations = 1u << 0,
    kTimeAllocations = 1u << 1,   // also the time spent in the allocator: two clock reads per call
    kSampleAllocations = 1u << 2, // also stacks
};

// Switches parts on for as long as it lives; several may. Does nothing where counting is not possible.
class AllocationCounting {
public:
    explicit AllocationCounting(uint32_t modes);
    ~AllocationCounting();
    AllocationCounting(const AllocationCounting&) = delete;
    AllocationCounting& operator=(const AllocationCounting&) = delete;

private:
    uint32_t m_modes;
};

// Of the calling thread, its counters; null when it has none (then it is not counted). They stay valid for ever, but
// belong to another thread after the thread's end.
ThreadAllocations* allocationsOfThisThread() noexcept;
AllocationTotals totalsOf(const ThreadAllocations& counts) noexcept;
// Of all threads but those of the recording, since counting began first.
AllocationTotals allocationsOfProcess() noexcept;
// Memory in use when counting began first: `live` counts from there.
int64_t heapBeforeCounting() noexcept;
// For threads with probes: what they allocate is no longer counted for the thread that made them.
void attributeAllocationsByProbes() noexcept;
// For a thread that has just learnt which thread made it.
void lookWhomAllocationsAreFor() noexcept;
// For threads of the recording itself.
void excludeAllocationsOfThisThread() noexcept;
// Threads that were not counted because there were too many at once.
uint64_t threadsWithoutCounts() noexcept;

// One stack is taken per so many bytes on average, at random, so that no pattern of the program can hide. 1: every one.
void setAllocationSampling(uint64_t bytesPerSample) noexcept;
uint64_t allocationSampling() noexcept;

namespace detail {

extern std::atomic<uint32_t> g_allocationModes;
// initial-exec: an access that called into the dynamic loader could allocate.
extern __attribute__((tls_model("initial-exec"))) constinit thread_local ThreadAllocations* t_allocations;

ThreadAllocations* attachAllocations() noexcept; // first allocation of a thread; null when there is no room
// What a block takes of the heap. glibc keeps the size before the block, with flags in the lowest bits: one load, where
// malloc_usable_size() is a call. whyNoAllocationCounts() makes sure that the two agree.
inline int64_t blockBytes(const void* memory) noexcept
{
    constexpr size_t kFlags = 7;
    asm("" : "+r"(memory)); // the compiler knows that nothing lies before a block
    return static_cast<int64_t>(static_cast<const size_t*>(memory)[-1] & ~kFlags);
}

void freedWithoutCounts(int64_t bytes) noexcept;
void lookAtAllocation(ThreadAllocations& counts, size_t bytes) noexcept; // for a stack, or for the thread it works for

} // namespace detail

} // namespace stepscope::recording
