// `stepscope report --samples` on a session made by hand.
#include "core/storage/session_file.h"
#include "tests/support/made_samples.h"
#include "tests/support/run_program.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QtTest>

using namespace stepscope;
using support::ProgramResult;
using support::SampleMaker;

class TestSampleReport : public QObject {
    Q_OBJECT
private slots:
    void initTestCase()
    {
        qunsetenv("COLUMNS");
        SampleMaker maker;
        const session::SeriesId bytes = maker.addSeries({"allocated", "bytes", session::SeriesKind::allocatedBytes, true, false});
        maker.addSeries({"counted", "bytes", session::SeriesKind::countedBytes, true, false});
        maker.builder.addTrack({"training", 4711});
        maker.builder.addTrack({"loader 0", 4712});
        session::LayerRow layer;
        layer.path = "conv1";
        maker.builder.addLayer(layer);
        maker.frame("main", "main", "main.cpp", 10, session::kOwnCode);
        maker.frame("step", "net::step(int)", "step.cpp", 42, session::kOwnCode);
        maker.frame("lib", "dnnl_execute", "", 0, session::kLibraryCode, 0x10, "libdnnl.so.2");
        maker.frame("jit", "jit_conv", "", 0, session::kGenerated);
        const session::LabelId forward = maker.label(session::Phase::forward, session::LayerId(0u));
        const session::LabelId loading = maker.label(session::Phase::loading);
        maker.add("main;step;lib;jit", 60, 1'000'000, {forward, session::TrackId(0u)});
        maker.add("main;step", 10, 1'000'000, {forward, session::TrackId(0u)});
        maker.add("main", 30, 1'000'000, {loading, session::TrackId(1u)});
        maker.add("main;step", 2, 4096, {forward, session::TrackId(0u), -1, bytes});
        maker.builder.addQuality({"lost-samples", 7, "7 samples were lost because the buffer was full.", ""});
        QVERIFY(storage::saveSession(*maker.build(), file().toStdString()).has_value());
    }

    void theTreeGoesToStandardOutputAndNotesBesideIt()
    {
        const ProgramResult result = run({"--samples", "tree"});
        QCOMPARE(result.code, 0);
        QCOMPARE(result.out, QStringLiteral("Overhead ╎ [+additional indent] Count File:Line; Function\n"
                                                               "=========================================================\n"
                                                               "30╎100 main.cpp:10; main\n"
                                                               "10╎ 70  step.cpp:42; net::step(int)\n"
                                                               "60╎  60  [generated code]:?; jit_conv\n"
                                                               "Total snapshots: 100\n"));
        QVERIFY(result.err.contains("7 samples were lost"));
    }

    void optionsChooseWhatIsShown_data()
    {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<QString>("contains");
        QTest::addColumn<QString>("lacks");
        const auto row = [](const char* name, const char* arguments, const char* contains, const char* lacks) {
            QTest::newRow(name) << QString(arguments).split(' ') << QString(contains) << QString(lacks);
        };
        row("libraries", "--samples tree -C", "  ╎  60  libdnnl.so.2:?; dnnl_execute\n60╎   60  [generated code]:?; jit_conv", "nothing");
        row("flat", "--samples flat", "   100        30 main.cpp            10 main", "╎");
        row("series by kind", "--samples flat --series bytes", "  8192      8192 step.cpp    42 net::step(int)", "jit");
        row("series by name", "--samples flat --series allocated", "Total bytes: 8192", "jit");
        row("depth", "--samples tree --maxdepth 1", "step.cpp", "jit");
        row("count", "--samples tree --mincount 61", "step.cpp", "jit");
        row("noise", "--samples tree --noisefloor 7.1", "main.cpp", "step"); // 7.1 sqrt(100) = 71
        row("order", "--samples flat --sortedby overhead", "main\n    60        60 [generated code]", "nothing");
        row("threads", "--samples tree --threads training", "Total snapshots: 70", "100");
        row("threads by number", "--samples tree --threads 4712", "Total snapshots: 30", "step");
        row("phase", "--samples tree --phase loading", "Total snapshots: 30", "step");
        row("layer", "--samples tree --layer conv1", "Total snapshots: 70", "100");
        row("groups", "--samples tree --groupby thread", "\n\nThread loader 0\n30╎30 main.cpp:10; main\nTotal snapshots: 30\n", "Phase");
        row("nested groups", "--samples tree --groupby nested", "Thread loader 0 Phase loading\n", "nothing");
        row("list of groups", "--samples tree --groupby phase,layer", "Phase forward Layer conv1\n", "Thread");
        row("bottom-up", "--samples tree --bottom-up --sortedby count", "[generated code]:?; jit_conv\n  ╎ 60  step.cpp:42; net::step(int)", "nothing");
        row("callers", "--samples tree --callers net::step", "╎70 step.cpp:?; net::step(int)\n70╎ 70 main.cpp:10; main", "jit");
        row("callees", "--samples tree --callees net::step", "60╎ 60 [generated code]:?; jit_conv", "main");
        row("merged by function", "--samples tree --combine function", "step.cpp:?; net::step(int)", ":42");
        row("addresses", "--samples tree --combine off -C", "0x0000000000000010 dnnl_execute", "nothing");
        row("csv", "--samples flat --format csv", "function,self_ns,self_share,total_ns,total_share,samples", "╎");
    }
    void optionsChooseWhatIsShown()
    {
        QFETCH(QStringList, arguments);
        QFETCH(QString, contains);
        QFETCH(QString, lacks);
        const ProgramResult result = run(arguments);
        QCOMPARE(result.code, 0);
        const QString out = result.out;
        QVERIFY2(out.contains(contains), result.rawOut.constData());
        QVERIFY2(!out.contains(lacks), result.rawOut.constData());
    }

