// Recording on systems that forbid what the sampler would like to do: containers, hardened kernels.
#include "core/storage/session_file.h"
#include "tests/support/refused_calls.h"
#include "tests/support/run_program.h"

#include <QTemporaryDir>
#include <QtTest>

#include <algorithm>
#include <cerrno>

#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace stepscope;
using support::ProgramResult;
using support::RefusedCall;

class TestRefusedCalls : public QObject {
    Q_OBJECT
private slots:
    void initTestCase();
    void theRunSucceedsAndSaysHowItSampled_data();
    void theRunSucceedsAndSaysHowItSampled();

private:
    QTemporaryDir m_folder;
};

namespace {

enum Refused { kNothing, kPerf, kPerfAndTimers };

bool refuse(Refused what, int error)
{
    if (what == kNothing) return true;
    if (what == kPerf) return support::refuseSystemCalls({{SYS_perf_event_open, error}});
    return support::refuseSystemCalls({{SYS_perf_event_open, error}, {SYS_timer_create, EPERM}});
}

// In a child, as a filter stays.
bool filtersWork()
{
    const pid_t child = ::fork();
    if (child == 0) ::_exit(refuse(kPerf, EPERM) && ::syscall(SYS_perf_event_open, nullptr, 0, -1, -1, 0) == -1 && errno == EPERM ? 0 : 1);
    int status = 0;
    return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::string messageOf(const session::Session& session, std::string_view code)
{
    for (const session::QualityRow& row : session.quality())
        if (row.code == code) return row.message;
    return {};
}

} // namespace

void TestRefusedCalls::initTestCase()
{
#if !defined(__x86_64__)
    QSKIP("stacks are sampled on x86-64 only");
#endif
    if (!filtersWork()) QSKIP("this system has no filters of system calls (seccomp)");
    QVERIFY(m_folder.isValid());
    qputenv("XDG_CACHE_HOME", m_folder.path().toUtf8());
    QVERIFY(support::writeFile(m_folder.filePath("tiny.jl"),
                               "model = Chain(fc1 = Dense(64 => 256, relu), fc2 = Dense(256 => 3))\nloss = logitcrossentropy\n"
                               "data = Random(shape = (64,), classes = 3, samples = 512, batchsize = 128)\n"));
}

void TestRefusedCalls::theRunSucceedsAndSaysHowItSampled_data()
{
    QTest::addColumn<int>("refused");
    QTest::addColumn<int>("error");
    QTest::addColumn<QString>("mode");
    QTest::addColumn<QString>("method");   // in the session; empty: any
    QTest::addColumn<QString>("code");     // of the note; empty: none
    QTest::addColumn<QStringList>("says"); // on the screen and in the session
    const QString timers = QStringLiteral("Using CPU timers: at most");
    const QString perf = QStringLiteral("perf_event_open (%1");
    const QString notPermitted = perf.arg("Operation not permitted"), unknown = perf.arg("Function not implemented"), denied = perf.arg("Permission denied");
    const QString container = QStringLiteral("--cap-add PERFMON"), setting = QStringLiteral("kernel.perf_event_paranoid");
    QTest::newRow("nothing") << int{kNothing} << 0 << "cpu" << "" << "" << QStringList();
    QTest::newRow("perf, by a container") << int{kPerf} << EPERM << "cpu" << "CPU timers" << "sampling-limited" << QStringList{notPermitted, timers, container, setting};
    QTest::newRow("perf, unknown to the kernel") << int{kPerf} << ENOSYS << "cpu" << "CPU timers" << "sampling-limited" << QStringList{unknown, timers, container, setting};
    QTest::newRow("perf, by the setting") << int{kPerf} << EACCES << "cpu" << "CPU timers" << "sampling-limited" << QStringList{denied, timers, container, setting};
    QTest::newRow("perf, wall clock") << int{kPerf} << EPERM << "wall" << "CPU timers" << "sampling-limited" << QStringList{notPermitted, timers};
    QTest::newRow("both") << int{kPerfAndTimers} << EPERM << "cpu" << "none" << "no-stack-samples"
                          << QStringList{"No stack samples", notPermitted, "timer_create (Operation not permitted)", container, "wall-clock mode"};
    QTest::newRow("both, wall clock") << int{kPerfAndTimers} << ENOSYS << "wall" << "waits only" << "sampling-limited"
                                      << QStringList{unknown, "timer_create (Operation not permitted)", "only where they wait"};
}

void TestRefusedCalls::theRunSucceedsAndSaysHowItSampled()
{
    QFETCH(int, refused);
    QFETCH(int, error);
    QFETCH(QString, mode);
    QFETCH(QString, method);
    QFETCH(QString, code);
    QFETCH(QStringList, says);
    const ProgramResult result = support::runProgram(
        {"record", "tiny.jl", "--steps", "400", "--threads", "1", "--workers", "1", "--sample", mode, "-o", "run.stepscope"}, m_folder.path(), 120000,
        [refused, error] {
            if (!refuse(static_cast<Refused>(refused), error)) ::_exit(77);
        });
    QVERIFY2(result.code == 0, qPrintable(QString::number(result.code) + ' ' + result.err));
    QVERIFY2(result.out.contains("recorded 400 steps"), qPrintable(result.out));
    const auto session = storage::openSession(m_folder.filePath("run.stepscope").toStdString());
    QVERIFY(session.has_value());
    const QString told = QString::fromUtf8((*session)->environmentValue("sampler.method").data());
    if (!method.isEmpty()) QCOMPARE(told, method);
    const QString note = QString::fromStdString(messageOf(**session, code.toStdString()));
    for (const QString& part : says) {
        QVERIFY2(note.contains(part), qPrintable(part + " is not in: " + note));
        QVERIFY2(result.err.contains(part), qPrintable(part + " is not in: " + result.err));
    }
    if (code.isEmpty()) QVERIFY2(!result.err.contains("perf_event_open"), qPrintable(result.err));
    if (method == "none") return;
    QVERIFY2(result.out.contains("stack samples at") && result.out.contains('(' + told), qPrintable(result.out));
    size_t samples = 0;
    for (size_t series = 0; series < (*session)->series().size(); ++series) {
        const session::SeriesKind kind = (*session)->series()[series].kind;
        if (kind == session::SeriesKind::cpuTime || kind == session::SeriesKind::wallTime) samples += (*session)->samples(base::SeriesId(series)).size();
    }
    QVERIFY(samples > 0);
}

QTEST_GUILESS_MAIN(TestRefusedCalls)
#include "tst_refused_calls.moc"
