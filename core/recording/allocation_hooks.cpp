// The allocator's functions, replaced for the whole process: the program's symbols come before the C library's. They count
// when counting is on and forward to the C library's own entry points.
#include "core/recording/allocation_counter.h"
#include "core/recording/clock.h"

#include <cerrno>

#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)

// Sanitizers replace the same functions.
extern "C" const char* const stepscopeAllocationHooks = "the program was built with a sanitizer, which has an allocator of its own";

#else

extern "C" const char* const stepscopeAllocationHooks = "";

// Called through the address table at once: one jump less.
extern "C" {

__attribute__((noplt)) void* __libc_malloc(size_t) noexcept;
__attribute__((noplt)) void __libc_free(void*) noexcept;
__attribute__((noplt)) void* __libc_calloc(size_t, size_t) noexcept;
__attribute__((noplt)) void* __libc_realloc(void*, size_t) noexcept;
__attribute__((noplt)) void* __libc_memalign(size_t, size_t) noexcept;

} // extern "C"

namespace {

using namespace stepscope::recording;

constexpr auto kRelaxed = std::memory_order_relaxed;

// Of values that only this thread writes: a plain addition, no locked one.
template <class T>
inline T add(std::atomic<T>& value, T amount) noexcept
{
    const T sum = value.load(kRelaxed) + amount;
    value.store(sum, kRelaxed);
    return sum;
}

// Small blocks come out of bins of equal ones, so they are as large as they must be (rarely 16 bytes more): that is known
// before the call, which then is a jump and costs nothing to come back from.
constexpr size_t kSmall = 1024;
constexpr int64_t smallBlockBytes(size_t bytes) noexcept
{
    constexpr size_t kHeader = sizeof(size_t), kStep = 2 * sizeof(size_t), kLeast = 4 * sizeof(size_t);
    const size_t block = (bytes + kHeader + kStep - 1) / kStep * kStep;
    return static_cast<int64_t>(block < kLeast ? kLeast : block);
}

// True when the allocation needs a closer look.
inline bool count(ThreadAllocations& counts, int64_t block, size_t bytes) noexcept
{
    add(counts.allocations, uint64_t{1});
    const int64_t live = add(counts.live, block);
    if (live > counts.peak.load(kRelaxed)) counts.peak.store(live, kRelaxed);
    return add(counts.bytes, uint64_t{bytes}) >= counts.lookAt.load(kRelaxed);
}

// The paths that are taken rarely or cost much anyway are apart, so that the common ones save no registers and jump straight on.
template <class Allocate>
__attribute__((noinline)) void* lookedAt(ThreadAllocations& counts, size_t bytes, Allocate allocate) noexcept
{
    detail::lookAtAllocation(counts, bytes);
    return allocate();
}

__attribute__((noinline)) void* lookedAt(ThreadAllocations& counts, size_t bytes, void* memory) noexcept
{
    detail::lookAtAllocation(counts, bytes);
    return memory;
}

// The first allocation of a thread, and timed ones.
template <class Allocate>
__attribute__((noinline)) void* countedSlowly(size_t bytes, Allocate allocate) noexcept
{
    ThreadAllocations* counts = detail::t_allocations;
    if (counts == nullptr) counts = detail::attachAllocations();
    const bool timed = counts != nullptr && (detail::g_allocationModes.load(kRelaxed) & kTimeAllocations) != 0;
    const uint64_t start = timed ? ticks() : 0;
    void* memory = allocate();
    if (timed) add(counts->ticks, ticks() - start);
    if (counts != nullptr && memory != nullptr && count(*counts, detail::blockBytes(memory), bytes)) detail::lookAtAllocation(*counts, bytes);
    return memory;
}

template <class Allocate>
inline void* counted(uint32_t modes, size_t bytes, Allocate allocate) noexcept
{
    ThreadAllocations* counts = detail::t_allocations;
    if ((modes & kTimeAllocations) != 0 || counts == nullptr) [[unlikely]] return countedSlowly(bytes, allocate);
    if (bytes <= kSmall) {
        if (count(*counts, smallBlockBytes(bytes), bytes)) [[unlikely]] return lookedAt(*counts, bytes, allocate);
        return allocate();
    }
    void* memory = allocate();
    if (memory != nullptr && count(*counts, detail::blockBytes(memory), bytes)) [[unlikely]] return lookedAt(*counts, bytes, memory);
    return memory;
}

inline uint32_t modesNow() noexcept { return detail::g_allocationModes.load(kRelaxed); }

__attribute__((noinline)) void freedSlowly(uint32_t modes, void* memory) noexcept
{
    ThreadAllocations* counts = detail::t_allocations;
    if (counts == nullptr) {
        detail::freedWithoutCounts(detail::blockBytes(memory));
        return __libc_free(memory);
    }
    add(counts->live, -detail::blockBytes(memory));
    const bool timed = (modes & kTimeAllocations) != 0;
    const uint64_t start = timed ? ticks() : 0;
    __libc_free(memory);
    if (timed) add(counts->ticks, ticks() - start);
}

void* aligned(size_t alignment, size_t bytes) noexcept
{
    const auto allocate = [=]() noexcept { return __libc_memalign(alignment, bytes); };
    return modesNow() != 0 ? countedSlowly(bytes, allocate) : allocate();
}

bool isPowerOfTwo(size_t value) { return value != 0 && (value & (value - 1)) == 0; }

size_t pageSize() { return static_cast<size_t>(::sysconf(_SC_PAGESIZE)); }

} // namespace

