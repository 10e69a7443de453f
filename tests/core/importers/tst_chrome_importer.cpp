#include "tests/support/import_case.h"

#include "core/importers/json_tokens.h"

#include <QTest>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

using namespace stepscope;
using namespace stepscope::importers;
using session::SpanTable;

class TestChromeImporter : public QObject {
    Q_OBJECT

private slots:
    void decimalTextBecomesNanosecondsExactly_data();
    void decimalTextBecomesNanosecondsExactly();
    void tensNanosecondSpansOfAnEpochTraceKeepTheirPlace();
    void largeFilesGiveEveryEventWhateverTheLayout_data();
    void largeFilesGiveEveryEventWhateverTheLayout();
    void cutAnywhereGivesThePartBeforeTheCut();
    void deepNestingAndHugeTextAreNoProblem();
    void endsMatchTheNewestBeginOfTheirName();
    void stepsGiveSpansAndTheirKernelsTheirNumber();
    void aPartOfTheFileCanBeLoaded();
    void launchesGoByCorrelationNotByExternalId();
    void copiesHaveTheirKindsOfMemory();
    void samplesOfTheTraceFormatAreRead();
    void whatNoClockShowsIsLeftOut();
    void countersWithoutNumbersAreCounted();
    void otherJsonIsNotTakenForATrace_data();
    void otherJsonIsNotTakenForATrace();
};

namespace {

Imported imported(const std::string& text, const ImportOptions& options = {})
{
    base::Result<Imported> result = support::importText(text, "trace.json", options);
    if (!result) {
        qWarning("%s", base::toText(result.error()).c_str());
        return {};
    }
    return std::move(*result);
}

std::string nameOf(const session::Session& session, size_t row)
{
    return std::string(session.string(session.labels()[session.spans().label[row]].name));
}

size_t rowOf(const session::Session& session, const std::string& name)
{
    for (size_t row = 0; row < session.spans().size(); ++row)
        if (nameOf(session, row) == name) return row;
    qWarning("no span %s", name.c_str());
    return 0;
}

int64_t qualityCount(const session::Session& session, const std::string& code)
{
    for (const session::QualityRow& row : session.quality())
        if (row.code == code) return row.count;
    return 0;
}

} // namespace

void TestChromeImporter::decimalTextBecomesNanosecondsExactly_data()
{
    QTest::addColumn<QByteArray>("text");
    QTest::addColumn<int>("state");
    QTest::addColumn<qint64>("ns");
    const int good = static_cast<int>(NumberState::good), bad = static_cast<int>(NumberState::bad);
    const auto row = [](const char* text, int state, qint64 ns) { QTest::newRow(text) << QByteArray(text) << state << ns; };
    row("0", good, 0);
    row("1500.250", good, 1500250);
    row("\"1500.250\"", good, 1500250);
    row("1712195495519689.047", good, 1712195495519689047); // as double: 1712195495519689.0
    row("1768477199999999.990", good, 1768477199999999990);
    row("9223372036854775.807", good, INT64_MAX);
    row("9223372036854775.808", bad, 0);
    row("-5", good, -5000);
    row("-0.0005", good, -1); // rounded down
    row("0.0009", good, 0);
    row("1.5e3", good, 1500000);
    row("15E-1", good, 1500);
    row("1e400", bad, 0);
    row("\"soon\"", bad, 0);
    row("12abc", bad, 0);
    row("", static_cast<int>(NumberState::missing), 0);
    row("null", static_cast<int>(NumberState::missing), 0);
    row("NaN", static_cast<int>(NumberState::nonFinite), 0);
    row("-Infinity", static_cast<int>(NumberState::nonFinite), 0);
}

void TestChromeImporter::decimalTextBecomesNanosecondsExactly()
{
    QFETCH(QByteArray, text);
    QFETCH(int, state);
    QFETCH(qint64, ns);
    const MicroTime time = microTime(text.toStdString());
    QCOMPARE(static_cast<int>(time.state), state);
    if (time.state == NumberState::good) QCOMPARE(static_cast<qint64>(time.ns), ns);
}

