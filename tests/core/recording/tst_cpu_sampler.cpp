// The sampler as a whole: what it records of threads whose work is known.
#include "core/recording/cpu_sampler.h"
#include "core/recording/generated_code.h"
#include "core/recording/probe.h"
#include "core/recording/process_setup.h"
#include "core/recording/rate_calibration.h"
#include "core/recording/recorder.h"
#include "core/recording/sample_timer.h"
#include "core/recording/thread_registry.h"
#include "core/session/session_builder.h"

#include <QtTest>

#include <array>
#include <atomic>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>

#include <dlfcn.h>
#include <poll.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

using namespace stepscope;
using namespace stepscope::recording;
using session::Phase;
using session::SpanKind;

namespace {

int64_t threadTime()
{
    timespec t;
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// The names are looked up in the program's own symbols, by address.
[[gnu::noipa]] void spinRed(int64_t ns)
{
    const int64_t end = threadTime() + ns;
    volatile int x = 0;
    while (threadTime() < end)
        for (int i = 0; i < 20000; ++i)
            x = x + i;
}

[[gnu::noipa]] void spinBlue(int64_t ns)
{
    const int64_t end = threadTime() + ns;
    volatile int x = 1;
    while (threadTime() < end)
        for (int i = 0; i < 20000; ++i)
            x = x * 3 + i;
}

[[gnu::noipa]] int deepRed(int depth, int64_t ns)
{
    if (depth == 0) {
        spinRed(ns);
        return 1;
    }
    return deepRed(depth - 1, ns) + 1;
}

#if defined(__x86_64__)
// As oneDNN's matrix kernels where they keep their work space on the stack: 256 KiB below the caller's frame, at the
// begin of a page, with the old stack pointer in it. Counts rdi down.
constexpr unsigned char kWorkSpaceKernel[] = {
    0x55,                                           // push rbp
    0x48, 0x89, 0xe5,                               // mov rbp, rsp
    0x48, 0x8d, 0xa4, 0x24, 0x00, 0x00, 0xfc, 0xff, // lea rsp, [rsp - 0x40000]
    0x48, 0x81, 0xe4, 0x00, 0xf0, 0xff, 0xff,       // and rsp, -0x1000
    0x48, 0x89, 0x6c, 0x24, 0x78,                   // mov [rsp + 0x78], rbp
    0x48, 0x31, 0xed,                               // xor rbp, rbp
    0x48, 0xff, 0xcf,                               // dec rdi
    0x75, 0xfb,                                     // jnz to the dec
    0x48, 0x8b, 0x64, 0x24, 0x78,                   // mov rsp, [rsp + 0x78]
    0x5d,                                           // pop rbp
    0xc3,                                           // ret
};

[[gnu::noipa]] int callKernel(void (*kernel)(int64_t), int64_t rounds)
{
    kernel(rounds);
    return 1;
}
#endif

// 2 KiB of stack per call; each knows a variable of the outermost one.
[[gnu::noipa]] int wideRed(int depth, const int* outermost, int64_t ns)
{
    volatile char space[2048];
    space[0] = static_cast<char>(*outermost);
    if (depth == 0) spinRed(ns);
    else space[1] = static_cast<char>(wideRed(depth - 1, outermost, ns));
    return space[0] + space[1];
}

// Names functions of this file by where they start and end.
class OwnNames : public Symbolizer {
public:
    std::vector<SymbolFrame> resolve(const CodeAddress& address) override
    {
        Dl_info info{};
        if (::dladdr(reinterpret_cast<void*>(&spinRed), &info) == 0) return {};
        if (address.module.find("tst_cpu_sampler") == std::string::npos) return {};
        // The last one that starts before the address; none of them is as long as the limit.
        constexpr uint64_t kLongest = 512;
        const char* name = nullptr;
        uint64_t nearest = kLongest;
        const auto look = [&](const char* called, auto* function) {
            const uint64_t start = reinterpret_cast<uint64_t>(function) - reinterpret_cast<uint64_t>(info.dli_fbase);
            if (address.address < start || address.address - start >= nearest) return;
            nearest = address.address - start;
            name = called;
        };
        look("spinRed", &spinRed);
        look("spinBlue", &spinBlue);
        look("deepRed", &deepRed);
#if defined(__x86_64__)
        look("callKernel", &callKernel);
#endif
        if (name == nullptr) return {};
        return {{name, "", 0, 0}};
    }
};

int forbidPerf(perf_event_attr*, pid_t)
{
    errno = EACCES;
    return -1;
}

int perfWithoutFiles(perf_event_attr* attributes, pid_t thread)
{
    static std::atomic<int> calls{0};
    if (calls.fetch_add(1) > 2) {
        errno = EMFILE;
        return -1;
    }
    return realSystemCalls().perfEventOpen(attributes, thread);
}

int forbidTimer(clockid_t, sigevent*, timer_t*)
{
    errno = EPERM;
    return -1;
}

std::atomic<bool> g_throw{false};

int perfThatThrows(perf_event_attr* attributes, pid_t thread)
{
    if (g_throw) throw std::runtime_error("no more");
    return realSystemCalls().perfEventOpen(attributes, thread);
}

int timerThatThrows(clockid_t clock, sigevent* event, timer_t* timer)
{
    if (g_throw) throw std::runtime_error("no more");
    return realSystemCalls().timerCreate(clock, event, timer);
}

#if defined(__x86_64__)
// Computes with the stack pointer elsewhere, as oneDNN's matrix kernels do.
[[gnu::noinline]] void spinOnAnotherStack(void* stackPointer, int64_t rounds)
{
    asm volatile("movq %%rsp, %%r12\n\tmovq %1, %%rsp\n1:\n\tdecq %0\n\tjnz 1b\n\tmovq %%r12, %%rsp"
                 : "+r"(rounds) : "r"(stackPointer) : "r12", "cc", "memory");
}
#endif

struct Recorded {
    session::SessionPtr session;
    SamplingStatistics statistics;
    base::Status started;

    const session::SampleTable& samples(size_t series = 0) const { return session->samples(base::SeriesId(series)); }
    std::string function(uint32_t frame) const
    {
        return std::string(session->string(session->frames()[frame].function));
    }
    // Outermost first.
    std::vector<std::string> names(uint32_t stack) const
    {
        std::vector<std::string> names;
        for (base::StackId at{stack}; at.valid(); at = session->stacks()[at.value].parent)
            names.insert(names.begin(), function(session->stacks()[at.value].frame.value));
        return names;
    }
    uint32_t leafFlags(uint32_t stack) const { return session->frames()[session->stacks()[stack].frame.value].flags; }
    uint32_t rootFlags(uint32_t stack) const
    {
        uint32_t flags = 0;
        for (base::StackId at{stack}; at.valid(); at = session->stacks()[at.value].parent)
            flags = session->frames()[session->stacks()[at.value].frame.value].flags;
        return flags;
    }
};

// Runs `work` while stacks are sampled.
template <class Work>
Recorded record(const SamplingOptions& options, Work&& work)
{
    Recorded result;
    session::SessionBuilder builder;
    {
        Recorder recorder(builder);
        CpuSampler sampler(recorder, std::make_unique<OwnNames>());
        result.started = sampler.start(options);
        work(recorder, sampler);
        sampler.stop();
        result.statistics = sampler.statistics();
        if (!recorder.finish()) return result;
    }
    result.session = builder.build();
    return result;
}

SamplingOptions options(int rate = 1000, SampleMode mode = SampleMode::cpu)
{
    SamplingOptions made;
    made.mode = mode;
    made.rateHz = rate;
    return made;
}

std::string environment(const session::Session& session, std::string_view key)
{
    for (const session::EnvironmentRow& row : session.environment())
        if (row.key == key) return row.value;
    return {};
}

int64_t quality(const session::Session& session, std::string_view code)
{
    for (const session::QualityRow& row : session.quality())
        if (row.code == code) return row.count;
    return 0;
}

} // namespace

class TestCpuSampler : public QObject {
    Q_OBJECT

private slots:
    void initTestCase() { prepareProcess(); }

