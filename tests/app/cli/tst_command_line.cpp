// The program's own behaviour on good and bad input, as far as no training is needed.
#include "core/storage/session_file.h"
#include "tests/support/made_session.h"
#include "tests/support/run_program.h"

#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QtTest>

#include <cmath>

#include <sys/stat.h>
#include <unistd.h>

using namespace stepscope;
using support::ProgramResult;
using support::writeFile;

class TestCommandLine : public QObject {
    Q_OBJECT
private slots:
    void initTestCase();
    void helpNamesCommandsExamplesAndExitCodes();
    void wrongArgumentsAreUsageErrors_data();
    void wrongArgumentsAreUsageErrors();
    void partsThatAFileCannotGiveAreErrors_data();
    void partsThatAFileCannotGiveAreErrors();
    void pipesAreRead_data();
    void pipesAreRead();
    void spansOfATraceWithoutStepsAreListedByName();
    void convertCountsWhatTheFormatHasNoPlaceFor();
    void textReportFitsAHundredColumns_data();
    void textReportFitsAHundredColumns();
    void csvSharesSumToOne_data();
    void csvSharesSumToOne();
    void jsonReportIsValid_data();
    void jsonReportIsValid();
    void reportsOfDeviceWorkHaveTheirRows_data();
    void reportsOfDeviceWorkHaveTheirRows();
    void warmUpIsLeftOutByDefault();
    void whatWasLostIsShown();
    void badSessionsAreRefused_data();
    void badSessionsAreRefused();
    void aNewerSessionIsNamed();
    void unwritableResultsAreErrors_data();
    void unwritableResultsAreErrors();
    void aReportNeverReplacesASession_data();
    void aReportNeverReplacesASession();
    void infoDescribesASession();
    void infoNamesAMissingFile();
    void infoDescribesAModelByItsContent();
    void mistakesInAModelHaveAPlace_data();
    void mistakesInAModelHaveAPlace();
    void convertWritesPlainRows();
    void convertRefusesUnknownFormats();
    void severalFilesAreOneSession();
    void mistakesWithSeveralFilesAreUsageErrors_data();
    void mistakesWithSeveralFilesAreUsageErrors();
    void convertTellsHowToReplaceAFile();
    void convertReplacesNothingButFiles();
    void resultsAreWrittenThroughLinksAndKeepTheMode();
    void aRecordingNeverReplacesItsModel();

private:
    ProgramResult run(const QStringList& arguments) { return support::runProgram(arguments, m_folder.path()); }
    QString path(const QString& name) const { return m_folder.filePath(name); }

    QTemporaryDir m_folder;
};

namespace {

// A rank with one step of 100 us, a launch and its kernel; every rank has the same correlation id. Its first event is 5 us
// after its base time.
QByteArray rankTrace(int rank, qint64 base, int kernel)
{
    return QStringLiteral(
        R"({"baseTimeNanoseconds":%1,"distributedInfo":{"rank":%2,"world_size":2},"traceEvents":[)" "\n"
        R"({"ph":"X","cat":"user_annotation","name":"ProfilerStep#3","pid":9,"tid":1,"ts":5,"dur":100},)" "\n"
        R"({"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":9,"tid":1,"ts":15,"dur":10,"args":{"correlation":7}},)" "\n"
        R"({"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":35,"dur":%3,"args":{"correlation":7,"device":0,"stream":7}}]})" "\n")
        .arg(base).arg(rank).arg(kernel).toUtf8();
}

} // namespace

void TestCommandLine::initTestCase()
{
    QVERIFY(m_folder.isValid());
    QVERIFY(storage::saveSession(*support::madeSession(), path("run.stepscope").toStdString()).has_value());
    QVERIFY(writeFile(path("described.jl"), "input = (4,)\nmodel = Chain(Dense(4 => 2))\n"));
    QVERIFY(writeFile(path("stacks.folded"), "a;b 3\na;c 4\n"));
    QVERIFY(writeFile(path("large.folded"), "# counts\na;b 9223372036854775807\na;c 9223372036854775807\n"));
    QVERIFY(writeFile(path("nested.json"), R"([{"ph":"X","name":"outer","pid":1,"tid":1,"ts":0,"dur":10},
{"ph":"X","name":"inner","pid":1,"tid":1,"ts":1,"dur":3},
{"ph":"X","name":"inner","pid":1,"tid":1,"ts":5,"dur":2},
{"ph":"X","name":"inner","pid":1,"tid":1,"ts":5.5,"dur":1}])"));
    QVERIFY(writeFile(path("marks.json"), R"([{"ph":"X","name":"work","pid":1,"tid":1,"ts":0,"dur":10},
{"ph":"i","name":"mark","pid":1,"tid":1,"ts":1,"s":"t"},
{"ph":"C","name":"loss","pid":1,"ts":1,"args":{"value":2}},{"ph":"C","name":"loss","pid":1,"ts":2,"args":{"value":1}}])"));
    support::MadeSession damaged;
    damaged.builder.addQuality({"lost-spans", 12, "12 spans were lost because the collector fell behind."});
    QVERIFY(storage::saveSession(*damaged.build(), path("lost.stepscope").toStdString()).has_value());
}

