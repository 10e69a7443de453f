#include "core/recording/recorder.h"

#include "core/recording/allocation_recorder.h"
#include "core/recording/bounded_queue.h"
#include "core/recording/pending_rows.h"
#include "core/recording/thread_registry.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace stepscope::recording {

namespace {

constexpr size_t kStepSlots = 16384; // more than a second of the smallest models
constexpr size_t kCounterSlots = 65536;
constexpr auto kFlushInterval = std::chrono::milliseconds(500);

struct RawCounterSample {
    uint64_t ticks = 0;
    double value = 0;
    uint32_t counter = 0;
};

} // namespace

struct Recorder::Impl {
    Impl(session::SessionSink& target, Options settings)
        : sink(target),
          options(settings),
          steps(kStepSlots),
          counterSamples(kCounterSlots)
    {
    }

    session::SessionSink& sink;
    Options options;
    TickClock clock;

    // Registration.
    mutable std::mutex mutex;
    std::vector<PendingRow> pending;
    std::vector<std::unique_ptr<SpanBuffer>> buffers; // one per track; null for tracks without probes
    std::unordered_map<uint64_t, uint32_t> threadTracks; // by serial number of the thread
    std::unordered_map<std::string, uint32_t> strings;
    std::unordered_map<session::Label, uint32_t, LabelHash> labels;
    std::vector<session::Label> labelRows;
    std::vector<uint32_t> primitiveFlags;
    std::unordered_map<session::FrameRow, uint32_t, FrameHash> frames;
    std::unordered_map<session::StackRow, uint32_t, StackHash> stacks;
    uint32_t layers = 0, counters = 0, series = 0;

    std::unique_ptr<AllocationRecorder> allocations;

    // Sources, and what they added.
    std::mutex sourceMutex;
    std::vector<RecordingSource*> sources;
    std::vector<SeriesSamples> newSamples; // guarded by `mutex`

    // Queues of the measured threads.
    BoundedQueue<RawStep> steps;
    BoundedQueue<RawCounterSample> counterSamples;
    std::atomic<int64_t> lostSteps{0}, lostSamples{0};

    // Collector.
    std::vector<SpanBuffer*> draining;
    std::vector<base::HugeVector<session::SpanRecord>> spans; // per track, recycled
    std::vector<std::vector<session::CounterRecord>> samples; // per counter, recycled
    std::vector<PendingRow> rows;
    std::vector<SeriesSamples> stackSamples;
    std::vector<session::StepRow> stepRows;
    std::chrono::steady_clock::time_point lastFlush = std::chrono::steady_clock::now();
    std::atomic<bool> hasFailed{false};
    base::Status status;

    std::mutex wakeMutex;
    std::condition_variable wake;
    bool stopping = false;
    bool finished = false;
    std::thread thread;

    void run();
    void stop();
    void collect() noexcept;
    void takeSpans();
    void takeQueues();
    void askSources();
    uint32_t intern(std::string_view text);
    void send();
    void flush() noexcept;
    void keep(base::Status result) noexcept;
    void addLosses();
};

void Recorder::Impl::run()
{
    pthread_setname_np(pthread_self(), "collector");
    excludeCurrentThread();
    std::unique_lock lock(wakeMutex);
    while (!stopping) {
        wake.wait_for(lock, std::chrono::milliseconds(options.drainMilliseconds), [this] { return stopping; });
        if (stopping) break;
        lock.unlock();
        collect();
        if (std::chrono::steady_clock::now() - lastFlush >= kFlushInterval) flush();
        lock.lock();
    }
}

void Recorder::Impl::stop()
{
    {
        const std::lock_guard lock(wakeMutex);
        stopping = true;
    }
    wake.notify_all();
    if (thread.joinable()) thread.join();
}

void Recorder::Impl::keep(base::Status result) noexcept
{
    if (result || hasFailed.load(std::memory_order_relaxed)) return;
    status = std::move(result);
    hasFailed.store(true, std::memory_order_release);
}

