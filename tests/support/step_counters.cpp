#include "tests/support/step_counters.h"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

#include <sys/resource.h>

extern char __executable_start;
extern char etext;

namespace {

thread_local int64_t t_allocations = 0;
std::atomic<int64_t> g_own{0};

void* counted(size_t size, size_t alignment, const void* caller)
{
    ++t_allocations;
    if (caller >= &__executable_start && caller < &etext) g_own.fetch_add(1, std::memory_order_relaxed);
    const size_t bytes = size > 0 ? size : 1;
    void* memory = alignment <= alignof(std::max_align_t) ? std::malloc(bytes)
                                                          : std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
}

} // namespace

// None is inlined, so that the compiler does not take the pairs for a mismatch. The array forms are here for
// the sake of their callers: the library's own would hide them.
__attribute__((noinline)) void* operator new(size_t size) { return counted(size, 1, __builtin_return_address(0)); }
__attribute__((noinline)) void* operator new(size_t size, std::align_val_t alignment)
{
    return counted(size, static_cast<size_t>(alignment), __builtin_return_address(0));
}
__attribute__((noinline)) void* operator new[](size_t size) { return counted(size, 1, __builtin_return_address(0)); }
__attribute__((noinline)) void operator delete(void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, size_t) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete[](void* memory) noexcept { std::free(memory); }
__attribute__((noinline)) void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace stepscope::support {

StepCounters stepCounters()
{
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    return {t_allocations, g_own.load(std::memory_order_relaxed), usage.ru_minflt + usage.ru_majflt};
}

} // namespace stepscope::support