// Case 77: 10 ns spans at the end of an hour, in microseconds since 1970.
void TestChromeImporter::tensNanosecondSpansOfAnEpochTraceKeepTheirPlace()
{
    const base::Result<Imported> result = support::importPath(support::casePath("77-jitter-when-zoomed-deep/input.json"));
    QVERIFY(result);
    const SpanTable& spans = result->session->spans();
    QCOMPARE(spans.size(), size_t{11});
    for (size_t i = 0; i < 10; ++i) {
        QCOMPARE(spans.start[spans.trackBegin[1] + i], int64_t{3599999999900} + static_cast<int64_t>(i) * 10);
        QCOMPARE(spans.duration[spans.trackBegin[1] + i], int64_t{10});
    }
    QCOMPARE(result->session->environmentValue("import.origin_ns"), std::string_view("1768473600000000000"));
}

void TestChromeImporter::largeFilesGiveEveryEventWhateverTheLayout_data()
{
    QTest::addColumn<QString>("between");
    QTest::addColumn<QString>("blank");
    QTest::addColumn<int>("odd"); // every how many events one has something that JSON forbids; 0 never
    QTest::newRow("one per line") << ",\n" << "" << 0;
    QTest::newRow("all on one line") << "," << "" << 0;
    QTest::newRow("spread like Kineto") << ",\n  " << "\n    " << 0;
    QTest::newRow("windows line ends") << ",\r\n" << " " << 0;
    QTest::newRow("a wrong escape now and then") << ",\n" << " " << 5000;
    QTest::newRow("infinities everywhere") << ",\n" << "" << 3;
}

// Made with known sums: names with brackets, quotes and braces in them, nested arguments that look like events, several
// windows of the reader. Every event must come once, whichever way it is read.
void TestChromeImporter::largeFilesGiveEveryEventWhateverTheLayout()
{
    QFETCH(QString, between);
    QFETCH(QString, blank);
    QFETCH(int, odd);
    constexpr int kEvents = 40000;
    const std::string space = blank.toStdString();
    const char* const kNames[] = {"plain", "with \\\"quotes\\\" }, {", "{lambda(int)#1}, {\\\"ph\\\"", "a\\\\", "]}", "\\u00e9t\\u00e9", "inf", ": nan,"};
    const char* const kDecoded[] = {"plain", "with \"quotes\" }, {", "{lambda(int)#1}, {\"ph\"", "a\\", "]}", "\xc3\xa9t\xc3\xa9", "inf", ": nan,"};
    std::string text = "{\"schemaVersion\": 1," + space + "\"traceEvents\": [";
    std::map<std::string, std::pair<int64_t, int64_t>> expected;
    std::mt19937 random(7);
    int64_t strange = 0;
    for (int i = 0; i < kEvents; ++i) {
        const size_t name = random() % std::size(kNames);
        const int64_t duration = static_cast<int64_t>(random() % 1000);
        text += (i == 0 ? space : between.toStdString()) + "{" + space + "\"ph\": \"X\"," + space + "\"name\":\"" + kNames[name]
            + "\"," + space + "\"pid\": 1, \"tid\": " + std::to_string(i % 3) + "," + space + "\"ts\": " + std::to_string(i * 1000)
            + ",\"dur\":" + std::to_string(duration) + ", \"args\": {\"list\": [{\"ph\": \"X\", \"ts\": 1}, {\"ph\": \"X\"}, {}], \"n\": ";
        if (odd > 0 && i % odd == odd - 1) {
            text += i % 2 == 0 ? "-inf" : "\"\\q\"";
            ++strange;
        } else {
            text += std::to_string(random() % 100000);
        }
        text += "}" + space + "}";
        expected[kDecoded[name]].first += 1;
        expected[kDecoded[name]].second += duration * 1000;
    }
    text += space + "]" + space + ",\"displayTimeUnit\": \"ms\"}\n";
    QVERIFY(text.size() > (3u << 20));
    const Imported result = imported(text);
    QVERIFY(result.session);
    QVERIFY(result.complete);
    QCOMPARE(result.problem.has_value(), odd > 0);
    const session::Session& session = *result.session;
    QCOMPARE(session.spans().size(), size_t{kEvents});
    std::map<std::string, std::pair<int64_t, int64_t>> got;
    for (size_t row = 0; row < session.spans().size(); ++row) {
        auto& sums = got[nameOf(session, row)];
        sums.first += 1;
        sums.second += session.spans().duration[row];
    }
    QVERIFY(got == expected);
    QCOMPARE(qualityCount(session, "non-finite-number") + qualityCount(session, "invalid-escape"), strange);
    QCOMPARE(session.environmentValue("trace.displayTimeUnit"), std::string_view("ms"));
    // The place of an event is that of its opening brace.
    for (size_t row = 0; row < session.spans().size(); row += 997) {
        const uint64_t place = session.details().placeOf(session.spans().detail[row]);
        const std::string mark = "\"ts\": " + std::to_string((session.spans().start[row]) / 1000) + ",";
        QCOMPARE(text[place], '{');
        const size_t at = text.find(mark, place);
        QVERIFY(at != std::string::npos && at - place < 250);
    }
}