    void weightsFollowTheWork()
    {
        const Recorded run = record(options(), [](Recorder& recorder, CpuSampler&) {
            SpanBuffer* buffer = recorder.registerTrack("training");
            const base::LabelId forward = recorder.label("forward", SpanKind::phase, Phase::forward);
            const base::LabelId backward = recorder.label("backward", SpanKind::phase, Phase::backward);
            for (int step = 0; step < 20; ++step) {
                buffer->setStep(step);
                {
                    const Probe probe(buffer, forward);
                    spinRed(36'000'000);
                }
                {
                    const Probe probe(buffer, backward);
                    spinBlue(24'000'000);
                }
            }
            buffer->setStep(-1);
        });
        QVERIFY2(run.started.has_value(), run.started ? "" : run.started.error().message.c_str());
        QVERIFY(run.session != nullptr);
        QCOMPARE(run.session->series().size(), size_t{1});
        QCOMPARE(run.session->series()[0].kind, session::SeriesKind::cpuTime);
        const session::SampleTable& samples = run.samples();
        std::map<std::string, double> byFunction, byPhase;
        double total = 0, wrong = 0;
        std::set<int> steps;
        for (size_t i = 0; i < samples.size(); ++i) {
            if (samples.label[i] == base::LabelId::kNone) continue;
            const std::vector<std::string> names = run.names(samples.stack[i]);
            const auto weight = static_cast<double>(samples.weight[i]);
            const auto phase = std::string(session::phaseName(run.session->labels()[samples.label[i]].phase));
            const bool red = std::find(names.begin(), names.end(), "spinRed") != names.end();
            total += weight;
            byFunction[red ? "red" : "blue"] += weight;
            byPhase[phase] += weight;
            if (red != (phase == "forward")) wrong += weight;
            steps.insert(samples.step[i]);
        }
        // 720 and 480 ms of CPU time.
        QVERIFY2(std::abs(byFunction["red"] / total - 0.6) < 0.06, qPrintable(QString::number(byFunction["red"] / total)));
        QVERIFY2(std::abs(byPhase["forward"] / total - 0.6) < 0.06, qPrintable(QString::number(byPhase["forward"] / total)));
        QVERIFY(wrong / total < 0.01);
        QVERIFY2(std::abs(total / 1.2e9 - 1) < 0.15, qPrintable(QString::number(total)));
        QCOMPARE(steps.size(), size_t{20});
        QCOMPARE(run.statistics.lost, int64_t{0});
        QCOMPARE(run.statistics.incomplete, int64_t{0});
        QCOMPARE(environment(*run.session, "sampler.lost"), std::string("0"));
        QVERIFY(!environment(*run.session, "sampler.method").empty());
        QVERIFY(!environment(*run.session, "sampler.cost").empty());
    }

