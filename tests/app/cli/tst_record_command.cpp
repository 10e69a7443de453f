// Recording from end to end with the real backend.
#include "core/analysis/reports.h"
#include "core/storage/session_file.h"
#include "tests/support/run_program.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QtTest>

#include <cmath>

#include <signal.h>
#include <unistd.h>

using namespace stepscope;
using support::ProgramResult;
using support::writeFile;

namespace {

// False when the program is gone: its number is 0 then, which would mean every process of this group, ctest among them.
bool send(const QProcess& process, int signal)
{
    const auto pid = static_cast<pid_t>(process.processId());
    return pid > 0 && ::kill(pid, signal) == 0;
}

} // namespace

class TestRecordCommand : public QObject {
    Q_OBJECT
private slots:
    void initTestCase();
    void aRunIsRecordedAndItsSharesSumToTheStep();
    void theSameSeedGivesTheSameLosses();
    void progressIsPlainLinesWithoutATerminal();
    void anOlderSessionIsKept();
    void trainingWithoutProfileWritesNothing();
    void missingDataLeavesAnOlderSessionAlone();
    void truncatedDataIsNamed();
    void aPlaceThatCannotBeWrittenIsToldBeforeTraining();
    void interruptStopsAtAStepAndSaves();
    void signalsOfOneMomentAreOneRequest();
    void aSecondInterruptQuitsAtOnce();
    void aShortRunHasFewerWarmUpSteps();
    void aKilledRunCanBeOpened();

private:
    ProgramResult run(const QStringList& arguments) { return support::runProgram(arguments, m_folder.path()); }
    QString path(const QString& name) const { return m_folder.filePath(name); }
    bool start(QProcess& process, const QStringList& arguments, const QString& session);

    QTemporaryDir m_folder;
};

void TestRecordCommand::initTestCase()
{
    QVERIFY(m_folder.isValid());
    qputenv("XDG_CACHE_HOME", m_folder.path().toUtf8()); // tuned choices of the tests stay with them
    QVERIFY(writeFile(path("tiny.jl"), "model = Chain(fc1 = Dense(8 => 16, relu), fc2 = Dense(16 => 3))\n"
                                       "loss = logitcrossentropy\noptimiser = Adam(0.001)\n"
                                       "data = Random(shape = (8,), classes = 3, samples = 256, batchsize = 16)\n"));
}

void TestRecordCommand::aRunIsRecordedAndItsSharesSumToTheStep()
{
    const ProgramResult result = run({"record", "tiny.jl", "--steps", "60", "--warmup", "10", "--threads", "1", "-o", "run.stepscope"});
    QVERIFY2(result.code == 0, qPrintable(result.err));
    QVERIFY2(result.out.contains("recorded 60 steps"), qPrintable(result.out));
    QVERIFY2(result.out.contains("50 steps: median"), qPrintable(result.out));
    QVERIFY2(result.out.contains("10 warm-up steps left out"), qPrintable(result.out));
    for (const char* by : {"phase", "layer", "primitive", "step"}) {
        const ProgramResult report = run({"report", "run.stepscope", "--by", by, "--format", "json"});
        QCOMPARE(report.code, 0);
        const QJsonObject parsed = QJsonDocument::fromJson(report.rawOut).object();
        double sum = 0;
        QStringList names;
        for (const QJsonValue& row : parsed["rows"].toArray()) {
            sum += row.toObject()["share"].toDouble();
            names << row.toObject()[by].toString();
        }
        QVERIFY2(std::abs(sum - 1) < 0.01, by);
        if (QByteArray(by) == "phase")
            for (const char* phase : {"forward", "loss", "backward", "optimiser"})
                QVERIFY2(names.contains(phase), phase);
        if (QByteArray(by) == "layer") QVERIFY(names.contains("fc1") && names.contains("fc2"));
    }
    const ProgramResult info = run({"info", "run.stepscope"});
    QCOMPARE(info.code, 0);
    QVERIFY2(info.out.contains("option.batch"), qPrintable(info.out));
    QVERIFY(run({"info", "run.stepscope", "--model-text"}).out.contains("fc1 = Dense"));
}

void TestRecordCommand::theSameSeedGivesTheSameLosses()
{
    QStringList losses;
    for (const char* name : {"a.stepscope", "b.stepscope"}) {
        QCOMPARE(run({"record", "tiny.jl", "--steps", "20", "--seed", "7", "--threads", "1", "-o", name}).code, 0);
        const base::Result<session::SessionPtr> session = storage::openSession(path(name).toStdString());
        QVERIFY(session.has_value());
        QStringList all;
        for (const session::StepRow& step : (*session)->steps())
            all << QString::number(step.loss, 'g', 17);
        QCOMPARE(all.size(), 20);
        losses << all.join(' ');
    }
    QCOMPARE(losses[0], losses[1]);
}

