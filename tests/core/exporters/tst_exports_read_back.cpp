#include <QtTest>

#include "core/exporters/exporter.h"
#include "core/exporters/left_out.h"
#include "core/session/session_builder.h"
#include "tests/support/import_case.h"
#include "tests/support/sample_totals.h"

#include <QJsonArray>
#include <QProcess>
#include <QRegularExpression>
#include <QStandardPaths>

using namespace stepscope;
using support::SampleTotals;

// What is written is read again, by our importers and by the tools that the formats belong to.
class TestExportsReadBack : public QObject {
    Q_OBJECT

    QTemporaryDir m_folder;
    int m_files = 0;

    static session::SessionPtr open(const QString& path)
    {
        const base::Result<importers::Imported> imported = importers::importFile(path.toStdString());
        if (!imported) {
            qWarning("%s", base::toText(imported.error()).c_str());
            return nullptr;
        }
        return imported->session;
    }

    QString exported(const session::Session& session, const char* format, const char* ending)
    {
        const QString path = m_folder.filePath(QString("%1.%2").arg(++m_files).arg(ending));
        const base::Result<const exporters::Exporter*> exporter = exporters::findExporter(format, path.toStdString());
        if (!exporter) return {};
        const base::Status written = (*exporter)->run(session, path.toStdString(), false, {}, {});
        if (!written) qWarning("%s", base::toText(written.error()).c_str());
        return path;
    }

    // Time of spans by name: in all, and without the spans inside.
    static std::map<std::string, std::pair<int64_t, int64_t>> spanTotals(const session::Session& session)
    {
        std::map<std::string, std::pair<int64_t, int64_t>> totals;
        const session::SpanTable& spans = session.spans();
        const auto name = [&](size_t row) {
            return std::string(session.string(session.labels()[spans.label[row]].name));
        };
        for (size_t row = 0; row < spans.size(); ++row) {
            totals[name(row)].first += spans.duration[row];
            totals[name(row)].second += spans.duration[row];
            if (spans.parent[row] != session::SpanTable::kNoParent)
                totals[name(spans.parent[row])].second -= spans.duration[row];
        }
        return totals;
    }

