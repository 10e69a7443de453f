// What a sample costs the thread it interrupts, and the method and rate that follow from it.
// Owner: core/recording. Thread: any. Units: ns, Hz, shares of 1.
//
// In a virtual machine the interrupt costs far more than the handler, and differs much between machines: it is measured.
#pragma once

#include "core/base/result.h"
#include "core/recording/cpu_sampler.h"

namespace stepscope::recording {

struct SampleCosts {
    int perfError = 0;    // errno of perf_event_open; 0: it works
    int timerError = 0;
    double perfNs = 0;    // of one sample
    double timerNs = 0;   // beyond the tick of the kernel that carries it
    double timerMaxHz = 0; // CPU timers fire at most once per tick
};

// Spins for some 120 ms on a thread of its own, samples it and measures the gaps. Call installSampleHandler() before.
SampleCosts measureSampleCosts(const SystemCalls& system);

inline constexpr int kPollHz = 100; // looks at waiting threads, in wall-clock mode

struct SamplingPlan {
    SamplingMethod method = SamplingMethod::none;
    int rateHz = 0;
    double cost = 0;     // share of the sampled thread's time
    double sampleNs = 0; // of one sample
    std::string message; // a method is forbidden, and what to do; "" otherwise
    int64_t periodNs() const { return 1'000'000'000 / rateHz; }
};

// The highest of 1000, 500, 250 and 100 Hz that costs at most options.maxCost, or options.rateHz if given; of both
// methods the cheaper one that can do it. `paranoid`: the text of kernel.perf_event_paranoid. When neither works, waits
// alone are seen in wall-clock mode (method none, kPollHz), and CPU-time mode is an error.
base::Result<SamplingPlan> planSampling(const SamplingOptions& options, const SampleCosts& costs, const std::string& paranoid);

std::string perfEventParanoid(); // "2"; "" unknown

} // namespace stepscope::recording
