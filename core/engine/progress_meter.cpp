#include "core/engine/progress_meter.h"

#include <algorithm>

namespace stepscope::engine {

void ProgressMeter::setState(TrainState state, std::string activity)
{
    m_status.state = state;
    m_status.activity = std::move(activity);
    report(Clock::now());
}

void ProgressMeter::setActivity(double fraction, std::string_view activity)
{
    if (!due(Clock::now())) return;
    m_status.fraction = fraction;
    m_status.activity = activity;
    report(Clock::now());
}

void ProgressMeter::addStep(int64_t step, double durationNs, int64_t samples, double loss)
{
    m_status.step = step;
    m_durations[m_steps++ % kWindow] = durationNs;
    m_intervalSamples += samples;
    m_intervalLoss += loss;
    ++m_intervalSteps;
}

double ProgressMeter::median() const
{
    const size_t n = std::min(m_steps, kWindow);
    if (n == 0) return 0;
    std::array<double, kWindow> sorted = m_durations;
    std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(n / 2),
                     sorted.begin() + static_cast<std::ptrdiff_t>(n));
    return sorted[n / 2];
}

void ProgressMeter::report(Clock::time_point now)
{
    m_lastReport = now;
    if (m_intervalSteps > 0) {
        const double seconds = std::chrono::duration<double>(now - m_intervalStart).count();
        m_status.loss = m_intervalLoss / static_cast<double>(m_intervalSteps);
        m_status.samplesPerSecond = seconds > 0 ? static_cast<double>(m_intervalSamples) / seconds : 0;
        m_status.medianStepNs = median();
        restart(now);
    }
    if (m_callback) m_callback(m_status);
}

void ProgressMeter::restart(Clock::time_point now)
{
    m_intervalStart = now;
    m_intervalSamples = m_intervalSteps = 0;
    m_intervalLoss = 0;
}

} // namespace stepscope::engine
