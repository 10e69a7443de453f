// Loader: turns a data set into a stream of batches, epoch after epoch, on worker threads or on the caller's.
// Owner: core/engine. Thread: next() and readyBatches() by one thread, the consumer. Units: batches, samples.
//
// Batches come in order and are equal for any number of workers: shuffling depends on (seed, epoch), transforms on
// (seed, epoch, sample). Batches are recycled, so a warm loader allocates nothing.
#pragma once

#include "core/engine/data_source.h"
#include "core/engine/transform.h"
#include "core/recording/recorder.h"

#include <atomic>
#include <memory>
#include <vector>

namespace stepscope::engine {

struct LoaderOptions {
    int64_t batchSize = 1;
    bool shuffle = false;
    bool partial = true; // keep the last, smaller batch of an epoch
    int workers = 0;     // 0: batches are made by next() on the caller's thread
    int queueDepth = 0;  // batches made ahead; 0 = 2 per worker
    int64_t batches = 0; // stop after so many in all; 0 = endless
    uint64_t seed = 0;
    std::vector<TransformSpec> transforms;
};

// Where the spans of loading go; null members: not recorded.
struct LoaderRecording {
    recording::Recorder* recorder = nullptr;
    recording::SpanBuffer* callerBuffer = nullptr;         // for workers = 0
    session::Phase callerPhase = session::Phase::dataWait; // phase of those spans
};

// Order of the samples in an epoch: Fisher-Yates with Random(seed, epoch).
void shuffleSamples(std::vector<int64_t>& order, uint64_t seed, int32_t epoch);

class Loader {
public:
    // The source must outlive the Loader. Options or transforms that cannot work are an Error.
    static base::Result<std::unique_ptr<Loader>> make(const DataSource& source, LoaderOptions options,
                                                      LoaderRecording recording = {});
    ~Loader(); // stops the workers and joins them

    int64_t batchesPerEpoch() const;

    // The next batch, valid until the next call; blocks until it is ready. A worker's failure, once all batches before
    // it are delivered, is the Error. `stop` is looked at while waiting: when set, the Error is "cancelled". After the
    // last of `batches` the Error is "notFound".
    base::Result<const Batch*> next(const std::atomic<bool>* stop = nullptr);
    int readyBatches() const; // finished and waiting for the consumer

private:
    struct Impl;
    explicit Loader(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> m_impl;
};

} // namespace stepscope::engine