    void deepStacksAreWholeAndLongOnesSayThatTheyAreCut()
    {
        const Recorded run = record(options(), [](Recorder&, CpuSampler&) { QVERIFY(deepRed(100, 150'000'000) > 0); });
        QVERIFY(run.session != nullptr);
        size_t deep = 0;
        for (const uint32_t stack : run.samples().stack) {
            const std::vector<std::string> names = run.names(stack);
            if (std::find(names.begin(), names.end(), "spinRed") == names.end()) continue;
            // gcc may turn some of the recursion into a loop, not all of it: the result is added up on the way back.
            deep = std::max(deep, names.size());
            QVERIFY((run.rootFlags(stack) & session::kTruncated) == 0);
        }
        QVERIFY(deep > 10);
        QCOMPARE(run.statistics.incomplete, int64_t{0});
    }

    void withoutPermissionForPerfCpuTimersTakeOverAndTheMessageSaysWhatToDo()
    {
        static constexpr SystemCalls kNoPerf{forbidPerf, nullptr};
        SystemCalls calls = kNoPerf;
        calls.timerCreate = realSystemCalls().timerCreate;
        SamplingOptions wanted = options();
        wanted.system = &calls;
        const Recorded run = record(wanted, [](Recorder&, CpuSampler&) { spinRed(300'000'000); });
        QVERIFY(run.started.has_value());
        QCOMPARE(run.statistics.method, SamplingMethod::cpuTimer);
        QVERIFY(!run.samples().stack.empty()); // on a busy machine few, that stand for many ticks each
        const std::string& message = run.statistics.message;
        for (const char* part : {"perf_event_open", "perf_event_paranoid", "CPU timers", "--cap-add PERFMON"})
            QVERIFY2(message.find(part) != std::string::npos, message.c_str());
        QCOMPARE(quality(*run.session, "sampling-limited"), int64_t{1});
        QCOMPARE(environment(*run.session, "sampler.method"), std::string("CPU timers"));
        // Every sample counts for the ticks that it stands for.
        int64_t total = 0;
        for (const int64_t weight : run.samples().weight)
            total += weight;
        QVERIFY2(std::abs(static_cast<double>(total) / 3e8 - 1) < 0.25, qPrintable(QString::number(total)));
    }