void TestCommandLine::helpNamesCommandsExamplesAndExitCodes()
{
    const ProgramResult help = run({"--help"});
    QCOMPARE(help.code, 0);
    for (const char* word : {"record", "report", "info", "convert", "Examples:", "Exit codes:"})
        QVERIFY2(help.out.contains(word), word);
    for (const char* command : {"record", "report", "info", "convert"}) {
        const ProgramResult about = run({command, "--help"});
        QCOMPARE(about.code, 0);
        QVERIFY2(about.out.contains("Example"), command);
    }
    QVERIFY(run({"--version"}).out.startsWith("stepscope "));
}

void TestCommandLine::wrongArgumentsAreUsageErrors_data()
{
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QString>("said");
    QTest::newRow("none") << QStringList{} << "Usage";
    QTest::newRow("unknown command") << QStringList{"profile"} << "profile";
    QTest::newRow("report without file") << QStringList{"report"} << "FILE";
    QTest::newRow("unknown grouping") << QStringList{"report", "run.stepscope", "--by", "colour"} << "colour";
    QTest::newRow("unknown format") << QStringList{"report", "run.stepscope", "--format", "xml"} << "xml";
    QTest::newRow("negative steps") << QStringList{"record", "m.jl", "--steps", "-3"} << "--steps";
    QTest::newRow("steps are no number") << QStringList{"record", "m.jl", "--steps", "many"} << "--steps";
    QTest::newRow("steps beyond 64 bits") << QStringList{"record", "m.jl", "--steps", "99999999999999999999"} << "--steps";
    QTest::newRow("steps and epochs") << QStringList{"record", "m.jl", "--steps", "3", "--epochs", "1"} << "--epochs";
    QTest::newRow("negative seed") << QStringList{"record", "m.jl", "--seed", "-1"} << "--seed";
    QTest::newRow("seed beyond 64 bits") << QStringList{"record", "m.jl", "--seed", "18446744073709551616"} << "2^64";
    QTest::newRow("rate without samples") << QStringList{"record", "m.jl", "--sample", "off", "--rate", "100"} << "--rate";
    QTest::newRow("samples without probes") << QStringList{"record", "m.jl", "--no-profile", "--sample", "cpu"} << "--no-profile";
    QTest::newRow("output without recording") << QStringList{"record", "m.jl", "--no-profile", "-o", "x"} << "--no-profile";
    QTest::newRow("session without a name") << QStringList{"record", "m.jl", "-o", ""} << "empty";
    QTest::newRow("report without a name") << QStringList{"report", "run.stepscope", "-o", ""} << "empty";
    QTest::newRow("a layer waits for no data") << QStringList{"time", "m.jl", "--layer", "fc1", "--phase", "data-wait"} << "data-wait";
    QTest::newRow("unknown input format") << QStringList{"report", "run.stepscope", "--input-format", "nonsense"} << "stepscope, ";
    QTest::newRow("model as JSON") << QStringList{"info", "described.jl", "--format", "json"} << "model";
    QTest::newRow("export to standard output") << QStringList{"convert", "run.stepscope", "-", "--to", "chrome"} << "standard output";
    QTest::newRow("steps in the wrong order") << QStringList{"report", "run.stepscope", "--first-step", "50", "--last-step", "10"}
                                              << "--first-step 50";
    QTest::newRow("range backwards") << QStringList{"info", "run.stepscope", "--load-range", "5", "1"} << "not before the end";
    QTest::newRow("range without an end") << QStringList{"info", "run.stepscope", "--load-range", "5", "nan"} << "seconds since the first event";
    QTest::newRow("range before the begin") << QStringList{"info", "run.stepscope", "--load-range", "-5", "1"} << "seconds since the first event";
    QTest::newRow("steps to load backwards") << QStringList{"report", "run.stepscope", "--load-steps", "9", "3"} << "behind the last";
    QTest::newRow("model text as JSON") << QStringList{"info", "run.stepscope", "--model-text", "--format", "json"} << "--model-text";
    QTest::newRow("samples by layer") << QStringList{"report", "run.stepscope", "--samples", "tree", "--by", "layer"} << "excludes";
    QTest::newRow("unknown option") << QStringList{"record", "m.jl", "--turbo"} << "--turbo";
}

void TestCommandLine::wrongArgumentsAreUsageErrors()
{
    QFETCH(QStringList, arguments);
    QFETCH(QString, said);
    const ProgramResult result = run(arguments);
    QCOMPARE(result.code, 2);
    QVERIFY2(result.err.contains(said), qPrintable(result.err));
    QVERIFY(result.out.isEmpty());
}