#define STEPSCOPE_REPLACES extern "C" __attribute__((visibility("default")))

STEPSCOPE_REPLACES void* malloc(size_t bytes)
{
    const uint32_t modes = modesNow();
    if (modes == 0) return __libc_malloc(bytes);
    return counted(modes, bytes, [=]() noexcept { return __libc_malloc(bytes); });
}

STEPSCOPE_REPLACES void free(void* memory)
{
    const uint32_t modes = modesNow();
    if (modes != 0 && memory != nullptr) {
        ThreadAllocations* counts = detail::t_allocations;
        if ((modes & kTimeAllocations) != 0 || counts == nullptr) [[unlikely]] return freedSlowly(modes, memory);
        add(counts->live, -detail::blockBytes(memory));
    }
    __libc_free(memory);
}

STEPSCOPE_REPLACES void* calloc(size_t count, size_t bytes)
{
    const uint32_t modes = modesNow();
    if (modes == 0) return __libc_calloc(count, bytes);
    size_t total = 0;
    if (__builtin_mul_overflow(count, bytes, &total)) return __libc_calloc(count, bytes); // which refuses
    return counted(modes, total, [=]() noexcept { return __libc_calloc(count, bytes); });
}

STEPSCOPE_REPLACES void* realloc(void* old, size_t bytes)
{
    if (modesNow() == 0) return __libc_realloc(old, bytes);
    const int64_t before = old != nullptr ? detail::blockBytes(old) : 0;
    void* memory = countedSlowly(bytes, [=]() noexcept { return __libc_realloc(old, bytes); });
    if (memory == nullptr && bytes != 0) return nullptr; // the old block stays
    if (ThreadAllocations* counts = detail::t_allocations; counts != nullptr) add(counts->live, -before);
    else detail::freedWithoutCounts(before);
    return memory;
}

STEPSCOPE_REPLACES void* reallocarray(void* old, size_t count, size_t bytes)
{
    size_t total = 0;
    if (__builtin_mul_overflow(count, bytes, &total)) {
        errno = ENOMEM;
        return nullptr;
    }
    return realloc(old, total);
}

STEPSCOPE_REPLACES int posix_memalign(void** result, size_t alignment, size_t bytes)
{
    if (!isPowerOfTwo(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
    const int savedErrno = errno;
    void* memory = aligned(alignment, bytes);
    errno = savedErrno;
    if (memory == nullptr) return ENOMEM;
    *result = memory;
    return 0;
}

STEPSCOPE_REPLACES void* aligned_alloc(size_t alignment, size_t bytes)
{
    if (!isPowerOfTwo(alignment)) {
        errno = EINVAL;
        return nullptr;
    }
    return aligned(alignment, bytes);
}

STEPSCOPE_REPLACES void* memalign(size_t alignment, size_t bytes) { return aligned(alignment, bytes); }
STEPSCOPE_REPLACES void* valloc(size_t bytes) { return aligned(pageSize(), bytes); }
STEPSCOPE_REPLACES void* pvalloc(size_t bytes)
{
    const size_t page = pageSize();
    return aligned(page, (bytes + page - 1) / page * page);
}

#endif
