#include <QtTest>

#include "tests/support/import_case.h"
#include "tests/support/sample_totals.h"

#include <QJsonArray>

using namespace stepscope;
using support::SampleTotals;

// Inputs and expected values from public bug reports of other viewers; expect.json beside each input.
class TestProfileCases : public QObject {
    Q_OBJECT

    static std::map<std::string, int64_t> numbersOf(const QJsonObject& object, int64_t unit)
    {
        std::map<std::string, int64_t> numbers;
        for (auto at = object.begin(); at != object.end(); ++at)
            numbers[at.key().toStdString()] = static_cast<int64_t>(at.value().toDouble()) * unit;
        return numbers;
    }

    static session::SessionPtr open(const QString& file, const std::string& format = {})
    {
        const base::Result<importers::Imported> imported = support::importPath(support::casePath(file));
        if (!imported) {
            qWarning("%s", base::toText(imported.error()).c_str());
            return nullptr;
        }
        if (!format.empty() && imported->format != format) {
            qWarning("read as %s: %s", imported->format.c_str(), imported->why.c_str());
            return nullptr;
        }
        return imported->session;
    }

    static void hold(const SampleTotals& totals, const QJsonObject& expected, int64_t unit)
    {
        if (expected.contains("samples")) QCOMPARE(totals.samples, static_cast<int64_t>(expected["samples"].toInt()));
        if (expected.contains("total"))
            QCOMPARE(totals.total, static_cast<int64_t>(expected["total"].toDouble()) * unit);
        if (expected.contains("max_depth"))
            QCOMPARE(totals.maxDepth, static_cast<size_t>(expected["max_depth"].toInt()));
        if (expected.contains("self")) QCOMPARE(totals.self, numbersOf(expected["self"].toObject(), unit));
        if (expected.contains("inclusive"))
            QCOMPARE(totals.inclusive, numbersOf(expected["inclusive"].toObject(), unit));
        if (expected.contains("stacks")) {
            std::vector<std::vector<std::string>> stacks;
            for (const QJsonValue& stack : expected["stacks"].toArray()) {
                stacks.emplace_back();
                for (const QJsonValue& frame : stack.toArray())
                    stacks.back().push_back(frame.toString().toStdString());
            }
            QCOMPARE(totals.stacks, stacks);
        }
    }

private slots:
    void samplesAreThoseOfTheCase_data()
    {
        QTest::addColumn<QString>("file");
        QTest::addColumn<QString>("format");
        const auto row = [](const char* file, const char* format) {
            QTest::newRow(file) << QString(file) << QString(format);
        };
        row("11-utf16-text/input.folded", "collapsed");
        row("37-perf-comm-with-spaces/input.perf", "perf-script");
        row("41-perf-inlined/input.perf", "perf-script");
        row("43-perf-flat-and-noise/input.perf", "perf-script");
        row("44-folded-odd-lines/input.folded", "collapsed");
        row("46-folded-semicolons/input.folded", "collapsed");
        row("51-pprof-raw-and-unpacked/input.pb", "pprof");
        row("52-pprof-default-type/input.pb.gz", "pprof");
        row("54-pprof-negative-values/input.pb", "pprof");
        row("61-gecko-weights-and-deltas/input.json", "firefox");
        row("69-recursion-over-100-percent/input.folded", "collapsed");
        row("74-hidpi-and-fractional-scale/input.folded", "collapsed");
        row("75-very-deep-stack/input.folded.gz", "collapsed");
    }
    void samplesAreThoseOfTheCase()
    {
        QFETCH(QString, file);
        QFETCH(QString, format);
        const session::SessionPtr session = open(file, format.toStdString());
        QVERIFY(session);
        hold(support::sampleTotals(*session, support::defaultSeries(*session)),
             support::caseExpectation(file.section('/', 0, 0)), 1);
    }

