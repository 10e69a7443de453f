#include "core/recording/cpu_sampler.h"

#include "core/recording/rate_calibration.h"
#include "core/recording/recorder.h"
#include "core/recording/sample_sender.h"
#include "core/recording/stack_capture.h"
#include "core/recording/stack_collector.h"
#include "core/recording/thread_registry.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <iterator>
#include <optional>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <pthread.h>
#include <semaphore.h>
#include <unistd.h>

namespace stepscope::recording {

namespace {

using Clock = std::chrono::steady_clock;

constexpr auto kDrain = std::chrono::milliseconds(20);
constexpr auto kFetch = std::chrono::milliseconds(5); // between looks at the rings while samples are unwound
constexpr auto kPoll = std::chrono::milliseconds(1000 / kPollHz);
constexpr auto kWatch = std::chrono::milliseconds(500);
constexpr auto kCaptureWait = std::chrono::milliseconds(100);
constexpr size_t kSampleBytes = 8192; // of a stack of some depth
constexpr size_t kMaxQueued = size_t{128} << 20;
constexpr size_t kMinRing = size_t{4} << 20, kMaxRing = size_t{8} << 20;
constexpr size_t kSpareRings = 2; // ready for threads that are born while sampling

size_t ringBytes(const SamplingOptions& options, int rateHz)
{
    if (options.ringBytes > 0) return options.ringBytes;
    return std::clamp(static_cast<size_t>(rateHz) * kSampleBytes / 2, kMinRing, kMaxRing);
}

// Kept by the rings too: a thread may still be about to post when the sampler is gone.
std::shared_ptr<sem_t> makeSemaphore()
{
    std::shared_ptr<sem_t> made(new sem_t, [](sem_t* semaphore) {
        ::sem_destroy(semaphore);
        delete semaphore;
    });
    ::sem_init(made.get(), 0, 0);
    return made;
}

std::vector<pid_t> threadsOfProcess()
{
    std::vector<pid_t> ids;
    std::error_code problem;
    for (std::filesystem::directory_iterator at("/proc/self/task", problem), end; !problem && at != end; at.increment(problem))
        ids.push_back(static_cast<pid_t>(std::strtol(at->path().filename().c_str(), nullptr, 10)));
    std::sort(ids.begin(), ids.end());
    return ids;
}

} // namespace

const char* samplingMethodName(SamplingMethod method)
{
    switch (method) {
    case SamplingMethod::perfClock: return "perf cpu-clock";
    case SamplingMethod::cpuTimer: return "CPU timers";
    case SamplingMethod::none: break;
    }
    return "waits only";
}

struct CpuSampler::Impl final : ThreadObserver, RecordingSource {
    Impl(Recorder& target, std::unique_ptr<Symbolizer> symbolizer) : recorder(target), sender(target, std::move(symbolizer))
    {
        recorder.addSource(*this);
    }

    base::Status start(const SamplingOptions& wanted);
    void stop();
    void describe();
    SamplingStatistics statistics() const;

    // ThreadObserver: with the registry's mutex held.
    void threadStarted(RegisteredThread& thread) override { arm(thread); }
    void threadEnds(RegisteredThread& thread) override { countCpuTime(thread); }
    void childForked() override { inChild = true; }
    // RecordingSource.
    void collect(const TickClock& clock) override { sender.send(collector.takeBatch(), clock); }
    void finish() override
    {
        stop();
        describe();
    }

    void arm(RegisteredThread& thread);
    void disarm(RegisteredThread& thread);
    void countCpuTime(RegisteredThread& thread);
    std::unique_ptr<SampleRing> takeRing();
    void recycle(std::unique_ptr<SampleRing> ring);
    void fillSpares();
    bool waitFor(std::chrono::milliseconds time);
    void work();
    void fetch();
    void drain();
    void watchHandler();
    void countForeignThreads();
    void begin();
    void end();
    void waitForCaptures();
    void endWorker();
    std::string message(int notSampled, int byTimer) const;

    Recorder& recorder;
    SampleSender sender;
    StackCollector collector;
    ThreadRegistry& registry = threadRegistry();

