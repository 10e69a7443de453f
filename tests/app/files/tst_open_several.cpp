// Several files as one session: clocks, groups, ids that must not meet, and what the reports make of them. Times and
// counts are worked out by hand from the made files.
#include "app/files/open_several.h"
#include "core/analysis/device_reports.h"
#include "core/analysis/reports.h"
#include "core/analysis/session_facts.h"
#include "core/storage/session_file.h"
#include "tests/support/made_session.h"

#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

using namespace stepscope;

namespace {

constexpr int64_t kBase = 1767225600000000000; // 2026-01-01 UTC

struct Rank {
    std::optional<int> rank;
    std::optional<int64_t> base; // ns
    std::string at;              // first event in us
    int kernel = 3;              // length in us
    int firstStep = 5;
};

// Two steps of 20 us that follow each other; each launches one kernel, with the correlation ids 7 and 8.
std::string kineto(const Rank& rank)
{
    std::string text = "{\"schemaVersion\":1,";
    if (rank.base) text += fmt::format("\"baseTimeNanoseconds\":{},", *rank.base);
    if (rank.rank) text += fmt::format("\"distributedInfo\":{{\"backend\":\"nccl\",\"rank\":{},\"world_size\":3}},", *rank.rank);
    text += "\"traceEvents\":[\n";
    const double first = std::stod(rank.at);
    for (int step = 0; step < 2; ++step) {
        const auto at = [&](double us) { return fmt::format("{:.3f}", first + step * 20 + us); };
        text += fmt::format(R"({{"ph":"X","cat":"user_annotation","name":"ProfilerStep#{}","pid":100,"tid":1,"ts":{},"dur":20}},)" "\n",
            rank.firstStep + step, at(0));
        text += fmt::format(R"({{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":100,"tid":1,"ts":{},"dur":6}},)" "\n", at(1));
        text += fmt::format(
            R"({{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":100,"tid":1,"ts":{},"dur":2,"args":{{"correlation":{}}}}},)" "\n", at(2), 7 + step);
        text += fmt::format(
            R"({{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":{},"dur":{},"args":{{"correlation":{},"device":0,"stream":7}}}}{})" "\n",
            at(5), rank.kernel, 7 + step, step == 0 ? "," : "");
    }
    return text + "]}\n";
}

class Folder {
public:
    files::FileChoice write(const QString& name, const std::string& text, base::TimeNs offset = 0)
    {
        QFile file(m_directory.filePath(name));
        if (!file.open(QIODevice::WriteOnly) || file.write(text.data(), static_cast<qint64>(text.size())) != static_cast<qint64>(text.size()))
            qFatal("cannot write a file of the test");
        file.close();
        return {file.fileName().toStdString(), offset};
    }
    std::string path(const QString& name) const { return m_directory.filePath(name).toStdString(); }

private:
    QTemporaryDir m_directory;
};

files::Opened opened(std::vector<files::FileChoice> files)
{
    base::Result<files::Opened> result = files::openSeveral(files);
    if (!result) qFatal("%s", base::toText(result.error()).c_str());
    return std::move(*result);
}

// Starts of the spans of a name, by group.
std::map<std::string, std::vector<base::TimeNs>> starts(const session::Session& session, std::string_view name)
{
    std::map<std::string, std::vector<base::TimeNs>> found;
    const session::SpanTable& spans = session.spans();
    for (size_t t = 0; t + 1 < spans.trackBegin.size(); ++t)
        for (size_t row = spans.trackBegin[t]; row < spans.trackBegin[t + 1]; ++row)
            if (session.string(session.labels()[spans.label[row]].name) == name) found[session.tracks()[t].group].push_back(spans.start[row]);
    return found;
}

int64_t quality(const session::Session& session, std::string_view code, std::string_view part)
{
    int64_t count = 0;
    for (const session::QualityRow& row : session.quality())
        if (row.code == code && row.message.find(part) != std::string::npos) count += row.count;
    return count;
}

