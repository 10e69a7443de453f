#include "core/recording/clock.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string_view>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace stepscope::recording {

namespace {

// The kernel checks at boot whether the counters of all cores agree and stays the same in sleep states; the
// clocks of KVM and Hyper-V are computed from the same counter.
bool kernelTrustsTsc()
{
    std::FILE* file = std::fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
    if (file == nullptr) return false;
    char name[64] = {};
    const size_t length = std::fread(name, 1, sizeof(name) - 1, file);
    std::fclose(file);
    std::string_view source(name, length);
    while (!source.empty() && (source.back() == '\n' || source.back() == '\0'))
        source.remove_suffix(1);
    return source == "tsc" || source == "kvm-clock" || source == "hyperv_clocksource_tsc_page";
}

bool tscIsInvariant()
{
#if defined(__x86_64__)
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid(0x80000007u, &a, &b, &c, &d) == 0) return false;
    return (d & (1u << 8)) != 0;
#else
    return false;
#endif
}

int64_t clockNs(clockid_t id)
{
    timespec t;
    clock_gettime(id, &t);
    return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// An error is made good within a second, by at most half a thousandth: the slew of the system's own clock.
constexpr double kSlewNs = 1e9;
constexpr double kMaxSlew = 5e-4;
constexpr double kToleranceNs = 50; // about the noise of readBoth()

} // namespace

namespace detail {
const bool kUseTsc = tscIsInvariant() && kernelTrustsTsc();
}

TickClock::Pair TickClock::readBoth()
{
    // The reading least disturbed by an interrupt between the two clocks.
    Pair best;
    uint64_t bestWidth = ~uint64_t{0};
    for (int i = 0; i < 16; ++i) {
        const uint64_t before = ticks();
        const int64_t ns = clockNs(CLOCK_MONOTONIC);
        const uint64_t after = ticks();
        if (after - before < bestWidth) {
            bestWidth = after - before;
            best = {before + bestWidth / 2, ns};
        }
    }
    return best;
}

TickClock::TickClock()
{
    m_origin = readBoth();
    m_originUnixNs = clockNs(CLOCK_REALTIME) - (clockNs(CLOCK_MONOTONIC) - m_origin.monotonicNs);
    double rate = 1;
    if (detail::kUseTsc) {
        while (clockNs(CLOCK_MONOTONIC) - m_origin.monotonicNs < 2'000'000) {}
        const Pair later = readBoth();
        rate = static_cast<double>(later.monotonicNs - m_origin.monotonicNs)
            / static_cast<double>(later.ticks - m_origin.ticks);
    }
    m_segments.push_back({m_origin.ticks, 0, rate});
}

void TickClock::recalibrate()
{
    if (detail::kUseTsc) recalibrate(readBoth());
}

void TickClock::recalibrate(const Pair& now)
{
    if (now.ticks <= m_segments.back().ticks) return;
    const base::TimeNs reached = toNs(now.ticks);
    const double error = static_cast<double>((now.monotonicNs - m_origin.monotonicNs) - reached);
    if (std::abs(error) < kToleranceNs) return;
    const double rate =
        static_cast<double>(now.monotonicNs - m_origin.monotonicNs) / static_cast<double>(now.ticks - m_origin.ticks);
    const double slew = std::clamp(error / kSlewNs, -kMaxSlew, kMaxSlew);
    m_segments.push_back({now.ticks, reached, rate * (1 + slew)});
}

base::TimeNs TickClock::toNs(uint64_t t) const
{
    const Segment* segment = &m_segments.back();
    if (t < segment->ticks) [[unlikely]] {
        auto after = std::upper_bound(m_segments.begin(), m_segments.end(), t,
                                      [](uint64_t value, const Segment& s) { return value < s.ticks; });
        segment = after == m_segments.begin() ? &m_segments.front() : &*(after - 1);
    }
    const double delta = static_cast<double>(static_cast<int64_t>(t - segment->ticks));
    return segment->ns + static_cast<base::TimeNs>(std::floor(delta * segment->nsPerTick));
}

} // namespace stepscope::recording
