// AllocationRecorder: writes what a run allocates into its session: counts by label and step, memory in use over time,
// and how stacks of allocations were sampled.
// Owner: core/recording. Thread: constructed before the threads that are counted register their tracks; collect() on the
// Collector's thread, stepEnded() on the training thread. Units: bytes, ns.
#pragma once

#include "core/recording/allocation_log.h"
#include "core/recording/recorder.h"

#include <memory>
#include <mutex>
#include <vector>

namespace stepscope::recording {

struct AllocationOptions {
    bool count = false;
    bool time = false;        // also the time spent in the allocator, at two clock reads per call
    bool stacks = false;      // also stacks, where the CPU sampler runs
    int stacksPerSecond = 200; // about; the distance between them adapts, and each stands for the bytes between
};

class AllocationRecorder final : public RecordingSource {
public:
    // Adds the environment row "allocations": "counted", or why they are not. The Recorder must outlive it.
    AllocationRecorder(Recorder& recorder, const AllocationOptions& options);
    ~AllocationRecorder() override;

    // The log for the calling thread, whose track it is; null when nothing is counted.
    AllocationLog* logForThisThread(base::TrackId track);
    void stepBegins() noexcept;
    // Samples of the counters "live bytes", "peak bytes" and "allocated bytes" (both of the step).
    void stepEnded(uint64_t ticks) noexcept;

    void collect(const TickClock& clock) override;
    void finish() override;

private:
    struct TrackLog {
        base::TrackId track;
        std::unique_ptr<AllocationLog> log;
    };
    void adaptSampling();

    Recorder& m_recorder;
    AllocationOptions m_options;
    AllocationCounting m_counting;
    bool m_on = false;
    std::mutex m_mutex; // of m_logs
    std::vector<TrackLog> m_logs;
    base::SeriesId m_allocations, m_bytes, m_time;
    CounterId m_live, m_peak, m_allocated;
    uint64_t m_bytesAtStep = 0; // of the training thread
    // Sampling.
    AllocationTotals m_totalsBefore; // of the process, when the distance was last adapted
    uint64_t m_leastDistance = 0, m_mostDistance = 0;
};

} // namespace stepscope::recording