void TestChromeImporter::cutAnywhereGivesThePartBeforeTheCut()
{
    std::string text = "{\"traceEvents\":[";
    std::vector<size_t> ends;
    for (int i = 0; i < 12; ++i) {
        text += (i == 0 ? "" : ",") + std::string("{\"name\":\"n\\n\",\"ph\":\"X\",\"ts\":") + std::to_string(i) + ",\"dur\":1,\"args\":{\"a\":[1,\"}\"]}}";
        ends.push_back(text.size());
    }
    text += "],\"x\":1}";
    for (size_t size = 16; size < text.size(); ++size) {
        const Imported result = imported(text.substr(0, size));
        QVERIFY2(result.session, qPrintable(QString::number(size)));
        QVERIFY(!result.complete);
        QCOMPARE(result.problem->byteOffset, static_cast<int64_t>(size));
        QCOMPARE(result.session->spans().size(), static_cast<size_t>(std::count_if(ends.begin(), ends.end(), [&](size_t e) { return e <= size; })));
    }
    QVERIFY(imported(text).complete);
}

void TestChromeImporter::deepNestingAndHugeTextAreNoProblem()
{
    std::string deep = "[{\"ph\":\"X\",\"name\":\"deep\",\"ts\":1,\"dur\":2,\"args\":";
    deep.append(300000, '[').append(300000, ']');
    deep += "},{\"ph\":\"X\",\"name\":\"" + std::string(5 << 20, 'x') + "\",\"ts\":3,\"dur\":4},{\"ph\":\"X\",\"name\":\"last\",\"ts\":9,\"dur\":1}]";
    const Imported result = imported(deep);
    QVERIFY(result.session);
    QVERIFY(result.complete);
    QCOMPARE(result.session->spans().size(), size_t{3});
    const Imported unclosed = imported("[{\"ph\":\"X\",\"ts\":1,\"dur\":1},{\"args\":" + std::string(500000, '['));
    QVERIFY(unclosed.session);
    QVERIFY(!unclosed.complete);
    QCOMPARE(unclosed.session->spans().size(), size_t{1});
}

// Begins and ends of one thread that are not in order of time and that cross: both spans keep their own times.
void TestChromeImporter::endsMatchTheNewestBeginOfTheirName()
{
    const Imported result = imported(R"([
{"ph":"E","name":"a","pid":1,"tid":1,"ts":30},
{"ph":"B","name":"a","pid":1,"tid":1,"ts":10},
{"ph":"B","name":"b","pid":1,"tid":1,"ts":20},
{"ph":"E","name":"b","pid":1,"tid":1,"ts":40}])");
    QVERIFY(result.session);
    const session::Session& session = *result.session;
    QCOMPARE(session.spans().size(), size_t{2});
    QCOMPARE(session.spans().duration[rowOf(session, "a")], int64_t{20000});
    QCOMPARE(session.spans().duration[rowOf(session, "b")], int64_t{20000});
    QCOMPARE(qualityCount(session, "overlap-lanes"), int64_t{1});
}

namespace {

const char* const kTwoSteps = R"json({"schemaVersion":1,"traceEvents":[
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#7","pid":1,"tid":1,"ts":100,"dur":100},
{"ph":"X","cat":"user_annotation","name":"ProfilerStep#8","pid":1,"tid":1,"ts":200,"dur":100},
{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":110,"dur":50,"args":{"External id":3}},
{"ph":"X","cat":"cpu_op","name":"aten::add","pid":1,"tid":1,"ts":210,"dur":50,"args":{"External id":901}},
{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":120,"dur":5,"args":{"correlation":901,"External id":3}},
{"ph":"X","cat":"kernel","name":"gemm","pid":0,"tid":7,"ts":250,"dur":20,"args":{"correlation":901,"External id":901,"device":0,"stream":7,"grid":[4,2,1],"block":[128,1,1],"registers per thread":32,"shared memory":4096,"est. achieved occupancy %":50,"blocks per SM":inf}},
{"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pageable -> Device)","pid":0,"tid":7,"ts":50,"dur":4,"args":{"bytes":4096,"correlation":5}},
{"ph":"s","cat":"ac2g","id":901,"name":"ac2g","pid":1,"tid":1,"ts":120},
{"ph":"f","cat":"ac2g","id":901,"name":"ac2g","pid":0,"tid":7,"ts":250,"bp":"e"}
]})json";

} // namespace

