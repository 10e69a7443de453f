#include "tests/support/made_session.h"
#include "ui/state/workbench.h"

#include <QDir>
#include <QFile>
#include <QSettings>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>

#include <semaphore>

using namespace stepscope;

class TestWorkbench : public QObject {
    Q_OBJECT

    struct Fixture {
        QTemporaryDir directory;
        QSettings settings{directory.filePath("settings.ini"), QSettings::IniFormat};
        jobs::JobRunner jobs;
        state::RecentFiles recent{settings};
        state::Services services;
        Fixture()
        {
            services.recordingsDirectory = directory.filePath("recordings").toStdString();
            services.openSession = [](const std::string& path, std::stop_token, const base::Progress&) -> base::Result<session::SessionPtr> {
                if (path.find("bad") != std::string::npos)
                    return base::fail(base::ErrorCode::wrongFormat, "not a session", {path, 0}, "choose another file");
                return support::madeSession();
            };
            services.openTogether = [](const std::vector<std::string>& paths, std::stop_token, const base::Progress&) -> base::Result<session::SessionPtr> {
                for (const std::string& path : paths)
                    if (path.find("bad") != std::string::npos)
                        return base::fail(base::ErrorCode::wrongFormat, "not a session", {path, 0}, "choose another file");
                return support::madeSession();
            };
            services.saveSession = [](const session::Session&, const std::string& path, std::stop_token, const base::Progress&) -> base::Status {
                if (path.find("full") != std::string::npos) return base::fail(base::ErrorCode::diskFull, "no space left", {path});
                QFile file(QString::fromStdString(path));
                return file.open(QIODevice::WriteOnly) ? base::Status() : base::fail(base::ErrorCode::io, "cannot write");
            };
        }
    };

private slots:
    void openingShowsTheSessionAndRemembersTheFile()
    {
        Fixture f;
        state::Workbench bench(f.services, f.jobs, f.recent);
        QSignalSpy changed(&bench, &state::Workbench::sessionChanged);
        bench.open("/x/run.stepscope");
        QVERIFY(bench.opening());
        QVERIFY(changed.wait());
        QVERIFY(!bench.opening());
        QCOMPARE(bench.session()->steps().size(), size_t{4});
        QCOMPARE(bench.path(), QString("/x/run.stepscope"));
        QCOMPARE(f.recent.files(), QStringList{"/x/run.stepscope"});
        // A new list reads the same settings.
        QCOMPARE(state::RecentFiles(f.settings).files(), QStringList{"/x/run.stepscope"});
    }

    void aFailureKeepsTheOpenSession()
    {
        Fixture f;
        state::Workbench bench(f.services, f.jobs, f.recent);
        bench.show(support::madeSession(), "/x/good.stepscope");
        QSignalSpy failed(&bench, &state::Workbench::failed);
        bench.open("/x/bad.stepscope");
        QVERIFY(failed.wait());
        QVERIFY(bench.session() != nullptr);
        QCOMPARE(bench.path(), QString("/x/good.stepscope"));
        QVERIFY(failed.first().first().toString().contains("bad.stepscope"));
        QVERIFY(f.recent.files().isEmpty());
    }

    void severalFilesAreOneSession()
    {
        Fixture f;
        const QString a = f.directory.filePath("rank0.json"), b = f.directory.filePath("rank1.json");
        for (const QString& file : {a, b}) {
            QFile made(file);
            QVERIFY(made.open(QIODevice::WriteOnly));
        }
        state::Workbench bench(f.services, f.jobs, f.recent);
        QSignalSpy changed(&bench, &state::Workbench::sessionChanged), failed(&bench, &state::Workbench::failed);
        bench.openTogether({a, b});
        QCOMPARE(bench.openingFiles(), (QStringList{a, b}));
        QVERIFY(changed.wait());
        QCOMPARE(bench.files(), (QStringList{a, b}));
        QCOMPARE(bench.path(), QString());
        QCOMPARE(bench.title(), QString("rank0 and 1 more"));
        QCOMPARE(f.recent.files(), (QStringList{a, b}));
        // Neither of them is overwritten; another file is the session's own from then on.
        bench.saveAs(b);
        QCOMPARE(failed.size(), 1);
        QSignalSpy saved(&bench, &state::Workbench::saved);
        bench.saveAs(f.directory.filePath("both.stepscope"));
        QVERIFY(saved.wait());
        QCOMPARE(bench.files(), QStringList{f.directory.filePath("both.stepscope")});
        QCOMPARE(bench.title(), QString("both"));
    }

