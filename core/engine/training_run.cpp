#include "core/engine/training_run.h"

#include "core/engine/denormals.h"

#include <fmt/format.h>

#include <cmath>
#include <new>

namespace stepscope::engine {

using base::ErrorCode;
using base::fail;
using base::Result;
using base::Status;
using recording::Probe;
using recording::Published;
using recording::ticks;
using session::Phase;

TrainingRun::TrainingRun(RunInputs inputs, RunControl& control, ProgressMeter& meter)
    : m_inputs(std::move(inputs)),
      m_control(control),
      m_meter(meter),
      m_recording(m_inputs.sink, m_inputs.options.sampling, m_inputs.options.allocations)
{
    offerSampling(true);
}

TrainingRun::~TrainingRun() { offerSampling(false); }

void TrainingRun::offerSampling(bool possible)
{
    const std::lock_guard lock(m_control.recordingMutex);
    m_control.recording = possible ? &m_recording : nullptr;
}

base::Result<TrainResult> TrainingRun::run()
{
    flushDenormals();
    Status status;
    try {
        status = trainAll();
    } catch (const std::bad_alloc&) {
        status = fail(ErrorCode::unavailable, "not enough memory for this model and batch size", {},
                      "choose a smaller batch");
    } catch (const std::exception& e) {
        status = fail(ErrorCode::internal, fmt::format("training failed: {}", e.what()));
    }
    if (!status && status.error().code == ErrorCode::cancelled && stopRequested()) {
        m_result.stoppedByUser = true; // while preparing
        status = {};
    }
    m_loader.reset(); // its tracks belong to the recorder
    m_testLoader.reset();
    if (m_nonFinite > 0) {
        m_recording.addQuality(
            "non-finite-loss", m_nonFinite,
            fmt::format("The loss was not a finite number in {} of {} steps.", m_nonFinite, m_result.steps));
    }
    if (!status)
        m_recording.addQuality("run-failed", 1, fmt::format("The run ended early: {}.", status.error().message));
    offerSampling(false);
    m_meter.setState(TrainState::stopping, m_result.steps > 0 ? "saving" : "stopping");
    const Status saved = m_recording.finish();
    if (!status) return fail(status.error());
    if (!saved) return fail(saved.error());
    return m_result;
}

Status TrainingRun::trainAll()
{
    m_meter.setState(TrainState::preparing, "preparing");
    if (const Status prepared = prepare(); !prepared) return prepared;
    m_meter.setState(TrainState::running, "training");
    return trainLoop();
}

Status TrainingRun::trainLoop()
{
    const auto now = ProgressMeter::Clock::now();
    m_meter.restart(now);
    m_usage = StepUsage::now();
    while (m_result.steps < m_totalSteps) {
        if (waitWhilePaused()) m_usage = StepUsage::now();
        if (stopRequested()) break;
        if (m_recording.failed()) return {}; // finish() has the reason
        const Status stepped = step(m_result.steps);
        if (!stepped) {
            if (stepped.error().code == ErrorCode::cancelled && stopRequested()) break;
            return stepped;
        }
        if (m_result.steps % m_stepsPerEpoch == 0) {
            m_meter.status().epoch = static_cast<int32_t>(m_result.steps / m_stepsPerEpoch);
            if (m_testLoader != nullptr) {
                if (const Status evaluated = evaluate(); !evaluated) return evaluated;
                m_usage = StepUsage::now();
            }
        }
        if (const auto time = ProgressMeter::Clock::now(); m_meter.due(time)) {
            m_meter.status().fraction = static_cast<double>(m_result.steps) / static_cast<double>(m_totalSteps);
            m_meter.report(time);
            m_usage = StepUsage::now();
        }
    }
    m_result.stoppedByUser = m_result.steps < m_totalSteps;
    m_meter.status().fraction = static_cast<double>(m_result.steps) / static_cast<double>(m_totalSteps);
    return {};
}

Status TrainingRun::step(int64_t index)
{
    recording::SpanBuffer* buffer = m_recording.buffer();
    if (buffer != nullptr) {
        m_recording.allocations()->stepBegins();
        buffer->setStep(static_cast<int32_t>(index));
    }
    recording::RawStep raw;
    raw.row.index = index;
    const auto begin = ProgressMeter::Clock::now();
    raw.startTicks = buffer != nullptr ? ticks() : 0;
    const Published stepLabel(buffer, m_recording.step);
    const Result<const Batch*> batch = [&] {
        const Published waiting(buffer, m_recording.phase(Phase::dataWait));
        return m_loader->next(&m_control.stop);
    }();
    if (!batch) {
        if (buffer != nullptr) buffer->setStep(-1); // no step came of it
        return fail(batch.error());
    }
    if (buffer != nullptr) buffer->push(m_recording.phase(Phase::dataWait).value, raw.startTicks, ticks());
    LossResult loss;
    if (const Status computed = compute(**batch, loss); !computed) {
        if (buffer != nullptr) buffer->setStep(-1);
        return computed;
    }
    finishStep(raw, **batch, loss.loss, begin);
    return {};
}

// The phases after the batch is there.
Status TrainingRun::compute(const Batch& batch, LossResult& loss)
{
    recording::SpanBuffer* buffer = m_recording.buffer();
    {
        const Probe probe(buffer, m_recording.phase(Phase::hostToDevice));
        if (const Status status = m_network->setBatch(batch); !status) return status;
    }
    {
        const Probe probe(buffer, m_recording.phase(Phase::forward));
        if (const Status status = m_network->forward(true); !status) return status;
    }
    {
        const Probe probe(buffer, m_recording.phase(Phase::loss));
        loss = m_network->loss(true);
    }
    {
        const Probe probe(buffer, m_recording.phase(Phase::backward));
        if (const Status status = m_network->backward(); !status) return status;
    }
    {
        const Probe probe(buffer, m_recording.phase(Phase::optimiser));
        if (const Status status = m_network->update(); !status) return status;
    }
    const Probe probe(buffer, m_recording.phase(Phase::deviceToHost));
    return m_network->synchronise();
}

void TrainingRun::finishStep(recording::RawStep& raw, const Batch& batch, double loss,
                             ProgressMeter::Clock::time_point begin)
{
    if (recording::SpanBuffer* buffer = m_recording.buffer(); buffer != nullptr) {
        raw.endTicks = ticks();
        buffer->push(m_recording.step.value, raw.startTicks, raw.endTicks);
        buffer->setStep(-1);
        const StepUsage after = StepUsage::now();
        m_usage.writeTo(raw.row, after);
        m_usage = after;
        raw.row.epoch = batch.epoch;
        raw.row.warmup = raw.row.index < m_inputs.options.warmup;
        raw.row.samples = static_cast<int32_t>(batch.count);
        raw.row.loss = loss;
        recording::Recorder& recorder = *m_recording.recorder();
        recorder.addStep(raw);
        m_recording.allocations()->stepEnded(raw.endTicks);
        recorder.addCounterSample(m_recording.loss, raw.endTicks, loss);
        recorder.addCounterSample(m_recording.queueDepth, raw.endTicks, m_loader->readyBatches());
    }
    const double duration = std::chrono::duration<double, std::nano>(ProgressMeter::Clock::now() - begin).count();
    if (!std::isfinite(loss)) ++m_nonFinite;
    m_result.finalLoss = loss;
    ++m_result.steps;
    m_meter.addStep(m_result.steps, duration, batch.count, loss);
}

// Share of the test samples whose arg max is right; in inference mode, outside any step.
Status TrainingRun::evaluate()
{
    const auto begin = ProgressMeter::Clock::now();
    const Probe probe(m_recording.buffer(), m_recording.phase(Phase::evaluation));
    int64_t correct = 0, seen = 0;
    for (int64_t i = 0; i < m_testLoader->batchesPerEpoch(); ++i) {
        if (stopRequested()) return {};
        const Result<const Batch*> batch = m_testLoader->next();
        if (!batch) return fail(batch.error());
        if (const Status status = m_network->setBatch(**batch); !status) return status;
        if (const Status status = m_network->forward(false); !status) return status;
        const LossResult loss = m_network->loss(false);
        if (const Status status = m_network->synchronise(); !status) return status;
        if (loss.correct < 0) {
            m_testLoader.reset(); // accuracy has no meaning for this loss
            return {};
        }
        correct += loss.correct;
        seen += (*batch)->count;
    }
    const double accuracy = static_cast<double>(correct) / static_cast<double>(seen);
    m_result.testAccuracy = accuracy;
    m_result.epochAccuracy.push_back(accuracy);
    m_meter.status().testAccuracy = accuracy;
    if (m_recording.on()) m_recording.recorder()->addCounterSample(m_recording.testAccuracy, ticks(), accuracy);
    m_meter.skip(ProgressMeter::Clock::now() - begin);
    return {};
}

bool TrainingRun::waitWhilePaused()
{
    std::unique_lock lock(m_control.mutex);
    if (!m_control.paused || stopRequested()) return false;
    lock.unlock(); // never held during a callback
    m_meter.setState(TrainState::paused, "paused");
    lock.lock();
    while (m_control.paused && !stopRequested())
        m_control.changed.wait_for(lock, std::chrono::milliseconds(50));
    lock.unlock();
    m_meter.restart(ProgressMeter::Clock::now());
    if (!stopRequested()) m_meter.setState(TrainState::running, "training");
    return true;
}

} // namespace stepscope::engine
