// Sums of the importer against those of SQL on the same file.
#include "core/analysis/device_reports.h"
#include "core/importers/importer.h"

#include <QFile>
#include <QProcess>
#include <QTemporaryDir>
#include <QtTest>

#include <sqlite3.h>

#include <map>
#include <memory>

using namespace stepscope;
using importers::Imported;
using session::SpanKind;

namespace {

using Sums = std::map<std::string, std::pair<int64_t, int64_t>>; // name -> count, ns

QString caseFile()
{
    return QStringLiteral(STEPSCOPE_SOURCE_DIR "/tests/golden/cases/67-nsys-missing-tables/input.sqlite");
}

base::Result<Imported> import(const QString& path, const importers::ImportOptions& options = {})
{
    return importers::importFile(path.toStdString(), options);
}

Sums sqlSums(const QString& path, const char* sql)
{
    sqlite3* database = nullptr;
    Sums sums;
    if (sqlite3_open_v2(("file:" + path.toStdString() + "?mode=ro&immutable=1").c_str(), &database, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr) == SQLITE_OK) {
        sqlite3_stmt* statement = nullptr;
        if (sqlite3_prepare_v2(database, sql, -1, &statement, nullptr) == SQLITE_OK)
            while (sqlite3_step(statement) == SQLITE_ROW) {
                const auto* name = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
                sums[name == nullptr ? "" : name] = {sqlite3_column_int64(statement, 1), sqlite3_column_int64(statement, 2)};
            }
        sqlite3_finalize(statement);
    }
    sqlite3_close(database);
    return sums;
}

Sums spanSums(const session::Session& session, std::initializer_list<SpanKind> kinds, std::string_view category = {})
{
    Sums sums;
    const session::SpanTable& spans = session.spans();
    for (size_t row = 0; row < spans.size(); ++row) {
        const session::Label& label = session.labels()[spans.label[row]];
        if (std::find(kinds.begin(), kinds.end(), label.kind) == kinds.end()) continue;
        if (!category.empty() && session.string(label.category) != category) continue;
        auto& sum = sums[std::string(session.string(label.name))];
        ++sum.first;
        sum.second += spans.duration[row];
    }
    return sums;
}

int64_t qualityCount(const session::Session& session, std::string_view code)
{
    for (const session::QualityRow& row : session.quality())
        if (row.code == code) return row.count;
    return 0;
}

std::string_view environment(const session::Session& session, std::string_view key) { return session.environmentValue(key); }

void compare(const Sums& got, const Sums& expected)
{
    QVERIFY(!expected.empty());
    for (const auto& [name, sum] : expected) {
        const auto found = got.find(name);
        QVERIFY2(found != got.end(), name.c_str());
        QCOMPARE(found->second.first, sum.first);
        QCOMPARE(found->second.second, sum.second);
    }
    QCOMPARE(got.size(), expected.size());
}

} // namespace

class TestNsightImporter : public QObject {
    Q_OBJECT
private slots:
    void anExportWithoutUsualTablesOpens();
    void aPackedExportOpens();
    void aTimeRangeLoadsWhatOverlapsIt();
    void sumsAreThoseOfSql_data();
    void sumsAreThoseOfSql();
    void memoryKindsAreThoseOfTheFile();
    void openRangesAndImpossibleTimesAreCounted();
    void numberedRangesAreSteps();
    void samplesBecomeASeries();
    void metricsAndMemoryBecomeCounters();
    void anEmptyHeaderSaysThatTheExportWasInterrupted();
    void anotherDatabaseIsRefused();
    void aCutDatabaseGivesAnErrorOrWhatWasReadable();

private:
    QString make(const QTemporaryDir& folder, const QString& name, const char* sql)
    {
        const QString path = folder.filePath(name);
        sqlite3* database = nullptr;
        sqlite3_open(path.toUtf8().constData(), &database);
        char* message = nullptr;
        if (sqlite3_exec(database, sql, nullptr, nullptr, &message) != SQLITE_OK) qWarning("%s", message);
        sqlite3_close(database);
        return path;
    }
};

