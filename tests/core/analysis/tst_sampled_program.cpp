// From samples to pictures: a program whose parts are known takes the widths in the flame graph that it should.
#include "core/analysis/sample_tree.h"
#include "core/recording/code_names.h"
#include "core/recording/cpu_sampler.h"
#include "core/recording/process_setup.h"
#include "core/recording/recorder.h"
#include "core/session/session_builder.h"

#include <QtTest>

#include <chrono>
#include <cstdio>
#include <string_view>
#include <thread>

#include <time.h>

using namespace stepscope;

namespace {

int64_t threadTime()
{
    timespec t;
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

// Both end by the thread's own CPU time, so that a busy machine changes nothing. Each returns what it took.
[[gnu::noipa]] int64_t spinSixty(int64_t ns)
{
    const int64_t start = threadTime();
    volatile int x = 0;
    while (threadTime() - start < ns)
        for (int i = 0; i < 20000; ++i)
            x = x + i;
    return threadTime() - start;
}

[[gnu::noipa]] int64_t spinForty(int64_t ns)
{
    const int64_t start = threadTime();
    volatile int x = 1;
    while (threadTime() - start < ns)
        for (int i = 0; i < 20000; ++i)
            x = x * 3 + i;
    return threadTime() - start;
}

[[gnu::noipa]] void waitForTheLoader(int64_t ns)
{
    const timespec pause{ns / 1'000'000'000, ns % 1'000'000'000};
    ::nanosleep(&pause, nullptr);
    asm volatile("" ::: "memory"); // a call, not a jump: the function stays on the stack
}

// Time in which the calling thread could have run but had no processor.
int64_t timeWithoutProcessor()
{
    long long ran = 0, waited = 0;
    std::FILE* file = std::fopen("/proc/thread-self/schedstat", "re");
    if (file == nullptr) return -1;
    const bool read = std::fscanf(file, "%lld %lld", &ran, &waited) == 2;
    std::fclose(file);
    return read ? waited : -1;
}

struct Run {
    session::SessionPtr session;
    std::string problem;
};

template <class Work>
Run sampled(recording::SampleMode mode, const Work& work)
{
    session::SessionBuilder builder;
    {
        recording::Recorder recorder(builder);
        recording::CpuSampler sampler(recorder, std::make_unique<recording::CodeNames>());
        recording::SamplingOptions options;
        options.mode = mode;
        options.rateHz = 1000;
        if (const base::Status started = sampler.start(options); !started) return {nullptr, started.error().message};
        work();
        sampler.stop();
        if (const base::Status finished = recorder.finish(); !finished) return {nullptr, finished.error().message};
    }
    return {builder.build(), {}};
}

// Width of all boxes of a function that does not call itself.
double widthOf(const analysis::SampleProfile& profile, std::string_view function)
{
    double width = 0;
    for (uint32_t id = 0; id < profile.tree.nodes.size(); ++id)
        if (profile.tree.fullName(id).find(function) != std::string_view::npos) width += static_cast<double>(profile.tree.node(id).total);
    return width;
}

} // namespace

class TestSampledProgram : public QObject {
    Q_OBJECT
private slots:
    void sixtyToFortyIsSixtyToFortyInTheFlameGraph();
    void wallClockSamplesOfAThreadSumToItsTime();
};

void TestSampledProgram::sixtyToFortyIsSixtyToFortyInTheFlameGraph()
{
    int64_t sixty = 0, forty = 0;
    const Run run = sampled(recording::SampleMode::cpu, [&] {
        for (int i = 0; i < 40; ++i) {
            const int64_t unit = 10'000'000 + 131'071 * (i % 7); // of changing length, so that no sampling period fits
            sixty += spinSixty(3 * unit);
            forty += spinForty(2 * unit);
        }
    });
    QVERIFY2(run.session != nullptr, run.problem.c_str());
    const double wanted = static_cast<double>(sixty) / static_cast<double>(sixty + forty);
    QVERIFY2(std::abs(wanted - 0.6) < 0.005, qPrintable(QString::number(wanted)));
    const analysis::SampleProfile profile = analysis::sampleProfile(run.session, {});
    const double found = widthOf(profile, "spinSixty"), all = found + widthOf(profile, "spinForty");
    QVERIFY2(std::abs(found / all - 0.6) <= 0.02, qPrintable(QString("%1 of %2 ns").arg(found).arg(all)));
    QVERIFY2(all / static_cast<double>(profile.total) > 0.95, qPrintable(QString("%1 of %2 ns").arg(all).arg(profile.total)));
}

void TestSampledProgram::wallClockSamplesOfAThreadSumToItsTime()
{
    using Clock = std::chrono::steady_clock;
    int64_t wall = 0, withoutProcessor = 0, waited = 0, busy = 0;
    const Run run = sampled(recording::SampleMode::wall, [&] {
        std::thread([&] {
            const auto start = Clock::now();
            const int64_t before = timeWithoutProcessor();
            for (int i = 0; i < 4; ++i) {
                const auto wait = Clock::now();
                waitForTheLoader(250'000'000);
                waited += std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - wait).count();
                busy += spinSixty(150'000'000);
            }
            wall = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
            withoutProcessor = before < 0 ? -1 : timeWithoutProcessor() - before;
        }).join();
    });
    QVERIFY2(run.session != nullptr, run.problem.c_str());
    if (withoutProcessor < 0) QSKIP("this kernel does not tell how long a thread waited for a processor (schedstat)");
    analysis::SampleFilter filter;
    for (size_t i = 0; i < run.session->series().size(); ++i)
        if (run.session->series()[i].kind == session::SeriesKind::wallTime) filter.series = base::SeriesId(i);
    QVERIFY(filter.series.valid());
    const analysis::SampleProfile profile = analysis::sampleProfile(run.session, filter);
    const double waits = widthOf(profile, "waitForTheLoader"), works = widthOf(profile, "spinSixty");
    const double runnable = widthOf(profile, "(waiting for a processor)");
    const QString text = QString("waits %1 of %2, works %3 of %4, without processor %5 of %6, wall %7")
                             .arg(waits).arg(waited).arg(works).arg(busy).arg(runnable).arg(withoutProcessor).arg(wall);
    // Looked at every 10 ms, or later where the machine is busy; four waits.
    QVERIFY2(std::abs(waits / static_cast<double>(waited) - 1) < 0.15, qPrintable(text));
    QVERIFY2(std::abs(works / static_cast<double>(busy) - 1) < 0.15, qPrintable(text));
    QVERIFY2(std::abs((waits + works + runnable) / static_cast<double>(wall) - 1) < 0.15, qPrintable(text));
}

int main(int argc, char** argv)
{
    recording::prepareProcess();
    QCoreApplication application(argc, argv);
    TestSampledProgram test;
    return QTest::qExec(&test, argc, argv);
}
#include "tst_sampled_program.moc"
