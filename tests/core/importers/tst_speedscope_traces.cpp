#include <QtTest>

#include "tests/support/import_case.h"
#include "tests/support/sample_totals.h"

#include <QJsonArray>

#include <cmath>

using namespace stepscope;

// speedscope's sample profiles against what its own tests expect: self and total of every frame, and the order of
// stacks. The files are not part of the repository.
class TestSpeedscopeTraces : public QObject {
    Q_OBJECT

    // Stacks one after the other, with weights in the unit that speedscope shows.
    struct Entry {
        std::vector<std::string> frames;
        double weight = 0;
    };
    using Entries = std::vector<Entry>;

    QJsonObject m_expected;

    static QString folder() { return QString(STEPSCOPE_TRACES_DIR "/speedscope/"); }

    // The expected profile whose name contains `name`.
    QJsonObject expected(const QString& file, const QString& name) const
    {
        for (const QJsonValue& profile : m_expected[file].toArray())
            if (profile.toObject()["profile"].toString().contains(name)) return profile.toObject();
        return {};
    }

    static void append(Entries& entries, std::vector<std::string> frames, double weight)
    {
        if (weight == 0) return;
        if (!entries.empty() && entries.back().frames == frames) entries.back().weight += weight;
        else entries.push_back({std::move(frames), weight});
    }

    static void hold(const Entries& entries, const QJsonObject& profile)
    {
        QVERIFY(!profile.isEmpty());
        const QJsonArray order = profile["time_order"].toArray();
        QCOMPARE(static_cast<qsizetype>(entries.size()), order.size());
        std::map<std::string, std::pair<double, double>> found; // self, total
        for (size_t i = 0; i < entries.size(); ++i) {
            QString stack;
            for (const std::string& frame : entries[i].frames)
                stack += (stack.isEmpty() ? "" : ";") + QString::fromStdString(frame);
            const QString line = order[static_cast<qsizetype>(i)].toString();
            const QString shown =
                profile["profile"].toString().contains("Memory") ? line.section(' ', 0, -3) : line.section(' ', 0, -2);
            QCOMPARE(stack, shown);
            if (!entries[i].frames.empty()) found[entries[i].frames.back()].first += entries[i].weight;
            for (const std::string& name : std::set<std::string>(entries[i].frames.begin(), entries[i].frames.end()))
                found[name].second += entries[i].weight;
        }
        const QJsonArray frames = profile["frames"].toArray();
        QCOMPARE(static_cast<qsizetype>(found.size()), frames.size());
        for (const QJsonValue& frame : frames) {
            const std::string name = frame.toObject()["name"].toString().toStdString();
            const double self = frame.toObject()["self"].toDouble(), total = frame.toObject()["total"].toDouble();
            QVERIFY2(found.count(name) == 1, name.c_str());
            QVERIFY2(std::abs(found[name].first - self) <= 1e-6 * std::max(1.0, self), name.c_str());
            QVERIFY2(std::abs(found[name].second - total) <= 1e-6 * std::max(1.0, total), name.c_str());
        }
    }

    static Entries untimed(const session::Session& session, session::SeriesId series)
    {
        Entries entries;
        const support::SampleTotals totals = support::sampleTotals(session, series);
        for (size_t i = 0; i < totals.stacks.size(); ++i)
            append(entries, totals.stacks[i], static_cast<double>(totals.weights[i]));
        return entries;
    }

    static session::SessionPtr open(const QString& file)
    {
        const base::Result<importers::Imported> imported = support::importPath(folder() + file);
        if (!imported) {
            qWarning("%s", base::toText(imported.error()).c_str());
            return nullptr;
        }
        return imported->session;
    }