    void badLinesAreCountedWithTheirPlace()
    {
        const session::SessionPtr folded = open("44-folded-odd-lines/input.folded");
        QVERIFY(folded);
        QCOMPARE(support::qualityCount(*folded, "ignored-line"), int64_t{1});
        QCOMPARE(support::qualityPlaces(*folded, "ignored-line"), std::string("line 7: no count here"));
        const session::SessionPtr perf = open("43-perf-flat-and-noise/input.perf");
        QVERIFY(perf);
        QCOMPARE(support::qualityCount(*perf, "ignored-line"), int64_t{1});
        QVERIFY(support::qualityPlaces(*perf, "ignored-line").starts_with("line 6: "));
        for (const char* clean :
             {"11-utf16-text/input.folded", "37-perf-comm-with-spaces/input.perf", "40-perf-tracepoints/input.perf",
              "41-perf-inlined/input.perf", "46-folded-semicolons/input.folded"}) {
            const session::SessionPtr session = open(clean);
            QVERIFY(session);
            QCOMPARE(session->quality().size(), size_t{0});
        }
    }

    void otherEncodingsGiveTheSameStacks()
    {
        const session::SessionPtr utf16 = open("11-utf16-text/input.folded");
        QVERIFY(utf16);
        const SampleTotals totals = support::sampleTotals(*utf16, support::defaultSeries(*utf16));
        QString text;
        for (size_t i = 0; i < totals.stacks.size(); ++i)
            for (size_t f = 0; f < totals.stacks[i].size(); ++f)
                text += QString::fromStdString(totals.stacks[i][f])
                    + (f + 1 < totals.stacks[i].size() ? QString(";") : QString(" %1\r\n").arg(totals.weights[i]));
        QByteArray big("\xfe\xff");
        for (const QChar c : text)
            big += QByteArray(1, static_cast<char>(c.unicode() >> 8))
                + QByteArray(1, static_cast<char>(c.unicode() & 0xff));
        for (const QByteArray& bytes : {big, QByteArray("\xef\xbb\xbf") + text.toUtf8(), text.toUtf8()}) {
            const base::Result<importers::Imported> again = support::importBytes(bytes, "x.folded");
            QVERIFY(again);
            QCOMPARE(support::sampleTotals(*again->session, support::defaultSeries(*again->session)).stacks,
                     totals.stacks);
        }
    }

    void perfThreadsHaveTheirWholeNames()
    {
        const session::SessionPtr session = open("37-perf-comm-with-spaces/input.perf");
        QVERIFY(session);
        const QJsonArray threads = support::caseExpectation("37-perf-comm-with-spaces")["threads"].toArray();
        QCOMPARE(session->tracks().size(), static_cast<size_t>(threads.size()));
        for (qsizetype i = 0; i < threads.size(); ++i) {
            const session::Track& track = session->tracks()[static_cast<size_t>(i)];
            QCOMPARE(QString::fromStdString(track.name), threads[i].toArray()[0].toString());
            QCOMPARE(track.processId, static_cast<int64_t>(threads[i].toArray()[1].toInt()));
            QCOMPARE(track.threadId, static_cast<int64_t>(threads[i].toArray()[2].toInt()));
        }
        QCOMPARE(session->series().size(), size_t{1});
        QCOMPARE(session->series()[0].name, std::string("cycles:u"));
    }

    void perfEventsAreNeverAdded()
    {
        const session::SessionPtr session = open("39-perf-two-events/input.perf");
        QVERIFY(session);
        const QJsonObject expected = support::caseExpectation("39-perf-two-events");
        QCOMPARE(QString::fromStdString(session->series()[support::defaultSeries(*session).index()].name),
                 expected["first_event"].toString());
        const QJsonObject events = expected["by_event"].toObject();
        QCOMPARE(session->series().size(), static_cast<size_t>(events.size()));
        for (const session::SeriesRow& series : session->series())
            hold(support::sampleTotals(*session, support::seriesNamed(*session, series.name)),
                 events[QString::fromStdString(series.name)].toObject(), 1);
    }

