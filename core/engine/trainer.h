// Trainer: runs training in its own thread: data -> forward -> loss -> backward -> optimiser.
// Owner: core/engine. Thread: the public functions are called from one controlling thread (UI or command line);
// events() callbacks come from the training thread and must return quickly. Units: ns.
#pragma once

#include "core/base/result.h"
#include "core/engine/backend.h"
#include "core/model/model.h"
#include "core/recording/allocation_recorder.h"
#include "core/recording/cpu_sampler.h"
#include "core/session/session_sink.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace stepscope::engine {

struct TrainOptions {
    int64_t steps = 0;          // stop after so many steps (warm-up included); 0 = by epochs
    int64_t epochs = 0;         // 0 and steps == 0: the model file's own, else 1 epoch
    int64_t warmup = 5;         // first steps marked as warm-up
    bool shortenWarmup = false; // a run that is too short for it keeps at least one step that counts; else an error
    int64_t batchSize = 0;      // 0 = the model file's
    int threads = 0;            // 0 = chosen by timing
    std::optional<int> workers; // overrides num_workers
    std::optional<uint64_t> seed;
    bool fuse = true;
    bool evaluate = true;      // test accuracy after each epoch, where the data has a test set
    std::string dataDirectory; // overrides the data set's usual place
    recording::AllocationOptions allocations{.count = true}; // where the program counts them, and with a sink
    recording::SamplingOptions sampling; // stacks of all threads; off unless set, and without a sink
};

enum class TrainState { preparing, running, paused, stopping, finished, failed };

// What an observer may see; plain copy, at most twice a second plus on every change of state.
struct TrainStatus {
    TrainState state = TrainState::preparing;
    std::string activity; // "loading Fashion-MNIST", "tuning conv2", "training"
    double fraction = -1; // of the whole run; negative when unknown
    int64_t step = 0, totalSteps = 0;
    int32_t epoch = 0, totalEpochs = 0;
    double loss = 0;         // mean of the steps since the last report
    double medianStepNs = 0; // of the last 256 steps
    double samplesPerSecond = 0;
    std::optional<double> testAccuracy; // 0..1, after an epoch
};

struct TrainResult {
    int64_t steps = 0;
    bool stoppedByUser = false;
    double finalLoss = 0;
    std::optional<double> testAccuracy;
    std::vector<double> epochAccuracy; // one per finished epoch with a test set
    BuildInfo build;
};

class Trainer {
public:
    using StatusCallback = std::function<void(const TrainStatus&)>;

    Trainer();
    ~Trainer(); // requests stop and joins

    // Starts the thread. The backend must outlive the Trainer. With a sink the run is recorded into it: layers,
    // primitives, environment (also the given extra rows), spans, steps, counters; finish() is called at the end.
    // Without one nothing is recorded and probes are off.
    base::Status start(model::ModelFile file, TrainOptions options, Backend& backend, session::SessionSink* sink,
                       std::vector<session::EnvironmentRow> environment, StatusCallback status);
    void pause();
    void resume();
    void requestStop(); // at the next step boundary; async-signal-safe
    // Stack samples while the run goes on, at any step. They add up until they are cleared; what comes after clearing is
    // a series of its own, which the session shows first.
    base::Status startSampling(const recording::SamplingOptions& options);
    void stopSampling();
    void clearSamples();
    std::optional<recording::SamplingStatistics> samplingStatistics() const; // none before the first start
    // Blocks until the thread ends. A data, build, sink or training failure is the Error; everything recorded up to it
    // is in the sink.
    base::Result<TrainResult> wait();
    bool finished() const;

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace stepscope::engine