    void jsonHasTheRows()
    {
        const ProgramResult result = run({"--samples", "flat", "--format", "json"});
        QCOMPARE(result.code, 0);
        const QJsonObject object = QJsonDocument::fromJson(result.rawOut).object();
        QCOMPARE(object["series"].toString(), "cpu time");
        QCOMPARE(object["samples"].toInt(), 100);
        QCOMPARE(object["total"].toDouble(), 1e8);
        double self = 0;
        for (const QJsonValue& row : object["rows"].toArray()) self += row.toObject()["self_share"].toDouble();
        QCOMPARE(self, 1.0);
    }

    void mistakesAreUsageErrorsThatNameWhatThereIs_data()
    {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<QString>("message");
        const auto row = [](const char* arguments, const char* message) {
            QTest::newRow(arguments) << QString(arguments).split(' ') << QString(message);
        };
        row("--samples flat --recur flat", "ask for --samples tree");
        row("--samples tree --threads loader", "training, loader 0");
        row("--samples tree --series wall", "it has: cpu time, allocated");
        row("--samples tree --phase foward", "data-wait");
        row("--samples tree --layer conv9", "conv1");
        row("--samples tree --groupby task", "thread, phase, layer");
        row("--samples tree --callers step", "net::step");
        row("--samples round", "--samples");
        row("--samples tree --by layer", "excludes");
        row("--samples tree --groupby none,phase", "'none'");
        row("--samples tree --groupby phase,nested", "'nested'");
        row("--noisefloor 2", "--samples");
        row("--samples tree --callers a --callees b", "excludes");
    }
    void mistakesAreUsageErrorsThatNameWhatThereIs()
    {
        QFETCH(QStringList, arguments);
        QFETCH(QString, message);
        const ProgramResult result = run(arguments);
        QCOMPARE(result.code, 2);
        QVERIFY2(result.err.contains(message), qPrintable(result.err));
        QVERIFY(result.out.isEmpty());
    }

    void aSessionWithoutSamplesSaysSo()
    {
        session::SessionBuilder builder;
        const QString empty = m_folder.filePath("empty.stepscope");
        QVERIFY(storage::saveSession(*builder.build(), empty.toStdString()).has_value());
        const ProgramResult result = support::runProgram({"report", empty, "--samples", "tree"}, m_folder.path());
        QCOMPARE(result.code, 0);
        QVERIFY(result.out.startsWith("There were no samples collected.\n"));
    }