using Starts = std::map<std::string, std::vector<base::TimeNs>>;

} // namespace

class TestOpenSeveral : public QObject {
    Q_OBJECT

private slots:
    void ranksLieOnOneClockToTheNanosecond()
    {
        Folder folder;
        // 1000.000 us after the base; 250 ns and 1500 ns later; 2000 us after a base that is 1 ms earlier: the same time.
        const auto b = folder.write("b.json", kineto({1, kBase + 1500, "1000.250", 4}));
        const auto c = folder.write("c.json", kineto({2, kBase - 1000000, "2000.000", 5}));
        const auto a = folder.write("a.json", kineto({0, kBase, "1000.000", 3}));
        const files::Opened whole = opened({b, c, a}); // ranks stand in their order
        const session::Session& session = *whole.session;
        QCOMPARE(whole.format, std::string("kineto"));
        QCOMPARE(whole.files.size(), size_t{3});
        QCOMPARE(whole.files[0].group, std::string("rank 0"));
        QCOMPARE(whole.files[1].group, std::string("rank 1"));
        QCOMPARE(whole.files[1].shift, base::TimeNs{1750});
        QCOMPARE(whole.files[2].shift, base::TimeNs{0});
        const Starts expected{{"rank 0", {1000, 21000}}, {"rank 1", {2750, 22750}}, {"rank 2", {1000, 21000}}};
        QCOMPARE(starts(session, "aten::mm"), expected);
        QVERIFY(session.quality().empty());
        QCOMPARE(session.environmentValue("import.origin_ns"), std::string_view("1767225600001000000"));
        QCOMPARE(session.environmentValue("trace.distributed.world_size"), std::string_view("3"));
        QCOMPARE(session.environmentValue("trace.distributed.rank"), std::string_view());
        QCOMPARE(session.environmentValue("trace.distributed.rank [rank 2]"), std::string_view("2"));
        QCOMPARE(session.spanCount(), uint64_t{24});
        QCOMPARE(session.tracks().size(), size_t{6});
        QCOMPARE(std::string(session.trackTitle(base::TrackId(2u))), std::string("rank 1: thread 1"));
    }

    void equalCorrelationIdsOfTwoRanksDoNotJoin()
    {
        Folder folder;
        const files::Opened whole = opened({folder.write("a.json", kineto({0, kBase, "1000.000"})), folder.write("b.json", kineto({1, kBase, "1000.500"}))});
        const session::Session& session = *whole.session;
        const session::SpanTable& spans = session.spans();
        std::set<int64_t> ids;
        int launched = 0;
        for (size_t row = 0; row < spans.size(); ++row) {
            const session::DeviceWork* work = session.details().deviceWork(spans.detailOf(row));
            if (work == nullptr) continue;
            ids.insert(session.details().correlationOf(spans.detailOf(row)));
            QVERIFY(work->launch < spans.size());
            QCOMPARE(std::string(session.string(session.labels()[spans.label[work->launch]].name)), std::string("cudaLaunchKernel"));
            // The launch is 3 us before its kernel, on the thread of the same file.
            QCOMPARE(spans.start[row] - spans.start[work->launch], base::TimeNs{3000});
            QCOMPARE(session.details().correlationOf(spans.detailOf(work->launch)), session.details().correlationOf(spans.detailOf(row)));
            QCOMPARE(spans.step[row], spans.step[work->launch]);
            ++launched;
        }
        QCOMPARE(launched, 4);
        QCOMPARE(ids.size(), size_t{4});
        const analysis::LaunchReport launches = analysis::launchReport(analysis::DeviceTrace(session));
        QCOMPARE(launches.workWithoutLaunch, int64_t{0});
        QCOMPARE(launches.launchesWithoutWork, int64_t{0});
    }

