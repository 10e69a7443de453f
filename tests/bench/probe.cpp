// What a probe costs: pairs of nested probes on one thread while the Collector drains into memory.
// Prints the two parts that are not ours to change (reads of the clock) beside the whole.
#include "core/recording/probe.h"
#include "core/recording/recorder.h"
#include "core/session/session_builder.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <time.h>

using namespace stepscope;

namespace {

constexpr int kProbesPerRound = 20'000;

double nowNs()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

template <class Body>
double medianNs(int rounds, int perRound, Body&& body)
{
    std::vector<double> samples;
    for (int round = 0; round < rounds; ++round) {
        const double begin = nowNs();
        for (int i = 0; i < perRound; ++i)
            body();
        samples.push_back((nowNs() - begin) / perRound);
        const timespec pause{0, 2'000'000}; // lets the Collector keep up: a full buffer is not what we measure
        nanosleep(&pause, nullptr);
    }
    std::nth_element(samples.begin(), samples.begin() + rounds / 2, samples.end());
    return samples[static_cast<size_t>(rounds) / 2];
}

} // namespace

int main(int argc, char** argv)
{
    const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 100;
    volatile uint64_t keep = 0;
    const double tick = medianNs(rounds, kProbesPerRound, [&] { keep = recording::ticks(); });

    session::SessionBuilder builder;
    recording::Recorder recorder(builder, {20, 64});
    const auto outer = recorder.label("outer", session::SpanKind::phase, session::Phase::forward);
    const auto inner = recorder.label("inner", session::SpanKind::layer, session::Phase::forward);
    recording::SpanBuffer* buffer = recorder.registerTrack("bench");
    const double recorded = medianNs(rounds, kProbesPerRound / 2,
                                     [&] {
                                         const recording::Probe parent(buffer, outer);
                                         const recording::Probe child(buffer, inner);
                                     })
        / 2;
    const double off = medianNs(rounds, kProbesPerRound / 2,
                                [&] {
                                    const recording::Probe parent(nullptr, outer);
                                    const recording::Probe child(nullptr, inner);
                                })
        / 2;
    if (!recorder.finish()) return 1;
    const session::SessionPtr session = builder.build();
    int64_t lost = 0;
    for (const session::QualityRow& row : session->quality())
        if (row.code == "lost-spans") lost = row.count;

    std::printf("clock                    %s\n", recording::detail::kUseTsc ? "tsc" : "CLOCK_MONOTONIC");
    std::printf("one read of the clock    %6.1f ns\n", tick);
    std::printf("probe, recording         %6.1f ns   (limit 60 ns: %s)\n", recorded, recorded <= 60 ? "met" : "MISSED");
    std::printf("probe, two reads less    %6.1f ns\n", recorded - 2 * tick);
    std::printf("probe, not recording     %6.1f ns\n", off);
    std::printf("spans kept / lost        %lld / %lld\n", static_cast<long long>(session->spanCount()),
                static_cast<long long>(lost));
    return 0;
}