    void withoutAnyMethodTheErrorNamesBoth()
    {
        static constexpr SystemCalls kNothing{forbidPerf, forbidTimer};
        SamplingOptions wanted = options();
        wanted.system = &kNothing;
        const Recorded run = record(wanted, [](Recorder&, CpuSampler&) {});
        QVERIFY(!run.started.has_value());
        QCOMPARE(run.started.error().code, base::ErrorCode::unavailable);
        QVERIFY(run.started.error().message.find("perf_event_open") != std::string::npos);
        QVERIFY(run.started.error().message.find("timer_create") != std::string::npos);
        QVERIFY(run.started.error().hint.find("perf_event_paranoid") != std::string::npos);
        QCOMPARE(run.statistics.method, SamplingMethod::none);
    }

    void withoutAnyMethodWaitsAreSeenAllTheSame()
    {
        static constexpr SystemCalls kNothing{forbidPerf, forbidTimer};
        SamplingOptions wanted = options(1000, SampleMode::wall);
        wanted.system = &kNothing;
        const Recorded run = record(wanted, [](Recorder&, CpuSampler&) {
            const timespec pause{0, 300'000'000};
            ::nanosleep(&pause, nullptr);
            spinRed(20'000'000);
        });
        QVERIFY(run.started.has_value());
        QCOMPARE(run.statistics.method, SamplingMethod::none);
        QVERIFY(run.statistics.samples > 0);
        QCOMPARE(run.statistics.blocked, run.statistics.samples);
        QCOMPARE(run.statistics.unsampledThreads, 0);
        QVERIFY2(run.statistics.message.find("only where they wait") != std::string::npos, run.statistics.message.c_str());
        QCOMPARE(environment(*run.session, "sampler.method"), std::string("waits only"));
        QCOMPARE(quality(*run.session, "sampling-limited"), int64_t{1});
        for (size_t series = 0; series < run.session->series().size(); ++series)
            if (run.session->series()[series].kind == session::SeriesKind::cpuTime) QVERIFY(run.samples(series).stack.empty());
    }

    // The setting is named as the cause only where it is one.
    void theHintFollowsTheSetting()
    {
        SampleCosts costs;
        costs.perfError = EPERM;
        costs.timerMaxHz = 250;
        for (const char* setting : {"3", "4", ""}) {
            const auto plan = planSampling(options(), costs, setting);
            QVERIFY(plan.has_value());
            QVERIFY2(plan->message.find("sudo sysctl kernel.perf_event_paranoid=2") != std::string::npos, plan->message.c_str());
        }
        for (const char* setting : {"2", "1", "0", "-1"}) {
            const auto plan = planSampling(options(), costs, setting);
            QVERIFY(plan.has_value());
            QVERIFY2(plan->message.find("sudo") == std::string::npos, plan->message.c_str());
            QVERIFY2(plan->message.find("--cap-add PERFMON") != std::string::npos, plan->message.c_str());
            QCOMPARE(plan->rateHz, 250);
        }
    }

    void threadsBeyondTheLimitOfOpenFilesAreSampledByTimers()
    {
        SystemCalls calls = realSystemCalls();
        calls.perfEventOpen = perfWithoutFiles;
        SamplingOptions wanted = options(2000); // more than CPU timers can do
        wanted.system = &calls;
        std::atomic<int> done{0};
        const Recorded run = record(wanted, [&](Recorder&, CpuSampler&) {
            std::vector<std::thread> threads;
            for (int i = 0; i < 4; ++i)
                threads.emplace_back([&] {
                    spinRed(100'000'000);
                    ++done;
                });
            for (std::thread& thread : threads)
                thread.join();
        });
        QCOMPARE(done.load(), 4);
        QCOMPARE(run.statistics.method, SamplingMethod::perfClock);
        QVERIFY2(run.statistics.message.find("open files") != std::string::npos, run.statistics.message.c_str());
        std::map<uint32_t, int64_t> byTrack;
        for (size_t i = 0; i < run.samples().size(); ++i)
            byTrack[run.samples().track[i]] += run.samples().weight[i];
        int busy = 0;
        for (const auto& [track, weight] : byTrack)
            if (weight > 10'000'000) ++busy; // on a busy machine a thread may run between two ticks for long
        QCOMPARE(busy, 4);
    }

