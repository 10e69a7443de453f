// SampleTimer: signals one thread every so often of its own CPU time. Blocked threads get no signal, so no system call
// of theirs is interrupted.
// Owner: core/recording. Thread: one at a time; arm() and disarm() may be called for any thread of the process.
// Units: ns.
#pragma once

#include "core/recording/cpu_sampler.h"
#include "core/recording/system_calls.h"

namespace stepscope::recording {

// The signal of both methods. SIGPROF does not queue, so a thread that is slow to take it gets one, not a hundred.
inline constexpr int kSampleSignal = SIGPROF;

class SampleTimer {
public:
    SampleTimer() = default;
    ~SampleTimer() { disarm(); }
    SampleTimer(const SampleTimer&) = delete;
    SampleTimer& operator=(const SampleTimer&) = delete;

    // 0, or the errno of the call that failed.
    int arm(SamplingMethod method, pid_t thread, int64_t periodNs, const SystemCalls& system);
    void disarm();
    // After fork(): gives up what belongs to the parent's threads, without touching their timers.
    void forget();
    SamplingMethod method() const { return m_method; }

private:
    int armPerf(pid_t thread, int64_t periodNs, const SystemCalls& system);
    int armCpuTimer(pid_t thread, int64_t periodNs, const SystemCalls& system);

    SamplingMethod m_method = SamplingMethod::none;
    int m_file = -1;
    timer_t m_timer{};
};

// The clock of the CPU time of a thread of this process.
clockid_t threadCpuClock(pid_t thread);
// Its reading; negative when the thread is gone.
int64_t threadCpuNs(pid_t thread);

} // namespace stepscope::recording
