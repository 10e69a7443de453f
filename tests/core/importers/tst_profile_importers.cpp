#include <QtTest>

#include "core/importers/decimal_text.h"
#include "core/importers/json_pull.h"
#include "core/importers/whole_weights.h"
#include "tests/support/import_case.h"
#include "tests/support/sample_totals.h"

#include <QProcess>
#include <QStandardPaths>

using namespace stepscope;
using importers::scaledDecimal;
using support::SampleTotals;

namespace {

SampleTotals totalsOf(const importers::Imported& imported)
{
    return support::sampleTotals(*imported.session, support::defaultSeries(*imported.session));
}

// Julia's own byte order and sizes, as the writer of FlameGraphs.jl uses them.
struct JuliaBytes {
    QByteArray bytes = QByteArray("JLPROF\x01\x00", 8);
    template <class T>
    void put(T value)
    {
        bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
    }
    void text(const char* text)
    {
        put(static_cast<int32_t>(std::strlen(text)));
        bytes.append(text);
    }
    void frame(const char* function, int64_t line, bool fromC = false, bool inlined = false)
    {
        text(function);
        text("a.jl");
        put(line);
        put(static_cast<uint8_t>(fromC));
        put(static_cast<uint8_t>(inlined));
    }
};

} // namespace

class TestProfileImporters : public QObject {
    Q_OBJECT
private slots:
    void decimalsAreReadDigitByDigit_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<int>("shift");
        QTest::addColumn<qint64>("value");
        QTest::newRow("nanoseconds of an epoch") << "1712195495519689.047" << 3 << qint64{1712195495519689047};
        QTest::newRow("exponent") << "1.5e-02" << 6 << qint64{15000};
        QTest::newRow("half up") << "0.0005" << 3 << qint64{1};
        QTest::newRow("half down, negative") << "-0.0005" << 3 << qint64{-1};
        QTest::newRow("below half") << "0.000499999999999999999999999999999999999" << 3 << qint64{0};
        QTest::newRow("largest") << "9223372036854775807" << 0 << std::numeric_limits<qint64>::max();
        QTest::newRow("tiny") << "1e-400" << 9 << qint64{0};
    }
    void decimalsAreReadDigitByDigit()
    {
        QFETCH(QString, text);
        QFETCH(int, shift);
        QFETCH(qint64, value);
        QCOMPARE(scaledDecimal(text.toStdString(), shift), std::optional<int64_t>(value));
    }

    void whatIsNoDecimalIsNothing()
    {
        for (const char* text : {"", "-", ".", "1e", "1.2.3", "0x10", "9223372036854775808", "1e400", "nan", "1 "})
            QVERIFY2(!scaledDecimal(text, 0).has_value(), text);
    }

    void roundedWeightsKeepTheirSum()
    {
        importers::WholeWeights weights;
        int64_t sum = 0;
        for (int i = 0; i < 1000; ++i)
            sum += weights.take("0.3").value();
        QCOMPARE(sum, int64_t{300});
        QCOMPARE(weights.rounded(), int64_t{1000});
    }

    void jsonOfAnyDepthIsSkipped()
    {
        const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
        importers::JsonPull json(deep);
        json.skip();
        QVERIFY(!json.problem());
        const std::string cut = "{\"a\": " + std::string(1'000'000, '{');
        importers::JsonPull open(cut);
        open.skip();
        QCOMPARE(open.problem()->kind, std::string("unexpected-end"));
        QCOMPARE(open.problem()->offset, cut.size());
    }

    void jsonStringsAreUnescaped()
    {
        importers::JsonPull json("[\"a\\\"b\\\\\", \"\\u00e9 \\ud83d\\ude00\", \"C:\\path\", \"x\"]");
        QVERIFY(json.enterArray());
        std::vector<std::string> found;
        while (json.nextElement())
            found.emplace_back(json.string());
        QCOMPARE(found, (std::vector<std::string>{"a\"b\\", "\xc3\xa9 \xf0\x9f\x98\x80", "C:\\path", "x"}));
    }

    void cutJsonGivesWhatWasReadableWithThePlace()
    {
        const QByteArray whole =
            support::fileBytes(support::casePath("47-speedscope-frames-left-open/input.speedscope.json"));
        const QByteArray cut = whole.left(whole.indexOf("\"C\"") + 2);
        const base::Result<importers::Imported> imported = support::importBytes(cut, "x.speedscope.json");
        QVERIFY(imported);
        QVERIFY(!imported->complete);
        QCOMPARE(imported->problem->byteOffset, static_cast<int64_t>(cut.size()));
        QCOMPARE(imported->problem->kind, std::string("unterminated-string"));
        QVERIFY(imported->session->spanCount() > 0);
        QCOMPARE(support::qualityCount(*imported->session, "incomplete-file"), int64_t{1});
    }

    void differencesHaveTwoSeries()
    {
        const base::Result<importers::Imported> imported = support::importText("a;b 10 12\na 5 0\n", "x.folded");
        QVERIFY(imported);
        QCOMPARE(imported->session->series().size(), size_t{2});
        QCOMPARE(support::sampleTotals(*imported->session, support::seriesNamed(*imported->session, "before")).total,
                 int64_t{15});
        QCOMPARE(support::sampleTotals(*imported->session, support::seriesNamed(*imported->session, "after")).total,
                 int64_t{12});
    }

    void onlyTheRangeIsLoaded()
    {
        importers::ImportOptions options;
        options.rangeBegin = 1'000'000;
        options.rangeEnd = 2'000'000;
        const base::Result<importers::Imported> imported =
            support::importPath(support::casePath("39-perf-two-events/input.perf"), options);
        QVERIFY(imported);
        QCOMPARE(totalsOf(*imported).samples, int64_t{1});
        QCOMPARE(totalsOf(*imported).self, (std::map<std::string, int64_t>{{"relu", 1'000'000}}));
        QCOMPARE(support::qualityCount(*imported->session, "outside-range"), int64_t{4});
    }

    void groupAndClockOffsetAreKept()
    {
        importers::ImportOptions options;
        options.group = "rank 1";
        options.clockOffset = 500;
        const base::Result<importers::Imported> imported =
            support::importPath(support::casePath("39-perf-two-events/input.perf"), options);
        QVERIFY(imported);
        QCOMPARE(imported->session->tracks()[0].group, std::string("rank 1"));
        QCOMPARE(totalsOf(*imported).times[0], session::TimeNs{500});
    }

    void aStopEndsReading()
    {
        std::stop_source stop;
        stop.request_stop();
        for (const importers::Importer& importer : importers::builtinImporters()) {
            if (importer.name != "collapsed" && importer.name != "speedscope" && importer.name != "pprof") continue;
            importers::Input input = importers::inputFromBytes("a;b 1\n", "x");
            const base::Result<importers::Imported> imported = importer.run(input, {}, stop.get_token(), {});
            QVERIFY(!imported);
            QCOMPARE(imported.error().code, base::ErrorCode::cancelled);
        }
    }

    void juliaBacktracesWithMetadata()
    {
        JuliaBytes file;
        file.put(uint32_t{0x01020304});
        file.put(uint8_t{1});
        const std::vector<uint64_t> data{11, 12, 3, 77, 1000, 1, 0, 0, /* thread 4 */ 12, 4, 77, 1000, 2, 0, 0};
        file.put(static_cast<int64_t>(data.size()));
        for (const uint64_t word : data)
            file.put(word);
        file.put(int64_t{2});
        file.put(uint64_t{11});
        file.put(int32_t{2});
        file.frame("inner", 5, false, true); // inlined into the next
        file.frame("outer", 6);
        file.put(uint64_t{12});
        file.put(int32_t{1});
        file.frame("main", 1);
        const base::Result<importers::Imported> imported = support::importBytes(file.bytes, "x");
        QVERIFY(imported);
        QCOMPARE(imported->format, std::string("jlprof"));
        const SampleTotals totals = totalsOf(*imported);
        QCOMPARE(totals.stacks, (std::vector<std::vector<std::string>>{{"main", "outer", "inner"}, {"main"}}));
        QVERIFY(support::trackNamed(*imported->session, "thread 3").valid()
                && support::trackNamed(*imported->session, "thread 4").valid());
        // Claimed numbers are not believed.
        QByteArray lying = file.bytes;
        lying[13] = '\xff';
        lying[18] = '\x7f';
        const base::Result<importers::Imported> cut = support::importBytes(lying, "x");
        QVERIFY(cut && !cut->complete);
    }

    void juliaOldBacktracesAndNodes()
    {
        JuliaBytes old;
        old.put(uint32_t{0x01020304});
        old.put(uint8_t{1});
        old.put(int64_t{5});
        for (const uint64_t word : {1, 2, 0, 2, 0})
            old.put(word);
        old.put(int64_t{2});
        for (const uint64_t address : {1, 2}) {
            old.put(address);
            old.put(int32_t{1});
            old.frame(address == 1 ? "leaf" : "root", 1);
        }
        const base::Result<importers::Imported> first = support::importBytes(old.bytes, "x");
        QVERIFY(first);
        QCOMPARE(totalsOf(*first).stacks, (std::vector<std::vector<std::string>>{{"root", "leaf"}, {"root"}}));

        JuliaBytes nodes; // root 1:10 holds a 1:4 and b 5:10
        nodes.put(uint32_t{0x01020304});
        nodes.put(uint8_t{2});
        const auto node = [&](const char* name, int64_t start, int64_t stop) {
            nodes.put(uint8_t{0xff});
            nodes.frame(name, 1);
            nodes.put(uint8_t{0});
            nodes.put(start);
            nodes.put(stop);
        };
        node("root", 1, 10);
        node("a", 1, 4);
        nodes.put(uint8_t{0});
        node("b", 5, 8);
        nodes.put(uint8_t{0});
        nodes.put(uint8_t{0});
        const base::Result<importers::Imported> second = support::importBytes(nodes.bytes, "x");
        QVERIFY(second);
        QCOMPARE(totalsOf(*second).self, (std::map<std::string, int64_t>{{"root", 2}, {"a", 4}, {"b", 4}}));
        QCOMPARE(totalsOf(*second).inclusive.at("root"), int64_t{10});
    }

    void trialsAreTracksAndTheFirstGivesTheSteps()
    {
        const QString path = QString(STEPSCOPE_SOURCE_DIR "/tests/golden/import/trials.json");
        const base::Result<importers::Imported> imported = support::importPath(path);
        QVERIFY(imported);
        QCOMPARE(imported->format, std::string("benchmarktools"));
        const session::Session& session = *imported->session;
        QCOMPARE(session.tracks().size(), size_t{2});
        QCOMPARE(session.tracks()[0].name, std::string("dense/forward"));
        QCOMPARE(session.tracks()[1].name, std::string("(\"conv\", 3)"));
        QCOMPARE(session.steps().size(), size_t{3});
        QCOMPARE(session.steps()[1].duration, session::TimeNs{100});
        QCOMPARE(session.counterSamples(base::CounterId(2u)).value[0], 13.612);
        QCOMPARE(session.environmentValue("benchmark.memory dense/forward"), std::string_view("64"));
        QCOMPARE(support::qualityCount(session, "rounded-time"), int64_t{2});
        importers::ImportOptions other;
        other.stepName = "(\"conv\", 3)";
        const base::Result<importers::Imported> second = support::importPath(path, other);
        QVERIFY(second);
        QCOMPARE(second->session->steps().size(), size_t{2});
    }

    void firefoxMarkersAreSpansBesideTheirThread()
    {
        const base::Result<importers::Imported> imported = support::importText(
            R"x({"meta":{"interval":1,"startTime":0,"preprocessedProfileVersion":55},"libs":[],"threads":[{"name":"t","tid":1,"pid":2,)x"
            R"x("stringArray":["a","paint","GC","load"],"samples":{"length":1,"stack":[0],"time":[1]},"stackTable":{"length":1,"frame":[0],"prefix":[null]},)x"
            R"x("frameTable":{"length":1,"func":[0]},"funcTable":{"length":1,"name":[0]},"markers":{"length":6,"name":[1,2,3,3,2,3],)x"
            R"x("startTime":[1,2,3,null,null,4],"endTime":[4,null,null,7.5,6,null],"phase":[1,0,2,3,3,2]}}]})x",
            "x.json");
        QVERIFY(imported);
        const session::Session& session = *imported->session;
        const session::TrackId track = support::trackNamed(session, "t, markers");
        QVERIFY(track.valid());
        std::map<std::string, int64_t> durations; // "load" overlaps "paint", so it is on a lane
        for (size_t row = 0; row < session.spans().size(); ++row)
            durations[std::string(session.string(session.labels()[session.spans().label[row]].name))] =
                session.spans().duration[row];
        QCOMPARE(durations, (std::map<std::string, int64_t>{{"paint", 3'000'000}, {"GC", 0}, {"load", 4'500'000}}));
        QCOMPARE(support::qualityCount(session, "unpaired-marker"), int64_t{2});
        QCOMPARE(support::qualityCount(session, "overlap-lanes"), int64_t{1});
    }

    // 3000 references to a location of 3000 lines would be nine million frames of a file of a few kilobytes.
    void smallFilesUnfoldIntoBoundedStacks()
    {
        constexpr int kCount = 3000;
        JuliaBytes file;
        file.put(uint32_t{0x01020304});
        file.put(uint8_t{1});
        file.put(int64_t{kCount + 1});
        for (int i = 0; i < kCount; ++i)
            file.put(uint64_t{7});
        file.put(uint64_t{0});
        file.put(int64_t{1});
        file.put(uint64_t{7});
        file.put(int32_t{kCount});
        for (int i = 0; i < kCount; ++i)
            file.frame("f", 1);
        const base::Result<importers::Imported> imported = support::importBytes(file.bytes, "x");
        QVERIFY(imported);
        QCOMPARE(imported->session->stacks().size(), size_t{1} << 20);
        QCOMPARE(support::qualityCount(*imported->session, "deep-stack"), int64_t{1});
    }

    void costsThatOverflowAreCounted()
    {
        std::string text = "events:";
        for (int i = 0; i < 70; ++i)
            text += " e" + std::to_string(i);
        text += "\nfn=a\n1 9223372036854775807 5\n1 1 6\nfn=b\n1 3\n";
        const base::Result<importers::Imported> imported = support::importText(text, "callgrind.out.1");
        QVERIFY(imported);
        QCOMPARE(imported->session->series().size(), size_t{64});
        QCOMPARE(support::qualityCount(*imported->session, "many-events"), int64_t{6});
        QCOMPARE(support::qualityCount(*imported->session, "sum-overflow"), int64_t{1});
    }

    void groupsOfTrialsAreReadToALimit()
    {
        constexpr int kDepth = 10000;
        std::string text = R"([{"BenchmarkTools":"1.3"},[["BenchmarkGroup",{"data":{"t":["Trial",{"times":[5]}],"a":)", end;
        for (int i = 0; i < kDepth; ++i) {
            text += R"(["BenchmarkGroup",{"data":{"a":)";
            end += "}}]";
        }
        text += R"(["Trial",{"times":[1]}])" + end + "}}]]]";
        const base::Result<importers::Imported> imported = support::importText(text, "x.json");
        QVERIFY(imported);
        QVERIFY(imported->complete);
        QCOMPARE(imported->session->tracks().size(), size_t{1});
        QCOMPARE(support::qualityCount(*imported->session, "deep-group"), int64_t{1});
    }

    void memoryTimelinesTellWhetherTheyAreWhole_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<bool>("complete");
        QTest::newRow("whole") << QByteArray("[[-1,0,100,0],[10,1,50,4]]") << true;
        QTest::newRow("blanks after it") << QByteArray("[[-1,0,100,0],[10,1,50,4]]\r\n \n") << true;
        QTest::newRow("cut after a row") << QByteArray("[[-1,0,100,0],[10,1,50,4]") << false;
        QTest::newRow("cut after a comma") << QByteArray("[[-1,0,100,0],[10,1,50,4],\n") << false;
        QTest::newRow("cut in a row") << QByteArray("[[-1,0,100,0],[10,1,5") << false;
    }
    void memoryTimelinesTellWhetherTheyAreWhole()
    {
        QFETCH(QByteArray, text);
        QFETCH(bool, complete);
        const base::Result<importers::Imported> imported = support::importBytes(text, "x.json");
        QVERIFY(imported);
        QCOMPARE(imported->session->environmentValue("import.format"), std::string_view("memory-timeline"));
        QCOMPARE(imported->complete, complete);
    }

    void perfDataIsReadThroughPerf()
    {
        const QString perf = QStandardPaths::findExecutable("perf");
        if (perf.isEmpty()) QSKIP("the program perf is not installed");
        QTemporaryDir folder;
        const QString file = folder.filePath("perf.data");
        QProcess record;
        record.start(perf,
                     {"record", "-e", "cpu-clock", "-F", "499", "-g", "-o", file, "--", "sh", "-c",
                      "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"});
        if (!record.waitForFinished(60000) || record.exitCode() != 0)
            QSKIP("perf cannot record here: " + record.readAllStandardError().left(200));
        const base::Result<importers::Imported> imported = importers::importFile(file.toStdString());
        QVERIFY2(imported, imported ? "" : base::toText(imported.error()).c_str());
        QCOMPARE(imported->format, std::string("perf-data"));
        // As many samples as perf itself counts.
        QProcess report;
        report.start(perf, {"script", "--force", "-i", file, "-F", "time"});
        QVERIFY(report.waitForFinished(60000));
        const auto samples = report.readAllStandardOutput().count(':'); // one time a line
        QVERIFY(samples > 0);
        QCOMPARE(totalsOf(*imported).samples, static_cast<int64_t>(samples));
        QCOMPARE(imported->session->series()[0].unit, std::string("ns"));
    }

    void brokenPerfDataGivesThePerfMessage()
    {
        if (QStandardPaths::findExecutable("perf").isEmpty()) QSKIP("the program perf is not installed");
        const base::Result<importers::Imported> imported =
            support::importText("PERFILE2 and nothing more", "perf.data");
        QVERIFY(!imported);
        QVERIFY(imported.error().message.find("perf script") != std::string::npos);
    }
};

QTEST_GUILESS_MAIN(TestProfileImporters)
#include "tst_profile_importers.moc"