    mutable std::mutex control; // start(), stop() and what they set
    SamplingOptions options;
    SamplingPlan plan;
    std::optional<SampleCosts> costs; // measured once
    const SystemCalls* costsOf = nullptr;
    bool running = false, everStarted = false, described = false;
    pid_t process = ::getpid();
    bool inChild = false;
    // In a child the worker is gone, and may have left the collector locked in the middle of a change.
    bool forked() const { return inChild || (process != 0 && ::getpid() != process); }
    std::thread worker;
    Clock::time_point startedAt{};
    double runNs = 0;       // of earlier periods
    uint64_t forksBefore = 0;
    int64_t forks = 0;

    // Guarded by the registry's mutex.
    std::vector<std::unique_ptr<SampleRing>> spares;
    bool accepting = false;
    bool starting = false; // the threads to be armed are not waiting for their rings
    int fallbacks = 0, refused = 0;
    int64_t cpuNs = 0; // of the sampled threads that ended

    std::atomic<int64_t> lost{0};
    std::atomic<int64_t> lostBefore{0}; // at the last clear()
    std::atomic<int64_t> workerCpuNs{0};
    std::atomic<int> unregistered{0};
    std::atomic<bool> handlerLost{false};
    // The worker's.
    struct Queued {
        std::shared_ptr<RegisteredThread> thread;
        std::vector<std::byte> record;
    };
    std::deque<Queued> queue;
    size_t queuedBytes = 0;
    std::vector<pid_t> foreign; // threads that the registry did not know at the last look
    std::unordered_map<uint64_t, uint64_t> lostSeen; // by serial