    void stepsStayWithTheirRank()
    {
        Folder folder;
        const files::Opened whole = opened({folder.write("a.json", kineto({0, kBase, "1000.000", 3})), folder.write("b.json", kineto({1, kBase, "1000.250", 4}))});
        const session::SessionPtr session = whole.session;
        QCOMPARE(session->steps().size(), size_t{4});
        std::set<int64_t> indices;
        for (const session::StepRow& step : session->steps())
            indices.insert(step.index);
        QCOMPARE(indices.size(), size_t{4});
        const std::vector<std::pair<std::string, int64_t>> expected{{"rank 0", 5}, {"rank 0", 6}, {"rank 1", 5}, {"rank 1", 6}};
        const analysis::StepBreakdown breakdown = analysis::stepBreakdown(analysis::DeviceTrace(*session));
        QCOMPARE(breakdown.rows.size(), size_t{4});
        for (size_t i = 0; i < 4; ++i) {
            const analysis::StepBreakdownRow& row = breakdown.rows[i];
            QCOMPARE(std::make_pair(row.group, row.step.number()), expected[i]);
            // The kernels overlap in time, and count for the step of their own rank alone: 3 or 4 us, the call 2 us, the
            // operator's 6 us less the call and the 2 us under the kernel.
            const base::TimeNs kernel = i < 2 ? 3000 : 4000;
            QCOMPARE(row.times[size_t(analysis::StepCategory::kernel)], kernel);
            QCOMPARE(row.times[size_t(analysis::StepCategory::call)], base::TimeNs{2000});
            QCOMPARE(row.times[size_t(analysis::StepCategory::cpu)], base::TimeNs{2000});
            QCOMPARE(row.times[size_t(analysis::StepCategory::other)], base::TimeNs{16000} - kernel);
        }
        // A step is chosen by its number in the file, of every rank.
        analysis::DeviceOptions options;
        options.filter.firstStep = 6;
        const analysis::DeviceTrace second(*session, options);
        QCOMPARE(second.steps().size(), size_t{2});
        QCOMPARE(second.activities().size(), size_t{2});
        const std::vector<analysis::KernelRow> kernels = analysis::kernelReport(second);
        QCOMPARE(kernels.size(), size_t{1});
        QCOMPARE(kernels[0].total, base::TimeNs{7000});
        const std::vector<analysis::DeviceTimeRow> devices = analysis::deviceTimes(analysis::DeviceTrace(*session));
        QCOMPARE(devices.size(), size_t{2}); // each has a device 0
        QCOMPARE(devices[1].busy, base::TimeNs{8000});
        const analysis::StepReport report = analysis::stepReport(*session);
        QCOMPARE(report.rows.size(), size_t{4});
        QCOMPARE(report.rows[3].group, std::string("rank 1"));
        QCOMPARE(report.steps.total, base::TimeNs{80000});
    }

    void aChosenStepOfOneRankDoesNotChooseTheTimeOfAnother()
    {
        Folder folder;
        // Rank 1 runs steps 6 and 7 while rank 0 runs 5 and 6.
        const files::Opened whole = opened({folder.write("a.json", kineto({0, kBase, "1000.000", 3, 5})), folder.write("b.json", kineto({1, kBase, "1000.000", 4, 6}))});
        analysis::DeviceOptions options;
        options.filter.firstStep = options.filter.lastStep = 6;
        const analysis::DeviceTrace trace(*whole.session, options);
        QCOMPARE(trace.activities().size(), size_t{2});
        std::vector<base::TimeNs> begins;
        for (const analysis::DeviceActivity& activity : trace.activities())
            begins.push_back(activity.begin);
        QCOMPARE(begins, (std::vector<base::TimeNs>{5000, 25000})); // rank 1's first, rank 0's second
        const std::vector<analysis::OperatorRow> operators = analysis::operatorReport(trace);
        QCOMPARE(operators.size(), size_t{1});
        QCOMPARE(operators[0].calls, int64_t{2});
        QCOMPARE(operators[0].deviceTotal, base::TimeNs{7000});
    }