void Recorder::Impl::collect() noexcept
{
    try {
        clock.recalibrate();
        {
            const std::lock_guard lock(mutex);
            draining.clear();
            for (const auto& buffer : buffers)
                draining.push_back(buffer.get());
        }
        takeSpans();
        takeQueues();
        askSources();
        {
            // After the spans were taken: whatever they refer to was registered before.
            const std::lock_guard lock(mutex);
            rows.clear();
            rows.swap(pending);
            stackSamples = std::exchange(newSamples, {});
        }
        if (!hasFailed.load(std::memory_order_relaxed)) send();
    } catch (const std::exception& e) {
        keep(base::fail(base::ErrorCode::internal, fmt::format("the recording failed: {}", e.what())));
    }
}

void Recorder::Impl::takeSpans()
{
    if (spans.size() < draining.size()) spans.resize(draining.size());
    for (size_t t = 0; t < draining.size(); ++t) {
        auto& out = spans[t];
        out.clear();
        if (draining[t] == nullptr) continue;
        draining[t]->drain([&](std::span<const RawSpan> raw) {
            for (const RawSpan& span : raw) {
                const base::TimeNs start = clock.toNs(span.start);
                const base::TimeNs end = clock.toNs(span.end);
                out.push_back({start, std::max<base::TimeNs>(0, end - start), span.label, span.step});
            }
        });
    }
}

void Recorder::Impl::takeQueues()
{
    stepRows.clear();
    RawStep step;
    while (steps.pop(step)) {
        step.row.start = clock.toNs(step.startTicks);
        step.row.duration = std::max<base::TimeNs>(0, clock.toNs(step.endTicks) - step.row.start);
        stepRows.push_back(step.row);
    }
    for (auto& of : samples)
        of.clear();
    RawCounterSample sample;
    while (counterSamples.pop(sample)) {
        if (sample.counter >= samples.size()) samples.resize(sample.counter + 1);
        samples[sample.counter].push_back({clock.toNs(sample.ticks), sample.value});
    }
}

void Recorder::Impl::send()
{
    for (const PendingRow& row : rows)
        std::visit(RowSender{sink}, row);
    for (size_t t = 0; t < draining.size(); ++t)
        if (!spans[t].empty()) sink.addSpans(base::TrackId(t), spans[t]);
    for (const session::StepRow& row : stepRows)
        sink.addStep(row);
    for (size_t c = 0; c < samples.size(); ++c)
        if (!samples[c].empty()) sink.addCounterSamples(CounterId(c), samples[c]);
    for (const SeriesSamples& of : stackSamples)
        sink.addSamples(of.series, of.samples);
}

void Recorder::Impl::askSources()
{
    const std::lock_guard lock(sourceMutex);
    for (RecordingSource* source : sources)
        source->collect(clock);
}

// With the mutex held.
uint32_t Recorder::Impl::intern(std::string_view text)
{
    const auto [at, added] = strings.try_emplace(std::string(text), static_cast<uint32_t>(strings.size()));
    if (added) pending.push_back(StringRow{std::string(text)});
    return at->second;
}

void Recorder::Impl::flush() noexcept
{
    if (hasFailed.load(std::memory_order_relaxed)) return;
    try {
        keep(sink.flush());
    } catch (const std::exception& e) {
        keep(base::fail(base::ErrorCode::internal, fmt::format("the recording failed: {}", e.what())));
    }
    lastFlush = std::chrono::steady_clock::now();
}

void Recorder::Impl::addLosses()
{
    uint64_t lost = 0;
    for (const auto& buffer : buffers)
        lost += buffer != nullptr ? buffer->dropped() : 0;
    if (lost > 0)
        pending.push_back(session::QualityRow{
            "lost-spans", static_cast<int64_t>(lost),
            fmt::format("{} spans were lost because they came faster than they could be stored.", lost)});
    if (const int64_t count = lostSteps.load(); count > 0)
        pending.push_back(session::QualityRow{"lost-steps", count,
                                              fmt::format("{} steps came faster than they could be stored.", count)});
    if (const int64_t count = lostSamples.load(); count > 0)
        pending.push_back(session::QualityRow{
            "lost-samples", count, fmt::format("{} counter samples came faster than they could be stored.", count)});
}