// Values of the bug collection's case: no NVTX, no copies, one stream number on two devices, a name that is not there.
void TestNsightImporter::anExportWithoutUsualTablesOpens()
{
    const base::Result<Imported> imported = import(caseFile());
    QVERIFY(imported);
    QCOMPARE(imported->format, std::string("nsight"));
    QVERIFY(imported->complete);
    const session::Session& session = *imported->session;
    compare(spanSums(session, {SpanKind::kernel}), {{"void gemm_kernel<float, 128>(float const*, float*)", {2, 6000}}, {"kernel 99", {1, 6000}}, {"ncclAllReduce", {1, 3500}}});
    // The case has the short names, in the order of time, and none for the one that is not in the file.
    std::map<base::TimeNs, std::string> names;
    for (size_t row = 0; row < session.spans().size(); ++row) {
        const session::Label& label = session.labels()[session.spans().label[row]];
        if (label.kind != SpanKind::kernel) continue;
        std::string name(session.string(label.name));
        if (name.starts_with("void ")) name = name.substr(5);
        names[session.spans().start[row]] = name.substr(0, name.find('<'));
    }
    std::vector<std::string> inOrder;
    for (const auto& [time, name] : names)
        inOrder.push_back(name);
    QCOMPARE(inOrder, (std::vector<std::string>{"gemm_kernel", "kernel 99", "gemm_kernel", "ncclAllReduce"}));
    int64_t streams = 0;
    for (const session::Track& track : session.tracks()) {
        if (track.lane > 0) continue;
        if (track.kind == session::TrackKind::stream) ++streams;
        else QCOMPARE(track.threadId, int64_t{4055});
        QCOMPARE(track.processId, int64_t{4021});
    }
    QCOMPARE(streams, int64_t{3});
    const session::SpanTable& spans = session.spans();
    const base::TimeNs origin = std::stoll(std::string(environment(session, "import.origin_ns")));
    base::TimeNs first = INT64_MAX, last = 0;
    for (size_t row = 0; row < spans.size(); ++row) {
        first = std::min(first, origin + spans.start[row]);
        last = std::max(last, origin + spans.end(row));
    }
    QCOMPARE(first, base::TimeNs{500});
    QCOMPARE(last, base::TimeNs{9000});
    const std::vector<analysis::DeviceTimeRow> devices = analysis::deviceTimes(analysis::DeviceTrace(session));
    QCOMPARE(devices.size(), size_t{2});
    QCOMPARE(devices[0].sum, base::TimeNs{9500});
    QCOMPARE(devices[0].busy, base::TimeNs{8000});
    QCOMPARE(devices[1].sum, base::TimeNs{6000});
    QCOMPARE(devices[1].busy, base::TimeNs{6000});
    const analysis::LaunchReport launches = analysis::launchReport(analysis::DeviceTrace(session));
    QCOMPARE(launches.workWithoutLaunch, int64_t{3});
    QCOMPARE(launches.rows.front().count, int64_t{1});
    QCOMPARE(qualityCount(session, "missing-tables"), int64_t{2}); // MEMCPY and NVTX_EVENTS
}

void TestNsightImporter::aPackedExportOpens()
{
    QTemporaryDir folder;
    const QString packed = folder.filePath("input.sqlite.gz");
    const int failed = QProcess::execute("sh", {"-c", "gzip -c \"$0\" > \"$1\"", caseFile(), packed});
    if (failed != 0) QSKIP("gzip is not installed");
    const base::Result<Imported> imported = import(packed);
    QVERIFY(imported);
    QCOMPARE(spanSums(*imported->session, {SpanKind::kernel}).size(), size_t{3});
}

