#include "core/engine/loader.h"

#include "core/engine/denormals.h"
#include "core/engine/random.h"
#include "core/recording/probe.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <optional>
#include <thread>

#include <pthread.h>

namespace stepscope::engine {

namespace {

using base::ErrorCode;
using base::fail;
using base::LabelId;
using recording::Probe;
using recording::SpanBuffer;
using session::Phase;
using session::SpanKind;

constexpr int kMaxWorkers = 256;
constexpr int64_t kMaxSlots = 4096;

// Labels of one place that makes batches.
struct Labels {
    LabelId make, order, read;
    std::vector<LabelId> transforms;

    Labels() = default;
    Labels(recording::Recorder& recorder, const std::vector<TransformSpec>& specs, Phase phase)
    {
        make = recorder.label("make batch", SpanKind::task, phase);
        order = recorder.label("order samples", SpanKind::task, phase);
        read = recorder.label("read", SpanKind::task, phase);
        for (const TransformSpec& spec : specs)
            transforms.push_back(recorder.label(transformName(spec), SpanKind::task, phase));
    }
};

// A batch of the ring with what its maker needs.
struct Slot {
    Batch batch;
    std::vector<int64_t> samples;
    std::optional<base::Error> error;
    int64_t ready = -1; // sequence number of the batch it holds; guarded by the mutex
};

} // namespace

void shuffleSamples(std::vector<int64_t>& order, uint64_t seed, int32_t epoch)
{
    std::iota(order.begin(), order.end(), int64_t{0});
    Random random(seed, 0x73687566666c65, static_cast<uint64_t>(epoch));
    for (size_t i = order.size(); i > 1; --i)
        std::swap(order[i - 1], order[random.below(i)]);
}

struct Loader::Impl {
    const DataSource& source;
    LoaderOptions options;
    int64_t size = 0, perEpoch = 0;
    std::vector<Slot> slots;
    model::Dims sampleShape;
    int64_t sampleSize = 1, targetSize = 0;

    // Which samples come next. Sequence number s is batch s % perEpoch of epoch s / perEpoch.
    std::mutex claimMutex;
    std::vector<int64_t> order;
    int64_t orderedEpoch = -1; // guarded by claimMutex

    mutable std::mutex mutex;
    std::condition_variable slotFree, batchReady;
    int64_t claimed = 0;   // next sequence number to make
    int64_t delivered = 0; // next sequence number to hand out
    int64_t released = 0;  // slots of earlier numbers are free
    bool stopping = false;

    SpanBuffer* callerBuffer = nullptr;
    Labels callerLabels, workerLabels;
    std::vector<std::thread> threads;

    Impl(const DataSource& data, LoaderOptions settings) : source(data), options(std::move(settings))
    {
        size = source.size();
        perEpoch = options.partial ? (size + options.batchSize - 1) / options.batchSize : size / options.batchSize;
        sampleShape = source.sampleShape();
        sampleSize = model::product(sampleShape);
        if (source.classes() == 0) targetSize = model::product(source.targetShape());
    }

    void reserve()
    {
        int64_t count = 1;
        if (options.workers > 0) {
            const int64_t depth = options.queueDepth > 0 ? options.queueDepth : 2 * options.workers;
            count = std::min(depth + 1, kMaxSlots); // one more for the batch that the consumer holds
        }
        slots = std::vector<Slot>(static_cast<size_t>(count));
        for (Slot& slot : slots) { // written once, so that a warm step meets no fresh page
            slot.batch.x.assign(static_cast<size_t>(options.batchSize * sampleSize), 0.0f);
            if (source.classes() > 0) slot.batch.labels.assign(static_cast<size_t>(options.batchSize), 0);
            else slot.batch.targets.assign(static_cast<size_t>(options.batchSize * targetSize), 0.0f);
            slot.samples.assign(static_cast<size_t>(options.batchSize), 0);
        }
        if (options.shuffle) order.resize(static_cast<size_t>(size));
    }