Recorder::Recorder(session::SessionSink& sink) : Recorder(sink, Options()) {}

Recorder::Recorder(session::SessionSink& sink, Options options) : m_impl(std::make_unique<Impl>(sink, options))
{
    addEnvironment("start.unix-ns", std::to_string(m_impl->clock.originUnixNs()));
    m_impl->thread = std::thread([impl = m_impl.get()] { impl->run(); });
}

Recorder::~Recorder()
{
    m_impl->stop();
    if (!m_impl->finished) {
        m_impl->collect();
        m_impl->flush();
    }
    m_impl->allocations.reset(); // leaves the sources, so everything must still be there
}

SpanBuffer* Recorder::registerTrack(std::string_view name)
{
    auto buffer = std::make_unique<SpanBuffer>(m_impl->options.maxBlocksPerThread);
    RegisteredThread* thread = currentThread();
    if (thread != nullptr) {
        thread->marker.label.store(LabelId::kNone);
        thread->marker.step.store(-1);
        thread->marker.used.store(true);
        buffer->publishTo(std::shared_ptr<ThreadMarker>(thread->shared_from_this(), &thread->marker));
    }
    const std::lock_guard lock(m_impl->mutex);
    if (thread != nullptr) m_impl->threadTracks[thread->serial] = static_cast<uint32_t>(m_impl->buffers.size());
    m_impl->pending.push_back(session::Track{std::string(name), static_cast<int64_t>(::syscall(SYS_gettid))});
    if (m_impl->allocations != nullptr) buffer->logAllocations(m_impl->allocations->logForThisThread(base::TrackId(m_impl->buffers.size())));
    m_impl->buffers.push_back(std::move(buffer));
    return m_impl->buffers.back().get();
}

void Recorder::countAllocations(const AllocationOptions& options)
{
    m_impl->allocations = std::make_unique<AllocationRecorder>(*this, options);
}

AllocationRecorder* Recorder::allocations() const noexcept { return m_impl->allocations.get(); }

LabelId Recorder::label(std::string_view name, session::SpanKind kind, session::Phase phase, LayerId layer,
                        PrimitiveId primitive)
{
    Impl& impl = *m_impl;
    const std::lock_guard lock(impl.mutex);
    const session::Label row{base::StringId(impl.intern(name)), kind, phase, layer, primitive};
    const auto [at, added] = impl.labels.try_emplace(row, static_cast<uint32_t>(impl.labels.size()));
    if (added) {
        impl.pending.push_back(row);
        impl.labelRows.push_back(row);
    }
    return LabelId(at->second);
}

base::StringId Recorder::string(std::string_view text)
{
    const std::lock_guard lock(m_impl->mutex);
    return base::StringId(m_impl->intern(text));
}

base::FrameId Recorder::frame(const session::FrameRow& frame)
{
    const std::lock_guard lock(m_impl->mutex);
    const auto [at, added] = m_impl->frames.try_emplace(frame, static_cast<uint32_t>(m_impl->frames.size()));
    if (added) m_impl->pending.push_back(frame);
    return base::FrameId(at->second);
}

base::StackId Recorder::stack(const session::StackRow& stack)
{
    const std::lock_guard lock(m_impl->mutex);
    const auto [at, added] = m_impl->stacks.try_emplace(stack, static_cast<uint32_t>(m_impl->stacks.size()));
    if (added) m_impl->pending.push_back(stack);
    return base::StackId(at->second);
}

base::SeriesId Recorder::addSeries(const session::SeriesRow& series)
{
    const std::lock_guard lock(m_impl->mutex);
    m_impl->pending.push_back(series);
    return base::SeriesId(m_impl->series++);
}

void Recorder::addSamples(base::SeriesId series, std::vector<session::SampleRecord> samples)
{
    if (samples.empty()) return;
    const std::lock_guard lock(m_impl->mutex);
    m_impl->newSamples.push_back({series, std::move(samples)});
}