void TestRecordCommand::progressIsPlainLinesWithoutATerminal()
{
    const ProgramResult result = run({"record", "tiny.jl", "--steps", "20", "-o", "p.stepscope"});
    QVERIFY2(!result.err.contains('\r') && !result.err.contains('\x1b'), qPrintable(result.err));
    QVERIFY(run({"record", "tiny.jl", "--steps", "20", "--sample", "off", "--quiet", "-o", "p.stepscope"}).err.isEmpty());
}

void TestRecordCommand::anOlderSessionIsKept()
{
    QVERIFY(writeFile(path("kept.stepscope"), "an older file"));
    QCOMPARE(run({"record", "tiny.jl", "--steps", "10", "-o", "kept.stepscope"}).code, 0);
    QFile older(path("kept.stepscope~"));
    QVERIFY(older.open(QIODevice::ReadOnly));
    QCOMPARE(older.readAll(), QByteArray("an older file"));
}

void TestRecordCommand::trainingWithoutProfileWritesNothing()
{
    QVERIFY(QFile::copy(path("tiny.jl"), path("none.jl")));
    const ProgramResult result = run({"record", "none.jl", "--steps", "20", "--no-profile"});
    QVERIFY2(result.code == 0, qPrintable(result.err));
    QVERIFY(!QFile::exists(path("none.stepscope")));
}

void TestRecordCommand::missingDataLeavesAnOlderSessionAlone()
{
    QVERIFY(writeFile(path("fashion.jl"), "model = Chain(Flux.flatten, Dense(784 => 10))\nloss = logitcrossentropy\n"
                                          "data = FashionMNIST(batchsize = 64)\n"));
    QVERIFY(writeFile(path("fashion.stepscope"), "precious"));
    QVERIFY(QDir(m_folder.path()).mkpath("empty"));
    const ProgramResult result = run({"record", "fashion.jl", "--data", "empty"});
    QCOMPARE(result.code, 3);
    QVERIFY2(result.err.contains("empty/"), qPrintable(result.err));
    QVERIFY2(result.err.contains("hint:"), qPrintable(result.err));
    QFile file(path("fashion.stepscope"));
    QVERIFY(file.open(QIODevice::ReadOnly));
    QCOMPARE(file.readAll(), QByteArray("precious"));
    QVERIFY(!QFile::exists(path("fashion.stepscope~")));
}

void TestRecordCommand::truncatedDataIsNamed()
{
    QVERIFY(QDir(m_folder.path()).mkpath("cut"));
    // An IDX head for 60000 pictures of 28 x 28 and nothing behind it.
    QVERIFY(writeFile(path("cut/train-images-idx3-ubyte"), QByteArray("\0\0\x08\x03\0\0\xea\x60\0\0\0\x1c\0\0\0\x1c", 16)));
    QVERIFY(writeFile(path("cut/train-labels-idx1-ubyte"), QByteArray("\0\0\x08\x01\0\0\xea\x60", 8)));
    QVERIFY(writeFile(path("cut.jl"), "model = Chain(Flux.flatten, Dense(784 => 10))\nloss = logitcrossentropy\n"
                                      "data = FashionMNIST(batchsize = 64)\n"));
    const ProgramResult result = run({"record", "cut.jl", "--data", "cut"});
    QCOMPARE(result.code, 3);
    QVERIFY2(result.err.contains("train-images-idx3-ubyte"), qPrintable(result.err));
    QVERIFY(!QFile::exists(path("cut.stepscope")));
}

void TestRecordCommand::aPlaceThatCannotBeWrittenIsToldBeforeTraining()
{
    ProgramResult result = run({"record", "tiny.jl", "--steps", "10", "-o", "nowhere/run.stepscope"});
    QCOMPARE(result.code, 1);
    QVERIFY2(result.err.contains("nowhere"), qPrintable(result.err));
    result = run({"record", "tiny.jl", "--steps", "10", "-o", "."});
    QCOMPARE(result.code, 1);
    QVERIFY2(result.err.contains("folder"), qPrintable(result.err));
}

// Starts a run that would last for hours and waits until its session has steps.
bool TestRecordCommand::start(QProcess& process, const QStringList& arguments, const QString& session)
{
    process.setWorkingDirectory(m_folder.path());
    process.start(support::programPath(), arguments);
    return QTest::qWaitFor(
        [&] {
            if (process.state() == QProcess::NotRunning || !storage::isSessionFile(path(session).toStdString())) return false;
            const base::Result<session::SessionPtr> opened = storage::openSession(path(session).toStdString());
            return opened && !(*opened)->steps().empty();
        },
        60000);
}

