// The probe clock: the time-stamp counter where it is invariant, CLOCK_MONOTONIC elsewhere.
// Owner: core/recording. Thread: any. Units: ticks(); TickClock converts ticks to ns since its origin.
#pragma once

#include "core/base/time_ns.h"

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif
#include <ctime>

namespace stepscope::recording {

namespace detail {
extern const bool kUseTsc; // decided once at start-up: constant_tsc, nonstop_tsc and clocksource tsc
}

inline uint64_t ticks() noexcept
{
#if defined(__x86_64__)
    if (detail::kUseTsc) [[likely]] return __rdtsc();
#endif
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

// Converts ticks() to ns since the origin fixed at construction. recalibrate() refines the rate against
// CLOCK_MONOTONIC; it is called by the Collector only, before it converts a batch.
class TickClock {
public:
    TickClock();
    void recalibrate();
    base::TimeNs toNs(uint64_t t) const;          // since the origin; negative before it
    double nsPerTick() const { return m_nsPerTick; }
    int64_t originUnixNs() const { return m_originUnixNs; } // wall-clock time of the origin
private:
    uint64_t m_originTicks = 0;
    int64_t m_originMonotonicNs = 0;
    int64_t m_originUnixNs = 0;
    double m_nsPerTick = 1;
};

} // namespace stepscope::recording