void TestChromeImporter::stepsGiveSpansAndTheirKernelsTheirNumber()
{
    const Imported result = imported(kTwoSteps);
    QVERIFY(result.session);
    const session::Session& session = *result.session;
    QCOMPARE(session.steps().size(), size_t{2});
    QCOMPARE(session.steps()[0].index, int64_t{7});
    QCOMPARE(session.steps()[0].start, int64_t{50000}); // the copy at 50 us comes first
    QCOMPARE(session.steps()[0].duration, int64_t{100000});
    QCOMPARE(session.spans().step[rowOf(session, "aten::mm")], 7);
    QCOMPARE(session.spans().step[rowOf(session, "aten::add")], 8);
    QCOMPARE(session.spans().step[rowOf(session, "gemm")], 7); // runs in step 8, launched in step 7
    QCOMPARE(session.spans().step[rowOf(session, "Memcpy HtoD (Pageable -> Device)")], -1);
}

void TestChromeImporter::aPartOfTheFileCanBeLoaded()
{
    ImportOptions options;
    options.firstStep = 8;
    Imported result = imported(kTwoSteps, options);
    QVERIFY(result.session);
    QCOMPARE(result.session->steps().size(), size_t{2}); // step 7 ends where step 8 begins
    options = {};
    options.rangeBegin = 150001; // from 200.001 us on, as the copy begins at 50 us
    options.rangeEnd = 160000;
    result = imported(kTwoSteps, options);
    QVERIFY(result.session);
    QCOMPARE(result.session->spans().size(), size_t{1});
    QCOMPARE(nameOf(*result.session, 0), std::string("ProfilerStep"));
    options = {};
    options.firstStep = 20;
    const base::Result<Imported> none = support::importText(kTwoSteps, "trace.json", options);
    QVERIFY(!none);
    QCOMPARE(none.error().code, base::ErrorCode::notFound);
}

// "External id" equals the correlation id of other things in files of before 2024.
void TestChromeImporter::launchesGoByCorrelationNotByExternalId()
{
    const Imported result = imported(kTwoSteps);
    QVERIFY(result.session);
    const session::Session& session = *result.session;
    const session::DeviceWork* gemm = session.details().deviceWork(session.spans().detail[rowOf(session, "gemm")]);
    QVERIFY(gemm != nullptr);
    QCOMPARE(gemm->launch, static_cast<uint32_t>(rowOf(session, "cudaLaunchKernel")));
    QCOMPARE(session.spans().parent[gemm->launch], static_cast<uint32_t>(rowOf(session, "aten::mm")));
    QCOMPARE(gemm->grid[0], 4);
    QCOMPARE(gemm->block[0], 128);
    QCOMPARE(gemm->registers, 32);
    QCOMPARE(gemm->sharedBytes, 4096);
    QCOMPARE(gemm->occupancy, 0.5f);
    QVERIFY(std::isnan(gemm->blocksPerSm));
    QCOMPARE(session.environmentValue("import.launch_arrows"), std::string_view("1 of the file, 0 of them without device work of that correlation id"));
}

void TestChromeImporter::copiesHaveTheirKindsOfMemory()
{
    const Imported result = imported(kTwoSteps);
    QVERIFY(result.session);
    const session::Session& session = *result.session;
    const session::DeviceWork* copy = session.details().deviceWork(session.spans().detail[rowOf(session, "Memcpy HtoD (Pageable -> Device)")]);
    QVERIFY(copy != nullptr);
    QCOMPARE(copy->bytes, int64_t{4096});
    QCOMPARE(copy->copy, session::CopyKind::hostToDevice);
    QCOMPARE(copy->source, session::MemoryKind::pageable);
    QCOMPARE(copy->destination, session::MemoryKind::device);
    QCOMPARE(copy->launch, SpanTable::kNoParent);
    QCOMPARE(copy->device, 0);
    QCOMPARE(copy->stream, int64_t{7});
}

