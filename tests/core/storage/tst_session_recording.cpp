#include <QtTest>

#include "core/recording/probe.h"
#include "core/recording/recorder.h"
#include "core/storage/session_file.h"
#include "core/storage/session_writer.h"
#include "tests/core/storage/sample_session.h"

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>

#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace stepscope;
namespace fs = std::filesystem;

namespace {

int64_t quality(const session::Session& session, std::string_view code)
{
    for (const session::QualityRow& row : session.quality())
        if (row.code == code) return row.count;
    return 0;
}

// Steps of one parent and three children, about 20 000 spans per second, until the process is killed.
void recordForEver(const fs::path& path, volatile int64_t* steps)
{
    auto writer = storage::SessionWriter::create(path);
    if (!writer) _exit(1);
    recording::Recorder recorder(**writer);
    const auto step = recorder.label("step", session::SpanKind::step, session::Phase::none);
    const auto child = recorder.label("forward", session::SpanKind::phase, session::Phase::forward);
    recording::SpanBuffer* buffer = recorder.registerTrack("training");
    for (int64_t i = 0;; ++i) {
        buffer->setStep(static_cast<int32_t>(i));
        recording::RawStep raw;
        raw.row.index = i;
        raw.startTicks = recording::ticks();
        {
            const recording::Probe outer(buffer, step);
            for (int c = 0; c < 3; ++c)
                const recording::Probe inner(buffer, child);
        }
        raw.endTicks = recording::ticks();
        recorder.addStep(raw);
        *steps = i + 1;
        usleep(200);
    }
}

// Runs `body` in a child process and returns its exit status, -1 when it died otherwise.
int inChild(const std::function<int()>& body)
{
    const pid_t child = fork();
    if (child == 0) _exit(body());
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

} // namespace

class TestSessionRecording : public QObject {
    Q_OBJECT
private slots:
    void initTestCase()
    {
#if defined(__SANITIZE_THREAD__)
        QSKIP("ThreadSanitizer allows no new threads in a forked process; the other tests of the recorder run with it");
#endif
    }