    void threadsBornWhileSamplingAreSampledUntilTheyEnd()
    {
        const Recorded run = record(options(), [](Recorder&, CpuSampler&) {
            for (int i = 0; i < 10; ++i)
                std::thread([] { spinRed(30'000'000); }).join();
        });
        int64_t total = 0;
        std::set<uint32_t> tracks;
        for (size_t i = 0; i < run.samples().size(); ++i) {
            const std::vector<std::string> names = run.names(run.samples().stack[i]);
            if (std::find(names.begin(), names.end(), "spinRed") == names.end()) continue;
            total += run.samples().weight[i];
            tracks.insert(run.samples().track[i]);
        }
        QCOMPARE(tracks.size(), size_t{10});
        QVERIFY2(std::abs(static_cast<double>(total) / 3e8 - 1) < 0.2, qPrintable(QString::number(total)));
    }

    void threadsWithoutProbesCarryTheLabelOfTheThreadThatMadeThem()
    {
        const Recorded run = record(options(), [](Recorder& recorder, CpuSampler&) {
            SpanBuffer* buffer = recorder.registerTrack("training");
            const base::LabelId forward = recorder.label("forward", SpanKind::phase, Phase::forward);
            buffer->setStep(7);
            const Probe probe(buffer, forward);
            std::thread([] { spinRed(100'000'000); }).join();
        });
        size_t found = 0;
        for (size_t i = 0; i < run.samples().size(); ++i) {
            const std::vector<std::string> names = run.names(run.samples().stack[i]);
            if (std::find(names.begin(), names.end(), "spinRed") == names.end()) continue;
            ++found;
            QCOMPARE(run.session->labels()[run.samples().label[i]].phase, Phase::forward);
            QCOMPARE(run.samples().step[i], 7);
        }
        QVERIFY(found > 50);
    }

    void aRingThatIsTooSmallLosesSamplesAndCountsThem()
    {
        SamplingOptions wanted = options(5000);
        wanted.ringBytes = 4096;
        const Recorded run = record(wanted, [](Recorder&, CpuSampler&) { deepRed(30, 200'000'000); });
        QVERIFY(run.statistics.lost > 0);
        QCOMPARE(quality(*run.session, "lost-stack-samples"), run.statistics.lost);
        QCOMPARE(environment(*run.session, "sampler.lost"), std::to_string(run.statistics.lost));
    }

    void waitingThreadsAreSeenWholeWithoutBeingInterrupted()
    {
        std::atomic<int> interrupted{0}, calls{0};
        const Recorded run = record(options(1000, SampleMode::wall), [&](Recorder& recorder, CpuSampler&) {
            std::mutex mutex;
            std::condition_variable wake;
            bool stop = false;
            std::thread waiter([&] {
                std::unique_lock lock(mutex);
                wake.wait(lock, [&] { return stop; });
            });
            std::thread loader([&] {
                SpanBuffer* buffer = recorder.registerTrack("loader");
                const Probe probe(buffer, recorder.label("load", SpanKind::task, Phase::loading));
                const int64_t end = 60;
                for (int64_t i = 0; i < end; ++i) {
                    spinBlue(1'000'000);
                    const timespec pause{0, 8'000'000};
                    ++calls;
                    if (::nanosleep(&pause, nullptr) != 0 && errno == EINTR) ++interrupted;
                    ++calls;
                    if (::poll(nullptr, 0, 2) < 0 && errno == EINTR) ++interrupted;
                }
            });
            loader.join();
            {
                const std::lock_guard lock(mutex);
                stop = true;
            }
            wake.notify_all();
            waiter.join();
        });
        QCOMPARE(calls.load(), 120);
        QCOMPARE(interrupted.load(), 0);
        QCOMPARE(run.session->series().size(), size_t{2});
        size_t wall = run.session->series()[0].kind == session::SeriesKind::wallTime ? 0 : 1;
        QVERIFY(run.session->series()[wall].isDefault);
        const session::SampleTable& samples = run.samples(wall);
        size_t waits = 0, whole = 0;
        double loaderWait = 0, loaderWork = 0;
        for (size_t i = 0; i < samples.size(); ++i) {
            const bool waiting = (run.leafFlags(samples.stack[i]) & session::kWaiting) != 0;
            if (waiting) {
                ++waits;
                whole += (run.rootFlags(samples.stack[i]) & session::kTruncated) == 0 ? 1 : 0;
            }
            if (samples.label[i] == base::LabelId::kNone || run.session->labels()[samples.label[i]].phase != Phase::loading) continue;
            (waiting ? loaderWait : loaderWork) += static_cast<double>(samples.weight[i]);
        }
        QVERIFY(waits > 100);
        QVERIFY2(static_cast<double>(whole) >= 0.99 * static_cast<double>(waits), qPrintable(QString("%1 of %2").arg(whole).arg(waits)));
        // At least 10 of 11 ms are waits; a busy machine makes it more.
        QVERIFY2(loaderWait / (loaderWait + loaderWork) > 0.8, qPrintable(QString("%1 %2").arg(loaderWait).arg(loaderWork)));
    }