void TestChromeImporter::samplesOfTheTraceFormatAreRead()
{
    const Imported result = imported(R"({"traceEvents":[
{"ph":"P","name":"s","pid":1,"tid":2,"ts":10,"sf":2},
{"ph":"P","name":"s","pid":1,"tid":2,"ts":20,"sf":"3"},
{"ph":"P","name":"s","pid":1,"tid":2,"ts":30,"sf":9}],
"stackFrames":{"1":{"name":"main","category":"app"},"2":{"name":"work","parent":"1"},"3":{"name":"loop","parent":3}},
"samples":[{"cpu":0,"tid":2,"ts":40,"name":"s","sf":1,"weight":5}]})");
    QVERIFY(result.session);
    const session::Session& session = *result.session;
    QCOMPARE(session.sampleCount(), uint64_t{4});
    const session::SampleTable& samples = session.samples(base::SeriesId(size_t{0}));
    const session::StackRow& first = session.stacks()[samples.stack[0]];
    QCOMPARE(session.string(session.frames()[first.frame.index()].function), std::string_view("work"));
    QCOMPARE(session.string(session.frames()[session.stacks()[first.parent.index()].frame.index()].function), std::string_view("main"));
    QVERIFY(!session.stacks()[samples.stack[1]].parent.valid()); // its own parent
    QCOMPARE(samples.stack[2], base::StackId::kNone);
    QCOMPARE(samples.weight[3], int64_t{5});
    QCOMPARE(qualityCount(session, "bad-sample"), int64_t{1});
}

// 2^61 ns are 2305843009213693.952 us: times so far out could not be subtracted from each other.
void TestChromeImporter::whatNoClockShowsIsLeftOut()
{
    const Imported result = imported(R"({"traceEvents":[
        {"ph":"X","name":"first","pid":1,"tid":1,"ts":1,"dur":1},
        {"ph":"X","name":"beyond","pid":1,"tid":1,"ts":2305843009213693.952,"dur":1},
        {"ph":"X","name":"before","pid":1,"tid":1,"ts":-9000000000000000,"dur":1},
        {"ph":"P","name":"s","pid":1,"tid":1,"ts":1,"sf":"1","weight":9223372036854775807},
        {"ph":"P","name":"s","pid":1,"tid":1,"ts":2,"sf":"1","weight":7}],
        "stackFrames":{"1":{"name":"f"}}})");
    QVERIFY(result.session);
    QCOMPARE(result.session->spans().size(), size_t{1});
    QCOMPARE(qualityCount(*result.session, "bad-ts"), int64_t{2});
    QCOMPARE(qualityCount(*result.session, "bad-sample"), int64_t{1});
    QCOMPARE(result.session->sampleCount(), size_t{1});
}

void TestChromeImporter::countersWithoutNumbersAreCounted()
{
    const Imported result = imported(R"({"traceEvents":[
        {"ph":"C","name":"q","pid":1,"tid":1,"ts":1,"args":{"v":"busy"}},
        {"ph":"C","name":"q","pid":1,"tid":1,"ts":2},
        {"ph":"C","name":"q","pid":1,"tid":1,"ts":3,"args":{"v":"4"}},
        {"ph":"C","name":"q","pid":1,"tid":1,"ts":4,"args":{"v":5}}]})");
    QVERIFY(result.session);
    QCOMPARE(qualityCount(*result.session, "bad-counter"), int64_t{2});
    const session::CounterSamples& values = result.session->counterSamples(session::CounterId(size_t{0}));
    QCOMPARE(std::vector<double>(values.value.begin(), values.value.end()), (std::vector<double>{4, 5}));
}

void TestChromeImporter::otherJsonIsNotTakenForATrace_data()
{
    QTest::addColumn<QByteArray>("text");
    QTest::newRow("object") << QByteArray("{\"a\": 1}");
    QTest::newRow("list of numbers") << QByteArray("[1, 2, 3]");
    QTest::newRow("list of lists") << QByteArray("[[1, 2], [3, 4]]");
    QTest::newRow("list of objects") << QByteArray("[{\"name\": \"x\"}]");
    QTest::newRow("execution trace") << QByteArray("{\"schema\": \"1.0.1\", \"pid\": 1, \"nodes\": [{\"name\": \"x\"}]}");
    QTest::newRow("text") << QByteArray("traceEvents");
}

void TestChromeImporter::otherJsonIsNotTakenForATrace()
{
    QFETCH(QByteArray, text);
    QVERIFY(!support::importBytes(text, "x.json").has_value());
}

QTEST_GUILESS_MAIN(TestChromeImporter)
#include "tst_chrome_importer.moc"