    void aKilledRecordingKeepsAllButTheLastSecond_data()
    {
        QTest::addColumn<int>("milliseconds");
        for (const int ms : {1500, 1610, 1730, 1870, 2010})
            QTest::addRow("killed after %d ms", ms) << ms;
    }
    void aKilledRecordingKeepsAllButTheLastSecond()
    {
        QFETCH(int, milliseconds);
        const fs::path path = place("killed.stepscope");
        void* shared = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        QVERIFY(shared != MAP_FAILED);
        auto* steps = static_cast<volatile int64_t*>(shared);
        const pid_t child = fork();
        if (child == 0) recordForEver(path, steps);
        for (int waited = 0; *steps == 0 && waited < 20'000; ++waited)
            usleep(1000);
        usleep(static_cast<useconds_t>(milliseconds - 1000) * 1000);
        const int64_t before = *steps; // one second before the kill
        usleep(1'000'000);
        kill(child, SIGKILL);
        int status = 0;
        waitpid(child, &status, 0);
        munmap(shared, 4096);
        QVERIFY(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        QVERIFY(before > 100);

        const auto opened = storage::openSession(path);
        QVERIFY2(opened.has_value(), opened ? "" : base::toText(opened.error()).c_str());
        const session::Session& session = **opened;
        QCOMPARE(quality(session, "cut-short"), int64_t{1});
        QCOMPARE(quality(session, "damaged-chunk"), int64_t{0});
        QVERIFY2(static_cast<int64_t>(session.steps().size()) >= before, QByteArray::number(session.steps().size()));
        QVERIFY(static_cast<int64_t>(session.spanCount()) >= 4 * before);
        QCOMPARE(session.spans().size(), static_cast<size_t>(session.spanCount()));
        for (size_t row = 0; row < session.spans().size() - 4; ++row)
            QCOMPARE(session.spans().step[row], static_cast<int32_t>(row / 4));

        // A copy of this one file is enough.
        const fs::path copy = place("copy.stepscope");
        fs::copy_file(path, copy);
        QCOMPARE((*storage::openSession(copy))->spanCount(), session.spanCount());
    }

    void aCommitThatWasKilledHalfwayIsUndone()
    {
        // The state of a process that died while it wrote pages: changed pages and the journal of the old ones.
        const fs::path path = place("hot.stepscope");
        const fs::path journal = path.string() + "-journal";
        QCOMPARE(inChild([&] {
                     auto writer = storage::SessionWriter::create(path);
                     if (!writer) return 1;
                     tests::sendSample(**writer, 20'000);
                     if (!(*writer)->flush()) return 2;
                     // No page may be written beyond what is there: the next commit stops in the middle.
                     signal(SIGXFSZ, SIG_IGN);
                     const rlimit limit{fs::file_size(path), RLIM_INFINITY};
                     setrlimit(RLIMIT_FSIZE, &limit);
                     session::StepRow row;
                     for (int i = 0; i < 20'000; ++i)
                         (*writer)->addStep(row);
                     if ((*writer)->flush()) return 3;
                     _exit(0); // without closing
                 }),
                 0);
        const auto opened = storage::openSession(path);
        QVERIFY2(opened.has_value(), opened ? "" : base::toText(opened.error()).c_str());
        QCOMPARE((*opened)->steps().size(), size_t{20'000});
        QCOMPARE((*opened)->spans().size(), size_t{100'000});
        QVERIFY(!fs::exists(journal));
    }

    void aFullDiskIsReportedAndKeepsWhatWasStored()
    {
        const fs::path path = place("full.stepscope");
        QCOMPARE(inChild([&] {
                     signal(SIGXFSZ, SIG_IGN);
                     const rlimit limit{400'000, RLIM_INFINITY};
                     setrlimit(RLIMIT_FSIZE, &limit);
                     auto writer = storage::SessionWriter::create(path);
                     if (!writer) return 1;
                     recording::Recorder recorder(**writer, {5, 64});
                     const auto label = recorder.label("x", session::SpanKind::other, session::Phase::none);
                     recording::SpanBuffer* buffer = recorder.registerTrack("training");
                     for (int i = 0; i < 4000 && !recorder.failed(); ++i) {
                         for (int s = 0; s < 2000; ++s)
                             const recording::Probe probe(buffer, label);
                         usleep(5000);
                     }
                     if (!recorder.failed()) return 2;
                     const base::Status status = recorder.finish();
                     if (status || status.error().code != base::ErrorCode::diskFull) return 3;
                     if (status.error().hint.empty() || status.error().where.file != path.string()) return 4;
                     return 0;
                 }),
                 0);
        QVERIFY(fs::file_size(path) <= 400'000);
        const auto opened = storage::openSession(path);
        QVERIFY2(opened.has_value(), opened ? "" : base::toText(opened.error()).c_str());
        QVERIFY((*opened)->spans().size() > 10'000);
        QCOMPARE(quality(**opened, "cut-short"), int64_t{1});
        QCOMPARE(quality(**opened, "damaged-chunk"), int64_t{0});
    }

    void aFullDiskWhileSavingLeavesTheOldFile()
    {
        const fs::path path = place("save.stepscope");
        session::SessionBuilder builder;
        tests::sendSample(builder, 50'000);
        const auto session = builder.build();
        std::ofstream(path) << "the old file";
        QCOMPARE(inChild([&] {
                     signal(SIGXFSZ, SIG_IGN);
                     const rlimit limit{300'000, RLIM_INFINITY};
                     setrlimit(RLIMIT_FSIZE, &limit);
                     const base::Status status = storage::saveSession(*session, path);
                     if (status || status.error().code != base::ErrorCode::diskFull) return 1;
                     return status.error().where.file == path.string() ? 0 : 2;
                 }),
                 0);
        QCOMPARE(fs::file_size(path), uintmax_t{12});
        QVERIFY(!fs::exists(path.string() + ".part"));
    }

    void init()
    {
        fs::remove_all(m_root.path().toStdString());
        fs::create_directories(m_root.path().toStdString());
    }

private:
    fs::path place(const char* name) const { return fs::path(m_root.path().toStdString()) / name; }
    QTemporaryDir m_root;
};

QTEST_GUILESS_MAIN(TestSessionRecording)
#include "tst_session_recording.moc"