    void threadsThatCouldRunButGetNoProcessorAreSeenInWallClockTime()
    {
        std::FILE* told = std::fopen("/proc/self/schedstat", "re");
        if (told == nullptr) QSKIP("this kernel does not tell how long threads wait for a processor");
        std::fclose(told);
        // Two threads on one processor: each computes for half of the time.
        cpu_set_t allowed, one;
        CPU_ZERO(&one);
        QCOMPARE(::sched_getaffinity(0, sizeof(allowed), &allowed), 0);
        for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
            if (CPU_ISSET(cpu, &allowed)) CPU_SET(cpu, &one);
        std::array<int64_t, 2> wallNs{};
        const Recorded run = record(options(1000, SampleMode::wall), [&](Recorder&, CpuSampler&) {
            std::array<std::thread, 2> threads;
            for (size_t i = 0; i < threads.size(); ++i)
                threads[i] = std::thread([&wallNs, &one, i] {
                    ::sched_setaffinity(0, sizeof(one), &one);
                    const auto begin = std::chrono::steady_clock::now();
                    spinRed(400'000'000);
                    wallNs[i] = std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count();
                });
            for (std::thread& thread : threads)
                thread.join();
        });
        QVERIFY(run.session != nullptr);
        const auto wall = static_cast<double>(wallNs[0] + wallNs[1]);
        double computed = 0, waited = 0;
        for (size_t i = 0; i < run.samples().size(); ++i) {
            const std::vector<std::string> names = run.names(run.samples().stack[i]);
            const bool red = std::find(names.begin(), names.end(), "spinRed") != names.end();
            const bool runnable = names == std::vector<std::string>{"(waiting for a processor)"};
            (red ? computed : waited) += red || runnable ? static_cast<double>(run.samples().weight[i]) : 0;
        }
        const QString text = QString("computed %1, waited %2 of %3 ms").arg(computed / 1e6).arg(waited / 1e6).arg(wall / 1e6);
        QVERIFY2(std::abs(computed / 8e8 - 1) < 0.15, qPrintable(text));
        QVERIFY2(waited > 0.2 * wall, qPrintable(text));
        QVERIFY2(std::abs((computed + waited) / wall - 1) < 0.15, qPrintable(text));
    }

    void samplesAddUpUntilTheyAreCleared()
    {
        const Recorded run = record(options(), [](Recorder&, CpuSampler& sampler) {
            spinRed(100'000'000);
            sampler.stop();
            const int64_t first = sampler.statistics().samples;
            QVERIFY(first > 20);
            spinRed(50'000'000);
            QCOMPARE(sampler.statistics().samples, first);
            QVERIFY(sampler.start(options()).has_value());
            QVERIFY(!sampler.start(options()).has_value());
            spinRed(100'000'000);
            sampler.stop();
            QVERIFY(sampler.statistics().samples > first + 20);
            sampler.clear();
            QCOMPARE(sampler.statistics().samples, int64_t{0});
            QVERIFY(sampler.start(options()).has_value());
            spinBlue(100'000'000);
        });
        QVERIFY(run.statistics.samples > 20);
        const session::SampleTable& last = run.samples(run.session->series().size() - 1);
        QCOMPARE(static_cast<int64_t>(last.size()), run.statistics.samples);
        for (const uint32_t stack : last.stack) {
            const std::vector<std::string> names = run.names(stack);
            QVERIFY(std::find(names.begin(), names.end(), "spinRed") == names.end());
        }
    }

    void aForkedChildRunsOnWithoutSamplingAndTheParentSaysSo()
    {
        const Recorded run = record(options(), [](Recorder&, CpuSampler& sampler) {
            spinRed(50'000'000);
            const pid_t child = ::fork();
            if (child == 0) {
                spinBlue(50'000'000);
                sampler.stop();
                ::_exit(sampler.statistics().running ? 1 : 0);
            }
            int status = 0;
            QCOMPARE(::waitpid(child, &status, 0), child);
            QVERIFY(WIFEXITED(status));
            QCOMPARE(WEXITSTATUS(status), 0);
            spinRed(50'000'000);
        });
        QCOMPARE(quality(*run.session, "children-not-sampled"), int64_t{1});
        for (const uint32_t stack : run.samples().stack) {
            const std::vector<std::string> names = run.names(stack);
            QVERIFY(std::find(names.begin(), names.end(), "spinBlue") == names.end());
        }
        QVERIFY(run.samples().size() > 50);
    }