void TestNsightImporter::aTimeRangeLoadsWhatOverlapsIt()
{
    importers::ImportOptions options;
    options.rangeBegin = 4600; // 5100 to 5400: all but the call and the collective, which begins at 5500
    options.rangeEnd = 4900;
    const base::Result<Imported> imported = import(caseFile(), options);
    QVERIFY(imported);
    compare(spanSums(*imported->session, {SpanKind::kernel, SpanKind::call}),
        {{"void gemm_kernel<float, 128>(float const*, float*)", {1, 2000}}, {"kernel 99", {1, 6000}}});
}

void TestNsightImporter::sumsAreThoseOfSql_data()
{
    QTest::addColumn<QString>("file");
    QTest::newRow("two H100, one second") << "nsight/h100_2gpu_1s.sqlite";
    QTest::newRow("made") << "nsight/mock.sqlite";
}

void TestNsightImporter::sumsAreThoseOfSql()
{
    QFETCH(QString, file);
    const QString path = QStringLiteral(STEPSCOPE_TRACES_DIR "/") + file;
    if (!QFile::exists(path)) QSKIP("the folder of real traces is not here (STEPSCOPE_TRACES)");
    const base::Result<Imported> imported = import(path);
    QVERIFY2(imported, imported ? "" : base::toText(imported.error()).c_str());
    QVERIFY(imported->complete);
    const session::Session& session = *imported->session;
    compare(spanSums(session, {SpanKind::kernel}), sqlSums(path,
        "SELECT s.value, count(*), sum(k.end - k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL k LEFT JOIN StringIds s ON s.id = k.demangledName GROUP BY k.demangledName"));
    compare(spanSums(session, {SpanKind::call, SpanKind::synchronisation}, "cuda"), sqlSums(path,
        "SELECT s.value, count(*), sum(r.end - r.start) FROM CUPTI_ACTIVITY_KIND_RUNTIME r LEFT JOIN StringIds s ON s.id = r.nameId GROUP BY r.nameId"));
    if (const Sums nvtx = sqlSums(path, "SELECT coalesce(n.text, s.value), count(*), sum(n.end - n.start) FROM NVTX_EVENTS n LEFT JOIN StringIds s ON s.id = n.textId WHERE n.eventType IN (59, 60) GROUP BY 1"); !nvtx.empty()) {
        Sums got;
        for (const auto& [name, sum] : spanSums(session, {SpanKind::annotation, SpanKind::operation, SpanKind::step}))
            got[name] = sum;
        compare(got, nvtx);
    }
    std::map<std::string, std::tuple<int64_t, int64_t, int64_t>> copies;
    for (const analysis::CopyRow& row : analysis::copyReport(analysis::DeviceTrace(session))) {
        auto& [count, bytes, time] = copies[row.name];
        count += row.count;
        bytes += row.bytes;
        time += row.total;
    }
    const std::pair<const char*, const char*> directions[] = {{"Memcpy HtoD", "SELECT 'a', count(*), sum(end - start) FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE copyKind = 1"},
        {"Memcpy DtoH", "SELECT 'a', count(*), sum(end - start) FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE copyKind = 2"},
        {"Memcpy DtoD", "SELECT 'a', count(*), sum(end - start) FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE copyKind = 8"},
        {"Memset", "SELECT 'a', count(*), sum(end - start) FROM CUPTI_ACTIVITY_KIND_MEMSET"}};
    for (const auto& [name, sql] : directions) {
        const Sums expected = sqlSums(path, sql);
        if (expected.empty()) continue; // no such table
        QCOMPARE(std::get<0>(copies[name]), expected.at("a").first);
        QCOMPARE(std::get<2>(copies[name]), expected.at("a").second);
    }
    const Sums joined = sqlSums(path, "SELECT 'a', count(*), 0 FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON k.correlationId = r.correlationId AND (k.globalPid >> 24) = (r.globalTid >> 24)");
    int64_t launched = 0;
    const analysis::DeviceTrace trace(session);
    for (const analysis::DeviceActivity& activity : trace.activities())
        if (activity.kind == SpanKind::kernel && activity.launched()) ++launched;
    QCOMPARE(launched, joined.at("a").first);
}