    // Fills in the batch's place and its sample numbers.
    void chooseSamples(int64_t sequence, Slot& slot, SpanBuffer* buffer, const Labels& labels)
    {
        const int64_t epoch = sequence / perEpoch, index = sequence % perEpoch;
        const int64_t first = index * options.batchSize, count = std::min(options.batchSize, size - first);
        slot.batch.index = index;
        slot.batch.epoch = static_cast<int32_t>(epoch);
        slot.batch.count = count;
        slot.samples.resize(static_cast<size_t>(count));
        if (!options.shuffle) {
            std::iota(slot.samples.begin(), slot.samples.end(), first);
            return;
        }
        if (orderedEpoch != epoch) {
            const Probe probe(buffer, labels.order);
            shuffleSamples(order, options.seed, static_cast<int32_t>(epoch));
            orderedEpoch = epoch;
        }
        std::copy_n(order.begin() + first, count, slot.samples.begin());
    }

    void fill(Slot& slot, SpanBuffer* buffer, const Labels& labels)
    {
        Batch& batch = slot.batch;
        const int64_t count = batch.count;
        batch.x.resize(static_cast<size_t>(count * sampleSize));
        if (source.classes() > 0) batch.labels.resize(static_cast<size_t>(count));
        else batch.targets.resize(static_cast<size_t>(count * targetSize));
        {
            const Probe probe(buffer, labels.read);
            source.read(slot.samples, batch);
        }
        for (size_t t = 0; t < options.transforms.size(); ++t) {
            const Probe probe(buffer, buffer != nullptr ? labels.transforms[t] : LabelId{});
            applyTransform(options.transforms[t], t, sampleShape, slot.samples, options.seed, batch);
        }
    }

    // Never throws: a failure is kept in the slot and delivered in its turn.
    void guardedFill(Slot& slot, SpanBuffer* buffer, const Labels& labels) noexcept
    {
        try {
            fill(slot, buffer, labels);
        } catch (const std::bad_alloc&) {
            slot.error = base::Error{ErrorCode::unavailable, "not enough memory to load a batch"};
        } catch (const std::exception& e) {
            slot.error = base::Error{ErrorCode::io,
                                     fmt::format("loading batch {} of epoch {} failed: {}", slot.batch.index + 1,
                                                 slot.batch.epoch + 1, e.what())};
        }
    }

    // Takes the next sequence number and chooses its samples; epochs are claimed in order, so one order is enough.
    Slot* claim(int64_t& sequence, SpanBuffer* buffer, const Labels& labels)
    {
        const std::lock_guard claiming(claimMutex);
        {
            std::unique_lock lock(mutex);
            slotFree.wait(lock, [&] {
                return stopping || exhausted(claimed) || claimed - released < static_cast<int64_t>(slots.size());
            });
            if (stopping || exhausted(claimed)) return nullptr;
            sequence = claimed++;
        }
        Slot& slot = slots[static_cast<size_t>(sequence) % slots.size()];
        chooseSamples(sequence, slot, buffer, labels);
        return &slot;
    }

    bool exhausted(int64_t sequence) const { return options.batches > 0 && sequence >= options.batches; }

    void work(int number, SpanBuffer* buffer)
    {
        pthread_setname_np(pthread_self(), fmt::format("loader {}", number).c_str());
        flushDenormals();
        int64_t sequence = 0;
        while (Slot* slot = claim(sequence, buffer, workerLabels)) {
            {
                const Probe probe(buffer, workerLabels.make);
                guardedFill(*slot, buffer, workerLabels);
            }
            {
                const std::lock_guard lock(mutex);
                slot->ready = sequence;
            }
            batchReady.notify_one();
        }
    }

    static SpanBuffer* trackOf(recording::Recorder* recorder, int number) noexcept
    {
        try {
            return recorder != nullptr ? recorder->registerTrack(fmt::format("loader {}", number)) : nullptr;
        } catch (const std::exception&) {
            return nullptr; // out of memory: load unrecorded
        }
    }

    void start(LoaderRecording target)
    {
        if (target.recorder != nullptr) {
            callerBuffer = target.callerBuffer;
            if (options.workers == 0) callerLabels = Labels(*target.recorder, options.transforms, target.callerPhase);
            else workerLabels = Labels(*target.recorder, options.transforms, Phase::loading);
        }
        // A track belongs to the thread that registers it.
        for (int i = 0; i < options.workers; ++i) {
            threads.emplace_back([this, i, recorder = target.recorder] { work(i, trackOf(recorder, i)); });
        }
    }