base::TrackId Recorder::trackOfThread(uint64_t serial, int64_t threadId, std::string_view name)
{
    const std::lock_guard lock(m_impl->mutex);
    const auto [at, added] = m_impl->threadTracks.try_emplace(serial, static_cast<uint32_t>(m_impl->buffers.size()));
    if (added) {
        m_impl->pending.push_back(session::Track{std::string(name), threadId});
        m_impl->buffers.push_back(nullptr);
    }
    return base::TrackId(at->second);
}

session::Label Recorder::labelRow(LabelId label) const
{
    const std::lock_guard lock(m_impl->mutex);
    return label.value < m_impl->labelRows.size() ? m_impl->labelRows[label.value] : session::Label{};
}

uint32_t Recorder::primitiveFlags(PrimitiveId primitive) const
{
    const std::lock_guard lock(m_impl->mutex);
    return primitive.value < m_impl->primitiveFlags.size() ? m_impl->primitiveFlags[primitive.value] : 0;
}

void Recorder::addSource(RecordingSource& source)
{
    const std::lock_guard lock(m_impl->sourceMutex);
    m_impl->sources.push_back(&source);
}

void Recorder::removeSource(RecordingSource& source)
{
    const std::lock_guard lock(m_impl->sourceMutex);
    std::erase(m_impl->sources, &source);
}

LayerId Recorder::addLayer(const session::LayerRow& layer)
{
    const std::lock_guard lock(m_impl->mutex);
    m_impl->pending.push_back(layer);
    return LayerId(m_impl->layers++);
}

PrimitiveId Recorder::addPrimitive(const session::PrimitiveRow& primitive)
{
    const std::lock_guard lock(m_impl->mutex);
    m_impl->pending.push_back(primitive);
    m_impl->primitiveFlags.push_back(primitive.flags);
    return PrimitiveId(m_impl->primitiveFlags.size() - 1);
}

CounterId Recorder::addCounter(std::string_view name, std::string_view unit)
{
    const std::lock_guard lock(m_impl->mutex);
    m_impl->pending.push_back(session::CounterRow{std::string(name), std::string(unit)});
    return CounterId(m_impl->counters++);
}

void Recorder::addEnvironment(std::string_view key, std::string_view value)
{
    const std::lock_guard lock(m_impl->mutex);
    m_impl->pending.push_back(session::EnvironmentRow{std::string(key), std::string(value)});
}

void Recorder::addQuality(const session::QualityRow& row)
{
    const std::lock_guard lock(m_impl->mutex);
    m_impl->pending.push_back(row);
}

void Recorder::setModelText(std::string_view text)
{
    const std::lock_guard lock(m_impl->mutex);
    m_impl->pending.push_back(ModelText{std::string(text)});
}

void Recorder::addStep(const RawStep& step) noexcept
{
    if (!m_impl->steps.push(step)) m_impl->lostSteps.fetch_add(1, std::memory_order_relaxed);
}

void Recorder::addCounterSample(CounterId counter, uint64_t atTicks, double value) noexcept
{
    if (!counter.valid()) return;
    if (!m_impl->counterSamples.push({atTicks, value, counter.value}))
        m_impl->lostSamples.fetch_add(1, std::memory_order_relaxed);
}

bool Recorder::failed() const noexcept { return m_impl->hasFailed.load(std::memory_order_acquire); }

base::Status Recorder::finish()
{
    Impl& impl = *m_impl;
    if (impl.finished) return impl.status;
    try {
        std::vector<RecordingSource*> sources;
        {
            const std::lock_guard lock(impl.sourceMutex);
            sources = impl.sources;
        }
        for (RecordingSource* source : sources)
            source->finish();
    } catch (const std::exception& e) {
        impl.keep(base::fail(base::ErrorCode::internal, fmt::format("the recording failed: {}", e.what())));
    }
    impl.stop();
    impl.finished = true;
    try {
        {
            const std::lock_guard lock(impl.mutex);
            impl.addLosses();
        }
        impl.collect();
        if (!impl.hasFailed.load()) impl.keep(impl.sink.finish());
    } catch (const std::exception& e) {
        impl.keep(base::fail(base::ErrorCode::internal, fmt::format("the recording failed: {}", e.what())));
    }
    return impl.status;
}

} // namespace stepscope::recording