// Numbers of Nsight Systems, not those of CUPTI: 0 is pageable, 2 the device.
void TestNsightImporter::memoryKindsAreThoseOfTheFile()
{
    QTemporaryDir folder;
    const char* copies = "CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY(start, end, deviceId, contextId, streamId, correlationId, globalPid, bytes, copyKind, srcKind, dstKind);"
                         "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (10, 20, 0, 1, 7, 1, 0, 100, 1, 0, 2);";
    const QString usual = make(folder, "usual.sqlite", copies);
    const base::Result<Imported> imported = import(usual);
    QVERIFY(imported);
    const std::vector<analysis::CopyRow> rows = analysis::copyReport(analysis::DeviceTrace(*imported->session));
    QCOMPARE(rows.size(), size_t{1});
    QCOMPARE(rows[0].copy, session::CopyKind::hostToDevice);
    QCOMPARE(rows[0].source, session::MemoryKind::pageable);
    QCOMPARE(rows[0].destination, session::MemoryKind::device);
    QCOMPARE(rows[0].rate(), 10e9);
    const QString own = make(folder, "own.sqlite", (QByteArray(copies) + "CREATE TABLE ENUM_CUDA_MEM_KIND(id, name, label); INSERT INTO ENUM_CUDA_MEM_KIND VALUES (0, 'CUDA_MEMOPR_MEMORY_KIND_PINNED', 'Pinned');").constData());
    const base::Result<Imported> other = import(own);
    QVERIFY(other);
    QCOMPARE(analysis::copyReport(analysis::DeviceTrace(*other->session))[0].source, session::MemoryKind::pinned);
}

void TestNsightImporter::openRangesAndImpossibleTimesAreCounted()
{
    QTemporaryDir folder;
    const QString path = make(folder, "a.sqlite",
        "CREATE TABLE StringIds(id, value); INSERT INTO StringIds VALUES (1, 'from the table'), (2, 'k');"
        "CREATE TABLE NVTX_EVENTS(start, end, eventType, text, textId, globalTid, domainId);"
        "INSERT INTO NVTX_EVENTS VALUES (-100, 400, 59, 'outer', NULL, 16777217, 0), (0, NULL, 59, NULL, 1, 16777217, 0), (50, NULL, 34, 'mark', NULL, 16777217, 0),"
        "  (300, 200, 59, 'turned round', NULL, 16777217, 0), (0, NULL, 75, 'a domain', NULL, 16777217, 3), (60, 70, 60, 'of the domain', NULL, 16777217, 3);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, end, deviceId, contextId, streamId, correlationId, globalPid, demangledName);"
        "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (0, 0, 0, 1, 7, 1, 16777216, 2), (100, 900, 0, 1, 7, 2, 16777216, 2), (9223372036854775807, 9223372036854775807, 0, 1, 7, 3, 16777216, 2);"
        "CREATE TABLE SCHED_EVENTS(start, cpu); INSERT INTO SCHED_EVENTS VALUES (1, 1), (2, 1);");
    const base::Result<Imported> imported = import(path);
    QVERIFY(imported);
    const session::Session& session = *imported->session;
    compare(spanSums(session, {SpanKind::annotation}),
        {{"outer", {1, 500}}, {"from the table", {1, 900}}, {"mark", {1, 0}}, {"of the domain", {1, 10}}}); // open: to the end, at 900
    compare(spanSums(session, {SpanKind::kernel}), {{"k", {1, 800}}});
    QCOMPARE(qualityCount(session, "unfinished"), int64_t{1});
    QCOMPARE(qualityCount(session, "negative-dur"), int64_t{1});
    QCOMPARE(qualityCount(session, "no-timing"), int64_t{1});
    QCOMPARE(qualityCount(session, "bad-time"), int64_t{1});
    QCOMPARE(qualityCount(session, "tables-not-read"), int64_t{2});
    QCOMPARE(spanSums(session, {SpanKind::annotation}, "NVTX, a domain").size(), size_t{1});
}

