// TrainingRun: one run from opening the data to the last step, on the training thread.
// Owner: core/engine. Thread: constructed and run on the training thread; RunControl is shared with the Trainer.
#pragma once

#include "core/engine/loader.h"
#include "core/engine/progress_meter.h"
#include "core/engine/run_recording.h"
#include "core/engine/step_usage.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stop_token>

namespace stepscope::engine {

// What the controlling thread asks for. `stop` alone is set by a signal handler, so it is looked at, never waited for.
struct RunControl {
    std::atomic<bool> stop{false};
    std::mutex mutex;
    std::condition_variable changed;
    bool paused = false; // guarded by mutex
    std::mutex recordingMutex;
    RunRecording* recording = nullptr; // while stacks can be sampled; guarded by recordingMutex
};

struct RunInputs {
    model::ModelFile file;
    TrainOptions options;
    Backend* backend = nullptr;
    session::SessionSink* sink = nullptr;
    std::vector<session::EnvironmentRow> environment;
};

// Options that cannot work whatever the model and the data are.
base::Status checkOptions(const TrainOptions& options);

class TrainingRun {
public:
    TrainingRun(RunInputs inputs, RunControl& control, ProgressMeter& meter);
    ~TrainingRun();

    // Finishes the sink also when it fails, so that everything up to the failure is saved.
    base::Result<TrainResult> run();

private:
    base::Status trainAll();
    base::Status prepare();
    base::Status openDataSet();
    base::Status checkBackend();
    base::Status chooseSizes();
    base::Status build();
    base::Status startLoader();
    base::Result<std::unique_ptr<Loader>> makeTestLoader();
    void describe();
    void describeBuild();

    base::Status trainLoop();
    base::Status step(int64_t index);
    base::Status compute(const Batch& batch, LossResult& loss);
    base::Status evaluate();
    void finishStep(recording::RawStep& raw, const Batch& batch, double loss, ProgressMeter::Clock::time_point begin);
    bool waitWhilePaused(); // true if it waited
    bool stopRequested() const { return m_control.stop.load(std::memory_order_relaxed); }
    base::Progress progress();
    void offerSampling(bool possible); // to the controlling thread

    RunInputs m_inputs;
    RunControl& m_control;
    ProgressMeter& m_meter;
    RunRecording m_recording;
    std::stop_source m_stop; // for the long functions of preparation; requested when `stop` is seen
    uint64_t m_seed = 0;
    int64_t m_batchSize = 1;
    int64_t m_totalSteps = 0;
    int64_t m_stepsPerEpoch = 1;
    DataSet m_data;
    std::unique_ptr<Network> m_network;
    std::unique_ptr<Loader> m_loader, m_testLoader;
    StepUsage m_usage; // at the start of the next step
    int64_t m_nonFinite = 0;
    TrainResult m_result;
};

} // namespace stepscope::engine
