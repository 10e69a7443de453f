// What `cmake --install` makes works in another place: programs find what they need from where they lie.
#include "core/storage/session_file.h"
#include "tests/support/run_program.h"

#include <QDir>
#include <QProcessEnvironment>
#include <QTemporaryDir>
#include <QtTest>

using namespace stepscope;

class TestInstalledTree : public QObject {
    Q_OBJECT
private slots:
    void initTestCase();
    void recordTakesStacksNamesGeneratedCodeAndCountsAllocations();
    void theWorkbenchStarts();

private:
    QString path(const QString& name) const { return m_folder.filePath(name); }

    QTemporaryDir m_folder;
};

void TestInstalledTree::initTestCase()
{
    QVERIFY(m_folder.isValid());
    QProcess install;
    install.start(QStringLiteral(STEPSCOPE_CMAKE), {"--install", STEPSCOPE_BINARY_DIR, "--prefix", path("first")});
    QVERIFY(install.waitForFinished(120000));
    QVERIFY2(install.exitStatus() == QProcess::NormalExit && install.exitCode() == 0, install.readAllStandardError().constData());
    QVERIFY(QDir(m_folder.path()).rename("first", "moved"));
    QVERIFY(support::writeFile(path("tiny.jl"), "model = Chain(fc1 = Dense(64 => 256, relu), fc2 = Dense(256 => 3))\nloss = logitcrossentropy\n"
                                                "data = Random(shape = (64,), classes = 3, samples = 512, batchsize = 128)\n"));
    qputenv("XDG_CACHE_HOME", m_folder.path().toUtf8());
}

void TestInstalledTree::recordTakesStacksNamesGeneratedCodeAndCountsAllocations()
{
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.remove("INTEL_JIT_PROFILER64");
    environment.insert("LD_DEBUG", "files"); // tells which libraries are loaded, on standard error
    QProcess record;
    record.setProcessEnvironment(environment);
    record.setWorkingDirectory(m_folder.path());
    record.start(path("moved/bin/stepscope"), {"record", "tiny.jl", "--steps", "400", "--threads", "1", "-o", "run.stepscope"});
    QVERIFY(record.waitForFinished(120000));
    const QByteArray said = record.readAllStandardError();
    QVERIFY2(record.exitStatus() == QProcess::NormalExit && record.exitCode() == 0, said.right(2000).constData());
    QVERIFY(said.contains(path("moved/lib/stepscope/libstepscope-jit-agent.so").toUtf8())); // not the one of the build
    QVERIFY(!said.contains(STEPSCOPE_BINARY_DIR "/bin/libstepscope-jit-agent.so"));
    const auto session = storage::openSession(path("run.stepscope").toStdString());
    QVERIFY(session.has_value());
    QCOMPARE((*session)->environmentValue("allocations"), std::string_view("counted"));
    bool sampled = false, counted = false;
    for (size_t series = 0; series < (*session)->series().size(); ++series) {
        const bool any = (*session)->samples(base::SeriesId(series)).size() > 0;
        if ((*session)->series()[series].kind == session::SeriesKind::cpuTime) sampled = any;
        if ((*session)->series()[series].kind == session::SeriesKind::countedBytes) counted = any;
    }
    QVERIFY(sampled || (*session)->environmentValue("sampler.method") == "none");
    QVERIFY(counted);
}

void TestInstalledTree::theWorkbenchStarts()
{
#if defined(STEPSCOPE_WITH_UI)
    QProcessEnvironment environment = QProcessEnvironment::systemEnvironment();
    environment.insert("XDG_CONFIG_HOME", m_folder.path()); // no settings of the user
    QProcess workbench;
    workbench.setProcessEnvironment(environment);
    workbench.setWorkingDirectory(m_folder.path());
    QVERIFY(QDir(m_folder.path()).mkpath("pictures"));
    workbench.start(path("moved/bin/stepscope-ui"), {"--screenshots", path("pictures"), path("run.stepscope")});
    QVERIFY(workbench.waitForFinished(120000));
    const QByteArray said = workbench.readAllStandardError();
    QVERIFY2(workbench.exitStatus() == QProcess::NormalExit && workbench.exitCode() == 0, said.constData());
    QVERIFY(!QDir(path("pictures")).entryList({"*.png"}).isEmpty());
#else
    QSKIP("this build has no workbench (STEPSCOPE_GUI is off)");
#endif
}

QTEST_GUILESS_MAIN(TestInstalledTree)
#include "tst_installed_tree.moc"