void TestCommandLine::partsThatAFileCannotGiveAreErrors_data()
{
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QString>("said");
    QTest::newRow("steps of a session") << QStringList{"run.stepscope", "--load-steps", "1", "2"} << "a session is opened whole";
    QTest::newRow("range of a session") << QStringList{"run.stepscope", "--load-range", "1", "2"} << "a session is opened whole";
    QTest::newRow("range of stacks") << QStringList{"stacks.folded", "--load-range", "1", "2"} << "no times";
    QTest::newRow("name of no span") << QStringList{"nested.json", "--step-name", "nope"} << "'nope'";
    QTest::newRow("counts that are too large") << QStringList{"large.folded"} << "large.folded:2: the count 9223372036854775807 is too large";
}

void TestCommandLine::partsThatAFileCannotGiveAreErrors()
{
    QFETCH(QStringList, arguments);
    QFETCH(QString, said);
    for (const char* command : {"info", "report"}) {
        const ProgramResult result = run(QStringList{command} + arguments);
        QCOMPARE(result.code, 3);
        QVERIFY2(result.err.contains(said), qPrintable(result.err));
        QVERIFY(result.out.isEmpty());
    }
}

void TestCommandLine::pipesAreRead_data()
{
    QTest::addColumn<QString>("file");
    QTest::addColumn<QString>("said");
    QTest::newRow("stacks") << "stacks.folded" << "samples     samples: 2, in sum 7";
    QTest::newRow("trace") << "nested.json" << "spans       4";
    QTest::newRow("session") << "run.stepscope" << "session, ";
}

void TestCommandLine::pipesAreRead()
{
    QFETCH(QString, file);
    QFETCH(QString, said);
    for (const char* name : {"-", "/dev/stdin"}) {
        QProcess process;
        process.setWorkingDirectory(m_folder.path());
        process.start(support::programPath(), {"info", name});
        process.write([&] {
            QFile content(path(file));
            return content.open(QIODevice::ReadOnly) ? content.readAll() : QByteArray();
        }());
        process.closeWriteChannel();
        QVERIFY(process.waitForFinished(60000));
        const QByteArray out = process.readAllStandardOutput();
        QVERIFY2(process.exitCode() == 0, process.readAllStandardError().constData());
        QVERIFY2(out.contains(said.toUtf8()), out.constData());
    }
    const ProgramResult empty = run({"info", "-"});
    QCOMPARE(empty.code, 3);
    QVERIFY2(empty.err.contains("empty"), qPrintable(empty.err));
}

// outer 10 us with inner 3 us and inner 2 us, which holds an inner of 1 us; in microseconds.
void TestCommandLine::spansOfATraceWithoutStepsAreListedByName()
{
    const ProgramResult csv = run({"report", "nested.json", "--format", "csv"});
    QCOMPARE(csv.code, 0);
    QCOMPARE(csv.out, QString("span,self_share,self_ns,total_ns,count,mean_ns,min_ns,max_ns\r\n"
                              "inner,0.5,5000,5000,3,2000,1000,3000\r\n"
                              "outer,0.5,5000,10000,1,10000,10000,10000\r\n"));
    const ProgramResult text = run({"report", "nested.json"});
    QVERIFY2(text.out.contains("outer"), text.rawOut.constData());
    QVERIFY2(!text.err.contains("nothing to sum up"), qPrintable(text.err));
    QCOMPARE(run({"report", "nested.json", "--by", "span", "--format", "csv"}).out, csv.out);
}

void TestCommandLine::convertCountsWhatTheFormatHasNoPlaceFor()
{
    const ProgramResult written = run({"convert", "marks.json", "marks.speedscope.json"});
    QCOMPARE(written.code, 0);
    QVERIFY2(written.err.contains("2 values of counters are not in the file"), qPrintable(written.err));
    QVERIFY2(written.err.contains("1 mark without a length is written as spans of 0 ns"), qPrintable(written.err));
    const ProgramResult stacks = run({"convert", "stacks.folded", "stacks.json"});
    QCOMPARE(stacks.code, 0);
    QVERIFY2(stacks.err.isEmpty(), qPrintable(stacks.err));
    QVERIFY2(run({"info", "stacks.json"}).out.contains("samples     samples: 2, in sum 7"), "read back");
}

void TestCommandLine::textReportFitsAHundredColumns_data()
{
    QTest::addColumn<QString>("by");
    QTest::addColumn<QString>("row");
    QTest::newRow("phase") << "phase" << "backward";
    QTest::newRow("layer") << "layer" << "block.dense1";
    QTest::newRow("primitive") << "primitive" << "conv1 weights gradient";
    QTest::newRow("step") << "step" << "disturbed";
}