void TestNsightImporter::numberedRangesAreSteps()
{
    QTemporaryDir folder;
    const QString path = make(folder, "a.sqlite",
        "CREATE TABLE NVTX_EVENTS(start, end, eventType, text, globalTid);"
        "INSERT INTO NVTX_EVENTS VALUES (0, 100, 59, 'iteration 4', 1), (100, 250, 59, 'iteration 5', 1), (250, 300, 59, 'iteration 6', 1), (10, 90, 59, 'forward', 1), (110, 150, 59, 'forward', 1);");
    base::Result<Imported> imported = import(path);
    QVERIFY(imported);
    QCOMPARE(imported->session->steps().size(), size_t{3});
    QCOMPARE(imported->session->steps()[1].index, int64_t{5});
    QCOMPARE(imported->session->steps()[1].duration, base::TimeNs{150});
    importers::ImportOptions options;
    options.stepName = "forward";
    imported = import(path, options);
    QVERIFY(imported);
    QCOMPARE(imported->session->steps().size(), size_t{2});
    QCOMPARE(imported->session->steps()[1].start, base::TimeNs{110});
    options = {};
    options.firstStep = options.lastStep = 5;
    imported = import(path, options);
    QVERIFY(imported);
    QCOMPARE(imported->session->steps().size(), size_t{1});
    compare(spanSums(*imported->session, {SpanKind::step, SpanKind::annotation}), {{"iteration 5", {1, 150}}, {"forward", {1, 40}}});
}

void TestNsightImporter::samplesBecomeASeries()
{
    QTemporaryDir folder;
    const QString path = make(folder, "a.sqlite", // the leaf has depth 0
        "CREATE TABLE StringIds(id, value); INSERT INTO StringIds VALUES (1, 'main'), (2, 'work'), (3, 'app');"
        "CREATE TABLE COMPOSITE_EVENTS(id, start, cpu, globalTid); INSERT INTO COMPOSITE_EVENTS VALUES (1, 100, 0, 16777220), (2, 200, 0, 16777220), (3, 300, 0, 16777220);"
        "CREATE TABLE SAMPLING_CALLCHAINS(id, symbol, module, kernelMode, unresolved, originalIP, stackDepth);"
        "INSERT INTO SAMPLING_CALLCHAINS VALUES (1, 2, 3, 0, 0, 16, 0), (1, 1, 3, 0, 0, 32, 1), (2, 1, 3, 0, 0, 32, 0), (3, NULL, 3, 1, 1, 4096, 0);");
    const base::Result<Imported> imported = import(path);
    QVERIFY(imported);
    const session::Session& session = *imported->session;
    QCOMPARE(session.series().size(), size_t{1});
    const session::SampleTable& samples = session.samples(base::SeriesId(0u));
    QCOMPARE(samples.size(), size_t{3});
    QCOMPARE(samples.time[2] - samples.time[0], base::TimeNs{200});
    const session::StackRow& leaf = session.stacks()[samples.stack[0]];
    QCOMPARE(session.string(session.frames()[leaf.frame.index()].function), std::string_view("work"));
    QVERIFY(leaf.parent.valid());
    const session::StackRow& root = session.stacks()[leaf.parent.index()];
    QCOMPARE(session.string(session.frames()[root.frame.index()].function), std::string_view("main"));
    QVERIFY(!root.parent.valid());
    QCOMPARE(samples.stack[1], leaf.parent.value);
    const session::FrameRow& unknown = session.frames()[session.stacks()[samples.stack[2]].frame.index()];
    QCOMPARE(session.string(unknown.function), std::string_view("0x1000"));
    QVERIFY((unknown.flags & session::kKernelMode) != 0);
    QCOMPARE(session.tracks()[samples.track[0]].threadId, int64_t{4});
}