    void perfTracepointsKeepTheirFields()
    {
        const session::SessionPtr session = open("40-perf-tracepoints/input.perf");
        QVERIFY(session);
        const QJsonObject expected = support::caseExpectation("40-perf-tracepoints");
        const int64_t origin =
            QString::fromStdString(std::string(session->environmentValue("import.origin_ns"))).toLongLong();
        SampleTotals sum;
        for (size_t i = 0; i < session->series().size(); ++i) {
            QCOMPARE(QString::fromStdString(session->series()[i].name),
                     expected["events"].toArray()[static_cast<qsizetype>(i)].toString());
            const SampleTotals one = support::sampleTotals(*session, session::SeriesId(i));
            QCOMPARE(one.samples, int64_t{1});
            QCOMPARE(origin + one.times[0],
                     static_cast<int64_t>(
                         expected["times_ns"].toArray()[static_cast<qsizetype>(i)].toVariant().toLongLong()));
            sum.total += one.total;
            for (const auto& [name, weight] : one.self)
                sum.self[name] += weight;
        }
        QCOMPARE(sum.total, int64_t{3});
        QCOMPARE(sum.self, numbersOf(expected["self"].toObject(), 1));
        QCOMPARE(session->tracks().size(), size_t{1});
        QCOMPARE(session->tracks()[0].name, std::string("zone"));
        const uint32_t label = session->samples(session::SeriesId(1u)).label[0];
        QVERIFY(session->string(session->labels()[label].name).find("next_comm=my app") != std::string_view::npos);
    }

    void perfInlinedFramesTakeTheModuleOfTheirFunction()
    {
        const session::SessionPtr session = open("41-perf-inlined/input.perf");
        QVERIFY(session);
        int64_t inlined = 0;
        const session::SampleTable& samples = session->samples(support::defaultSeries(*session));
        for (size_t i = 0; i < samples.size(); ++i)
            for (session::StackId at(samples.stack[i]); at.valid(); at = session->stacks()[at.index()].parent) {
                const session::FrameRow& frame = session->frames()[session->stacks()[at.index()].frame.index()];
                inlined += (frame.flags & session::kInlined) != 0 ? 1 : 0;
                QCOMPARE(session->string(frame.module), std::string_view("/opt/train"));
            }
        QCOMPARE(inlined, int64_t{3});
    }

    void speedscopeFramesLeftOpenEndWithTheProfile()
    {
        const session::SessionPtr session = open("47-speedscope-frames-left-open/input.speedscope.json", "speedscope");
        QVERIFY(session);
        const session::SpanTable& spans = session->spans();
        QCOMPARE(spans.size(), size_t{3});
        std::map<std::string, int64_t> total, self;
        for (size_t i = 0; i < spans.size(); ++i) {
            const std::string name(session->string(session->labels()[spans.label[i]].name));
            total[name] += spans.duration[i] / 1'000'000;
            self[name] += spans.duration[i] / 1'000'000;
            if (spans.parent[i] != session::SpanTable::kNoParent)
                self[std::string(session->string(session->labels()[spans.label[spans.parent[i]]].name))] -=
                    spans.duration[i] / 1'000'000;
        }
        const QJsonObject expected = support::caseExpectation("47-speedscope-frames-left-open");
        QCOMPARE(total, numbersOf(expected["inclusive"].toObject(), 1));
        QCOMPARE(self, numbersOf(expected["self"].toObject(), 1));
        QCOMPARE(support::qualityCount(*session, "unfinished"), int64_t{2});
        QCOMPARE(support::qualityCount(*session, "wrong-close"), int64_t{0});
    }