    void severalFilesOpenTogetherOrNotAtAll()
    {
        Fixture f;
        state::Workbench bench(f.services, f.jobs, f.recent);
        bench.show(support::madeSession(), "/x/good.stepscope");
        QSignalSpy failed(&bench, &state::Workbench::failed);
        bench.openTogether({"/x/a.json", "/x/bad.json", "/x/c.json"});
        QVERIFY(failed.wait());
        QVERIFY(failed.last().first().toString().contains("a.json and 2 more"));
        QCOMPARE(bench.path(), QString("/x/good.stepscope"));
        QVERIFY(f.recent.files().isEmpty());
        // A model has no place among them.
        bench.openTogether({"/x/a.json", "/x/lenet.jl"});
        QCOMPARE(failed.size(), 2);
        QVERIFY(QString::fromStdString(failed.last().at(1).value<base::Error>().message).contains("lenet.jl"));
        QVERIFY(!bench.opening());
        bench.openTogether({});
        QVERIFY(!bench.opening());
        QSignalSpy changed(&bench, &state::Workbench::sessionChanged);
        bench.openTogether({"/x/one.stepscope"}); // one file is opened as ever
        QVERIFY(changed.wait());
        QCOMPARE(bench.path(), QString("/x/one.stepscope"));
    }

    void filesThatMemoryWillNotBearTogetherAreNotRead()
    {
        Fixture f;
        std::vector<std::string> asked;
        f.services.tooLarge = [&asked](const std::vector<std::string>& paths) -> std::optional<base::Error> {
            asked = paths;
            return base::Error{base::ErrorCode::unavailable, "too large", {}, {}};
        };
        state::Workbench bench(f.services, f.jobs, f.recent);
        QSignalSpy failed(&bench, &state::Workbench::failed);
        bench.openTogether({"/x/a.json", "/x/b.json"});
        QVERIFY(failed.wait());
        QCOMPARE(asked, (std::vector<std::string>{"/x/a.json", "/x/b.json"}));
        QVERIFY(bench.session() == nullptr);
    }

    void openingCanBeCancelled()
    {
        Fixture f;
        std::binary_semaphore go(0);
        f.services.openSession = [&](const std::string&, std::stop_token, const base::Progress&) -> base::Result<session::SessionPtr> {
            go.acquire();
            return support::madeSession();
        };
        state::Workbench bench(f.services, f.jobs, f.recent);
        bench.open("/x/slow.stepscope");
        bench.cancelOpening();
        QVERIFY(!bench.opening());
        go.release();
        QTRY_COMPARE(f.jobs.running(), 0);
        QVERIFY(bench.session() == nullptr);
    }

    void theFirstPartOfALargeTraceIsShownWhileTheRestIsRead()
    {
        Fixture f;
        std::binary_semaphore go(0);
        bool fails = false;
        f.services.openFirstPart = [](const std::string&, std::stop_token) -> base::Result<session::SessionPtr> { return support::madeSession(); };
        f.services.openSession = [&](const std::string&, std::stop_token, const base::Progress&) -> base::Result<session::SessionPtr> {
            go.acquire();
            if (fails) return base::fail(base::ErrorCode::io, "cannot read");
            return support::madeSession();
        };
        state::Workbench bench(f.services, f.jobs, f.recent);
        const session::SessionPtr before = support::madeSession();
        bench.show(before, "/x/before.stepscope");
        bench.open("/x/large.json");
        QTRY_VERIFY(bench.showsFirstPart());
        QVERIFY(bench.opening());
        const session::SessionPtr part = bench.session();
        QVERIFY(part != before);
        QCOMPARE(bench.path(), QString("/x/large.json"));
        go.release();
        QTRY_VERIFY(!bench.showsFirstPart());
        QVERIFY(bench.session() != part);
        QVERIFY(!bench.opening());

        // What was open before comes back when the rest cannot be read, or is not waited for.
        bench.show(before, "/x/before.stepscope");
        bench.open("/x/large.json");
        QTRY_VERIFY(bench.showsFirstPart());
        fails = true;
        go.release();
        QTRY_VERIFY(!bench.showsFirstPart());
        QCOMPARE(bench.session(), before);
        bench.open("/x/large.json");
        QTRY_VERIFY(bench.showsFirstPart());
        bench.cancelOpening();
        QCOMPARE(bench.session(), before);
        QCOMPARE(bench.path(), QString("/x/before.stepscope"));
        go.release();
        QTRY_COMPARE(f.jobs.running(), 0);
    }