void TestCommandLine::textReportFitsAHundredColumns()
{
    QFETCH(QString, by);
    QFETCH(QString, row);
    const ProgramResult result = run({"report", "run.stepscope", "--by", by});
    QCOMPARE(result.code, 0);
    QVERIFY2(result.out.contains(row), qPrintable(result.out));
    QVERIFY2(result.out.contains("Shares sum to 100.0 % of the step"), qPrintable(result.out));
    QVERIFY2(result.out.contains("1 warm-up step left out"), qPrintable(result.out));
    bool inTable = false;
    for (const QString& line : result.out.split('\n')) {
        if (line.startsWith("---")) inTable = true;
        if (line.isEmpty()) inTable = false;
        if (inTable) QVERIFY2(line.size() <= 100, qPrintable(line));
    }
}

void TestCommandLine::csvSharesSumToOne_data()
{
    QTest::addColumn<QString>("by");
    QTest::addColumn<int>("rows");
    QTest::newRow("phase") << "phase" << 6;
    QTest::newRow("layer") << "layer" << 10; // without the model row, whose own time is 0
    QTest::newRow("primitive") << "primitive" << 10;
    QTest::newRow("step") << "step" << 3;
}

void TestCommandLine::csvSharesSumToOne()
{
    QFETCH(QString, by);
    QFETCH(int, rows);
    const ProgramResult result = run({"report", "run.stepscope", "--by", by, "--format", "csv"});
    QCOMPARE(result.code, 0);
    QVERIFY(result.out.endsWith("\r\n"));
    const QStringList lines = result.out.split("\r\n", Qt::SkipEmptyParts);
    QCOMPARE(lines.size(), rows + 1);
    // Some names hold a comma and are quoted; the shares are found from the right.
    const QStringList keys = lines[0].split(',');
    const auto share = static_cast<qsizetype>(keys.indexOf("share"));
    double sum = 0;
    for (qsizetype i = 1; i < lines.size(); ++i) {
        QString line = lines[i];
        if (line.startsWith('"')) line.replace(0, line.indexOf('"', 1) + 1, "name");
        sum += line.split(',')[share].toDouble();
    }
    QVERIFY2(std::abs(sum - 1) < 1e-9, qPrintable(result.out));
}

void TestCommandLine::jsonReportIsValid_data() { csvSharesSumToOne_data(); }

void TestCommandLine::jsonReportIsValid()
{
    QFETCH(QString, by);
    QFETCH(int, rows);
    const ProgramResult result = run({"report", "run.stepscope", "--by", by, "--format", "json", "-o", "report.json"});
    QCOMPARE(result.code, 0);
    QVERIFY(result.out.isEmpty());
    QFile file(path("report.json"));
    QVERIFY(file.open(QIODevice::ReadOnly));
    QJsonParseError error;
    const QJsonObject report = QJsonDocument::fromJson(file.readAll(), &error).object();
    QCOMPARE(error.error, QJsonParseError::NoError);
    QCOMPARE(report["by"].toString(), by);
    QCOMPARE(report["rows"].toArray().size(), rows);
    double sum = 0;
    for (const QJsonValue& row : report["rows"].toArray())
        sum += row.toObject()["share"].toDouble();
    QVERIFY(std::abs(sum - 1) < 1e-9);
    QCOMPARE(report["steps"].toObject()["duration_ns"].toObject()["median"].toDouble(), 2000.0);
    QCOMPARE(report["steps"].toObject()["warmup_left_out"].toInt(), 1);
}

void TestCommandLine::reportsOfDeviceWorkHaveTheirRows_data()
{
    QTest::addColumn<QString>("by");
    QTest::addColumn<QStringList>("columns");
    QTest::addColumn<int>("rows");
    QTest::newRow("kernel") << "kernel" << QStringList{"name", "calls", "total_us", "mean_us", "max_us", "min_us"} << 3;
    QTest::newRow("device") << "device" << QStringList{"device", "kernel_time", "compute", "non_compute", "idle"} << 2;
    QTest::newRow("idle") << "idle" << QStringList{"stream", "host_wait", "kernel_wait", "other"} << 3;
    QTest::newRow("launch") << "launch" << QStringList{"call", "cpu_us", "gpu_us", "delay_us", "delay_max_us", "delay_median_us"} << 2;
    QTest::newRow("queue") << "queue" << QStringList{"stream", "count", "min", "p50", "max"} << 1;
    QTest::newRow("overlap") << "overlap" << QStringList{"name", "time_us", "share"} << 4;
    QTest::newRow("copy") << "copy" << QStringList{} << 0;
    QTest::newRow("operator") << "operator" << QStringList{} << 0;
    QTest::newRow("step") << "step" << QStringList{} << 0;
    QTest::newRow("critical-path") << "critical-path" << QStringList{"name", "bound", "time_us", "share"} << 1; // what ends last has no launch
}

