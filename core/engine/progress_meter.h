// ProgressMeter: turns steps into the figures of TrainStatus and reports them at most twice a second.
// Owner: core/engine. Thread: the training thread. Allocates nothing after construction, except in reports.
#pragma once

#include "core/engine/trainer.h"

#include <array>
#include <chrono>

namespace stepscope::engine {

class ProgressMeter {
public:
    using Clock = std::chrono::steady_clock;

    explicit ProgressMeter(Trainer::StatusCallback callback) : m_callback(std::move(callback)) {}

    TrainStatus& status() { return m_status; }

    // A new state is reported at once.
    void setState(TrainState state, std::string activity);
    // Progress within a state, e.g. while preparing.
    void setActivity(double fraction, std::string_view activity);
    void addStep(int64_t step, double durationNs, int64_t samples, double loss);
    // Whether half a second has passed since the last report.
    bool due(Clock::time_point now) const { return now - m_lastReport >= std::chrono::milliseconds(500); }
    void report(Clock::time_point now);
    // Forgets the time since the last report: a pause is no training time.
    void restart(Clock::time_point now);
    // Leaves a while, e.g. an evaluation, out of the throughput.
    void skip(Clock::duration time) { m_intervalStart += time; }

private:
    static constexpr size_t kWindow = 256;

    double median() const;

    Trainer::StatusCallback m_callback;
    TrainStatus m_status;
    Clock::time_point m_lastReport = Clock::now(), m_intervalStart = m_lastReport;
    std::array<double, kWindow> m_durations = {};
    size_t m_steps = 0;
    int64_t m_intervalSamples = 0, m_intervalSteps = 0;
    double m_intervalLoss = 0;
};

} // namespace stepscope::engine