void TestNsightImporter::metricsAndMemoryBecomeCounters()
{
    QTemporaryDir folder;
    const QString path = make(folder, "a.sqlite",
        "CREATE TABLE TARGET_INFO_GPU_METRICS(typeId, sourceId, metricId, metricName); INSERT INTO TARGET_INFO_GPU_METRICS VALUES (1, 0, 5, 'SM Active [Throughput %]');"
        "CREATE TABLE GPU_METRICS(timestamp, typeId, metricId, value); INSERT INTO GPU_METRICS VALUES (10, 1, 5, 40), (20, 1, 5, 60);"
        "CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS(start, globalPid, deviceId, address, bytes, memKind, memoryOperationType);"
        "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (30, 16777216, 0, 1, 1000, 2, 1), (10, 16777216, 0, 1, 1000, 2, 0), (20, 16777216, 0, 2, 500, 2, 0);"
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, end); INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (5, 50);");
    const base::Result<Imported> imported = import(path);
    QVERIFY(imported);
    const session::Session& session = *imported->session;
    QCOMPARE(session.counters().size(), size_t{2});
    QCOMPARE(session.counters()[0].name, std::string("GPU 1: SM Active [Throughput %]"));
    QCOMPARE(session.counterSamples(base::CounterId(0u)).value[1], 60.0);
    const session::CounterSamples& memory = session.counterSamples(base::CounterId(1u));
    QCOMPARE(memory.value.size(), size_t{3});
    QCOMPARE(memory.value[0], 1000.0);
    QCOMPARE(memory.value[1], 1500.0);
    QCOMPARE(memory.value[2], 500.0);
    QCOMPARE(memory.time[0], base::TimeNs{5}); // since the first event
}

void TestNsightImporter::anEmptyHeaderSaysThatTheExportWasInterrupted()
{
    QTemporaryDir folder;
    QFile file(folder.filePath("a.sqlite"));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write(QByteArray(4096, '\0'));
    file.close();
    const base::Result<Imported> imported = import(file.fileName());
    QVERIFY(!imported);
    QVERIFY(imported.error().message.find("interrupted") != std::string::npos);
    QVERIFY(imported.error().hint.find("nsys export") != std::string::npos);
}

void TestNsightImporter::anotherDatabaseIsRefused()
{
    QTemporaryDir folder;
    const QString path = make(folder, "a.sqlite", "CREATE TABLE customers(name);");
    const base::Result<Imported> imported = import(path);
    QVERIFY(!imported);
    QCOMPARE(imported.error().code, base::ErrorCode::wrongFormat);
    // A view may hold anything, so it is no table.
    const QString view = make(folder, "b.sqlite",
        "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE r(start, end) AS (SELECT 1, 2 UNION ALL SELECT start + 1, end + 1 FROM r) SELECT * FROM r;");
    QVERIFY(!import(view));
}

void TestNsightImporter::aCutDatabaseGivesAnErrorOrWhatWasReadable()
{
    QFile whole(caseFile());
    QVERIFY(whole.open(QIODevice::ReadOnly));
    const QByteArray bytes = whole.readAll();
    QTemporaryDir folder;
    for (int size = 100; size < bytes.size(); size += 97) {
        QFile cut(folder.filePath("cut.sqlite"));
        QVERIFY(cut.open(QIODevice::WriteOnly | QIODevice::Truncate));
        cut.write(bytes.left(size));
        cut.close();
        const base::Result<Imported> imported = import(cut.fileName());
        if (!imported) {
            QVERIFY(!imported.error().message.empty());
        } else {
            QVERIFY(!imported->complete);
            QVERIFY(imported->problem.has_value());
            QCOMPARE(qualityCount(*imported->session, "incomplete-file"), int64_t{1});
        }
    }
}

QTEST_GUILESS_MAIN(TestNsightImporter)
#include "tst_nsight_importer.moc"