    void speedscopeBadProfilesDoNotCostTheOthers()
    {
        const session::SessionPtr session = open("49-speedscope-counts-differ/input.speedscope.json", "speedscope");
        QVERIFY(session);
        const QJsonObject profiles = support::caseExpectation("49-speedscope-counts-differ")["profiles"].toObject();
        QCOMPARE(session->tracks().size(), size_t{1});
        hold(support::sampleTotals(*session, support::defaultSeries(*session), support::trackNamed(*session, "ok")),
             profiles["ok"].toObject(), 1'000'000'000);
        QCOMPARE(support::qualityCount(*session, "broken-profile"), int64_t{2});
        const QString places = QString::fromStdString(support::qualityPlaces(*session, "broken-profile"));
        QVERIFY(places.contains("bad: " + profiles["bad"].toString()));
        QVERIFY(places.contains("worse: " + profiles["worse"].toString()));
    }

    void pprofTypesAreSeries()
    {
        const session::SessionPtr two = open("51-pprof-raw-and-unpacked/input.pb");
        QVERIFY(two);
        QCOMPARE(two->series().size(), size_t{2});
        QCOMPARE(two->series()[support::defaultSeries(*two).index()].name, std::string("cpu"));
        QCOMPARE(support::sampleTotals(*two, support::seriesNamed(*two, "samples")).total, int64_t{9});
        QCOMPARE(support::qualityPlaces(*two, "unknown-field"), std::string("field 99; field 998"));

        const session::SessionPtr five = open("52-pprof-default-type/input.pb.gz");
        QVERIFY(five);
        QCOMPARE(five->series().size(), size_t{5});
        QCOMPARE(five->series()[support::defaultSeries(*five).index()].name, std::string("alloc_space"));
        QCOMPARE(five->series()[4].unit, std::string("furlongs"));
        QCOMPARE(support::sampleTotals(*five, session::SeriesId(4u)).total, int64_t{10});
    }

    void cpuProfileSamplesLastUntilTheNext_data()
    {
        QTest::addColumn<QString>("folder");
        QTest::newRow("negative delta") << QString("56-cpuprofile-negative-delta");
        QTest::newRow("first and last delta") << QString("57-cpuprofile-delta-meaning");
    }
    void cpuProfileSamplesLastUntilTheNext()
    {
        QFETCH(QString, folder);
        const session::SessionPtr session = open(folder + "/input.cpuprofile", "cpuprofile");
        QVERIFY(session);
        const QJsonObject expected = support::caseExpectation(folder);
        const SampleTotals totals = support::sampleTotals(*session, support::defaultSeries(*session));
        QCOMPARE(totals.total, int64_t{1000} * expected["total"].toInt());
        QCOMPARE(totals.withoutStack, int64_t{1});
        QCOMPARE(totals.weights[0], int64_t{1000} * expected["before_first_sample"].toInt());
        QCOMPARE(totals.samples, int64_t{1} + expected["samples"].toInt());
        QCOMPARE(session->environmentValue("import.lead-samples"), std::string_view("1"));
        QCOMPARE(totals.self, numbersOf(expected["self"].toObject(), 1000));
        QCOMPARE(totals.inclusive, numbersOf(expected["inclusive"].toObject(), 1000));
        const int64_t origin =
            QString::fromStdString(std::string(session->environmentValue("import.origin_ns"))).toLongLong();
        std::vector<int64_t> stamps;
        for (const QJsonValue& stamp : expected["timestamps"].toArray())
            stamps.push_back(static_cast<int64_t>(stamp.toDouble()) * 1000);
        std::sort(stamps.begin(), stamps.end());
        for (size_t i = 0; i < stamps.size(); ++i)
            QCOMPARE(origin + totals.times[i + 1], stamps[i]);
        QCOMPARE(support::qualityCount(*session, "time-backwards"), int64_t{folder.startsWith("56") ? 1 : 0});
    }

    void geckoColumnsComeFromTheSchema()
    {
        const session::SessionPtr session = open("59-gecko-null-stack/input.json", "firefox");
        QVERIFY(session);
        const QJsonObject threads = support::caseExpectation("59-gecko-null-stack")["threads"].toObject();
        QCOMPARE(session->tracks().size(), static_cast<size_t>(threads.size()));
        for (const session::Track& track : session->tracks()) {
            const QJsonObject expected = threads[QString::fromStdString(track.name)].toObject();
            const SampleTotals totals = support::sampleTotals(*session, support::defaultSeries(*session),
                                                              support::trackNamed(*session, track.name));
            hold(totals, expected, 1);
            QCOMPARE(totals.withoutStack, static_cast<int64_t>(expected["without_stack"].toInt()));
            for (qsizetype i = 0; i < expected["times_ms"].toArray().size(); ++i)
                QCOMPARE(totals.times[static_cast<size_t>(i)],
                         int64_t{1'000'000} * expected["times_ms"].toArray()[i].toInt());
        }
    }

    void firefoxDeltasBecomeTimes()
    {
        const session::SessionPtr session = open("61-gecko-weights-and-deltas/input.json");
        QVERIFY(session);
        const int64_t origin =
            QString::fromStdString(std::string(session->environmentValue("import.origin_ns"))).toLongLong();
        const std::vector<session::TimeNs> times =
            support::sampleTotals(*session, support::defaultSeries(*session)).times;
        const std::vector<int64_t> expected{10'000'000, 15'000'000, 20'000'000, 20'500'000};
        for (size_t i = 0; i < expected.size(); ++i)
            QCOMPARE(origin + times[i], expected[i]);
    }

    void callgrindSelfCostsAreExact_data()
    {
        QTest::addColumn<QString>("folder");
        QTest::newRow("relative positions") << QString("62-callgrind-relative-positions");
        QTest::newRow("cycle") << QString("63-callgrind-cycle");
    }
    void callgrindSelfCostsAreExact()
    {
        QFETCH(QString, folder);
        const session::SessionPtr session = open(folder + "/input.callgrind", "callgrind");
        QVERIFY(session);
        const QJsonObject expected = support::caseExpectation(folder);
        const QJsonArray totals = expected["totals"].toArray();
        QCOMPARE(session->series().size(), static_cast<size_t>(totals.size()));
        for (size_t i = 0; i < session->series().size(); ++i) {
            const SampleTotals found = support::sampleTotals(*session, session::SeriesId(i));
            QCOMPARE(found.total, static_cast<int64_t>(totals[static_cast<qsizetype>(i)].toInt()));
            const QJsonObject self = expected["self"].toObject();
            for (auto at = self.begin(); at != self.end(); ++at)
                QCOMPARE(found.self.at(at.key().toStdString()),
                         static_cast<int64_t>(
                             at.value().toObject()[QString::fromStdString(session->series()[i].name)].toInt()));
            for (const auto& [name, inclusive] : found.inclusive)
                QVERIFY(inclusive <= found.total);
        }
        QCOMPARE(session->quality().size(), size_t{0});
    }

    void oneDnnExecutionsOfEveryVersionCount()
    {
        const session::SessionPtr session = open("65-onednn-versions/input.log", "onednn-log");
        QVERIFY(session);
        const QJsonObject expected = support::caseExpectation("65-onednn-versions");
        const int64_t origin =
            QString::fromStdString(std::string(session->environmentValue("import.origin_ns"))).toLongLong();
        const session::SpanTable& spans = session->spans();
        QCOMPARE(static_cast<int>(spans.size()), expected["exec_count"].toInt());
        std::map<std::string, int64_t> stamped;
        std::set<std::string> kinds;
        int64_t total = 0;
        for (size_t t = 0; t < session->tracks().size(); ++t)
            for (size_t row = spans.trackBegin[t]; row < spans.trackBegin[t + 1]; ++row) {
                const session::Label& label = session->labels()[spans.label[row]];
                const std::string kind(session->string(label.name));
                QCOMPARE(session->tables().primitives[label.primitive.index()].kind, kind);
                kinds.insert(kind);
                total += spans.duration[row];
                if (session->tracks()[t].name == "oneDNN cpu") stamped[kind] = origin + spans.start[row];
                else QVERIFY(session->tracks()[t].name.find("no time stamps") != std::string::npos);
            }
        QCOMPARE(total, int64_t{2'640'000}); // exec_total_ms 2.64
        QCOMPARE(kinds, (std::set<std::string>{"matmul", "reorder", "eltwise", "convolution"}));
        QCOMPARE(stamped,
                 (std::map<std::string, int64_t>{{"matmul", 1768473600123'250000}, {"reorder", 1768473600124'000000}}));
        QCOMPARE(support::qualityCount(*session, "torn-line"), int64_t{2});
        const std::string places = support::qualityPlaces(*session, "torn-line");
        QVERIFY(places.starts_with("line 9: ") && places.find("; line 10: ") != std::string::npos);
        QVERIFY(session->environmentValue("library.onednn").starts_with("oneDNN v3.7.0"));
        QCOMPARE(session->quality().size(), size_t{1});
    }

    void callgrindCallsAreStacks()
    {
        const session::SessionPtr session = open("62-callgrind-relative-positions/input.callgrind");
        QVERIFY(session);
        const SampleTotals found = support::sampleTotals(*session, session::SeriesId(0u));
        QCOMPARE(found.stacks, (std::vector<std::vector<std::string>>{{"main", "work"}, {"main"}}));
        QCOMPARE(found.inclusive.at("main"), int64_t{110});
        for (const session::FrameRow& frame : session->frames())
            QCOMPARE(session->string(frame.file), std::string_view("a.c"));
    }
};

QTEST_GUILESS_MAIN(TestProfileCases)
#include "tst_profile_cases.moc"