// On an export of Nsight Systems with four kernels and one call: launch 0.5 to 0.9, its kernel 1 to 5 µs.
void TestCommandLine::reportsOfDeviceWorkHaveTheirRows()
{
    QFETCH(QString, by);
    QFETCH(QStringList, columns);
    QFETCH(int, rows);
    const QString file = QStringLiteral(STEPSCOPE_SOURCE_DIR "/tests/golden/cases/67-nsys-missing-tables/input.sqlite");
    const ProgramResult result = run({"report", file, "--by", by, "--format", "json", "-o", "device.json"});
    QVERIFY2(result.code == 0, qPrintable(result.err));
    QFile written(path("device.json"));
    QVERIFY(written.open(QIODevice::ReadOnly));
    const QJsonObject report = QJsonDocument::fromJson(written.readAll()).object();
    QCOMPARE(report["by"].toString(), by);
    QCOMPARE(report["rows"].toArray().size(), rows);
    for (const QString& column : std::as_const(columns))
        QVERIFY2(report["rows"].toArray()[0].toObject().contains(column), qPrintable(column));
    const ProgramResult text = run({"report", file, "--by", by});
    QCOMPARE(text.code, 0);
    QVERIFY(rows > 0 || text.out.contains("Nothing of this kind"));
    QCOMPARE(run({"report", file, "--by", by, "--format", "csv"}).code, 0);
}

void TestCommandLine::warmUpIsLeftOutByDefault()
{
    QVERIFY(run({"report", "run.stepscope"}).out.contains("3 steps: median 2.000 µs"));
    QVERIFY(run({"report", "run.stepscope", "--include-warmup"}).out.contains("4 steps: median 2.500 µs"));
    QVERIFY(run({"report", "run.stepscope", "--first-step", "3"}).out.contains("1 step: median 3.000 µs"));
    const ProgramResult none = run({"report", "run.stepscope", "--first-step", "100"});
    QCOMPARE(none.code, 0);
    QVERIFY(none.err.contains("no such steps"));
}

void TestCommandLine::whatWasLostIsShown()
{
    const QString message = "12 spans were lost because the collector fell behind.";
    QVERIFY(run({"report", "lost.stepscope"}).out.contains(message));
    QVERIFY(run({"info", "lost.stepscope"}).out.contains(message));
    QVERIFY(run({"report", "lost.stepscope", "--format", "csv"}).err.contains(message));
    QVERIFY(run({"report", "lost.stepscope", "--format", "json"}).out.contains(message));
}

void TestCommandLine::badSessionsAreRefused_data()
{
    QTest::addColumn<QByteArray>("content");
    QTest::newRow("empty") << QByteArray();
    QTest::newRow("text") << QByteArray("hello\n");
    QTest::newRow("picture") << QByteArray("\x89PNG\r\n\x1a\n\0\0\0\rIHDR", 16);
    QTest::newRow("gzip") << QByteArray("\x1f\x8b\x08\0\0\0\0\0", 8);
    QTest::newRow("database head alone") << QByteArray("SQLite format 3\0", 16);
    QTest::newRow("JSON of no known kind") << QByteArray("{\"hello\": []}");
}

void TestCommandLine::badSessionsAreRefused()
{
    QFETCH(QByteArray, content);
    QVERIFY(writeFile(path("bad"), content));
    for (const QStringList& arguments : {QStringList{"report", "bad"}, QStringList{"convert", "bad", "out.sqlite"}}) {
        const ProgramResult result = run(arguments);
        QCOMPARE(result.code, 3);
        QVERIFY2(result.err.startsWith("stepscope: error: bad"), qPrintable(result.err));
        QVERIFY(result.out.isEmpty());
        QVERIFY(!QFile::exists(path("out.sqlite")));
    }
    QCOMPARE(run({"report", "missing.stepscope"}).code, 3);
    QCOMPARE(run({"info", "missing.stepscope"}).code, 3);
}

void TestCommandLine::aNewerSessionIsNamed()
{
    QFile file(path("run.stepscope"));
    QVERIFY(file.open(QIODevice::ReadOnly));
    QByteArray bytes = file.readAll();
    bytes[63] = 99; // the last byte of PRAGMA user_version, https://sqlite.org/fileformat.html 1.3
    QVERIFY(writeFile(path("newer.stepscope"), bytes));
    const ProgramResult result = run({"report", "newer.stepscope"});
    QCOMPARE(result.code, 3);
    QVERIFY2(result.err.contains("99"), qPrintable(result.err));
    QVERIFY2(result.err.contains("newer"), qPrintable(result.err));
}

void TestCommandLine::unwritableResultsAreErrors_data()
{
    QTest::addColumn<QString>("output");
    QTest::addColumn<QString>("said");
    QTest::newRow("no such folder") << "nowhere/report.txt" << "No such file or directory";
    QTest::newRow("a folder") << "." << "cannot write";
    if (QFile::exists("/dev/full")) QTest::newRow("disk full") << "/dev/full" << "No space left";
}

