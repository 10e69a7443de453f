#include "core/recording/allocation_counter.h"

#include "core/recording/stack_capture.h"
#include "core/recording/thread_registry.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include <malloc.h>
#include <pthread.h>

// Defined where the hooks are linked in: "" or why they do not count.
extern "C" __attribute__((weak)) const char* const stepscopeAllocationHooks;

namespace stepscope::recording {

namespace detail {

constinit std::atomic<uint32_t> g_allocationModes{0};
constinit thread_local ThreadAllocations* t_allocations = nullptr;

} // namespace detail

namespace {

constexpr auto kRelaxed = std::memory_order_relaxed;
constexpr size_t kMostThreads = 4096; // at once

// Threads take a slot at their first allocation and give it back at their end. Slots are only ever added to, so their sums
// need no care when a thread ends. Untouched pages of the array cost nothing.
struct Process {
    std::array<ThreadAllocations, kMostThreads> slots;
    std::atomic<size_t> used{0}; // slots that were ever taken lie below
    std::atomic<uint64_t> uncounted{0};
    std::atomic<int64_t> freedElsewhere{0};
    std::atomic<int64_t> heapBefore{0};
    std::atomic<uint64_t> bytesPerSample{uint64_t{512} << 10};
    std::atomic<uint32_t> samplingRound{1};
    std::array<std::atomic<uint32_t>, 3> users{}; // of each mode
    std::atomic<bool> begun{false};
    pthread_key_t exitKey = 0;
};
constinit Process g_process;

void giveBack(void* data)
{
    auto& slot = *static_cast<ThreadAllocations*>(data);
    detail::t_allocations = nullptr;
    if (slot.ofRecording.load()) { // what it counted must not enter the sums of the slot's next thread
        slot.allocations.store(slot.beforeRecording.allocations);
        slot.bytes.store(slot.beforeRecording.bytes);
        slot.live.store(slot.beforeRecording.live);
        slot.ofRecording.store(false);
    }
    slot.taken.store(false, std::memory_order_release);
}

void begin()
{
    if (g_process.begun.exchange(true)) return;
    ::pthread_key_create(&g_process.exitKey, &giveBack);
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
    const struct mallinfo2 info = ::mallinfo2();
    g_process.heapBefore.store(static_cast<int64_t>(info.uordblks + info.hblkhd), kRelaxed);
#endif
}

// Distance to the next sample, in bytes: exponentially distributed, so that each byte has the same chance.
uint64_t drawDistance(ThreadAllocations& counts) noexcept
{
    if (counts.bytesPerSample <= 1) return 0; // the next allocation
    uint64_t x = counts.random; // xorshift64*
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    counts.random = x;
    const double uniform = (static_cast<double>((x * 0x2545f4914f6cdd1du) >> 11) + 0.5) * 0x1p-53;
    return static_cast<uint64_t>(-std::log(uniform) * static_cast<double>(counts.bytesPerSample));
}

// The distance that was asked for. When a thread takes many more stacks in a round than anybody expected of it, twice as
// much after every few of them: so a burst of any size fits into the ring, and the last distance is a small part of it.
uint64_t distanceFor(ThreadAllocations& counts) noexcept
{
    constexpr uint32_t kExpected = 48, kFew = 16, kMostGrowth = 24;
    const uint32_t round = g_process.samplingRound.load(kRelaxed);
    if (counts.samplingRound != round) {
        counts.samplingRound = round;
        counts.samplesInRound = 0;
    }
    const uint64_t distance = g_process.bytesPerSample.load(kRelaxed);
    if (counts.samplesInRound < kExpected) return distance;
    const uint32_t growth = std::min((counts.samplesInRound - kExpected) / kFew + 1, kMostGrowth);
    return std::max<uint64_t>(distance, 64) << growth;
}

// Whether what this thread allocates may be memory for the thread that made it.
bool mayHelp() noexcept
{
    const RegisteredThread* self = currentThread();
    return self != nullptr && self->leader != nullptr && !self->excluded.load(kRelaxed);
}

bool samplingStacks() noexcept { return (detail::g_allocationModes.load(kRelaxed) & kSampleAllocations) != 0; }

// A thread without probes that another one made looks every time whether that one has probes by now.
void setLook(ThreadAllocations& counts) noexcept
{
    counts.lookAt.store(counts.ownProbes.load(kRelaxed) || !mayHelp() ? counts.sampleAt : 0, kRelaxed);
}

// Sets what the next closer look is for.
void lookLater(ThreadAllocations& counts) noexcept
{
    constexpr uint64_t kLookAgain = 65536; // whether sampling was switched on
    const uint64_t bytes = counts.bytes.load(kRelaxed);
    const bool sampling = samplingStacks();
    counts.bytesPerSample = sampling ? distanceFor(counts) : 0;
    counts.sampleAt = bytes + 1 + (sampling ? drawDistance(counts) : kLookAgain);
    setLook(counts);
}

// Memory for the thread that made this one and has the probes.
void helperAllocated(size_t bytes) noexcept
{
    const RegisteredThread* self = currentThread();
    if (self == nullptr || self->excluded.load(kRelaxed)) return;
    const RegisteredThread* leader = self->leader;
    if (leader == nullptr || self->marker.used.load(kRelaxed) || !leader->marker.used.load(kRelaxed)) return;
    ThreadAllocations* counts = leader->allocations.load(std::memory_order_acquire);
    if (counts == nullptr) return;
    counts->helperAllocations.fetch_add(1, kRelaxed);
    counts->helperBytes.fetch_add(bytes, kRelaxed);
}

// Sampling was switched on, or another distance set. A thread that is just setting its next look may miss it, and sees it
// with that look.
void lookSoon() noexcept
{
    const size_t used = std::min(g_process.used.load(std::memory_order_acquire), kMostThreads);
    for (size_t i = 0; i < used; ++i) g_process.slots[i].lookAt.store(0, kRelaxed);
}

// An allocation of n bytes is taken with the chance 1 - e^(-n / mean), and stands for as many as that is less than 1.
void takeSample(const ThreadAllocations& counts, size_t bytes) noexcept
{
    const double size = static_cast<double>(bytes), mean = static_cast<double>(counts.bytesPerSample);
    const double chance = counts.bytesPerSample <= 1 ? 1.0 : -std::expm1(-size / mean);
    captureHere(SampleKind::allocation, std::llround(size / chance), static_cast<int64_t>(bytes));
}

// The block's size as the hooks read it must be what the library itself says.
bool blockSizesAreReadable()
{
    for (const size_t bytes : {size_t{1}, size_t{24}, size_t{100}, size_t{5000}, size_t{1} << 20}) {
        void* memory = std::malloc(bytes);
        if (memory == nullptr) return false;
        const auto extra = detail::blockBytes(memory) - static_cast<int64_t>(malloc_usable_size(memory));
        const bool agrees = extra == sizeof(size_t) || extra == 2 * sizeof(size_t); // of the heap, or of a mapping of its own
        std::free(memory);
        if (!agrees) return false;
    }
    return true;
}

} // namespace

const char* whyNoAllocationCounts() noexcept
{
    if (&stepscopeAllocationHooks == nullptr) return "this program does not count allocations";
    if (*stepscopeAllocationHooks != '\0') return stepscopeAllocationHooks;
    static const bool readable = blockSizesAreReadable();
    return readable ? "" : "this C library keeps its blocks in a way that is not known";
}

AllocationCounting::AllocationCounting(uint32_t modes) : m_modes(*whyNoAllocationCounts() == '\0' ? modes : 0)
{
    if (m_modes == 0) return;
    begin();
    for (size_t i = 0; i < g_process.users.size(); ++i)
        if ((m_modes >> i & 1) != 0 && g_process.users[i].fetch_add(1) == 0) detail::g_allocationModes.fetch_or(1u << i);
    if ((m_modes & kSampleAllocations) != 0) lookSoon();
}

AllocationCounting::~AllocationCounting()
{
    for (size_t i = 0; i < g_process.users.size(); ++i)
        if ((m_modes >> i & 1) != 0 && g_process.users[i].fetch_sub(1) == 1) detail::g_allocationModes.fetch_and(~(1u << i));
}

ThreadAllocations* allocationsOfThisThread() noexcept
{
    if (detail::t_allocations == nullptr && g_process.begun.load(std::memory_order_acquire)) detail::attachAllocations();
    return detail::t_allocations;
}

AllocationTotals totalsOf(const ThreadAllocations& counts) noexcept
{
    return {counts.allocations.load(kRelaxed), counts.bytes.load(kRelaxed), counts.live.load(kRelaxed)};
}

AllocationTotals allocationsOfProcess() noexcept
{
    AllocationTotals sum;
    sum.live = -g_process.freedElsewhere.load(kRelaxed);
    const size_t used = std::min(g_process.used.load(std::memory_order_acquire), kMostThreads);
    for (size_t i = 0; i < used; ++i) {
        const ThreadAllocations& slot = g_process.slots[i];
        const AllocationTotals one = slot.ofRecording.load(std::memory_order_acquire) ? slot.beforeRecording : totalsOf(slot);
        sum.allocations += one.allocations;
        sum.bytes += one.bytes;
        sum.live += one.live;
    }
    return sum;
}

int64_t heapBeforeCounting() noexcept { return g_process.heapBefore.load(kRelaxed); }

void attributeAllocationsByProbes() noexcept
{
    if (ThreadAllocations* counts = allocationsOfThisThread(); counts != nullptr) {
        counts->ownProbes.store(true, kRelaxed);
        lookLater(*counts);
        if (RegisteredThread* thread = currentThread(); thread != nullptr) thread->allocations.store(counts, std::memory_order_release);
    }
}

void excludeAllocationsOfThisThread() noexcept
{
    if (ThreadAllocations* counts = allocationsOfThisThread(); counts != nullptr && !counts->ofRecording.load()) {
        counts->beforeRecording = totalsOf(*counts);
        counts->ofRecording.store(true, std::memory_order_release);
    }
}

void lookWhomAllocationsAreFor() noexcept
{
    if (detail::t_allocations != nullptr) detail::t_allocations->lookAt.store(0, kRelaxed);
}

uint64_t threadsWithoutCounts() noexcept { return g_process.uncounted.load(kRelaxed); }

void setAllocationSampling(uint64_t bytesPerSample) noexcept
{
    g_process.bytesPerSample.store(std::max<uint64_t>(1, bytesPerSample), kRelaxed);
    g_process.samplingRound.fetch_add(1, kRelaxed);
    if (samplingStacks()) lookSoon(); // a thread with a long way to its next stack may go on with a shorter one
}

uint64_t allocationSampling() noexcept { return g_process.bytesPerSample.load(kRelaxed); }

namespace detail {

ThreadAllocations* attachAllocations() noexcept
{
    const size_t used = std::min(g_process.used.load(std::memory_order_acquire), kMostThreads);
    ThreadAllocations* slot = nullptr;
    for (size_t i = 0; i < used && slot == nullptr; ++i) {
        bool free = false;
        if (!g_process.slots[i].taken.load(kRelaxed) && g_process.slots[i].taken.compare_exchange_strong(free, true)) slot = &g_process.slots[i];
    }
    if (slot == nullptr) {
        const size_t next = g_process.used.fetch_add(1);
        if (next >= kMostThreads) {
            g_process.used.store(kMostThreads);
            g_process.uncounted.fetch_add(1, kRelaxed);
            return nullptr;
        }
        slot = &g_process.slots[next];
        slot->taken.store(true);
        slot->random = 0x9e3779b97f4a7c15u * (next + 1);
    }
    slot->ownProbes.store(false, kRelaxed);
    t_allocations = slot;
    lookLater(*slot);
    ::pthread_setspecific(g_process.exitKey, slot); // may allocate: the slot is there by now
    return slot;
}

void lookAtAllocation(ThreadAllocations& counts, size_t bytes) noexcept
{
    if (!counts.ownProbes.load(kRelaxed)) helperAllocated(bytes);
    const bool due = counts.bytes.load(kRelaxed) >= counts.sampleAt;
    const bool current = counts.bytesPerSample != 0 && counts.samplingRound == g_process.samplingRound.load(kRelaxed);
    if (!due && (samplingStacks() ? current : counts.bytesPerSample == 0)) return setLook(counts);
    const bool take = due && counts.bytesPerSample != 0 && bytes != 0 && !counts.ofRecording.load(kRelaxed);
    if (take) {
        ++counts.samplesInRound;
        takeSample(counts, bytes);
    }
    lookLater(counts);
}

void freedWithoutCounts(int64_t bytes) noexcept { g_process.freedElsewhere.fetch_add(bytes, kRelaxed); }

} // namespace detail

} // namespace stepscope::recording
