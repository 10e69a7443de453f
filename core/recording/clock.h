// The probe clock: the time-stamp counter where it is invariant, CLOCK_MONOTONIC elsewhere.
// Owner: core/recording. Thread: any. Units: ticks(); TickClock converts ticks to ns since its origin.
#pragma once

#include "core/base/time_ns.h"

#include <cstdint>
#include <vector>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif
#include <ctime>

namespace stepscope::recording {

namespace detail {
extern const bool kUseTsc; // decided once at start-up: an invariant counter that the kernel itself trusts
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
//
// A new rate holds only for ticks after the moment of its calibration, and errors are made good by a slightly
// different rate, never by a jump. So toNs() is one continuous, monotonic function of the ticks, and a tick that
// has passed converts to the same time for ever: children stay inside their parents across batches.
class TickClock {
public:
    TickClock(); // takes about 2 ms: measures the rate
    void recalibrate();
    base::TimeNs toNs(uint64_t t) const;          // since the origin; negative before it
    double nsPerTick() const { return m_segments.back().nsPerTick; }
    int64_t originUnixNs() const { return m_originUnixNs; } // wall-clock time of the origin

private:
    friend class TickClockTest;
    struct Pair { // one moment on both clocks
        uint64_t ticks = 0;
        int64_t monotonicNs = 0;
    };
    struct Segment {
        uint64_t ticks = 0; // from here on
        base::TimeNs ns = 0;
        double nsPerTick = 1;
    };
    static Pair readBoth();
    void recalibrate(const Pair& now);

    Pair m_origin;
    int64_t m_originUnixNs = 0;
    std::vector<Segment> m_segments; // ascending; never empty
};

} // namespace stepscope::recording