    void aTreeCanBeBuiltAgainFromItsRows()
    {
        const ProgramResult csv = run({"--samples", "tree", "--format", "csv"});
        QCOMPARE(csv.code, 0);
        const QStringList lines = csv.out.split("\r\n", Qt::SkipEmptyParts);
        QCOMPARE(lines.size(), 4);
        QVERIFY(lines[0].endsWith(",note,depth,parent"));
        QVERIFY2(lines[1].startsWith("main:10,") && lines[1].endsWith(",0,"), qPrintable(lines[1]));
        QVERIFY2(lines[2].contains("step") && lines[2].endsWith(",1,0"), qPrintable(lines[2]));
        QVERIFY2(lines[3].contains("jit_conv") && lines[3].endsWith(",2,1"), qPrintable(lines[3]));
        const ProgramResult json = run({"--samples", "tree", "--format", "json"});
        const QJsonArray rows = QJsonDocument::fromJson(json.rawOut).object()["rows"].toArray();
        QCOMPARE(rows.size(), 3);
        QVERIFY(rows[0].toObject()["parent"].isNull() && rows[0].toObject().contains("parent"));
        QCOMPARE(rows[2].toObject()["parent"].toInt(-1), 1);
        QCOMPARE(rows[2].toObject()["depth"].toInt(-1), 2);
        QVERIFY(!run({"--samples", "flat", "--format", "csv"}).out.contains("parent"));
    }

    // A waiting thread has few samples that stand for much time.
    void countsFollowTheTimeThatSamplesStandFor()
    {
        SampleMaker maker({"wall time", "ns", session::SeriesKind::wallTime, true, true});
        maker.frame("main", "main", "main.cpp", 10);
        maker.frame("wait", "wait", "wait.cpp", 20);
        maker.frame("run", "run", "run.cpp", 30);
        maker.add("main;run", 9, 10'000'000);
        maker.add("main;wait", 2, 455'000'000);
        const QString wall = m_folder.filePath("wall.stepscope");
        QVERIFY(storage::saveSession(*maker.build(), wall.toStdString()).has_value());
        const ProgramResult tree = support::runProgram({"report", wall, "--samples", "tree"}, m_folder.path());
        QCOMPARE(tree.code, 0);
        QVERIFY2(tree.out.contains("╎100 main.cpp:10; main"), tree.rawOut.constData());
        QVERIFY2(tree.out.contains("91╎ 91  wait.cpp:20; wait"), tree.rawOut.constData());
        QVERIFY2(tree.out.contains(" 9╎ 9   run.cpp:30; run"), tree.rawOut.constData());
        QVERIFY2(tree.out.contains("Total snapshots: 100 of 10.00 ms each"), tree.rawOut.constData());
        const ProgramResult flat = support::runProgram({"report", wall, "--samples", "flat"}, m_folder.path());
        QVERIFY2(flat.out.contains("    91        91 wait.cpp"), flat.rawOut.constData());
        QVERIFY2(flat.out.contains("Total snapshots: 100 of 10.00 ms each"), flat.rawOut.constData());
    }

    void anEmptyReportSaysWhatSelectedNothing_data()
    {
        QTest::addColumn<QStringList>("arguments");
        QTest::addColumn<QString>("said");
        QTest::newRow("thread") << QStringList{"--threads", "training", "--phase", "loading"}
                                << "No sample of 'cpu time', which has 100, is in what was chosen: --threads training, --phase loading";
        QTest::newRow("phase") << QStringList{"--phase", "backward"} << "is in what was chosen: --phase backward";
        QTest::newRow("series") << QStringList{"--series", "counted"} << "The series 'counted' has no stacks; 'cpu time', 'allocated' have.";
    }
    void anEmptyReportSaysWhatSelectedNothing()
    {
        QFETCH(QStringList, arguments);
        QFETCH(QString, said);
        const ProgramResult result = run(QStringList{"--samples", "tree"} + arguments);
        QCOMPARE(result.code, 0);
        QVERIFY2(result.out.contains(said), result.rawOut.constData());
        QVERIFY(!result.out.contains("no samples collected"));
    }

    void allocationsAreCalledSo()
    {
        SampleMaker maker({"allocations", "", session::SeriesKind::allocations, true, true});
        maker.add("main", 2, 17);
        const QString made = m_folder.filePath("allocations.stepscope");
        QVERIFY(storage::saveSession(*maker.build(), made.toStdString()).has_value());
        const ProgramResult result = support::runProgram({"report", made, "--samples", "tree"}, m_folder.path());
        QVERIFY2(result.out.contains("Total allocations: 34\n"), result.rawOut.constData());
    }

private:
    QString file() const { return m_folder.filePath("samples.stepscope"); }
    ProgramResult run(const QStringList& arguments) { return support::runProgram(QStringList{"report", file()} + arguments, m_folder.path()); }

    QTemporaryDir m_folder;
};

QTEST_GUILESS_MAIN(TestSampleReport)
#include "tst_sample_report.moc"