void TestRecordCommand::interruptStopsAtAStepAndSaves()
{
    QProcess process;
    QVERIFY(start(process, {"record", "tiny.jl", "--steps", "2000000000", "-o", "stopped.stepscope"}, "stopped.stepscope"));
    QVERIFY(send(process, SIGINT));
    QVERIFY(process.waitForFinished(60000));
    const QString out = QString::fromUtf8(process.readAllStandardOutput());
    QCOMPARE(process.exitStatus(), QProcess::NormalExit);
    QCOMPARE(process.exitCode(), 0);
    QVERIFY2(out.contains("(stopped)"), qPrintable(out));
    const base::Result<session::SessionPtr> session = storage::openSession(path("stopped.stepscope").toStdString());
    QVERIFY(session.has_value());
    QVERIFY(!(*session)->steps().empty());
    for (const session::QualityRow& row : (*session)->quality())
        QVERIFY2(row.code != "cut-short", "a stopped run is complete");
}

// Of three kinds, since signals of one kind that arrive together are one.
void TestRecordCommand::signalsOfOneMomentAreOneRequest()
{
    QProcess process;
    QVERIFY(start(process, {"record", "tiny.jl", "--steps", "2000000000", "-o", "timeout.stepscope"}, "timeout.stepscope"));
    for (const int signal : {SIGTERM, SIGHUP, SIGINT}) QVERIFY(send(process, signal));
    QVERIFY(process.waitForFinished(60000));
    QCOMPARE(process.exitStatus(), QProcess::NormalExit);
    QCOMPARE(process.exitCode(), 0);
    QVERIFY(QString::fromUtf8(process.readAllStandardOutput()).contains("(stopped)"));
}

// A layer's timing run is not interrupted and takes many seconds here. When it begins depends on the machine: an interrupt
// before it stops the run at once, which is another try.
void TestRecordCommand::aSecondInterruptQuitsAtOnce()
{
    QVERIFY(writeFile(path("slow.jl"), "model = Chain(NaiveDense(4096 => 4096), NaiveDense(4096 => 4096))\nloss = mse\n"
                                       "data = Random(shape = (4096,), target_shape = (4096,), samples = 4096, batchsize = 4096)\n"));
    for (const int before : {2000, 5000, 10000}) {
        QProcess process;
        process.setWorkingDirectory(m_folder.path());
        process.start(support::programPath(), {"record", "slow.jl", "--steps", "1000", "-o", "slow.stepscope"});
        QByteArray said;
        QVERIFY2(QTest::qWaitFor([&] { return (said += process.readAllStandardError()).contains("building the network"); }, 60000), said.constData());
        QTest::qWait(before);
        QVERIFY(send(process, SIGINT));
        QTest::qWait(1500);
        if (!send(process, SIGINT)) continue;
        QVERIFY(process.waitForFinished(60000));
        QCOMPARE(process.exitStatus(), QProcess::NormalExit);
        QCOMPARE(process.exitCode(), 130);
        QVERIFY((said + process.readAllStandardError()).contains("stopped at once"));
        return;
    }
    QFAIL("the first interrupt always ended the run");
}

void TestRecordCommand::aShortRunHasFewerWarmUpSteps()
{
    const ProgramResult three = run({"record", "tiny.jl", "--steps", "3", "-o", "three.stepscope"});
    QVERIFY2(three.code == 0, qPrintable(three.err));
    QVERIFY2(three.out.contains("1 step: median"), qPrintable(three.out));
    QVERIFY2(three.out.contains("2 warm-up steps left out"), qPrintable(three.out));
    QCOMPARE(run({"record", "tiny.jl", "--steps", "1", "-o", "one.stepscope"}).code, 0);
    QVERIFY(writeFile(path("short.jl"), "model = Chain(Dense(8 => 3))\nloss = logitcrossentropy\nsteps = 3\n"
                                        "data = Random(shape = (8,), classes = 3, samples = 256, batchsize = 16)\n"));
    const ProgramResult own = run({"record", "short.jl"});
    QVERIFY2(own.out.contains("2 warm-up steps left out"), qPrintable(own.out + own.err));
    const ProgramResult asked = run({"record", "tiny.jl", "--steps", "3", "--warmup", "5", "-o", "asked.stepscope"});
    QCOMPARE(asked.code, 2);
    QVERIFY2(asked.err.contains("5 warm-up steps are more than the 3 steps"), qPrintable(asked.err));
}

void TestRecordCommand::aKilledRunCanBeOpened()
{
    QProcess process;
    QVERIFY(start(process, {"record", "tiny.jl", "--steps", "2000000000", "-o", "killed.stepscope"}, "killed.stepscope"));
    process.kill();
    QVERIFY(process.waitForFinished(60000));
    const ProgramResult report = run({"report", "killed.stepscope"});
    QVERIFY2(report.code == 0, qPrintable(report.err));
    QVERIFY2(report.out.contains("forward"), qPrintable(report.out));
    QVERIFY2(report.out.contains("cut-short"), qPrintable(report.out));
}

QTEST_GUILESS_MAIN(TestRecordCommand)
#include "tst_record_command.moc"