    void aFileWithoutABaseTimeStartsWithTheSessionAndIsNoted()
    {
        Folder folder;
        const files::Opened whole = opened({folder.write("first.json", kineto({{}, kBase, "1000.000"})), folder.write("plain.json", kineto({{}, {}, "77.125"})),
            folder.write("third.json", kineto({{}, kBase, "1003.000"}))});
        const Starts expected{{"first", {1000, 21000}}, {"plain", {1000, 21000}}, {"third", {4000, 24000}}};
        QCOMPARE(starts(*whole.session, "aten::mm"), expected);
        QCOMPARE(quality(*whole.session, "no-common-clock", "plain.json"), int64_t{1});
        QCOMPARE(quality(*whole.session, "no-common-clock", "0.000077125 s"), int64_t{1});
        QCOMPARE(quality(*whole.session, "no-common-clock", "first.json"), int64_t{0});
        QCOMPARE(whole.session->environmentValue("import.origin_ns"), std::string_view());
    }

    void timesOfDayNeedNoBaseTime()
    {
        Folder folder;
        const files::Opened whole = opened({folder.write("old.json", kineto({{}, {}, "1767225600001000.000"})), folder.write("new.json", kineto({{}, kBase, "1002.500"}))});
        const Starts expected{{"old", {1000, 21000}}, {"new", {3500, 23500}}};
        QCOMPARE(starts(*whole.session, "aten::mm"), expected);
        QVERIFY(whole.session->quality().empty());
        QCOMPARE(whole.session->environmentValue("clock [old]"), std::string_view("times since 1970"));
    }

    void filesOfDifferentDaysAreNotSpreadOverThem()
    {
        Folder folder;
        constexpr int64_t kDay = int64_t{86400} * 1000000000;
        const files::Opened whole = opened({folder.write("a.json", kineto({0, kBase, "1000.000"})), folder.write("b.json", kineto({1, kBase + kDay, "1000.000"}))});
        const Starts expected{{"rank 0", {1000, 21000}}, {"rank 1", {1000, 21000}}};
        QCOMPARE(starts(*whole.session, "aten::mm"), expected);
        QCOMPARE(quality(*whole.session, "clocks-far-apart", ""), int64_t{2});
        QCOMPARE(quality(*whole.session, "clocks-far-apart", "b.json starts 86400 s after"), int64_t{1});
    }

    void theUserMovesFilesEitherWay()
    {
        Folder folder;
        const std::string a = kineto({0, kBase, "1000.000"}), b = kineto({1, kBase, "1000.250"});
        const files::Opened later = opened({folder.write("a.json", a), folder.write("b.json", b, 1500)});
        QCOMPARE(starts(*later.session, "aten::mm"), (Starts{{"rank 0", {1000, 21000}}, {"rank 1", {2750, 22750}}}));
        // To before the other one's start: the session begins with it then.
        const files::Opened earlier = opened({folder.write("a.json", a), folder.write("b.json", b, -1250)});
        QCOMPARE(starts(*earlier.session, "aten::mm"), (Starts{{"rank 0", {2000, 22000}}, {"rank 1", {1000, 21000}}}));
        QCOMPARE(earlier.files[0].shift, base::TimeNs{1000});
        QCOMPARE(earlier.session->environmentValue("clock.offset_ns [rank 1]"), std::string_view("-1250"));
        QCOMPARE(earlier.session->environmentValue("import.origin_ns"), std::string_view("999000")); // after the base time of both
        QCOMPARE(earlier.session->steps()[0].start, base::TimeNs{1000});
        QCOMPARE(earlier.session->steps()[2].start, base::TimeNs{0});
    }

