#include "core/engine/trainer.h"

#include "core/engine/malloc_tuning.h"
#include "core/engine/training_run.h"

#include <fmt/format.h>

#include <thread>

#include <pthread.h>

namespace stepscope::engine {

using base::ErrorCode;
using base::fail;
using base::Result;

struct Trainer::Impl {
    RunControl control;
    std::thread thread;
    std::atomic<bool> finished{false};
    bool started = false;
    Result<TrainResult> result = fail(ErrorCode::invalidArgument, "training was not started");

    void run(RunInputs inputs, const StatusCallback& callback)
    {
        pthread_setname_np(pthread_self(), "training");
        ProgressMeter meter(callback);
        try {
            TrainingRun run(std::move(inputs), control, meter);
            result = run.run();
        } catch (const std::exception& e) {
            result = fail(ErrorCode::internal, fmt::format("training failed: {}", e.what()));
        }
        try {
            meter.setState(result ? TrainState::finished : TrainState::failed,
                           result ? "finished" : result.error().message);
        } catch (const std::exception& e) { // of the observer
            if (result) result = fail(ErrorCode::internal, fmt::format("showing the progress failed: {}", e.what()));
        }
        finished.store(true, std::memory_order_release);
    }
};

Trainer::Trainer() : m_impl(std::make_unique<Impl>()) {}

Trainer::~Trainer()
{
    requestStop();
    if (m_impl->thread.joinable()) m_impl->thread.join();
}

base::Status Trainer::start(model::ModelFile file, TrainOptions options, Backend& backend, session::SessionSink* sink,
                            std::vector<session::EnvironmentRow> environment, StatusCallback status)
{
    if (m_impl->started) return fail(ErrorCode::invalidArgument, "this trainer was started before");
    if (const base::Status checked = checkOptions(options); !checked) return checked;
    keepFreedMemory();
    RunInputs inputs{std::move(file), std::move(options), &backend, sink, std::move(environment)};
    try {
        m_impl->thread =
            std::thread([impl = m_impl.get(), inputs = std::move(inputs), callback = std::move(status)]() mutable {
                impl->run(std::move(inputs), callback);
            });
    } catch (const std::exception& e) {
        return fail(ErrorCode::unavailable, fmt::format("cannot start the training thread: {}", e.what()));
    }
    m_impl->started = true;
    return {};
}

void Trainer::pause()
{
    const std::lock_guard lock(m_impl->control.mutex);
    m_impl->control.paused = true;
}

void Trainer::resume()
{
    {
        const std::lock_guard lock(m_impl->control.mutex);
        m_impl->control.paused = false;
    }
    m_impl->control.changed.notify_all();
}

void Trainer::requestStop()
{
    static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may call this");
    m_impl->control.stop.store(true, std::memory_order_relaxed);
}

base::Status Trainer::startSampling(const recording::SamplingOptions& options)
{
    const std::lock_guard lock(m_impl->control.recordingMutex);
    if (m_impl->control.recording == nullptr)
        return fail(ErrorCode::unavailable, "no run is being recorded", {}, "start one first");
    return m_impl->control.recording->startSampling(options);
}

void Trainer::stopSampling()
{
    const std::lock_guard lock(m_impl->control.recordingMutex);
    if (RunRecording* recording = m_impl->control.recording; recording != nullptr && recording->sampler() != nullptr)
        recording->sampler()->stop();
}

void Trainer::clearSamples()
{
    const std::lock_guard lock(m_impl->control.recordingMutex);
    if (RunRecording* recording = m_impl->control.recording; recording != nullptr && recording->sampler() != nullptr)
        recording->sampler()->clear();
}

std::optional<recording::SamplingStatistics> Trainer::samplingStatistics() const
{
    const std::lock_guard lock(m_impl->control.recordingMutex);
    const RunRecording* recording = m_impl->control.recording;
    if (recording == nullptr || recording->sampler() == nullptr) return std::nullopt;
    return recording->sampler()->statistics();
}

base::Result<TrainResult> Trainer::wait()
{
    if (m_impl->thread.joinable()) m_impl->thread.join();
    return m_impl->result;
}

bool Trainer::finished() const { return m_impl->finished.load(std::memory_order_acquire); }

} // namespace stepscope::engine