void TestCommandLine::unwritableResultsAreErrors()
{
    QFETCH(QString, output);
    QFETCH(QString, said);
    const ProgramResult result = run({"report", "run.stepscope", "-o", output});
    QCOMPARE(result.code, 1);
    QVERIFY2(result.err.contains(said), qPrintable(result.err));
}

void TestCommandLine::aReportNeverReplacesASession_data()
{
    QTest::addColumn<QString>("output");
    QTest::newRow("the same name") << "precious.stepscope";
    QTest::newRow("another way to it") << "./precious.stepscope";
    QTest::newRow("a link to it") << "link.stepscope";
    QTest::newRow("another session") << "run.stepscope";
    QTest::newRow("the report's own temporary name") << "hidden";
}

void TestCommandLine::aReportNeverReplacesASession()
{
    QFETCH(QString, output);
    for (const char* copy : {"precious.stepscope", "hidden.part"})
        if (!QFile::exists(path(copy))) QVERIFY(QFile::copy(path("run.stepscope"), path(copy)));
    if (!QFile::exists(path("link.stepscope"))) QVERIFY(QFile::link(path("precious.stepscope"), path("link.stepscope")));
    const QStringList sessions{"precious.stepscope", "run.stepscope", "hidden.part"};
    const auto contents = [&] {
        QList<QByteArray> all;
        for (const QString& name : sessions) {
            QFile file(path(name));
            all << (file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray());
        }
        return all;
    };
    const QList<QByteArray> before = contents();
    const ProgramResult result = run({"report", "precious.stepscope", "-o", output});
    QCOMPARE(result.code, 2);
    QVERIFY2(result.err.contains("would replace"), qPrintable(result.err));
    QVERIFY2(result.err.contains("hint:"), qPrintable(result.err));
    QVERIFY(contents() == before);
    QVERIFY(writeFile(path("old-report.txt"), "an older report"));
    QCOMPARE(run({"report", "precious.stepscope", "-o", "old-report.txt"}).code, 0);
}

void TestCommandLine::infoNamesAMissingFile()
{
    const ProgramResult result = run({"info", "missing.stepscope"});
    QCOMPARE(result.code, 3);
    QVERIFY2(result.err.contains("missing.stepscope: cannot open the file: No such file"), qPrintable(result.err));
    const ProgramResult folder = run({"info", "."});
    QCOMPARE(folder.code, 3);
    QVERIFY2(folder.err.contains("this is a folder"), qPrintable(folder.err));
}

void TestCommandLine::infoDescribesASession()
{
    const ProgramResult result = run({"info", "run.stepscope"});
    QCOMPARE(result.code, 0);
    for (const char* word : {"session", "training", "loader 0", "layers      5", "primitives  4", "quality"})
        QVERIFY2(result.out.contains(word), qPrintable(result.out));
    QCOMPARE(run({"info", "run.stepscope", "--model-text"}).code, 3); // made by hand: there is none
}

void TestCommandLine::infoDescribesAModelByItsContent()
{
    QVERIFY(writeFile(path("model.txt"), "model = Chain(Dense(10 => 20, relu), Dense(20 => 1))\nloss = mse\noptimiser = Adam(0.01)\n"));
    const ProgramResult result = run({"info", "model.txt"});
    QCOMPARE(result.code, 0);
    QVERIFY2(result.out.contains("Dense(10 => 20, relu)"), qPrintable(result.out));
    QVERIFY2(result.out.contains("241"), qPrintable(result.out)); // 10*20+20 + 20*1+1 parameters
    QVERIFY2(result.out.contains("mse"), qPrintable(result.out));
}

void TestCommandLine::mistakesInAModelHaveAPlace_data()
{
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<QStringList>("said");
    QTest::newRow("unknown layer") << QByteArray("model = Chain(Dens(10 => 20))\n") << QStringList{"m.jl:1:15", "Dens", "Dense"};
    QTest::newRow("shape mismatch") << QByteArray("model = Chain(first = Dense(10 => 20), second = Dense(30 => 1))\n")
                                    << QStringList{"m.jl:1", "first", "second", "20", "30"};
    QTest::newRow("unclosed") << QByteArray("model = Chain(Dense(10 => 20)\n") << QStringList{"m.jl:"};
    QTest::newRow("empty") << QByteArray() << QStringList{"m.jl"};
}

void TestCommandLine::mistakesInAModelHaveAPlace()
{
    QFETCH(QByteArray, text);
    QFETCH(QStringList, said);
    QVERIFY(writeFile(path("m.jl"), text));
    for (const char* command : {"info", "record"}) {
        const ProgramResult result = run({command, "m.jl"});
        QCOMPARE(result.code, 3);
        for (const QString& word : said)
            QVERIFY2(result.err.contains(word), qPrintable(result.err));
        QVERIFY(!QFile::exists(path("m.stepscope")));
    }
}