    std::shared_ptr<sem_t> wakeUp = makeSemaphore(); // of the worker: its period is over early as a ring fills up, or as sampling ends
    std::atomic<bool> stopping{false};
};

void CpuSampler::Impl::arm(RegisteredThread& thread)
{
    if (!accepting || thread.excluded.load()) return;
    std::unique_ptr<SampleRing> ring = thread.canBeSignalled ? takeRing() : nullptr;
    if (ring == nullptr) {
        ++refused;
        return;
    }
    const SystemCalls& system = *options.system;
    thread.weight.store(plan.periodNs());
    thread.cpuNsAtStart = threadCpuNs(thread.id);
    ring->setDrainer(wakeUp);
    thread.ring.store(ring.get());
    thread.ownedRing = std::move(ring);
    if (plan.method == SamplingMethod::none) return; // stacks of allocations and of waits alone
    int problem = thread.timer.arm(plan.method, thread.id, plan.periodNs(), system);
    if (problem != 0 && plan.method == SamplingMethod::perfClock) {
        problem = thread.timer.arm(SamplingMethod::cpuTimer, thread.id, plan.periodNs(), system);
        if (problem == 0) ++fallbacks;
    }
    if (problem == 0) return;
    ++refused;
    thread.ring.store(nullptr);
    recycle(std::move(thread.ownedRing));
}

void CpuSampler::Impl::countCpuTime(RegisteredThread& thread)
{
    if (thread.ownedRing == nullptr || thread.excluded.load()) return;
    cpuNs += std::max<int64_t>(0, threadCpuNs(thread.id) - thread.cpuNsAtStart);
}

void CpuSampler::Impl::disarm(RegisteredThread& thread)
{
    thread.timer.disarm();
    thread.ring.store(nullptr);
    countCpuTime(thread);
}

// Rings that are ready come first: touching the pages of a new one costs the thread that is being born.
std::unique_ptr<SampleRing> CpuSampler::Impl::takeRing()
{
    if (!spares.empty()) {
        std::unique_ptr<SampleRing> ring = std::move(spares.back());
        spares.pop_back();
        return ring;
    }
    auto ring = std::make_unique<SampleRing>(ringBytes(options, plan.rateHz), starting);
    return ring->valid() ? std::move(ring) : nullptr;
}

void CpuSampler::Impl::recycle(std::unique_ptr<SampleRing> ring)
{
    if (ring == nullptr || spares.size() >= 2 * kSpareRings) return;
    ring->reset();
    spares.push_back(std::move(ring));
}

void CpuSampler::Impl::fillSpares()
{
    std::unique_lock lock(registry.mutex());
    while (accepting && spares.size() < kSpareRings) {
        lock.unlock();
        auto ring = std::make_unique<SampleRing>(ringBytes(options, plan.rateHz), true);
        lock.lock();
        if (!ring->valid()) return;
        spares.push_back(std::move(ring));
    }
}

base::Status CpuSampler::Impl::start(const SamplingOptions& wanted)
{
    const std::lock_guard lock(control);
    if (running) return base::fail(base::ErrorCode::invalidArgument, "stacks are being sampled already");
    if (wanted.mode == SampleMode::off) return {};
#if !defined(__x86_64__)
    return base::fail(base::ErrorCode::unavailable, "stacks can be sampled on x86-64 only");
#endif
    options = wanted;
    if (options.system == nullptr) options.system = &realSystemCalls();
    if (const base::Status installed = installSampleHandler(); !installed) return installed;
    if (!registry.observe(this)) return base::fail(base::ErrorCode::unavailable, "another recording of this program samples stacks now");
    try {
        if (!costs || costsOf != options.system) costs = measureSampleCosts(*options.system);
        costsOf = options.system;
        const base::Result<SamplingPlan> planned = planSampling(options, *costs, perfEventParanoid());
        if (!planned) {
            registry.stopObserving();
            return base::fail(planned.error());
        }
        plan = *planned;
        begin();
    } catch (...) {
        end(); // nothing stays armed, and nobody calls an observer that is gone
        throw;
    }
    running = everStarted = true;
    startedAt = Clock::now();
    return {};
}

void CpuSampler::Impl::begin()
{
    collector.setWall(options.mode == SampleMode::wall);
    stopping.store(false);
    process = ::getpid();
    forksBefore = registry.forks();
    foreign.clear();
    registry.forEach([this](RegisteredThread& thread) {
        accepting = starting = true;
        arm(thread);
        starting = false;
    });
    worker = std::thread([this] { work(); });
}

void CpuSampler::Impl::waitForCaptures()
{
    const auto until = Clock::now() + kCaptureWait;
    for (const auto& thread : registry.threads())
        while (thread->capturing.load() != 0 && Clock::now() < until)
            std::this_thread::yield();
}

void CpuSampler::Impl::endWorker()
{
    stopping.store(true);
    ::sem_post(wakeUp.get());
    if (!worker.joinable()) return;
    if (forked()) worker.detach(); // it runs in the parent alone
    else worker.join();
}

void CpuSampler::Impl::stop()
{
    const std::lock_guard lock(control);
    if (!running) return;
    running = false;
    end();
    if (!forked()) collector.forgetWaits();
    forks += static_cast<int64_t>(registry.forks() - forksBefore);
    runNs += std::chrono::duration<double, std::nano>(Clock::now() - startedAt).count();
}

void CpuSampler::Impl::end()
{
    registry.forEach([this](RegisteredThread& thread) {
        accepting = starting = false;
        if (thread.ownedRing != nullptr) disarm(thread);
    });
    waitForCaptures();
    endWorker();
    registry.forEach([](RegisteredThread& thread) {
        // A thread that was not let run may still be within its copy: its ring stays for good, as it will write there.
        if (thread.capturing.load() != 0) static_cast<void>(thread.ownedRing.release());
        else thread.ownedRing.reset();
    });
    registry.stopObserving();
    spares.clear();
    lostSeen.clear();
}

// True when somebody wants the worker before the time is over.
bool CpuSampler::Impl::waitFor(std::chrono::milliseconds time)
{
    timespec until;
    ::clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += static_cast<long>(time.count() * 1'000'000);
    until.tv_sec += until.tv_nsec / 1'000'000'000;
    until.tv_nsec %= 1'000'000'000;
    return ::sem_clockwait(wakeUp.get(), CLOCK_MONOTONIC, &until) == 0;
}

void CpuSampler::Impl::work()
{
    pthread_setname_np(pthread_self(), "sampler");
    excludeCurrentThread();
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
    const bool wall = options.mode == SampleMode::wall;
    auto lastPoll = Clock::now(), lastDrain = lastPoll, lastWatch = lastPoll - kWatch;
    const int64_t cpuBefore = threadCpuNs(::gettid()) - workerCpuNs.load();
    while (!stopping.load()) {
        const bool early = waitFor(wall ? kPoll : kDrain);
        const auto now = Clock::now();
        if (wall && now - lastPoll >= kPoll / 2) {
            collector.refresh();
            collector.poll(registry, std::chrono::duration_cast<std::chrono::nanoseconds>(now - lastPoll).count());
            lastPoll = now;
        }
        if (early || now - lastDrain >= kDrain / 2) {
            drain();
            lastDrain = now;
        }
        if (now - lastWatch >= kWatch) {
            watchHandler();
            lastWatch = now;
        }
        workerCpuNs.store(threadCpuNs(::gettid()) - cpuBefore);
    }
    drain();
}

// Empties the rings into the queue: quick, whatever unwinding takes.
void CpuSampler::Impl::fetch()
{
    for (const auto& thread : registry.threads()) {
        SampleRing* ring = thread->ownedRing.get();
        if (ring == nullptr || queuedBytes > kMaxQueued) continue;
        const bool ended = thread->exited.load(std::memory_order_acquire);
        ring->drain([&](std::span<const std::byte> record) {
            queue.push_back({thread, {record.begin(), record.end()}});
            queuedBytes += record.size();
        });
        uint64_t& seen = lostSeen[thread->serial];
        lost.fetch_add(static_cast<int64_t>(ring->lost() - seen));
        seen = ring->lost();
        if (!ended) continue;
        lostSeen.erase(thread->serial);
        registry.drop(*thread);
        const std::lock_guard lock(registry.mutex());
        recycle(std::move(thread->ownedRing));
    }
    fillSpares();
}

void CpuSampler::Impl::drain()
{
    fetch();
    collector.refresh();
    auto fetched = Clock::now();
    while (!queue.empty()) {
        collector.take(*queue.front().thread, queue.front().record);
        queuedBytes -= queue.front().record.size();
        queue.pop_front();
        // New code and new libraries take their time; the rings must not fill up meanwhile.
        if (const auto now = Clock::now(); now - fetched > kFetch) {
            fetch();
            collector.refresh();
            fetched = now;
        }
    }
}

void CpuSampler::Impl::watchHandler()
{
    countForeignThreads();
    if (sampleHandlerInstalled() || handlerLost.exchange(true)) return;
    registry.forEach([this](RegisteredThread& thread) {
        accepting = false;
        thread.timer.disarm();
    });
}

// A thread counts when the registry does not know it at two looks in a row: one that is just being born or ending is on
// one of the lists alone for a moment.
void CpuSampler::Impl::countForeignThreads()
{
    std::vector<pid_t> all = threadsOfProcess(), registered, now, twice;
    registry.forEach([&](const RegisteredThread& thread) { registered.push_back(thread.id); });
    std::sort(registered.begin(), registered.end());
    std::set_difference(all.begin(), all.end(), registered.begin(), registered.end(), std::back_inserter(now));
    std::set_intersection(now.begin(), now.end(), foreign.begin(), foreign.end(), std::back_inserter(twice));
    foreign = std::move(now);
    unregistered.store(std::max(unregistered.load(), static_cast<int>(twice.size())));
}

std::string CpuSampler::Impl::message(int notSampled, int byTimer) const
{
    std::string text = plan.message;
    const auto add = [&text](const std::string& sentence) { text += (text.empty() ? "" : " ") + sentence; };
    if (byTimer > 0) add(fmt::format("{} threads are sampled by CPU timers, as the limit of open files is reached (ulimit -n).", byTimer));
    if (notSampled > 0) add(fmt::format("{} threads are not sampled (created outside the registry, or refused by the system).", notSampled));
    if (handlerLost.load()) add("Sampling ended early: another part of the program took over SIGPROF.");
    return text;
}

SamplingStatistics CpuSampler::Impl::statistics() const
{
    const std::lock_guard lock(control);
    SamplingStatistics s;
    const StackCollector::Counts counts = forked() ? StackCollector::Counts{} : collector.counts();
    s.running = running;
    s.mode = everStarted ? options.mode : SampleMode::off;
    s.method = everStarted ? plan.method : SamplingMethod::none;
    s.rateHz = plan.rateHz;
    s.cost = plan.cost;
    s.samples = counts.samples;
    s.incomplete = counts.incomplete;
    s.approximate = counts.approximate;
    s.blocked = counts.blocked;
    s.discarded = counts.discarded;
    s.lost = lost.load() - lostBefore.load();
    const double elapsed = runNs + (running ? std::chrono::duration<double, std::nano>(Clock::now() - startedAt).count() : 0);
    if (elapsed > 0) s.collectorCost = static_cast<double>(workerCpuNs.load()) / elapsed;
    int64_t used = 0;
    int byTimer = 0;
    {
        const std::lock_guard threads(registry.mutex());
        used = cpuNs;
        byTimer = fallbacks;
        s.unsampledThreads = refused + unregistered.load();
    }
    registry.forEach([&](const RegisteredThread& thread) {
        if (running && thread.ownedRing != nullptr && !thread.excluded.load()) used += threadCpuNs(thread.id) - thread.cpuNsAtStart;
    });
    if (used > 0) s.unsampledTime = std::clamp(1 - static_cast<double>(counts.weight) / static_cast<double>(used), 0.0, 1.0);
    s.message = message(s.unsampledThreads, byTimer);
    return s;
}

// What the session should say about its samples.
void CpuSampler::Impl::describe()
{
    if (!everStarted || described) return;
    described = true;
    const SamplingStatistics s = statistics();
    recorder.addEnvironment("sampler.mode", s.mode == SampleMode::wall ? "wall" : "cpu");
    recorder.addEnvironment("sampler.method", samplingMethodName(s.method));
    recorder.addEnvironment("sampler.rate", fmt::format("{} Hz", s.rateHz));
    recorder.addEnvironment("sampler.cost", fmt::format("{:.2f} % of a sampled thread, {:.2f} % of a core for unwinding", 100 * s.cost, 100 * s.collectorCost));
    recorder.addEnvironment("sampler.samples", std::to_string(s.samples));
    recorder.addEnvironment("sampler.lost", std::to_string(s.lost));
    recorder.addEnvironment("sampler.incomplete", std::to_string(s.incomplete));
    recorder.addEnvironment("sampler.unsampled", fmt::format("{:.1f} % of CPU time{}", 100 * s.unsampledTime, s.method == SamplingMethod::none ? "" : ", mostly in the kernel"));
    const auto quality = [this](const char* code, int64_t count, std::string text) {
        if (count > 0) recorder.addQuality({code, count, std::move(text)});
    };
    quality("lost-stack-samples", s.lost, fmt::format("{} of {} stack samples were lost because they came faster than they could be fetched.", s.lost, s.lost + s.samples));
    quality("incomplete-stacks", s.incomplete, fmt::format("{} of {} stacks do not reach the start of their thread.", s.incomplete, s.samples));
    quality("waits-discarded", s.discarded, fmt::format("{} looks at waiting threads gave no sample because the thread went on meanwhile.", s.discarded));
    quality("sampling-limited", s.message.empty() ? 0 : 1, s.message);
    quality("children-not-sampled", forks, fmt::format("{} child processes were started; they are not sampled.", forks));
    quality("no-stack-samples", s.samples == 0 ? 1 : 0, "No stack samples were taken.");
}

CpuSampler::CpuSampler(Recorder& recorder, std::unique_ptr<Symbolizer> symbolizer)
    : m_impl(std::make_unique<Impl>(recorder, std::move(symbolizer)))
{
}

CpuSampler::~CpuSampler()
{
    m_impl->stop();
    m_impl->recorder.removeSource(*m_impl);
}

base::Status CpuSampler::start(const SamplingOptions& options)
{
    try {
        return m_impl->start(options);
    } catch (const std::exception& e) {
        return base::fail(base::ErrorCode::unavailable, fmt::format("stacks cannot be sampled: {}", e.what()));
    }
}

void CpuSampler::stop() { m_impl->stop(); }

void CpuSampler::clear()
{
    m_impl->lostBefore.store(m_impl->lost.load());
    if (!m_impl->forked()) m_impl->collector.clear();
}

SamplingStatistics CpuSampler::statistics() const { return m_impl->statistics(); }

} // namespace stepscope::recording