    // What speedscope makes of a stack of V8: no root, nothing while idle, the engine's own work on top of the last
    // stack.
    static std::vector<std::string> shownByV8(std::vector<std::string> frames, const std::vector<std::string>& before)
    {
        if (!frames.empty() && frames.front() == "(root)") frames.erase(frames.begin());
        if (frames.empty() || frames.back() == "(idle)") return {};
        if (frames.back() != "(program)" && frames.back() != "(garbage collector)") return frames;
        std::vector<std::string> on = before;
        if (on.empty() || on.back() != frames.back()) on.push_back(frames.back());
        return on;
    }

private slots:
    void initTestCase()
    {
        const QByteArray bytes = support::fileBytes(folder() + "expected.json");
        if (bytes.isEmpty()) QSKIP("the traces are not there: " STEPSCOPE_TRACES_DIR "/speedscope");
        m_expected = QJsonDocument::fromJson(bytes).object();
        QVERIFY(!m_expected.isEmpty());
    }

    void perfScript_data()
    {
        QTest::addColumn<QString>("profile");
        QTest::addColumn<int>("tid");
        QTest::newRow("forks 9") << QString("forks tid: 9") << 9;
        QTest::newRow("forks 10") << QString("forks tid: 10") << 10;
        QTest::newRow("forks 11") << QString("forks tid: 11") << 11;
        QTest::newRow("swapper") << QString("swapper") << 0;
    }
    void perfScript()
    {
        QFETCH(QString, profile);
        QFETCH(int, tid);
        const session::SessionPtr session = open("linux-perf/forks.linux-perf.txt");
        QVERIFY(session);
        const session::SampleTable& samples = session->samples(support::defaultSeries(*session));
        std::vector<size_t> rows;
        for (size_t i = 0; i < samples.size(); ++i)
            if (session->tracks()[samples.track[i]].threadId == tid) rows.push_back(i);
        Entries entries;
        for (size_t i = 0; i < rows.size(); ++i) {
            // speedscope gives a sample the time from halfway to the one before until halfway to the next.
            const double here = static_cast<double>(samples.time[rows[i]]);
            const double from = i == 0 ? here : (static_cast<double>(samples.time[rows[i - 1]]) + here) / 2;
            const double until =
                i + 1 == rows.size() ? here : (static_cast<double>(samples.time[rows[i + 1]]) + here) / 2;
            std::vector<std::string> frames;
            for (session::StackId at(samples.stack[rows[i]]); at.valid(); at = session->stacks()[at.index()].parent) {
                const session::FrameRow& frame = session->frames()[session->stacks()[at.index()].frame.index()];
                std::string name(session->string(frame.function));
                if (name == "[unknown]") name = "??? (" + std::string(session->string(frame.module)) + ")";
                frames.insert(frames.begin(), name);
            }
            append(entries, frames, (until - from) / 1e9);
        }
        hold(entries, expected("linux-perf/forks.linux-perf.txt", profile));
    }

    void untimedFormats_data()
    {
        QTest::addColumn<QString>("file");
        QTest::addColumn<QString>("profile");
        QTest::addColumn<int>("series");
        const auto row = [](const char* file, const char* profile, int series) {
            QTest::newRow(file) << QString(file) << QString(profile) << series;
        };
        row("stackcollapse/simple.txt", "simple", 0);
        row("stackcollapse/simple-crlf.txt", "simple", 0);
        row("callgrind/callgrind.example.log", "Instructions", 0);
        row("callgrind/callgrind.multiple-event-types.log", "Memory", 1);
        row("pprof/simple.prof", "simple", 1);
    }
    void untimedFormats()
    {
        QFETCH(QString, file);
        QFETCH(QString, profile);
        QFETCH(int, series);
        const session::SessionPtr session = open(file);
        QVERIFY(session);
        hold(untimed(*session, session::SeriesId(static_cast<uint32_t>(series))), expected(file, profile));
    }

    // The file contradicts itself: two calls of gamma cost 20, gamma itself 10. speedscope believes the calls, we
    // believe the functions' own costs, which add up to the program's.
    void callgrindCallsThatCostTooMuch()
    {
        const session::SessionPtr session = open("callgrind/callgrind.cfn-reset.log");
        QVERIFY(session);
        const support::SampleTotals totals = support::sampleTotals(*session, session::SeriesId(0u));
        QCOMPARE(totals.self,
                 (std::map<std::string, int64_t>{{"alpha", 10}, {"beta", 10}, {"gamma", 10}, {"delta", 10}}));
        const QJsonArray order = expected("callgrind/callgrind.cfn-reset.log", "Instructions")["time_order"].toArray();
        QCOMPARE(static_cast<qsizetype>(totals.stacks.size()), order.size());
        for (qsizetype i = 0; i < order.size(); ++i) {
            QString stack;
            for (const std::string& frame : totals.stacks[static_cast<size_t>(i)])
                stack += (stack.isEmpty() ? "" : ";") + QString::fromStdString(frame);
            QCOMPARE(stack, order[i].toString().section(' ', 0, -2));
        }
    }