    void offsetsAreReadExactly_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<qint64>("expected");
        QTest::newRow("ms") << "+1.5ms" << qint64{1500000};
        QTest::newRow("negative") << "-20us" << qint64{-20000};
        QTest::newRow("ns") << "300 ns" << qint64{300};
        QTest::newRow("s") << "2s" << qint64{2000000000};
        QTest::newRow("exact") << "0.000000001s" << qint64{1};
        QTest::newRow("micro sign") << QString::fromUtf8("7µs") << qint64{7000};
    }
    void offsetsAreReadExactly()
    {
        QFETCH(QString, text);
        const base::Result<base::TimeNs> offset = files::parseOffset(text.toStdString());
        QVERIFY(offset);
        QTEST(static_cast<qint64>(*offset), "expected");
    }

    void textThatIsNoOffsetIsRefused()
    {
        for (const char* text : {"", "5", "ms", "1.5 m", "fast", "1..5ms", "1e30s", "400000000s"})
            QVERIFY2(!files::parseOffset(text), text);
    }

    void groupsHaveDistinctNames()
    {
        Folder folder;
        const files::Opened sameRank = opened({folder.write("x.json", kineto({0, kBase, "1.000"})), folder.write("y.json", kineto({0, kBase, "1.000"}))});
        QCOMPARE(sameRank.files[0].group, std::string("rank 0 (x)"));
        QCOMPARE(sameRank.files[1].group, std::string("rank 0 (y)"));
        const files::FileChoice one = folder.write("x.json", kineto({{}, kBase, "1.000"}));
        const files::Opened twice = opened({one, one});
        QCOMPARE(twice.files[0].group, folder.path("x.json"));
        QCOMPARE(twice.files[1].group, folder.path("x.json") + " #2");
        QCOMPARE(twice.session->spanCount(), uint64_t{16});
    }

    void oneFileThatCannotBeReadFailsAllAndIsNamed()
    {
        Folder folder;
        const auto good = folder.write("good.json", kineto({0, kBase, "1.000"}));
        const base::Result<files::Opened> missing = files::openSeveral(std::vector<files::FileChoice>{good, {folder.path("missing.json"), 0}});
        QVERIFY(!missing);
        QCOMPARE(missing.error().where.file, folder.path("missing.json"));
        const auto bad = folder.write("bad.bin", std::string("\0\1\2\3 nothing", 12));
        const base::Result<files::Opened> unknown = files::openSeveral(std::vector<files::FileChoice>{good, bad});
        QVERIFY(!unknown);
        QCOMPARE(unknown.error().where.file, folder.path("bad.bin"));
    }

    void aCutFileIsSaidToBeCut()
    {
        Folder folder;
        const std::string text = kineto({1, kBase, "1.000"});
        const files::Opened whole = opened({folder.write("a.json", kineto({0, kBase, "1.000"})), folder.write("cut.json", text.substr(0, text.size() - 100))});
        QVERIFY(!whole.complete);
        QVERIFY(whole.problem.has_value());
        QVERIFY(whole.problem->message.starts_with("cut.json: "));
        QVERIFY(whole.files[0].complete);
        QVERIFY(!whole.files[1].complete);
        QCOMPARE(quality(*whole.session, "incomplete-file", "rank 1: "), int64_t{1});
    }

    void samplesOfSeveralFilesShareASeriesAndKeepTheirFile()
    {
        Folder folder;
        const files::Opened whole = opened({folder.write("one.folded", "main;work;gemm 20\nmain;load 5\n"), folder.write("two.folded", "main;work;gemm 7\nmain;save 1\n")});
        const session::Session& session = *whole.session;
        QCOMPARE(session.series().size(), size_t{1});
        const analysis::SeriesFacts facts = analysis::seriesFacts(session, base::SeriesId(0u));
        QCOMPARE(facts.total, int64_t{33});
        QCOMPARE(facts.self.at("gemm"), int64_t{27});
        QCOMPARE(facts.inclusive.at("main"), int64_t{33});
        std::map<std::string, int64_t> byFile;
        const session::SampleTable& samples = session.samples(base::SeriesId(0u));
        for (size_t i = 0; i < samples.size(); ++i)
            byFile[session.tracks()[samples.track[i]].group] += samples.weight[i];
        QCOMPARE(byFile, (std::map<std::string, int64_t>{{"one", 25}, {"two", 8}}));
        QCOMPARE(session.stacks().size(), size_t{5}); // main, work, gemm, load, save: equal ones are one
    }

    void recordedSessionsKeepTheirStepsAndShareTheirModel()
    {
        Folder folder;
        const session::SessionPtr made = support::madeSession();
        for (const char* name : {"a.stepscope", "b.stepscope"})
            QVERIFY(storage::saveSession(*made, folder.path(name), storage::Existing::refuse));
        const files::Opened whole = opened({{folder.path("a.stepscope"), 0}, {folder.path("b.stepscope"), 0}});
        const session::Session& session = *whole.session;
        QCOMPARE(session.steps().size(), 2 * made->steps().size());
        QCOMPARE(session.layers().size(), made->layers().size());
        QCOMPARE(session.spanCount(), 2 * made->spanCount());
        QCOMPARE(session.labels().size(), made->labels().size());
        const analysis::PhaseReport one = analysis::phaseReport(*made), two = analysis::phaseReport(session);
        QCOMPARE(two.rows.size(), one.rows.size());
        for (size_t i = 0; i < one.rows.size(); ++i) {
            QCOMPARE(two.rows[i].name, one.rows[i].name);
            QCOMPARE(two.rows[i].time.total, 2 * one.rows[i].time.total);
            QCOMPARE(two.rows[i].time.median, one.rows[i].time.median);
            QCOMPARE(two.rows[i].count, 2 * one.rows[i].count);
        }
        QCOMPARE(two.beside.size(), 2 * one.beside.size());
    }

    void savedAndOpenedAgainItIsTheSame()
    {
        Folder folder;
        const files::Opened whole = opened({folder.write("a.json", kineto({0, kBase, "1000.000"})), folder.write("b.json", kineto({1, kBase, "1000.250"}))});
        QVERIFY(storage::saveSession(*whole.session, folder.path("both.stepscope"), storage::Existing::refuse));
        const base::Result<files::Opened> again = files::openAny(folder.path("both.stepscope"));
        QVERIFY(again);
        const session::Session& session = *again->session;
        QCOMPARE(starts(session, "gemm"), starts(*whole.session, "gemm"));
        QCOMPARE(session.steps().size(), size_t{4});
        for (size_t i = 0; i < 4; ++i) {
            QCOMPARE(session.string(session.steps()[i].group), whole.session->string(whole.session->steps()[i].group));
            QCOMPARE(session.steps()[i].number(), whole.session->steps()[i].number());
        }
    }

    void progressRisesOverAllFiles()
    {
        Folder folder;
        const std::vector<files::FileChoice> files{folder.write("a.json", kineto({0, kBase, "1000.000"})), folder.write("b.json", kineto({1, kBase, "1000.250"}))};
        double last = 0, most = 0;
        bool rises = true, second = false;
        const base::Result<files::Opened> whole = files::openSeveral(files, {}, {}, [&](double fraction, std::string_view what) {
            rises = rises && fraction >= last;
            last = fraction;
            most = std::max(most, fraction);
            second = second || what.find("b.json (2 of 2)") != std::string_view::npos;
        });
        QVERIFY(whole);
        QVERIFY(rises);
        QVERIFY(second);
        QCOMPARE(most, 1.0);
        std::stop_source stop;
        stop.request_stop();
        const base::Result<files::Opened> stopped = files::openSeveral(files, {}, stop.get_token());
        QVERIFY(!stopped);
        QCOMPARE(stopped.error().code, base::ErrorCode::cancelled);
    }
};

QTEST_GUILESS_MAIN(TestOpenSeveral)
#include "tst_open_several.moc"
