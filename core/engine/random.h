// Random numbers that are equal on every machine and compiler: integer arithmetic, and floating point by exactly
// rounded operations only. (std::normal_distribution and std::shuffle give other values in every library.)
// Owner: core/engine. Thread: an object belongs to one thread.
#pragma once

#include <cstdint>

namespace stepscope::engine {

// One round of the SplitMix64 mixing function; also turns related seeds into unrelated ones.
uint64_t mix(uint64_t x);

// xoshiro256++ (Blackman and Vigna), seeded by SplitMix64 from a seed and up to two stream numbers, so that every
// parameter, epoch or sample gets its own independent stream in any order.
class Random {
public:
    explicit Random(uint64_t seed, uint64_t stream = 0, uint64_t substream = 0);

    uint64_t bits();
    uint64_t below(uint64_t n); // uniform in [0, n), without bias; n > 0
    double uniform();           // [0, 1) in steps of 2^-53
    double normal();            // mean 0, deviation 1 (Marsaglia's polar method)

private:
    uint64_t m_state[4];
    double m_spare = 0;
    bool m_hasSpare = false;
};

} // namespace stepscope::engine