    // Whatever the sampler's thread was doing when the child was made.
    void forkedChildrenMayAskTheSamplerAtAnyTime()
    {
        const Recorded run = record(options(5000), [](Recorder&, CpuSampler& sampler) {
            for (int i = 0; i < 100; ++i) {
                deepRed(30, 1'000'000);
                const pid_t child = ::fork();
                if (child == 0) {
                    ::alarm(30); // ends a child that hangs
                    static_cast<void>(sampler.statistics());
                    sampler.stop();
                    sampler.clear();
                    ::_exit(0);
                }
                int status = 0;
                QCOMPARE(::waitpid(child, &status, 0), child);
                QVERIFY(WIFEXITED(status));
            }
        });
        QCOMPARE(quality(*run.session, "children-not-sampled"), int64_t{100});
    }

    void threadsThatOutliveTheirMakerBelongToNoStep()
    {
        const Recorded run = record(options(), [](Recorder& recorder, CpuSampler&) {
            std::atomic<bool> makerEnded{false};
            std::thread worker;
            std::thread([&] {
                SpanBuffer* buffer = recorder.registerTrack("training");
                buffer->setStep(7);
                worker = std::thread([&] {
                    while (!makerEnded)
                        std::this_thread::sleep_for(std::chrono::milliseconds(1));
                    spinRed(60'000'000);
                });
            }).join();
            makerEnded = true;
            worker.join();
        });
        QVERIFY(run.session != nullptr);
        size_t found = 0;
        for (size_t i = 0; i < run.samples().size(); ++i) {
            const std::vector<std::string> names = run.names(run.samples().stack[i]);
            if (std::find(names.begin(), names.end(), "spinRed") == names.end()) continue;
            ++found;
            QCOMPARE(run.samples().step[i], -1);
        }
        QVERIFY(found > 5);
    }

    void aStackPointerIntoMemoryThatCannotBeReadIsNoFault()
    {
#if defined(__x86_64__)
        constexpr size_t kPage = 4096;
        void* memory = ::mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        QVERIFY(memory != MAP_FAILED);
        char* second = static_cast<char*>(memory) + kPage;
        QCOMPARE(::mprotect(second, kPage, PROT_NONE), 0);
        for (char* place : {second + 64, second - 64}) { // within it, and just before it
            const Recorded run = record(options(), [&](Recorder&, CpuSampler&) { spinOnAnotherStack(place, 200'000'000); });
            QVERIFY(run.started.has_value());
            QVERIFY(run.statistics.samples > 5);
        }
        ::munmap(memory, 2 * kPage);
#else
        QSKIP("stacks are sampled on x86-64 only");
#endif
    }

    void stacksOfMoreThan64KiBAreWholeThoughTheyPointToTheirBegin()
    {
        const Recorded run = record(options(), [](Recorder&, CpuSampler&) {
            const int outermost = 1;
            wideRed(60, &outermost, 150'000'000);
        });
        QVERIFY(run.session != nullptr);
        QVERIFY(run.statistics.samples > 0);
        QCOMPARE(run.statistics.incomplete, int64_t{0});
        QCOMPARE(run.statistics.approximate, int64_t{0});
    }

    void callersOfAKernelWithALargeWorkSpaceOnTheStackAreFound()
    {
#if defined(__x86_64__)
        constexpr size_t kPage = 4096;
        void* memory = ::mmap(nullptr, kPage, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) QSKIP("this system allows no memory that is both written and run");
        std::memcpy(memory, kWorkSpaceKernel, sizeof(kWorkSpaceKernel));
        codeRegistry().add("kernel", reinterpret_cast<uint64_t>(memory), sizeof(kWorkSpaceKernel));
        const auto kernel = reinterpret_cast<void (*)(int64_t)>(memory);
        const Recorded run = record(options(), [&](Recorder&, CpuSampler&) { callKernel(kernel, 200'000'000); });
        QVERIFY(run.started.has_value());
        QVERIFY(run.session != nullptr);
        int64_t found = 0, whole = 0;
        for (size_t i = 0; i < run.samples().size(); ++i) {
            const std::vector<std::string> names = run.names(run.samples().stack[i]);
            if (names.empty() || names.back() != "kernel") continue;
            ++found;
            whole += names.size() > 2 && names[names.size() - 2] == "callKernel" && names.front() != "(start of the stack not found)" ? 1 : 0;
        }
        QVERIFY(found > 0); // few and heavy ones on a busy machine
        QCOMPARE(whole, found);
        ::munmap(memory, kPage);
#else
        QSKIP("stacks are sampled on x86-64 only");
#endif
    }