void TestCommandLine::convertWritesPlainRows()
{
    const ProgramResult result = run({"convert", "run.stepscope", "rows.sqlite"});
    QCOMPARE(result.code, 0);
    QFile file(path("rows.sqlite"));
    QVERIFY(file.open(QIODevice::ReadOnly));
    QVERIFY(file.read(16) == QByteArray("SQLite format 3\0", 16));
    const ProgramResult rows = run({"report", "rows.sqlite"}); // rows, not a session
    QCOMPARE(rows.code, 3);
    QVERIFY2(rows.err.contains("stepscope convert wrote"), qPrintable(rows.err));
    QCOMPARE(run({"convert", "run.stepscope", "again.stepscope"}).code, 0);
    QCOMPARE(run({"report", "again.stepscope", "--format", "csv"}).out, run({"report", "run.stepscope", "--format", "csv"}).out);
}

// Rank 1 began 2 us after rank 0, and is moved by 1.5 us more. The kernels take 20 and 30 us.
void TestCommandLine::severalFilesAreOneSession()
{
    QVERIFY(writeFile(path("r0.json"), rankTrace(0, 1767225600000000000, 20)));
    QVERIFY(writeFile(path("r1.json"), rankTrace(1, 1767225600000002000, 30)));
    const ProgramResult info = run({"info", "r1.json", "r0.json", "--format", "json", "--offset", "r1.json=+1.5us"});
    QCOMPARE(info.code, 0);
    const QJsonObject facts = QJsonDocument::fromJson(info.out.toUtf8()).object();
    QCOMPARE(facts["spans"].toInt(), 6);
    QCOMPARE(facts["complete"].toBool(), true);
    QCOMPARE(facts["warnings"].toObject(), QJsonObject());
    const QJsonArray files = facts["files"].toArray();
    QCOMPARE(files.size(), 2);
    QCOMPARE(files[0].toObject()["group"].toString(), QString("rank 0"));
    QCOMPARE(files[0].toObject()["file"].toString(), QString("r0.json"));
    QCOMPARE(files[0].toObject()["shift_ns"].toInt(), 0);
    QCOMPARE(files[1].toObject()["group"].toString(), QString("rank 1"));
    QCOMPARE(files[1].toObject()["shift_ns"].toInt(), 3500);
    QCOMPARE(facts["named"].toObject()["gemm"].toObject()["total_ns"].toInt(), 50000);

    const ProgramResult told = run({"info", "r0.json", "r1.json"});
    QCOMPARE(told.code, 0);
    QVERIFY2(told.out.contains("2 files as one session") && told.out.contains("rank 1: thread 1"), qPrintable(told.out));

    const ProgramResult converted = run({"convert", "r0.json", "r1.json", "-o", "both.stepscope"});
    QVERIFY2(converted.code == 0, qPrintable(converted.err));
    for (const QStringList& from : {QStringList{"r0.json", "r1.json"}, QStringList{"both.stepscope"}}) {
        const ProgramResult steps = run(QStringList{"report"} + from + QStringList{"--by", "step", "--format", "json"});
        QVERIFY2(steps.code == 0, qPrintable(steps.err));
        const QJsonArray rows = QJsonDocument::fromJson(steps.out.toUtf8()).object()["rows"].toArray();
        QCOMPARE(rows.size(), 4); // with an average for each rank
        for (int i = 0; i < 2; ++i) {
            const QJsonObject row = rows[i].toObject();
            QCOMPARE(row["step"].toInt(), 3); // its number in both files
            QCOMPARE(row["Kernel"].toInt(), 20 + 10 * i);
            QCOMPARE(rows[2 + i].toObject()["group"].toString(), QStringLiteral("rank %1").arg(i));
            QCOMPARE(row["group"].toString(), QStringLiteral("rank %1").arg(i));
        }
    }
}

void TestCommandLine::mistakesWithSeveralFilesAreUsageErrors_data()
{
    QTest::addColumn<QStringList>("arguments");
    QTest::addColumn<QString>("told");
    QTest::newRow("no -o") << QStringList{"convert", "m0.json", "m1.json", "out.csv"} << "-o";
    QTest::newRow("no OUT") << QStringList{"convert", "m0.json"} << "OUT is missing";
    QTest::newRow("OUT is a file") << QStringList{"convert", "m0.json", "m1.json", "-o", "m1.json"} << "same file";
    QTest::newRow("offset of one file") << QStringList{"info", "m0.json", "--offset", "m0.json=1ms"} << "one file";
    QTest::newRow("offset of none") << QStringList{"info", "m0.json", "m1.json", "--offset", "m2.json=1ms"} << "none of the files";
    QTest::newRow("offset without a unit") << QStringList{"info", "m0.json", "m1.json", "--offset", "m1.json=5"} << "no offset";
    QTest::newRow("offset without a file") << QStringList{"info", "m0.json", "m1.json", "--offset", "5ms"} << "names no file";
    QTest::newRow("a model") << QStringList{"info", "m0.json", "described.jl"} << "described alone";
}

