// rawCopy: copies bytes without calling anything, for signal handlers: memory of a stack that other frames own, which
// tools that watch memory accesses would complain about.
// Owner: core/recording. Thread: any, also signal handlers.
#pragma once

#include <cstddef>

namespace stepscope::recording {

inline void rawCopy(void* to, const void* from, size_t bytes) noexcept
{
#if defined(__x86_64__)
    asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
#else
    __builtin_memcpy(to, from, bytes);
#endif
}

} // namespace stepscope::recording