    void modelFilesGoToTheRunPanel()
    {
        Fixture f;
        state::Workbench bench(f.services, f.jobs, f.recent);
        QSignalSpy requested(&bench, &state::Workbench::modelRequested);
        bench.open("/x/model.jl");
        QCOMPARE(requested.size(), 1);
        QVERIFY(!bench.opening());
    }

    void savingARecordingMovesItOutOfTheOwnFolder()
    {
        Fixture f;
        state::Workbench bench(f.services, f.jobs, f.recent);
        QDir().mkpath(f.directory.filePath("recordings"));
        const QString recording = f.directory.filePath("recordings/run.stepscope");
        QFile file(recording);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.close();
        bench.show(support::madeSession(), recording);
        QVERIFY(bench.unsaved());
        QSignalSpy saved(&bench, &state::Workbench::saved);
        const QString target = f.directory.filePath("kept.stepscope");
        bench.saveAs(target);
        QVERIFY(bench.saving());
        QVERIFY(saved.wait());
        QVERIFY(!bench.unsaved());
        QCOMPARE(bench.path(), target);
        QVERIFY(QFile::exists(target));
        QVERIFY(!QFile::exists(recording));
    }

    void aTraceIsNotOverwrittenBySaving()
    {
        Fixture f;
        state::Workbench bench(f.services, f.jobs, f.recent);
        const QString trace = f.directory.filePath("trace.json");
        QFile file(trace);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write("[]");
        file.close();
        bench.show(support::madeSession(), trace);
        QSignalSpy failed(&bench, &state::Workbench::failed), saved(&bench, &state::Workbench::saved);
        bench.saveAs(f.directory.filePath("./trace.json"));
        QCOMPARE(failed.size(), qsizetype{1});
        QVERIFY(!bench.saving());
        QCOMPARE(QFileInfo(trace).size(), qint64{2});
        bench.saveAs(f.directory.filePath("trace.stepscope"));
        QVERIFY(saved.wait());
        bench.saveAs(f.directory.filePath("trace.stepscope")); // its own file may be written again
        QVERIFY(saved.wait());
        QCOMPARE(failed.size(), qsizetype{1});
    }

    void aFullDiskKeepsTheRecording()
    {
        Fixture f;
        state::Workbench bench(f.services, f.jobs, f.recent);
        QDir().mkpath(f.directory.filePath("recordings"));
        const QString recording = f.directory.filePath("recordings/run.stepscope");
        QFile file(recording);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.close();
        bench.show(support::madeSession(), recording);
        QSignalSpy failed(&bench, &state::Workbench::failed);
        bench.saveAs(f.directory.filePath("full.stepscope"));
        QVERIFY(failed.wait());
        QVERIFY(bench.unsaved());
        QVERIFY(QFile::exists(recording));
    }

    void recentFilesAreNewestFirstAndBounded()
    {
        Fixture f;
        for (int i = 0; i < 15; ++i) f.recent.add(QStringLiteral("/x/%1.stepscope").arg(i));
        f.recent.add("/x/9.stepscope");
        QCOMPARE(f.recent.files().size(), qsizetype{state::RecentFiles::kLimit});
        QCOMPARE(f.recent.files().first(), QString("/x/9.stepscope"));
        QCOMPARE(f.recent.files().count("/x/9.stepscope"), qsizetype{1});
        QCOMPARE(f.recent.files().at(1), QString("/x/14.stepscope"));
    }
};

QTEST_GUILESS_MAIN(TestWorkbench)
#include "tst_workbench.moc"