    void callgrindRelativeCosts() // the same program as the example, written with relative numbers
    {
        const session::SessionPtr session = open("callgrind/callgrind.subposition-compression.log");
        QVERIFY(session);
        hold(untimed(*session, session::SeriesId(0u)), expected("callgrind/callgrind.example.log", "Instructions"));
    }

    void otherEncodingAndInvalidLines()
    {
        const session::SessionPtr plain = open("stackcollapse/simple.txt"),
                                  invalid = open("stackcollapse/simple-with-invalids.txt");
        QVERIFY(plain && invalid);
        // Two lines are comments, one is no stack.
        QCOMPARE(support::qualityCount(*invalid, "ignored-line"), int64_t{1});
        hold(untimed(*invalid, session::SeriesId(0u)), expected("stackcollapse/simple.txt", "simple"));
        // Written with spaces around every ';', in UTF-16.
        const session::SessionPtr spaced = open("stackcollapse/simple-utf16-le.txt");
        QVERIFY(spaced);
        QCOMPARE(spaced->quality().size(), size_t{0});
        QCOMPARE(support::sampleTotals(*spaced, session::SeriesId(0u)).total, int64_t{14});
    }

    void speedscopeFilesOfAllVersions()
    {
        const session::SessionPtr plain = open("stackcollapse/simple.txt");
        QVERIFY(plain);
        const Entries stacks = untimed(*plain, session::SeriesId(0u));
        for (const char* file :
             {"speedscope/0.0.1/simple.speedscope.json", "speedscope/0.0.1/simple-no-pretty-print.speedscope.json"}) {
            const session::SessionPtr session = open(file);
            QVERIFY(session);
            hold(untimed(*session, session::SeriesId(0u)), expected("stackcollapse/simple.txt", "simple"));
        }
        const session::SessionPtr two = open("speedscope/0.6.0/two-sampled.speedscope.json");
        QVERIFY(two);
        QCOMPARE(two->tracks().size(), size_t{2});
        for (uint32_t track = 0; track < 2; ++track) {
            const support::SampleTotals totals =
                support::sampleTotals(*two, session::SeriesId(0u), session::TrackId(track));
            QCOMPARE(totals.total, int64_t{14'000'000'000});
            QCOMPARE(totals.self.at("c"), int64_t{5'000'000'000});
        }
        const session::SessionPtr open1 = open("speedscope/invalid/incomplete-trace.json");
        QVERIFY(open1);
        QCOMPARE(support::qualityCount(*open1, "unfinished"), int64_t{1});
        QCOMPARE(support::sampleTotals(*open1, session::SeriesId(0u)).total, int64_t{100});
        const session::SessionPtr crossed = open("speedscope/invalid/out-of-order-events.json");
        QVERIFY(crossed);
        QCOMPARE(support::qualityCount(*crossed, "wrong-close"), int64_t{2});
    }

    void firefox()
    {
        const session::SessionPtr session = open("Firefox/59/simple-firefox.json");
        QVERIFY(session);
        const session::SampleTable& samples = session->samples(support::defaultSeries(*session));
        Entries entries;
        for (size_t i = 0; i + 1 < samples.size(); ++i) {
            std::vector<std::string> frames; // of scripts alone, as speedscope shows
            for (session::StackId at(samples.stack[i]); at.valid(); at = session->stacks()[at.index()].parent) {
                const session::FrameRow& frame = session->frames()[session->stacks()[at.index()].frame.index()];
                const std::string_view file = frame.file.valid() ? session->string(frame.file) : std::string_view();
                if (!file.empty() && !file.starts_with("resource:") && file != "self-hosted")
                    frames.insert(frames.begin(), std::string(session->string(frame.function)));
            }
            append(entries, frames, static_cast<double>(samples.time[i + 1] - samples.time[i]) / 1e6);
        }
        QVERIFY(!entries.empty()
                && entries.back().frames.empty()); // after the last script, which speedscope leaves out
        entries.pop_back();
        hold(entries, expected("Firefox/59/simple-firefox.json", "simple-firefox"));
    }

    void profilesInChromeTraces_data()
    {
        QTest::addColumn<QString>("file");
        for (const char* file : {"Chrome/66/worker.json", "Chrome/70/worker.json"})
            QTest::newRow(file) << QString(file);
    }
    void profilesInChromeTraces()
    {
        QFETCH(QString, file);
        const session::SessionPtr session = open(file);
        QVERIFY(session);
        const session::SeriesId series = support::seriesNamed(*session, "JavaScript time");
        QVERIFY(series.valid());
        const session::SampleTable& samples = session->samples(series);
        bool seen = false;
        for (uint32_t track = 0; track < session->tracks().size(); ++track) {
            if (session->tracks()[track].name.find("DedicatedWorker") == std::string::npos) continue;
            Entries entries;
            std::vector<std::string> before;
            size_t last = 0;
            for (size_t i = 0; i < samples.size(); ++i)
                last = samples.track[i] == track ? i : last;
            for (size_t i = 0; i <= last && i < samples.size(); ++i) {
                if (samples.track[i] != track) continue;
                seen = true;
                before = shownByV8(support::framesOf(*session, samples.stack[i]), before);
                // To speedscope the profile ends with its last sample; to V8, and to us, with its end time.
                append(entries, before, i == last ? 0 : static_cast<double>(samples.weight[i]) / 1000);
            }
            if (!entries.empty()) hold(entries, expected(file, "DedicatedWorker"));
        }
        QVERIFY(seen);
    }

    void otherFilesOfV8_data()
    {
        QTest::addColumn<QString>("file");
        QTest::addColumn<QString>("format");
        QTest::newRow("chrome") << QString("Chrome/65/sucrase.cpuprofile") << QString("cpuprofile");
        QTest::newRow("node, as a tree") << QString("node/10.11.0/example.cpuprofile") << QString("cpuprofile");
        QTest::newRow("heap of chrome") << QString("Chrome/69/Heap-20181005T144546.heapprofile")
                                        << QString("heapprofile");
        QTest::newRow("heap of node") << QString("node/10.11.0/Heap-20181003T105432.heapprofile")
                                      << QString("heapprofile");
    }
    void otherFilesOfV8()
    {
        QFETCH(QString, file);
        QFETCH(QString, format);
        const base::Result<importers::Imported> imported = support::importPath(folder() + file);
        QVERIFY(imported);
        QCOMPARE(QString::fromStdString(imported->format), format);
        QVERIFY(imported->complete);
        const QByteArray bytes = support::fileBytes(folder() + file);
        const QJsonObject object = QJsonDocument::fromJson(bytes).object();
        const session::Session& session = *imported->session;
        const support::SampleTotals totals = support::sampleTotals(session, support::defaultSeries(session));
        if (format == "heapprofile") {
            int64_t sum = 0; // of every selfSize, wherever it stands
            const QRegularExpression size("\"selfSize\":(\\d+)");
            for (auto at = size.globalMatch(QString::fromUtf8(bytes)); at.hasNext();)
                sum += at.next().captured(1).toLongLong();
            QVERIFY(sum > 0);
            QCOMPARE(totals.total, sum);
            return;
        }
        QCOMPARE(totals.samples,
                 static_cast<int64_t>(object["samples"].toArray().size()) + (object.contains("timeDeltas") ? 1 : 0));
        const QJsonArray stamps = object["timestamps"].toArray();
        const double last = stamps.isEmpty() ? object["endTime"].toDouble() - object["startTime"].toDouble()
                                             : stamps.last().toDouble() - stamps.first().toDouble();
        QCOMPARE(totals.total, static_cast<int64_t>(last) * 1000);
    }
};

QTEST_GUILESS_MAIN(TestSpeedscopeTraces)
#include "tst_speedscope_traces.moc"
