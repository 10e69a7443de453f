// What a program may do while it is sampled: fork, exec, hold the allocator's and the loader's locks, wait in system
// calls, start and stop the sampler from anywhere. Nothing hangs, nothing is killed, no call fails that would not fail.
#include "core/recording/cpu_sampler.h"
#include "core/recording/process_setup.h"
#include "core/recording/recorder.h"
#include "core/session/session_builder.h"

#include <QtTest>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <functional>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <link.h>
#include <malloc.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace stepscope;
using namespace stepscope::recording;

namespace {

constexpr unsigned kChildSeconds = 100; // a child that hangs ends itself

int64_t threadTime()
{
    timespec t;
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

[[gnu::noipa]] void spin(int64_t ns)
{
    const int64_t end = threadTime() + ns;
    volatile int x = 0;
    while (threadTime() < end)
        for (int i = 0; i < 20000; ++i)
            x = x + i;
}

SamplingOptions options(int rate, SampleMode mode = SampleMode::cpu)
{
    SamplingOptions made;
    made.mode = mode;
    made.rateHz = rate;
    return made;
}

struct Sampled {
    session::SessionBuilder builder;
    Recorder recorder{builder};
    CpuSampler sampler{recorder, nullptr};
};

// -1: ended by a signal, which is told.
int exitCodeOf(pid_t child)
{
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child) return -2;
    if (WIFSIGNALED(status)) qWarning("the child was ended by signal %d", WTERMSIG(status));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int64_t quality(const session::Session& session, std::string_view code)
{
    for (const session::QualityRow& row : session.quality())
        if (row.code == code) return row.count;
    return 0;
}

void toggle(CpuSampler& sampler, int times)
{
    for (int i = 0; i < times; ++i) {
        static_cast<void>(sampler.start(options(1000, i % 2 == 0 ? SampleMode::cpu : SampleMode::wall)));
        spin(1'000'000);
        sampler.stop();
    }
}

void bearThreads(const std::atomic<bool>& stop)
{
    while (!stop) {
        std::thread first([] { spin(500'000); });
        std::thread second([] { spin(100'000); });
        first.join();
        second.join();
    }
}

// The program of another process: samples itself and becomes yet another one in the midst of it.
int sampleAndExec()
{
    ::alarm(kChildSeconds);
    Sampled sampled;
    if (!sampled.sampler.start(options(5000))) return 40;
    for (int i = 0; i < 3; ++i)
        std::thread([] {
            for (;;)
                spin(1'000'000);
        }).detach();
    spin(20'000'000);
    ::execl("/proc/self/exe", "exec", "--exit", "23", nullptr);
    return 41;
}

struct Interrupted {
    int sleep = 0, poll = 0, epoll = 0, read = 0;
};

// Twenty calls of each kind, 10 ms long, and one read() that waits.
Interrupted waitInSystemCalls()
{
    Interrupted count;
    int ends[2];
    if (::pipe(ends) != 0) return {-1, -1, -1, -1};
    const int epoll = ::epoll_create1(0);
    for (int i = 0; i < 20; ++i) {
        const timespec pause{0, 10'000'000};
        if (::nanosleep(&pause, nullptr) != 0 && errno == EINTR) ++count.sleep;
        if (::poll(nullptr, 0, 10) < 0 && errno == EINTR) ++count.poll;
        epoll_event event;
        if (::epoll_wait(epoll, &event, 1, 10) < 0 && errno == EINTR) ++count.epoll;
        spin(1'000'000); // so that signals are under way
    }
    std::thread writer([&] {
        sigset_t all;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        static_cast<void>(!::write(ends[1], "x", 1));
    });
    char c;
    while (::read(ends[0], &c, 1) < 0 && errno == EINTR)
        ++count.read;
    writer.join();
    ::close(epoll);
    ::close(ends[0]);
    ::close(ends[1]);
    return count;
}

int countModule(dl_phdr_info*, size_t, void* count)
{
    std::free(std::malloc(64));
    ++*static_cast<int*>(count);
    return 0;
}

// Holds a lock of the process most of the time: 0 the loader's, 1 the list of modules, 2 the unwinder's, 3 the allocator's.
void holdLocks(int kind, int rounds)
{
    for (int i = 0; i < rounds; ++i) {
        if (kind == 0)
            if (void* library = ::dlopen("libm.so.6", RTLD_NOW); library != nullptr) ::dlclose(library);
        int modules = 0;
        if (kind == 1) ::dl_iterate_phdr(countModule, &modules);
        if (kind == 2) {
            try {
                throw std::runtime_error("x");
            } catch (const std::exception&) {
            }
        }
        for (size_t j = 0; j < 200; ++j) {
            auto* memory = static_cast<volatile char*>(std::malloc(24 + 997 * j));
            if (memory != nullptr) memory[0] = 1;
            std::free(const_cast<char*>(memory));
        }
        if (i % 50 == 0) ::malloc_trim(0);
    }
}

// Names nothing before it is let go.
class HangingNames : public Symbolizer {
public:
    explicit HangingNames(std::atomic<bool>& letGo) : m_letGo(letGo) {}
    std::vector<SymbolFrame> resolve(const CodeAddress&) override
    {
        while (!m_letGo)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return {};
    }

private:
    std::atomic<bool>& m_letGo;
};

} // namespace

class TestSamplingHazards : public QObject {
    Q_OBJECT

private slots:
    void startStopClearAndStatisticsFromSeveralThreads()
    {
        Sampled sampled;
        QVERIFY(sampled.sampler.start(options(1000)).has_value()); // measures its costs once
        sampled.sampler.stop();
        std::atomic<bool> stop{false};
        std::vector<std::thread> threads;
        for (int i = 0; i < 2; ++i)
            threads.emplace_back([&] { toggle(sampled.sampler, 60); });
        std::thread births([&] { bearThreads(stop); });
        std::thread watch([&] {
            while (!stop) {
                sampled.sampler.clear();
                static_cast<void>(sampled.sampler.statistics());
                spin(200'000);
            }
        });
        for (std::thread& thread : threads)
            thread.join();
        stop = true;
        births.join();
        watch.join();
        sampled.sampler.stop();
        QVERIFY(!sampled.sampler.statistics().running);
        sampled.sampler.clear();
        QVERIFY(sampled.sampler.start(options(1000)).has_value());
        spin(100'000'000);
        sampled.sampler.stop();
        QVERIFY(sampled.sampler.statistics().samples > 5);
    }

    void ofTwoSamplersOnlyOneRuns()
    {
        Sampled one, other;
        std::atomic<int> started{0}, ready{0};
        const auto start = [&](CpuSampler& sampler) {
            ++ready;
            while (ready < 2)
                std::this_thread::yield();
            if (sampler.start(options(1000))) ++started;
        };
        std::thread first(start, std::ref(one.sampler)), second(start, std::ref(other.sampler));
        first.join();
        second.join();
        QCOMPARE(started.load(), 1);
        Sampled& idle = one.sampler.statistics().running ? other : one;
        Sampled& busy = &idle == &one ? other : one;
        QVERIFY(busy.sampler.statistics().running);
        const base::Status refused = idle.sampler.start(options(1000));
        QVERIFY(!refused.has_value());
        QVERIFY2(refused.error().message.find("another recording") != std::string::npos, refused.error().message.c_str());
        busy.sampler.stop();
        QVERIFY(idle.sampler.start(options(1000)).has_value());
    }

    // A child has the thread that forked alone, in whatever state the others were.
    void childrenForkedWhileOthersStartAndStop()
    {
        Sampled sampled;
        std::atomic<bool> stop{false};
        std::thread toggles([&] {
            while (!stop)
                toggle(sampled.sampler, 1);
        });
        std::thread births([&] { bearThreads(stop); });
        QStringList failures;
        for (int i = 0; i < 60; ++i) {
            const pid_t child = ::fork();
            if (child == 0) {
                ::alarm(kChildSeconds);
                spin(1'000'000);
                std::thread([] { spin(1'000'000); }).join();
                ::_exit(7);
            }
            if (const int code = exitCodeOf(child); code != 7) failures << QString::number(code);
        }
        stop = true;
        toggles.join();
        births.join();
        QVERIFY2(failures.isEmpty(), qPrintable(failures.join(' ')));
    }

    void childrenThatBecomeOtherProgramsAreNotKilledAndTheSessionCountsThem()
    {
        Sampled sampled;
        QVERIFY(sampled.sampler.start(options(5000)).has_value());
        QStringList failures;
        for (int i = 0; i < 30; ++i) {
            const pid_t child = ::fork();
            if (child == 0) {
                spin(2'000'000);
                ::execl("/proc/self/exe", "exec", "--exit", "23", nullptr);
                ::_exit(127);
            }
            spin(2'000'000);
            if (const int code = exitCodeOf(child); code != 23) failures << QString::number(code);
        }
        sampled.sampler.stop();
        QVERIFY2(failures.isEmpty(), qPrintable(failures.join(' ')));
        QVERIFY(sampled.recorder.finish().has_value());
        const session::SessionPtr session = sampled.builder.build();
        QCOMPARE(quality(*session, "children-not-sampled"), int64_t{30});
        std::set<uint32_t> tracks; // the parent's alone
        for (const uint32_t track : session->samples(base::SeriesId(size_t{0})).track)
            tracks.insert(track);
        QCOMPARE(tracks.size(), size_t{1});
    }

    void aSampledProgramThatBecomesAnotherIsNotKilled()
    {
        QStringList failures;
        for (int i = 0; i < 10; ++i) {
            const pid_t child = ::fork();
            if (child == 0) {
                ::execl("/proc/self/exe", "exec", "--sample-and-exec", nullptr);
                ::_exit(127);
            }
            if (const int code = exitCodeOf(child); code != 23) failures << QString::number(code);
        }
        QVERIFY2(failures.isEmpty(), qPrintable(failures.join(' ')));
    }

    void waitsInSystemCallsAreNotInterrupted_data()
    {
        QTest::addColumn<bool>("wall");
        QTest::newRow("cpu") << false;
        QTest::newRow("wall clock") << true;
    }

    void waitsInSystemCallsAreNotInterrupted()
    {
        QFETCH(bool, wall);
        Sampled sampled;
        QVERIFY(sampled.sampler.start(options(1000, wall ? SampleMode::wall : SampleMode::cpu)).has_value());
        const Interrupted count = waitInSystemCalls();
        sampled.sampler.stop();
        QVERIFY(sampled.sampler.statistics().samples > 0);
        QCOMPARE(count.sleep, 0);
        QCOMPARE(count.poll, 0);
        QCOMPARE(count.epoll, 0);
        QCOMPARE(count.read, 0);
    }

    // So the calls above can fail: a handler with SA_RESTART saves read() alone.
    void aTimerOfTheProgramsOwnDoesInterruptThem()
    {
        struct sigaction own{}, before{};
        own.sa_handler = [](int) {};
        own.sa_flags = SA_RESTART;
        QCOMPARE(::sigaction(SIGALRM, &own, &before), 0);
        const itimerval each{{0, 1000}, {0, 1000}}, none{};
        ::setitimer(ITIMER_REAL, &each, nullptr);
        const Interrupted count = waitInSystemCalls();
        ::setitimer(ITIMER_REAL, &none, nullptr);
        ::sigaction(SIGALRM, &before, nullptr);
        QVERIFY(count.sleep > 0);
        QVERIFY(count.poll > 0);
        QVERIFY(count.epoll > 0);
        QCOMPARE(count.read, 0);
    }

    void locksOfAllocatorLoaderAndUnwinderMayBeHeld_data() { waitsInSystemCallsAreNotInterrupted_data(); }

    void locksOfAllocatorLoaderAndUnwinderMayBeHeld()
    {
        QFETCH(bool, wall);
        Sampled sampled;
        QVERIFY(sampled.sampler.start(options(1000, wall ? SampleMode::wall : SampleMode::cpu)).has_value());
        std::atomic<int> finished{0};
        std::vector<std::thread> threads;
        for (int kind = 0; kind < 4; ++kind)
            threads.emplace_back([kind, &finished] {
                holdLocks(kind, 4000);
                ++finished;
            });
        for (std::thread& thread : threads)
            thread.join();
        sampled.sampler.stop();
        QCOMPARE(finished.load(), 4);
        QVERIFY(sampled.sampler.statistics().samples > 50);
    }

    void threadsThatTakeNoSignalsAndThreadsThatWaitHoldNothingUp()
    {
        Sampled sampled;
        QVERIFY(sampled.sampler.start(options(1000, SampleMode::wall)).has_value());
        std::atomic<bool> blocked{false}, stopped{false}, wentOn{false};
        int ends[2];
        QCOMPARE(::pipe(ends), 0);
        std::thread deaf([&] {
            sigset_t all, before;
            ::sigfillset(&all);
            ::pthread_sigmask(SIG_BLOCK, &all, &before);
            spin(20'000'000); // a signal is waiting by now
            blocked = true;
            while (!stopped)
                spin(1'000'000);
            ::pthread_sigmask(SIG_SETMASK, &before, nullptr); // it comes when sampling is over
            spin(1'000'000);
            wentOn = true;
        });
        std::thread reader([&] {
            char c;
            static_cast<void>(!::read(ends[0], &c, 1));
        });
        while (!blocked)
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        sampled.sampler.stop(); // while one thread is deaf and the other in a system call
        stopped = true;
        deaf.join();
        QVERIFY(wentOn);
        QCOMPARE(::write(ends[1], "x", 1), ssize_t{1});
        reader.join();
        ::close(ends[0]);
        ::close(ends[1]);
        QVERIFY(sampled.sampler.statistics().blocked > 0);
    }

    void stoppingDoesNotWaitForNames()
    {
        std::atomic<bool> letGo{false};
        session::SessionBuilder builder;
        Recorder recorder(builder);
        CpuSampler sampler(recorder, std::make_unique<HangingNames>(letGo));
        QVERIFY(sampler.start(options(1000)).has_value());
        spin(400'000'000); // long enough for the first addresses to be asked for
        sampler.stop();
        const int64_t samples = sampler.statistics().samples;
        QVERIFY(samples > 0);
        QVERIFY(!letGo); // so it was the sampler that ended, not the naming
        letGo = true;
        QVERIFY(recorder.finish().has_value());
        QCOMPARE(static_cast<int64_t>(builder.build()->samples(base::SeriesId(size_t{0})).size()), samples);
    }
};

int main(int argc, char** argv)
{
    if (argc == 3 && std::strcmp(argv[1], "--exit") == 0) return std::atoi(argv[2]);
    prepareProcess();
    if (argc == 2 && std::strcmp(argv[1], "--sample-and-exec") == 0) return sampleAndExec();
    QCoreApplication application(argc, argv);
    TestSamplingHazards test;
    return QTest::qExec(&test, argc, argv);
}
#include "tst_sampling_hazards.moc"