    // Two threads, one with lanes, names that need escaping, a mark, a counter.
    static session::SessionPtr spanSession()
    {
        session::SessionBuilder builder;
        builder.addTrack({"main \"thread\"", 7, session::TrackKind::thread, 42, "train"});
        session::Track lane{"main \"thread\"", 7, session::TrackKind::thread, 42, "train"};
        lane.lane = 1;
        builder.addTrack(lane);
        const auto label = [&](const char* name, session::SpanKind kind) {
            return builder.internLabel({builder.intern(name), kind, session::Phase::none, {}, {}}).value;
        };
        const uint32_t step = label("step", session::SpanKind::step),
                       gemm = label("gemm<float>\n\\x", session::SpanKind::kernel);
        const session::SpanRecord first[] = {
            {1'234'567, 500'001, step, 0}, {1'300'000, 100'003, gemm, 0}, {2'000'000, 5, step, 1}};
        const session::SpanRecord second[] = {{1'400'000, 999'999, gemm, -1}};
        builder.addSpans(session::TrackId(0u), first);
        builder.addSpans(session::TrackId(1u), second);
        builder.addCounter({"loss", ""});
        const session::CounterRecord loss[] = {{1'234'567, 2.5}, {2'000'000, std::numeric_limits<double>::quiet_NaN()}};
        builder.addCounterSamples(session::CounterId(0u), loss);
        return builder.build();
    }

private slots:
    void sampledSessionsKeepTheirTotals_data()
    {
        QTest::addColumn<QString>("file");
        QTest::addColumn<QString>("format");
        QTest::addColumn<QString>("ending");
        for (const char* file :
             {"37-perf-comm-with-spaces/input.perf", "39-perf-two-events/input.perf", "41-perf-inlined/input.perf",
              "49-speedscope-counts-differ/input.speedscope.json", "56-cpuprofile-negative-delta/input.cpuprofile", "44-folded-odd-lines/input.folded", "46-folded-semicolons/input.folded",
              "51-pprof-raw-and-unpacked/input.pb", "52-pprof-default-type/input.pb.gz",
              "54-pprof-negative-values/input.pb", "57-cpuprofile-delta-meaning/input.cpuprofile",
              "61-gecko-weights-and-deltas/input.json", "62-callgrind-relative-positions/input.callgrind",
              "69-recursion-over-100-percent/input.folded", "75-very-deep-stack/input.folded.gz"})
            for (const char* format : {"collapsed folded", "pprof pb", "pprof pb.gz", "speedscope speedscope.json", "chrome json"}) {
                const QString name = QString(format).section(' ', 0, 0), ending = QString(format).section(' ', 1);
                QTest::newRow(qPrintable(QString(file).section('-', 0, 0) + " " + ending))
                    << QString(file) << name << ending;
            }
    }
    void sampledSessionsKeepTheirTotals()
    {
        QFETCH(QString, file);
        QFETCH(QString, format);
        QFETCH(QString, ending);
        const session::SessionPtr before = open(support::casePath(file));
        QVERIFY(before);
        const QString path = exported(*before, qPrintable(format), qPrintable(ending));
        const session::SessionPtr after = open(path);
        QVERIFY(after);
        QCOMPARE(after->environmentValue("import.format"), std::string_view(format.toStdString()));
        const bool all = format != "collapsed"; // which has one kind of weight
        if (all) QCOMPARE(after->series().size(), before->series().size());
        for (size_t i = 0; i < before->series().size(); ++i) {
            if (!all && !before->series()[i].isDefault) continue;
            const session::SeriesId other =
                all ? support::seriesNamed(*after, before->series()[i].name) : session::SeriesId(0u);
            QVERIFY(other.valid());
            if (all)
                QCOMPARE(after->series()[other.index()].unit,
                         format == "speedscope" && before->series()[i].unit == "furlongs" ? std::string()
                                                                                          : before->series()[i].unit);
            if (format == "chrome") QCOMPARE(after->series()[other.index()].timed, before->series()[i].timed);
            if (all) QCOMPARE(after->series()[other.index()].isDefault, before->series()[i].isDefault);
            const SampleTotals old = support::sampleTotals(*before, session::SeriesId(i)),
                               now = support::sampleTotals(*after, other);
            QCOMPARE(now.total, old.total);
            QCOMPARE(now.maxDepth, old.maxDepth);
            std::map<std::string, int64_t> self = old.self, inclusive = old.inclusive;
            std::erase_if(inclusive, [](const auto& entry) { return entry.second == 0; });
            int64_t nothing = old.total;
            for (const auto& [name, weight] : self)
                nothing -= weight;
            if (!all && nothing != 0) self["[no stack]"] = inclusive["[no stack]"] = nothing;
            std::map<std::string, int64_t> nowInclusive = now.inclusive;
            std::erase_if(nowInclusive, [](const auto& entry) { return entry.second == 0; });
            QCOMPARE(now.self, self);
            QCOMPARE(nowInclusive, inclusive);
        }
    }

    void namesWithTheSeparatorDoNotGrow()
    {
        session::SessionBuilder builder;
        builder.addSeries({"samples", "", session::SeriesKind::other, false, true});
        session::FrameRow frame;
        frame.function = builder.intern("Lorg/demo/Ctx;::run\nnext");
        const session::StackId stack = builder.internStack({{}, builder.internFrame(frame)});
        const session::SampleRecord sample[] = {{0, 3, stack, {}, {}, -1}};
        builder.addSamples(session::SeriesId(0u), sample);
        session::SessionPtr session = builder.build();
        for (int i = 0; i < 2; ++i) {
            session = open(exported(*session, "", "folded"));
            QVERIFY(session);
            QCOMPARE(support::sampleTotals(*session, session::SeriesId(0u)).stacks,
                     (std::vector<std::vector<std::string>>{{"Lorg/demo/Ctx:::run next"}}));
        }
    }

    void spansComeBackFromChromeTracesAndSpeedscope_data()
    {
        QTest::addColumn<QString>("ending");
        QTest::newRow("chrome") << QString("json");
        QTest::newRow("chrome, packed") << QString("json.gz");
        QTest::newRow("speedscope") << QString("speedscope.json");
    }
    void spansComeBackFromChromeTracesAndSpeedscope()
    {
        QFETCH(QString, ending);
        const session::SessionPtr before = spanSession();
        const session::SessionPtr after = open(exported(*before, "", qPrintable(ending)));
        QVERIFY(after);
        QCOMPARE(after->spanCount(), before->spanCount());
        QCOMPARE(spanTotals(*after), spanTotals(*before));
        // Distances between spans, to the nanosecond.
        std::set<int64_t> starts, startsBefore;
        for (const int64_t start : after->spans().start)
            starts.insert(start - after->spans().start[0]);
        for (const int64_t start : before->spans().start)
            startsBefore.insert(start - before->spans().start[0]);
        QCOMPARE(starts, startsBefore);
    }

    void unfinishedAndAsynchronousSpansComeBackFromChromeTraces_data()
    {
        QTest::addColumn<QString>("file");
        QTest::addColumn<qint64>("unfinished");
        QTest::newRow("16") << "16-unfinished-complete-events/input.json" << qint64{2};
        QTest::newRow("17") << "17-unmatched-begin-end/input.json" << qint64{1};
        QTest::newRow("28") << "28-async-overlapping/input.json" << qint64{0};
    }
    void unfinishedAndAsynchronousSpansComeBackFromChromeTraces()
    {
        QFETCH(QString, file);
        QFETCH(qint64, unfinished);
        const session::SessionPtr before = open(support::casePath(file));
        QVERIFY(before);
        const session::SessionPtr after = open(exported(*before, "chrome", "json"));
        QVERIFY(after);
        QCOMPARE(after->spanCount(), before->spanCount());
        QCOMPARE(spanTotals(*after), spanTotals(*before));
        QCOMPARE(static_cast<qint64>(before->details().unfinished.size()), unfinished);
        QCOMPARE(static_cast<qint64>(after->details().unfinished.size()), unfinished);
        const auto tracks = [](const session::Session& session) {
            std::vector<std::tuple<std::string, int, int>> list;
            for (const session::Track& track : session.tracks())
                list.emplace_back(track.name, static_cast<int>(track.kind), track.lane);
            std::sort(list.begin(), list.end());
            return list;
        };
        QCOMPARE(tracks(*after).size(), tracks(*before).size());
        if (file.startsWith("28")) QCOMPARE(tracks(*after), tracks(*before));
    }

    void whatAFormatHasNoPlaceForIsCounted()
    {
        session::SessionBuilder builder;
        builder.addTrack({"training", 1});
        const auto label = [&](const char* name, session::SpanKind kind) {
            return builder.internLabel({builder.intern(name), kind, session::Phase::none, {}, {}}).value;
        };
        const session::SpanRecord spans[] = {{0, 10, label("step", session::SpanKind::step), 0},
                                             {3, 0, label("mark", session::SpanKind::instant), 0}};
        builder.addSpans(session::TrackId(0u), spans);
        builder.addSeries({"cpu time", "ns", session::SeriesKind::cpuTime, true, true});
        builder.addSeries({"hits", "", session::SeriesKind::hits, true, false});
        builder.addSeries({"counted bytes", "bytes", session::SeriesKind::countedBytes, true, false});
        const session::SampleRecord sample[] = {{1, 3, {}, {}, session::TrackId(0u), -1}};
        for (size_t i = 0; i < 3; ++i)
            builder.addSamples(session::SeriesId(i), sample);
        builder.addCounter({"loss", ""});
        const session::CounterRecord loss[] = {{1, 2.5}, {2, 1.5}};
        builder.addCounterSamples(session::CounterId(0u), loss);
        const session::SessionPtr session = builder.build();
        const auto counts = [&](std::string_view format) {
            std::vector<std::string> first;
            for (const std::string& text : exporters::leftOut(*session, format))
                first.push_back(text.substr(0, text.find(text.find(" is ") != std::string::npos ? " is " : " are ")));
            return first;
        };
        using Texts = std::vector<std::string>;
        QCOMPARE(counts("chrome"), (Texts{"1 sum of a counter by layer and step"}));
        QCOMPARE(counts("speedscope"), (Texts{"2 values of counters", "1 mark without a length"}));
        QCOMPARE(counts("collapsed"), (Texts{"2 values of counters", "2 spans", "2 samples of other series"}));
        QCOMPARE(counts("pprof"), (Texts{"2 values of counters", "2 spans"}));
        QCOMPARE(counts("csv"), Texts{});
    }

    void stepsAndSamplesComeBackFromChromeTraces()
    {
        session::SessionBuilder builder;
        builder.addTrack({"training", 1});
        const uint32_t forward =
            builder.internLabel({builder.intern("forward"), session::SpanKind::phase, session::Phase::forward, {}, {}})
                .value;
        for (int i = 0; i < 3; ++i) {
            session::StepRow step;
            step.index = 4 + i;
            step.start = 1000 + i * 1000;
            step.duration = 900 + i;
            builder.addStep(step);
            const session::SpanRecord spans[] = {{1000 + i * 1000, 300 + i, forward, 4 + i}};
            builder.addSpans(session::TrackId(0u), spans);
        }
        session::FrameRow frame;
        frame.function = builder.intern("main");
        const session::StackId outer = builder.internStack({{}, builder.internFrame(frame)});
        frame.function = builder.intern("gemm");
        const session::StackId inner = builder.internStack({outer, builder.internFrame(frame)});
        for (const char* name : {"cpu time", "allocations"})
            builder.addSeries({name, "", session::SeriesKind::other, true, false});
        const session::SampleRecord cpu[] = {{1100, 7, inner, {}, session::TrackId(0u), 4}, {2100, 5, outer, {}, session::TrackId(0u), 5},
                                             {3100, 3, inner, {}, session::TrackId(0u), 6}};
        builder.addSamples(session::SeriesId(0u), cpu);
        const session::SampleRecord allocations[] = {{1200, 64, outer, {}, session::TrackId(0u), 4}};
        builder.addSamples(session::SeriesId(1u), allocations);
        const session::SessionPtr after = open(exported(*builder.build(), "", "json"));
        QVERIFY(after);
        for (const session::QualityRow& row : after->quality())
            QFAIL(row.message.c_str());
        QCOMPARE(after->steps().size(), size_t{3});
        QCOMPARE(after->steps()[1].index, int64_t{5});
        QCOMPARE(after->steps()[1].duration, session::TimeNs{901});
        QCOMPARE(after->series().size(), size_t{2});
        const SampleTotals time = support::sampleTotals(*after, support::seriesNamed(*after, "cpu time"));
        QCOMPARE(time.self, (std::map<std::string, int64_t>{{"gemm", 10}, {"main", 5}}));
        QCOMPARE(time.inclusive, (std::map<std::string, int64_t>{{"gemm", 10}, {"main", 15}}));
        QCOMPARE(support::sampleTotals(*after, support::seriesNamed(*after, "allocations")).total, int64_t{64});
    }

    void spansBecomeStacksWithTheirSelfTime()
    {
        const session::SessionPtr before = spanSession();
        int64_t total = 0;
        for (const auto& [name, times] : spanTotals(*before))
            total += times.second;
        for (const char* ending : {"folded", "pb"}) {
            const session::SessionPtr after = open(exported(*before, "", ending));
            QVERIFY(after);
            QCOMPARE(support::sampleTotals(*after, support::defaultSeries(*after)).total, total);
        }
    }

    void chromeTracesAreStrictJson()
    {
        for (const session::SessionPtr& session :
             {spanSession(), open(support::casePath("39-perf-two-events/input.perf"))}) {
            QJsonParseError error;
            const QJsonDocument document =
                QJsonDocument::fromJson(support::fileBytes(exported(*session, "chrome", "json")), &error);
            QCOMPARE(error.error, QJsonParseError::NoError);
            const QJsonArray events = document.object()["traceEvents"].toArray();
            std::map<std::pair<double, double>, std::vector<std::pair<double, double>>>
                open; // what is open on a thread
            for (const QJsonValue& value : events) {
                const QJsonObject event = value.toObject();
                QVERIFY(event["name"].isString() && event["pid"].isDouble() && event["tid"].isDouble());
                if (event["ph"] != "X") continue;
                // Perfetto wants the spans of a thread to nest, and the file's order to be that of starts.
                QVERIFY(event["ts"].isDouble() && event["dur"].isDouble());
                auto& stack = open[{event["pid"].toDouble(), event["tid"].toDouble()}];
                const double start = event["ts"].toDouble(), end = start + event["dur"].toDouble();
                while (!stack.empty() && stack.back().second <= start + 1e-9)
                    stack.pop_back();
                QVERIFY(stack.empty() || (start >= stack.back().first && end <= stack.back().second + 1e-6));
                stack.emplace_back(start, end);
            }
            if (session->sampleCount() > 0)
                QCOMPARE(static_cast<uint64_t>(document.object()["samples"].toArray().size()), session->sampleCount());
        }
    }

    void protocDecodesThePprof()
    {
        const QString protoc = QStandardPaths::findExecutable("protoc");
        if (protoc.isEmpty()) QSKIP("the program protoc is not installed (Debian: protobuf-compiler)");
        const session::SessionPtr session = open(support::casePath("39-perf-two-events/input.perf"));
        QVERIFY(session);
        QProcess decode;
        decode.setStandardInputFile(exported(*session, "", "pb"));
        decode.start(protoc,
                     {"--proto_path=" STEPSCOPE_SOURCE_DIR "/tests/golden/import",
                      "--decode=perftools.profiles.Profile", "profile.proto"});
        QVERIFY(decode.waitForFinished(30000));
        const QString text = decode.readAllStandardOutput();
        QCOMPARE(decode.exitCode(), 0);
        QVERIFY(!text.contains(
            QRegularExpression("^\\s*\\d+:", QRegularExpression::MultilineOption))); // a field without a name
        QCOMPARE(text.count("sample_type {"), 2);
        QCOMPARE(text.count("\nsample {"), 2); // gemm and relu, each with a value per event
        for (const char* expected : {"string_table: \"cycles\"", "string_table: \"gemm\"", "value: 2000000",
                                     "value: 4000000", "default_sample_type: "})
            QVERIFY2(text.contains(expected), expected);
        QVERIFY(text.contains("string_table: \"\"\n"));
    }

    void everyTableIsACsvFile()
    {
        const session::SessionPtr session = open(support::casePath("39-perf-two-events/input.perf"));
        QVERIFY(session);
        const QString folder = exported(*session, "", "csv");
        const QStringList files = QDir(folder).entryList(QDir::Files);
        QCOMPARE(files,
                 (QStringList{"counters.csv", "environment.csv", "layers.csv", "primitives.csv", "quality.csv",
                              "samples.csv", "series.csv", "spans.csv", "stacks.csv", "steps.csv", "tracks.csv"}));
        QCOMPARE(support::fileBytes(folder + "/series.csv"),
                 QByteArray("series,name,unit,timed,shown_first\n0,cycles,,1,1\n1,instructions,,1,0\n"));
        QCOMPARE(support::fileBytes(folder + "/samples.csv").count('\n'), 1 + 6);
        const session::SessionPtr spans = spanSession();
        const QString other = exported(*spans, "", "csv");
        QVERIFY(support::fileBytes(other + "/tracks.csv").contains("0,\"main \"\"thread\"\"\",7,42,train,,-1,0\n"));
        QVERIFY(support::fileBytes(other + "/spans.csv").contains(",\"gemm<float>\n\\x\",kernel,"));
    }

    void benchmarkToolsFilesComeBackEqual()
    {
        const QString path = QString(STEPSCOPE_SOURCE_DIR "/tests/golden/import/trials.json");
        const session::SessionPtr session = open(path);
        QVERIFY(session);
        const QJsonDocument again =
            QJsonDocument::fromJson(support::fileBytes(exported(*session, "benchmarktools", "benchmark.json")));
        QJsonDocument before = QJsonDocument::fromJson(support::fileBytes(path)
                                                           .replace("BenchmarkTools.Trial", "Trial")
                                                           .replace("\"tags\":[\"cpu\"]", "\"tags\":[]"));
        QCOMPARE(again.toJson(), before.toJson());
    }

    void trialsOfAnyNamesComeBack()
    {
        const QByteArray slashes(1'000'000, '/');
        const auto trial = [](int time) { return QByteArray("[\"Trial\",{\"times\":[") + QByteArray::number(time) + "]}]"; };
        const QByteArray text = "[{\"BenchmarkTools\":\"1.3\"},[[\"BenchmarkGroup\",{\"data\":{\"" + slashes + "\":" + trial(1)
            + ",\"a\":" + trial(2) + ",\"a/b\":" + trial(3) + ",\"a/b/c\":" + trial(4) + ",\"a/d/e\":" + trial(5)
            + ",\"a\":" + trial(6) + "}}]]]";
        const base::Result<importers::Imported> imported = support::importBytes(text, "x.json");
        QVERIFY(imported);
        const session::SessionPtr after = open(exported(*imported->session, "benchmarktools", "benchmark.json"));
        QVERIFY(after);
        std::map<std::string, double> times;
        for (size_t i = 0; i < after->counters().size(); i += 2)
            times[after->counters()[i].name] = after->counterSamples(session::CounterId(i)).value[0];
        QCOMPARE(times, (std::map<std::string, double>{{"time: " + slashes.toStdString(), 1}, {"time: a", 2}, {"time: a/b", 3},
                     {"time: a/b/c", 4}, {"time: a/d/e", 5}, {"time: a (2)", 6}}));
    }

    void recordedStepsBecomeATrial()
    {
        session::SessionBuilder builder;
        builder.addTrack({"training", 1});
        for (int i = 0; i < 3; ++i) {
            session::StepRow step;
            step.index = i;
            step.warmup = i == 0;
            step.start = i * 1000;
            step.duration = 900 + i;
            builder.addStep(step);
            const uint32_t forward =
                builder
                    .internLabel({builder.intern("forward"), session::SpanKind::phase, session::Phase::forward, {}, {}})
                    .value;
            const session::SpanRecord spans[] = {{i * 1000, 300 + i, forward, i}};
            builder.addSpans(session::TrackId(0u), spans);
        }
        const session::SessionPtr after = open(exported(*builder.build(), "", "benchmark.json"));
        QVERIFY(after);
        const session::CounterSamples& phase = after->counterSamples(session::CounterId(0u));
        QCOMPARE(after->counters()[0].name, std::string("time: phases/forward"));
        QCOMPARE(std::vector<double>(phase.value.begin(), phase.value.end()), (std::vector<double>{301, 302}));
        QCOMPARE(after->steps().size(), size_t{2});
        QCOMPARE(after->steps()[0].duration, session::TimeNs{901}); // of the trial "step", not of a phase
        const session::CounterSamples& step = after->counterSamples(session::CounterId(2u));
        QCOMPARE(std::vector<double>(step.value.begin(), step.value.end()), (std::vector<double>{901, 902}));
    }

    void nothingIsReplacedUnasked()
    {
        const session::SessionPtr session = spanSession();
        for (const exporters::Exporter& exporter : exporters::builtinExporters()) {
            if (exporter.name == "benchmarktools") continue; // there are no steps
            const QString path = m_folder.filePath(
                "same."
                + QString::fromUtf8(exporter.extension.data(), static_cast<qsizetype>(exporter.extension.size())));
            QVERIFY(exporter.run(*session, path.toStdString(), false, {}, {}));
            QVERIFY(!exporter.run(*session, path.toStdString(), false, {}, {}));
            QVERIFY(exporter.run(*session, path.toStdString(), true, {}, {}));
        }
    }

    void equalSessionsGiveEqualPictures()
    {
        const session::SessionPtr first = open(support::casePath("72-colours-change-between-runs/input.folded"));
        const session::SessionPtr second = open(support::casePath("72-colours-change-between-runs/second.folded"));
        QVERIFY(first && second);
        const QByteArray a = support::fileBytes(exported(*first, "", "svg")),
                         b = support::fileBytes(exported(*first, "", "svg"));
        QVERIFY(!a.isEmpty());
        QCOMPARE(a, b);
        const auto colours = [](const QByteArray& svg) {
            std::map<QString, QString> found;
            const QRegularExpression box("<title>([^\n]*)\n[^<]*</title><rect[^>]*fill=\"([^\"]*)\"");
            for (auto at = box.globalMatch(QString::fromUtf8(svg)); at.hasNext();) {
                const QRegularExpressionMatch match = at.next();
                found[match.captured(1)] = match.captured(2);
            }
            return found;
        };
        auto one = colours(a), two = colours(support::fileBytes(exported(*second, "", "svg")));
        for (const char* name : {"app", "conv", "gemm", "relu"}) {
            QVERIFY(one.count(name) == 1);
            QCOMPARE(one[name], two[name]);
        }
    }

    void veryDeepStacksMakeNoEndlessPicture()
    {
        const session::SessionPtr session = open(support::casePath("75-very-deep-stack/input.folded.gz"));
        QVERIFY(session);
        const QByteArray svg = support::fileBytes(exported(*session, "", "svg"));
        QVERIFY(svg.size() < 1'000'000);
        QVERIFY(svg.contains("199601 more rows are not drawn"));
    }
};

QTEST_GUILESS_MAIN(TestExportsReadBack)
#include "tst_exports_read_back.moc"
