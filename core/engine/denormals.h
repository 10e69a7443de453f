// Treats denormal floats as zero on the calling thread. Weights and moments of a fitted network drift into denormals,
// which cost a hundred times a normal operation.
// Owner: core/engine. Thread: call once at the start of every thread that computes.
#pragma once

#include <cstdint>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace stepscope::engine {

inline void flushDenormals() noexcept
{
#if defined(__x86_64__)
    constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
    _mm_setcsr(_mm_getcsr() | kFlushToZero | kDenormalsAreZero);
#elif defined(__aarch64__)
    uint64_t control = 0;
    asm volatile("mrs %0, fpcr" : "=r"(control));
    asm volatile("msr fpcr, %0" : : "r"(control | (uint64_t{1} << 24)));
#endif
}

} // namespace stepscope::engine