void TestCommandLine::mistakesWithSeveralFilesAreUsageErrors()
{
    QFETCH(QStringList, arguments);
    QFETCH(QString, told);
    QVERIFY(writeFile(path("m0.json"), rankTrace(0, 1767225600000000000, 20)));
    QVERIFY(writeFile(path("m1.json"), rankTrace(1, 1767225600000002000, 30)));
    const ProgramResult result = run(arguments);
    QVERIFY2(result.code == 2, qPrintable(QString::number(result.code) + result.err));
    QVERIFY2(result.err.contains(told), qPrintable(result.err));
    QVERIFY(QFile::exists(path("m1.json")) && !QFile::exists(path("out.csv")));
}

void TestCommandLine::convertRefusesUnknownFormats()
{
    for (const QString& out : {QString("run.xyz"), QString("run")}) {
        const ProgramResult result = run({"convert", "run.stepscope", out});
        QCOMPARE(result.code, 2);
        QVERIFY2(result.err.contains("sqlite"), qPrintable(result.err));
        QVERIFY(!QFile::exists(path(out)));
    }
    QCOMPARE(run({"convert", "run.stepscope", "run.stepscope"}).code, 2);
    QCOMPARE(run({"convert", "run.stepscope", "UPPER.JSON"}).code, 0);
}

void TestCommandLine::convertTellsHowToReplaceAFile()
{
    for (const char* name : {"there.sqlite", "there.stepscope"}) {
        QVERIFY(writeFile(path(name), "older"));
        const ProgramResult refused = run({"convert", "run.stepscope", name});
        QVERIFY(refused.code != 0);
        QVERIFY2(refused.err.contains("--force"), qPrintable(refused.err));
        QFile file(path(name));
        QVERIFY(file.open(QIODevice::ReadOnly));
        QCOMPARE(file.readAll(), QByteArray("older"));
        QCOMPARE(run({"convert", "run.stepscope", name, "--force"}).code, 0);
    }
}

void TestCommandLine::convertReplacesNothingButFiles()
{
    QCOMPARE(::mkfifo(qPrintable(path("pipe.sqlite")), 0600), 0);
    QCOMPARE(::symlink("/dev/null", qPrintable(path("null-device.json"))), 0);
    QVERIFY(QDir(m_folder.path()).mkdir("folder.json"));
    for (const char* name : {"pipe.sqlite", "null-device.json", "folder.json"}) {
        const ProgramResult refused = run({"convert", "run.stepscope", name, "--force"});
        QVERIFY2(refused.code != 0, name);
        QVERIFY2(refused.err.contains("not a file"), qPrintable(refused.err));
    }
    struct stat status{};
    QCOMPARE(::lstat(qPrintable(path("pipe.sqlite")), &status), 0);
    QVERIFY(S_ISFIFO(status.st_mode));
    QVERIFY(QFileInfo(path("null-device.json")).isSymLink());
    QVERIFY(QFileInfo(path("folder.json")).isDir());
}

void TestCommandLine::resultsAreWrittenThroughLinksAndKeepTheMode()
{
    QVERIFY(QDir(m_folder.path()).mkdir("elsewhere"));
    for (const QStringList& command : {QStringList{"convert", "run.stepscope", "linked.json", "--force"},
                                       QStringList{"report", "run.stepscope", "-o", "linked.json"}}) {
        QFile::remove(path("linked.json"));
        QVERIFY(writeFile(path("elsewhere/target.json"), "old"));
        QVERIFY(QFile::setPermissions(path("elsewhere/target.json"), QFile::ReadOwner | QFile::WriteOwner));
        QVERIFY(QFile::link(path("elsewhere/target.json"), path("linked.json")));
        const ProgramResult result = run(command);
        QVERIFY2(result.code == 0, qPrintable(result.err));
        QVERIFY(QFileInfo(path("linked.json")).isSymLink());
        QVERIFY(QFileInfo(path("elsewhere/target.json")).size() > 100);
        struct stat status{};
        QCOMPARE(::stat(qPrintable(path("elsewhere/target.json")), &status), 0);
        QCOMPARE(status.st_mode & 07777, mode_t{0600});
    }
}

void TestCommandLine::aRecordingNeverReplacesItsModel()
{
    QVERIFY(writeFile(path("model.jl"), "input = (4,)\nmodel = Chain(Dense(4 => 2))\n"));
    QVERIFY(QFile::link(path("model.jl"), path("link-to-model.jl")));
    for (const char* output : {"model.jl", "./model.jl", "link-to-model.jl"}) {
        const ProgramResult refused = run({"record", "model.jl", "--steps", "1", "-o", output});
        QCOMPARE(refused.code, 2);
        QVERIFY2(refused.err.contains("would replace"), qPrintable(refused.err));
    }
    QVERIFY(QFileInfo(path("model.jl")).size() < 100);
}

QTEST_GUILESS_MAIN(TestCommandLine)
#include "tst_command_line.moc"