    void aThreadThatIsStillWritingKeepsItsRing()
    {
        RegisteredThread* self = currentThread();
        QVERIFY(self != nullptr);
        std::unique_ptr<SampleRing> kept;
        const Recorded run = record(options(), [&](Recorder&, CpuSampler& sampler) {
            SampleRing* ring = self->ring.load();
            self->capturing.store(1); // as in a handler that the system does not let run
            sampler.stop();
            self->capturing.store(0);
            kept.reset(ring);
        });
        QVERIFY(run.started.has_value());
        QVERIFY(kept != nullptr && kept->valid());
        const uint64_t before = kept->written();
        const uint32_t record[2] = {sizeof(record), 0};
        QVERIFY(kept->reserve(sizeof(record)));
        kept->put(record, sizeof(record)); // its memory is still there
        kept->commit();
        QCOMPARE(kept->written() - before, uint64_t{sizeof(record)});
        QVERIFY(self->ring.load() == nullptr);
    }

    void aStartThatFailsHalfwayLeavesNothingBehind()
    {
        SystemCalls calls{perfThatThrows, timerThatThrows};
        SamplingOptions wanted = options();
        wanted.system = &calls;
        const Recorded run = record(wanted, [&](Recorder&, CpuSampler& sampler) {
            sampler.stop();
            g_throw = true; // the costs are known by now: the first thread to be armed is where it happens
            const base::Status failed = sampler.start(wanted);
            g_throw = false;
            QVERIFY(!failed.has_value());
            QVERIFY2(failed.error().message.find("no more") != std::string::npos, failed.error().message.c_str());
            QVERIFY(currentThread()->ring.load() == nullptr);
            std::thread([] { spinRed(1'000'000); }).join(); // nobody is told of it
            const int64_t before = sampler.statistics().samples;
            QVERIFY(sampler.start(wanted).has_value());
            spinRed(100'000'000);
            sampler.stop();
            QVERIFY(sampler.statistics().samples > before);
        });
        QVERIFY(run.started.has_value());
    }

    void aHandlerOfTheProgramsOwnIsLeftAlone()
    {
        struct sigaction own{}, before{};
        own.sa_handler = [](int) {};
        QCOMPARE(::sigaction(kSampleSignal, &own, &before), 0);
        const Recorded run = record(options(), [](Recorder&, CpuSampler&) {});
        struct sigaction after{};
        QCOMPARE(::sigaction(kSampleSignal, &before, &after), 0);
        QVERIFY(!run.started.has_value());
        QVERIFY(run.started.error().message.find("SIGPROF") != std::string::npos);
        QVERIFY(after.sa_handler == own.sa_handler);
    }

    void theCalibratedRateKeepsToTheWantedCost()
    {
        const Recorded run = record(options(0), [](Recorder&, CpuSampler&) { spinRed(50'000'000); });
        QVERIFY(run.started.has_value());
        const std::set<int> rates{100, 250, 500, 1000};
        QVERIFY2(rates.contains(run.statistics.rateHz) || run.statistics.method == SamplingMethod::cpuTimer,
                 qPrintable(QString::number(run.statistics.rateHz)));
        if (run.statistics.rateHz > 100) QVERIFY(run.statistics.cost <= 0.01);
    }

    void withNothingToSampleTheSessionSaysSo()
    {
        const Recorded run = record(options(100), [](Recorder&, CpuSampler&) {});
        QVERIFY(run.started.has_value());
        if (run.statistics.samples == 0) QCOMPARE(quality(*run.session, "no-stack-samples"), int64_t{1});
        else QCOMPARE(static_cast<int64_t>(run.samples().size()), run.statistics.samples);
    }
};

QTEST_GUILESS_MAIN(TestCpuSampler)
#include "tst_cpu_sampler.moc"
