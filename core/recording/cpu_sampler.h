// CpuSampler: takes stacks of every thread of the process at a steady rate and hands them to a Recorder as samples.
// Owner: core/recording. Thread: start(), stop(), clear() and statistics() from any thread at any time, at any step.
// Units: Hz, bytes, ns, shares of 1.
//
// A timer on each thread's own CPU time signals that thread while it runs; the handler copies registers and stack
// into the thread's ring and nothing more. A thread of the sampler drains the rings every 20 ms, unwinds and interns;
// the Recorder's Collector names the new addresses and sends frames, stacks and samples to the sink. Threads that are
// blocked are never signalled: in wall-clock mode the sampler's thread looks at them from outside.
#pragma once

#include "core/base/result.h"
#include "core/recording/symbolizer.h"

#include <cstdint>
#include <memory>
#include <string>

namespace stepscope::recording {

class Recorder;
struct SystemCalls; // core/recording/system_calls.h: replaced in tests

// How threads are sampled, best first.
enum class SamplingMethod : uint8_t {
    none,     // not possible: the message tells why. In wall-clock mode waiting threads are seen all the same
    cpuTimer, // timers on the threads' CPU clocks; at most one sample per tick of the kernel
    perfClock // perf_event_open, cpu-clock
};

enum class SampleMode : uint8_t {
    off,
    cpu,  // threads that run
    wall, // also where threads wait
};

struct SamplingOptions {
    SampleMode mode = SampleMode::off;
    int rateHz = 0;       // samples per second of CPU time of a thread; 0 = the highest that costs at most maxCost
    double maxCost = 0.01; // of the sampled threads' time, for the calibrated rate
    size_t ringBytes = 0; // per thread; 0 = half a second of samples
    const SystemCalls* system = nullptr; // null: the real ones
};

struct SamplingStatistics {
    SamplingMethod method = SamplingMethod::none;
    SampleMode mode = SampleMode::off;
    bool running = false;
    int rateHz = 0;         // as set up; what the system allows at most for SamplingMethod::cpuTimer
    double cost = 0;        // measured: share of a sampled thread's time that its samples take
    double collectorCost = 0; // measured: share of one core that draining and unwinding take
    int64_t samples = 0;    // since the last clear()
    int64_t lost = 0;       // did not fit into a ring
    int64_t incomplete = 0; // do not reach the thread's start
    int64_t approximate = 0; // found by searching the stack
    int64_t blocked = 0;    // of `samples`: taken of waiting threads
    int64_t discarded = 0;  // looks at waiting threads that went on while their stack was copied
    int unsampledThreads = 0; // made without the program knowing of it
    double unsampledTime = 0; // share of the threads' CPU time that is not covered by samples: mostly kernel mode
    std::string message;    // what the user should know: a method that is forbidden, and what to do; "" otherwise
};

// "perf cpu-clock", "CPU timers", "waits only": how a sampler that runs takes its samples.
const char* samplingMethodName(SamplingMethod method);

class CpuSampler {
public:
    // The Recorder must outlive the sampler. Without a symbolizer frames have module and address only.
    CpuSampler(Recorder& recorder, std::unique_ptr<Symbolizer> symbolizer);
    ~CpuSampler(); // stops

    // Calibrates (up to a quarter of a second, on a thread of its own, while the caller waits) and begins. Error when
    // no method works for the mode (message and hint say why), or when the sampler is running already. May be called again after
    // stop(); samples accumulate.
    base::Status start(const SamplingOptions& options);
    // Ends sampling; what is in the rings is still delivered. Returns within a second, whatever other threads do.
    void stop();
    // Forgets what was not delivered yet and sends later samples as a new series; may be called while running.
    void clear();
    SamplingStatistics statistics() const;

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace stepscope::recording