    base::Result<const Batch*> make()
    {
        Slot& slot = slots.front();
        const Probe probe(callerBuffer, callerLabels.make);
        chooseSamples(delivered, slot, callerBuffer, callerLabels);
        guardedFill(slot, callerBuffer, callerLabels);
        if (slot.error) return fail(*slot.error);
        ++delivered;
        return &slot.batch;
    }

    base::Result<const Batch*> take(const std::atomic<bool>* stop)
    {
        std::unique_lock lock(mutex);
        released = delivered; // the batch handed out last is free now
        slotFree.notify_one();
        Slot& slot = slots[static_cast<size_t>(delivered) % slots.size()];
        // The flag may be set by a signal handler, which cannot notify; so it is looked at now and then.
        while (!batchReady.wait_for(lock, std::chrono::milliseconds(50), [&] { return slot.ready == delivered; })) {
            if (stop != nullptr && stop->load(std::memory_order_relaxed))
                return fail(ErrorCode::cancelled, "stopped while waiting for data");
        }
        if (slot.error) return fail(*slot.error);
        ++delivered;
        return &slot.batch;
    }

    void shutDown()
    {
        {
            const std::lock_guard lock(mutex);
            stopping = true;
        }
        slotFree.notify_all();
        for (std::thread& thread : threads)
            thread.join();
        threads.clear();
    }
};

Loader::Loader(std::unique_ptr<Impl> impl) : m_impl(std::move(impl)) {}

Loader::~Loader() { m_impl->shutDown(); }

base::Result<std::unique_ptr<Loader>> Loader::make(const DataSource& source, LoaderOptions options,
                                                   LoaderRecording recording)
{
    const int64_t size = source.size();
    if (size < 1) return fail(ErrorCode::invalidArgument, "the data set is empty");
    if (options.batchSize < 1)
        return fail(ErrorCode::invalidArgument, fmt::format("a batch of {} samples", options.batchSize));
    if (options.batchSize > size) {
        return fail(ErrorCode::invalidArgument,
                    fmt::format("a batch of {} samples is larger than the data set of {}", options.batchSize, size), {},
                    "choose a smaller batch size");
    }
    if (options.workers < 0 || options.workers > kMaxWorkers) {
        return fail(ErrorCode::invalidArgument,
                    fmt::format("{} loader workers; 0 to {} are possible", options.workers, kMaxWorkers));
    }
    if (options.queueDepth < 0)
        return fail(ErrorCode::invalidArgument, fmt::format("a queue of {} batches", options.queueDepth));
    if (const base::Status transforms = checkTransforms(options.transforms, source.sampleShape()); !transforms)
        return fail(transforms.error());
    std::unique_ptr<Loader> loader;
    try {
        loader.reset(new Loader(std::make_unique<Impl>(source, std::move(options))));
        loader->m_impl->reserve();
        loader->m_impl->start(recording);
    } catch (const std::bad_alloc&) {
        return fail(ErrorCode::unavailable, "not enough memory for the batches of the loader", {},
                    "choose a smaller batch or a shorter queue");
    } catch (const std::exception& e) {
        return fail(ErrorCode::unavailable, fmt::format("cannot start the loader's threads: {}", e.what()));
    }
    return loader;
}

int64_t Loader::batchesPerEpoch() const { return m_impl->perEpoch; }

base::Result<const Batch*> Loader::next(const std::atomic<bool>* stop)
{
    if (m_impl->exhausted(m_impl->delivered)) return fail(ErrorCode::notFound, "there are no more batches");
    return m_impl->options.workers == 0 ? m_impl->make() : m_impl->take(stop);
}

int Loader::readyBatches() const
{
    const Impl& impl = *m_impl;
    if (impl.options.workers == 0) return 0;
    const std::lock_guard lock(impl.mutex);
    return static_cast<int>(std::count_if(impl.slots.begin(), impl.slots.end(),
                                          [&](const Slot& slot) { return slot.ready >= impl.delivered; }));
}

} // namespace stepscope::engine
