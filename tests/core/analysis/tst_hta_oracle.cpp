// Real traces against figures of HolisticTraceAnalysis: asserted by its tests, computed by running it, or counted from
// the file. The file of figures lies beside the traces; a case whose trace is not there is skipped.
#include "core/analysis/critical_path.h"
#include "core/analysis/device_reports.h"
#include "core/analysis/launch_stack.h"
#include "core/importers/importer.h"
#include "tests/support/loaded_trace.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QtTest>

#include <map>
#include <set>

using namespace stepscope;
using session::SpanKind;
using session::SpanTable;
using Trace = support::LoadedTrace;

namespace {

const QString kFolder = QStringLiteral(STEPSCOPE_TRACES_DIR "/hta/");

bool load(const QString& file, Trace& trace) { return trace.load(kFolder + file); }

double us(base::TimeNs time) { return static_cast<double>(time) / 1000; }

bool close(double a, double b, double relative) { return std::abs(a - b) <= relative * std::max(std::abs(a), std::abs(b)); }

using Times = std::map<std::string, std::pair<int64_t, base::TimeNs>>;

// What began on the host in a step, and the device work launched by it, by name.
std::pair<Times, Times> stepSums(const Trace& trace, int64_t step)
{
    Times host, device;
    const SpanTable& spans = trace.session->spans();
    for (size_t row = 0; row < spans.size(); ++row) {
        if (spans.step[row] != step || !trace.counts(row)) continue;
        const session::DeviceWork* work = trace.work(row);
        if (trace.label(row).kind == SpanKind::deviceAnnotation || (work != nullptr && work->launch == SpanTable::kNoParent)) continue;
        auto& [count, time] = (work != nullptr ? device : host)[std::string(trace.name(row))];
        ++count;
        time += spans.duration[row];
    }
    return {host, device};
}

QString missing(const QJsonObject& theCase)
{
    const QJsonValue file = theCase["file"];
    for (const QJsonValue& name : file.isArray() ? file.toArray() : QJsonArray{file})
        if (!QFile::exists(kFolder + name.toString())) return name.toString();
    return {};
}

} // namespace

class TestHtaOracle : public QObject {
    Q_OBJECT
private slots:
    void initTestCase();
    void countsOfTheImporter_data() { rowsOf("import:"); }
    void countsOfTheImporter();
    void analyses_data() { rowsOf("analysis:"); }
    void analyses();
    void stepsOfTwoRunsAreComparedByName();
    void aKernelHasItsLaunchStack();
    void theCriticalPathIsFound();
    void waitsKnowTheRecordThatTheyWaitFor();
    void collectivesKeepTheirArguments();
    void kernelsLieInRangesOfTheDevice();
    void spansOfATimeRangeAndUnderAnOperator();
    void aTraceWithoutDeviceWorkHasNoQueues();
    void aMemoryTimelineBecomesCounters();
    void everyCaseIsChecked();

private:
    void rowsOf(const char* prefix)
    {
        QTest::addColumn<QString>("id");
        for (const QJsonValue& value : m_cases)
            if (const QString id = value.toObject()["id"].toString(); id.startsWith(prefix)) QTest::newRow(qPrintable(id)) << id;
    }
    QJsonObject expect(const QString& id, Trace* trace = nullptr)
    {
        for (const QJsonValue& value : m_cases) {
            const QJsonObject found = value.toObject();
            if (found["id"].toString() != id) continue;
            if (!missing(found).isEmpty()) return {};
            if (trace != nullptr && !load(found["file"].isArray() ? found["file"].toArray()[0].toString() : found["file"].toString(), *trace)) return {};
            return found["expected"].toObject();
        }
        return {};
    }

    QJsonArray m_cases;
};

#define EXPECT_OR_SKIP(expected, id, trace) \
    const QJsonObject expected = expect(id, trace); \
    if (expected.isEmpty()) QSKIP("the trace of this case is not here")

void TestHtaOracle::initTestCase()
{
    QFile file(kFolder + "oracle.json");
    if (!file.open(QIODevice::ReadOnly)) QSKIP("the folder of real traces is not here (STEPSCOPE_TRACES)");
    m_cases = QJsonDocument::fromJson(file.readAll()).object()["cases"].toArray();
    QVERIFY(m_cases.size() > 30);
}

void TestHtaOracle::countsOfTheImporter()
{
    QFETCH(QString, id);
    Trace trace;
    EXPECT_OR_SKIP(expected, id, &trace);
    const SpanTable& spans = trace.session->spans();
    std::map<QString, int64_t> categories;
    std::map<QString, int64_t> streams;
    std::set<std::string_view> kernelNames;
    std::map<int64_t, int64_t> perCorrelation;
    std::map<SpanKind, std::pair<int64_t, base::TimeNs>> device;
    int64_t zero = 0, instants = 0, launched = 0, before = 0;
    base::TimeNs first = INT64_MAX, last = INT64_MIN;
    for (size_t row = 0; row < spans.size(); ++row) {
        if (!trace.isSpan(row)) {
            ++instants;
            continue;
        }
        ++categories[QString::fromUtf8(trace.category(row).data(), static_cast<qsizetype>(trace.category(row).size()))];
        if (!trace.counts(row)) continue;
        if (spans.duration[row] == 0) ++zero;
        first = std::min(first, spans.start[row]);
        last = std::max(last, spans.end(row));
        const session::DeviceWork* work = trace.work(row);
        const SpanKind kind = trace.label(row).kind;
        if (work == nullptr || kind == SpanKind::synchronisation) continue;
        ++streams[QString::number(work->stream)];
        auto& [count, time] = device[kind];
        ++count;
        time += spans.duration[row];
        if (kind == SpanKind::kernel) kernelNames.insert(trace.name(row));
        ++perCorrelation[trace.correlation(row)];
        if (work->launch == SpanTable::kNoParent) continue;
        ++launched;
        if (spans.start[row] < spans.start[work->launch]) ++before;
    }
    const QJsonObject expectedCategories = expected["categories_X"].toObject();
    for (auto category = expectedCategories.begin(); category != expectedCategories.end(); ++category)
        QCOMPARE(categories[category.key()], static_cast<int64_t>(category->toDouble()));
    QCOMPARE(instants, static_cast<int64_t>(expected["ph"].toObject()["i"].toDouble()));
    int64_t all = 0;
    for (const auto& [category, count] : categories)
        all += count;
    QCOMPARE(all, static_cast<int64_t>(expected["ph"].toObject()["X"].toDouble()));
    const std::pair<SpanKind, std::pair<const char*, const char*>> kinds[] = {{SpanKind::kernel, {"n_kernels", "kernel_time_sum_ns"}},
        {SpanKind::copy, {"n_memcpy", "memcpy_time_sum_ns"}}, {SpanKind::fill, {"n_memset", "memset_time_sum_ns"}}};
    for (const auto& [kind, keys] : kinds) {
        QCOMPARE(static_cast<double>(device[kind].first), expected[keys.first].toDouble());
        QCOMPARE(static_cast<double>(device[kind].second), expected[keys.second].toDouble());
    }
    const QJsonObject expectedStreams = expected["gpu_streams"].toObject();
    QCOMPARE(streams.size(), static_cast<size_t>(expectedStreams.size()));
    for (auto stream = expectedStreams.begin(); stream != expectedStreams.end(); ++stream)
        QCOMPARE(static_cast<double>(streams[stream.key()]), stream->toDouble());
    QCOMPARE(static_cast<double>(kernelNames.size()), expected["distinct_kernel_names"].toDouble());
    QCOMPARE(static_cast<double>(zero), expected["zero_dur"].toDouble());
    QCOMPARE(static_cast<double>(last - first), expected["span_ns"].toDouble());
    const std::vector<analysis::DeviceTimeRow> times = analysis::deviceTimes(analysis::DeviceTrace(*trace.session));
    if (expected.contains("gpu_busy_union_ns")) {
        QCOMPARE(times.size(), size_t{1});
        QCOMPARE(static_cast<double>(times[0].busy), expected["gpu_busy_union_ns"].toDouble());
        QCOMPARE(static_cast<double>(times[0].count), expected["gpu_events_total"].toDouble());
    }
    QCOMPARE(static_cast<double>(launched), expected["gpu_events_with_runtime_event"].toDouble());
    QCOMPARE(static_cast<double>(before), expected["gpu_starts_before_launch_call_starts"].toDouble());
    QCOMPARE(static_cast<double>(std::count_if(perCorrelation.begin(), perCorrelation.end(), [](const auto& c) { return c.second > 1; })),
        expected["correlation_ids_with_several_gpu_events"].toDouble());
}

void TestHtaOracle::analyses()
{
    QFETCH(QString, id);
    Trace trace;
    EXPECT_OR_SKIP(expected, id, &trace);
    analysis::DeviceOptions options;
    options.holistic = true;
    const analysis::DeviceTrace devices(*trace.session, options);
    QCOMPARE(static_cast<double>(devices.activities().size()), expected["gpu_rows_after_filter"].toDouble());
    QCOMPARE(static_cast<double>(devices.rowsThatCount()), expected["rows_after_filter"].toDouble());
    QJsonArray steps;
    for (const session::StepRow& step : devices.steps())
        steps.append(static_cast<double>(step.index));
    QCOMPARE(steps, expected["steps_kept"].toArray());

    const std::vector<analysis::DeviceTimeRow> times = analysis::deviceTimes(devices);
    QCOMPARE(times.size(), size_t{1});
    const QJsonObject temporal = expected["temporal_us"].toObject();
    QCOMPARE(us(times[0].range), temporal["kernel_time"].toDouble());
    QCOMPARE(us(times[0].idle()), temporal["idle"].toDouble());
    QCOMPARE(us(times[0].compute), temporal["compute"].toDouble());
    QCOMPARE(us(times[0].nonCompute()), temporal["non_compute"].toDouble());
    QCOMPARE(us(times[0].sum), expected["gpu_dur_sum_us"].toDouble());
    if (expected["comm_comp_overlap_pct"].isDouble())
        QVERIFY(std::abs(100 * us(times[0].communicationHidden) / us(times[0].communication) - expected["comm_comp_overlap_pct"].toDouble()) <= 0.005);
    else
        QCOMPARE(times[0].communication, base::TimeNs{0});

    QJsonObject overlaps;
    for (const analysis::OverlapRow& row : analysis::deviceOverlaps(devices)) {
        QString name = QString::fromStdString(analysis::overlapName(row.mask)).toUpper();
        overlaps[name.replace("OVERLAPPING", "overlapping").replace("COMPUTE", "COMPUTATION")] = us(row.time);
    }
    QJsonObject expectedOverlaps = expected["kernel_type_us"].toObject();
    QCOMPARE(overlaps, expectedOverlaps);

    const QJsonObject idle = expected["idle_us_by_stream"].toObject();
    const std::vector<analysis::IdleRow> idleRows = analysis::idleReport(devices);
    QCOMPARE(idleRows.size(), static_cast<size_t>(idle.size()));
    for (const analysis::IdleRow& row : idleRows) {
        const QJsonObject stream = idle[QString::number(row.queue.stream)].toObject();
        QCOMPARE(us(row.hostWait), stream["host_wait"].toDouble());
        QCOMPARE(us(row.kernelWait), stream["kernel_wait"].toDouble());
        QCOMPARE(us(row.other), stream["other"].toDouble());
    }

    const QJsonObject queues = expected["queue_length_by_stream"].toObject();
    const std::vector<analysis::QueueRow> queueRows = analysis::queueReport(devices);
    QCOMPARE(queueRows.size(), static_cast<size_t>(queues.size()));
    for (const analysis::QueueRow& row : queueRows) {
        const QJsonObject stream = queues[QString::number(row.queue.stream)].toObject();
        QCOMPARE(static_cast<double>(row.count), stream["count"].toDouble());
        QCOMPARE(static_cast<double>(row.least), stream["min"].toDouble());
        QCOMPARE(static_cast<double>(row.most), stream["max"].toDouble());
        QCOMPARE(row.median, stream["p50"].toDouble());
    }

    if (const QJsonObject launch = expected["launch"].toObject(); !launch.isEmpty()) {
        const analysis::LaunchReport report = analysis::launchReport(devices);
        QVERIFY(!report.rows.empty());
        const analysis::LaunchRow& row = report.rows.front();
        QCOMPARE(row.kind, analysis::LaunchKind::launch);
        QCOMPARE(static_cast<double>(row.count), launch["rows"].toDouble());
        QCOMPARE(us(row.host), launch["cpu_us"].toDouble());
        QCOMPARE(us(row.device), launch["gpu_us"].toDouble());
        QCOMPARE(us(row.delay), launch["delay_us"].toDouble());
        QCOMPARE(us(row.delayMost), launch["delay_max_us"].toDouble());
        QCOMPARE(row.delayMedian / 1000, launch["delay_median_us"].toDouble());
        QCOMPARE(static_cast<double>(row.shortAfterShortCall), launch["kernel_shorter_than_call_le50us"].toDouble());
        QCOMPARE(static_cast<double>(row.longCalls), launch["runtime_gt_50us"].toDouble());
        QCOMPARE(static_cast<double>(row.longDelays), launch["delay_gt_100us"].toDouble());
    }

    // The rates are those that the file states for each copy; the report's own are bytes over durations in whole µs.
    const QJsonObject rates = expected["copy_bandwidth_GBps"].toObject();
    for (auto kind = rates.begin(); kind != rates.end(); ++kind) {
        double sum = 0, most = 0, count = 0;
        for (const analysis::DeviceActivity& activity : devices.activities()) {
            if (activity.kind != SpanKind::copy && activity.kind != SpanKind::fill) continue;
            if (!trace.name(activity.row).starts_with(kind.key().toStdString())) continue;
            const double rate = trace.arguments(activity.row)["memory bandwidth (GB/s)"].toDouble();
            sum += rate;
            most = std::max(most, rate);
            ++count;
        }
        const QJsonObject expectedRates = kind->toObject();
        QCOMPARE(count, expectedRates["count"].toDouble());
        QVERIFY(close(sum / count, expectedRates["mean"].toDouble(), 1e-9));
        QVERIFY(close(most, expectedRates["max"].toDouble(), 1e-9));
    }
}

void TestHtaOracle::stepsOfTwoRunsAreComparedByName()
{
    Trace base;
    EXPECT_OR_SKIP(expected, "diff-base-ops", &base);
    const auto [host, device] = stepSums(base, 1010);
    QCOMPARE(static_cast<double>(host.size()), expected["cpu_events"].toDouble());
    QCOMPARE(static_cast<double>(device.size()), expected["gpu_events"].toDouble());
    const QJsonObject counts = expected["counts"].toObject(), times = expected["total_duration_us"].toObject();
    for (auto count = counts.begin(); count != counts.end(); ++count) {
        std::string name = count.key().toStdString();
        if (name.starts_with("ProfilerStep#")) name = "ProfilerStep"; // its number is the step's
        QVERIFY2(host.contains(name), name.c_str());
        QCOMPARE(static_cast<double>(host.at(name).first), count->toDouble());
        QCOMPARE(us(host.at(name).second), times[count.key()].toDouble());
    }
    QJsonArray steps;
    for (const session::StepRow& step : base.session->steps())
        steps.append(static_cast<double>(step.index));
    QCOMPARE(steps, expected["iterations"].toArray());

    EXPECT_OR_SKIP(diff, "diff-base-vs-test", nullptr);
    Trace test;
    QVERIFY(load("trace_compare/test/test.json.gz", test));
    const auto [testHost, testDevice] = stepSums(test, 1010);
    const auto categories = [](const Times& before, const Times& after, QJsonArray* added, QJsonArray* deleted) {
        std::set<std::string> names;
        for (const Times* side : {&before, &after})
            for (const auto& [name, sum] : *side)
                names.insert(name);
        QJsonObject changes;
        for (const std::string& name : names) {
            const int64_t a = before.contains(name) ? before.at(name).first : 0, b = after.contains(name) ? after.at(name).first : 0;
            const QString sign = a == b ? "=" : b > a ? "+" : "-";
            changes[sign] = changes[sign].toDouble() + 1;
            if (a == 0 && added != nullptr) added->append(QString::fromStdString(name));
            if (b == 0 && deleted != nullptr) deleted->append(QString::fromStdString(name));
        }
        return changes;
    };
    QJsonArray added, deleted;
    QCOMPARE(categories(host, testHost, &added, &deleted), diff["cpu_count_change_categories"].toObject());
    QCOMPARE(categories(device, testDevice, nullptr, nullptr), diff["gpu_count_change_categories"].toObject());
    QCOMPARE(added, diff["added"].toArray());
    QCOMPARE(deleted, diff["deleted"].toArray());
}

void TestHtaOracle::aKernelHasItsLaunchStack()
{
    Trace trace;
    EXPECT_OR_SKIP(expected, "callstack-kernel", &trace);
    const SpanTable& spans = trace.session->spans();
    QCOMPARE(static_cast<double>(spans.size()), expected["events"].toDouble());
    const QJsonArray names = expected["stack_depth_0_to_6"].toArray();
    for (size_t row = 0; row < spans.size(); ++row) {
        if (trace.label(row).kind != SpanKind::kernel) continue;
        const std::vector<uint32_t> stack = analysis::launchStack(*trace.session, static_cast<uint32_t>(row));
        QCOMPARE(stack.size(), static_cast<size_t>(names.size()));
        for (size_t depth = 0; depth < stack.size(); ++depth) {
            std::string name(trace.name(stack[depth]));
            if (name == "ProfilerStep") name += "#" + std::to_string(spans.step[stack[depth]]);
            const std::string full = names[static_cast<qsizetype>(depth)].toString().toStdString();
            QVERIFY2(name.starts_with(full), (name + ", not " + full).c_str());
        }
        return;
    }
    QFAIL("there is no kernel");
}

void TestHtaOracle::theCriticalPathIsFound()
{
    Trace trace;
    EXPECT_OR_SKIP(expected, "critical-path-simple-add", &trace);
    const SpanTable& spans = trace.session->spans();
    std::vector<base::TimeRange> ranges;
    for (size_t row = 0; row < spans.size(); ++row)
        if (trace.name(row) == "[param|pytorch.model.alex_net|0|0|0|measure|forward]") ranges.push_back({spans.start[row], spans.end(row)});
    QVERIFY(ranges.size() > 1);
    std::sort(ranges.begin(), ranges.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
    const analysis::DeviceTrace devices(*trace.session);
    const analysis::CriticalPath path = analysis::criticalPath(devices, ranges[1], analysis::PathRule::holistic);
    QCOMPARE(static_cast<double>(path.nodes()), expected["critical_nodes"].toDouble());
    QCOMPARE(static_cast<double>(path.edges.size()), expected["critical_edges"].toDouble());
    QCOMPARE(static_cast<double>(path.spans), expected["critical_events"].toDouble());
    // aten::relu_ > aten::clamp_min_ > cudaLaunchKernel, somewhere on the path.
    const QJsonArray weights = expected["edge_weights_us"].toArray();
    bool found = false;
    for (size_t e = 0; e + 5 <= path.edges.size() && !found; ++e) {
        found = trace.name(path.edges[e].from) == "aten::relu_" && path.edges[e].fromBegin && trace.name(path.edges[e].to) == "aten::clamp_min_"
            && trace.name(path.edges[e + 1].to) == "cudaLaunchKernel";
        for (size_t w = 0; w < 5 && found; ++w)
            found = us(path.edges[e + w].time) == weights[static_cast<qsizetype>(w)].toDouble();
    }
    QVERIFY(found);

    const QJsonObject bound = expect("critical-path-simple-add-bound");
    const auto time = [&](analysis::PathBound b) { return us(path.times[static_cast<size_t>(b)]); };
    QCOMPARE(time(analysis::PathBound::host), bound["cpu_bound"].toDouble());
    QCOMPARE(time(analysis::PathBound::compute), bound["gpu_compute_bound"].toDouble());
    QCOMPARE(time(analysis::PathBound::kernelGap), bound["gpu_kernel_kernel_overhead"].toDouble());
    QCOMPARE(time(analysis::PathBound::launchDelay), bound["gpu_kernel_launch_overhead"].toDouble());
    QCOMPARE(us(path.total), bound["total"].toDouble());
    double shares = 0;
    for (const analysis::PathShare& share : analysis::pathShares(devices, path))
        shares += share.share;
    QVERIFY(close(shares, 1, 1e-9));

    Trace amd;
    EXPECT_OR_SKIP(amdExpected, "amd", &amd);
    QVERIFY(!analysis::criticalPath(analysis::DeviceTrace(*amd.session), {0, INT64_MAX}, analysis::PathRule::holistic).edges.empty());
}

void TestHtaOracle::waitsKnowTheRecordThatTheyWaitFor()
{
    Trace trace;
    EXPECT_OR_SKIP(expected, "event-sync-multistream", &trace);
    const SpanTable& spans = trace.session->spans();
    std::set<int64_t> recorded, waited;
    std::set<int64_t> streams;
    for (size_t row = 0; row < spans.size(); ++row) {
        if (trace.name(row) == "cudaEventRecord") recorded.insert(trace.correlation(row));
        if (trace.label(row).kind == SpanKind::kernel) streams.insert(trace.work(row)->stream);
        const QJsonValue record = trace.arguments(row)["wait_on_cuda_event_record_corr_id"];
        if (record.isDouble() && record.toDouble() >= 0) waited.insert(static_cast<int64_t>(record.toDouble()));
    }
    QCOMPARE(static_cast<double>(waited.size()), expected["event_records"].toDouble());
    for (const int64_t record : waited)
        QVERIFY(recorded.contains(record));
    QJsonArray kernelStreams;
    for (const int64_t stream : streams)
        kernelStreams.append(static_cast<double>(stream));
    QCOMPARE(kernelStreams, expected["streams_with_kernels"].toArray());
}

void TestHtaOracle::collectivesKeepTheirArguments()
{
    Trace trace;
    EXPECT_OR_SKIP(expected, "nccl-args", &trace);
    const SpanTable& spans = trace.session->spans();
    int64_t count = 0;
    size_t longest = 0;
    for (size_t row = 0; row < spans.size(); ++row) {
        if (trace.name(row).find("ncclKernel") == std::string_view::npos) continue;
        if (count++ == 0 || spans.duration[row] > spans.duration[longest]) longest = row;
    }
    QCOMPARE(static_cast<double>(count), expected["kernels_with_ncclKernel_in_name"].toDouble());
    const QJsonObject one = expected["longest"].toObject(), args = trace.arguments(longest);
    QCOMPARE(us(spans.duration[longest]), one["dur_us"].toDouble());
    QCOMPARE(static_cast<double>(trace.work(longest)->stream), one["stream"].toDouble());
    QCOMPARE(static_cast<double>(trace.correlation(longest)), one["correlation"].toDouble());
    const std::pair<const char*, const char*> keys[] = {{"Collective name", "collective"}, {"In msg nelems", "in_msg_nelems"}, {"Out msg nelems", "out_msg_nelems"},
        {"In split size", "in_split"}, {"Out split size", "out_split"}, {"Process Group Name", "process_group_name"},
        {"Process Group Description", "process_group_desc"}, {"Process Group Ranks", "process_group_ranks"}};
    for (const auto& [inFile, key] : keys) {
        const QJsonValue value = args[inFile];
        const QString text = value.isArray() ? QString::fromUtf8(QJsonDocument(value.toArray()).toJson(QJsonDocument::Compact)) : value.toVariant().toString();
        QCOMPARE(QString(text).remove(' '), one[key].toVariant().toString().remove(' '));
    }
}

void TestHtaOracle::kernelsLieInRangesOfTheDevice()
{
    Trace trace;
    EXPECT_OR_SKIP(expected, "gpu-annotation-kernels", &trace);
    analysis::DeviceOptions options;
    options.holistic = true;
    const analysis::DeviceTrace devices(*trace.session, options);
    const SpanTable& spans = trace.session->spans();
    struct Range {
        base::TimeNs begin, end;
        int64_t stream;
        std::string name;
    };
    std::vector<Range> ranges;
    for (size_t row = 0; row < spans.size(); ++row)
        if (trace.label(row).kind == SpanKind::deviceAnnotation && devices.hostCounts(row))
            ranges.push_back({devices.begin(row), devices.end(row), trace.session->tracks()[trace.trackOf(row)].threadId, std::string(trace.name(row))});
    std::map<std::string, int64_t> kernelsIn;
    for (const analysis::DeviceActivity& activity : devices.activities()) {
        const Range* innermost = nullptr;
        for (const Range& range : ranges)
            if (range.stream == devices.queues()[activity.queue].stream && range.begin <= activity.begin && activity.begin < range.end
                && (innermost == nullptr || range.begin >= innermost->begin))
                innermost = &range;
        const std::string name = innermost == nullptr ? "" : innermost->name;
        ++kernelsIn[name];
        const QString id = QStringLiteral("corr_%1").arg(trace.correlation(activity.row));
        if (!expected.contains(id)) continue;
        const QJsonObject kernel = expected[id].toObject();
        QCOMPARE(QString::fromStdString(name), kernel["annotation"].toString());
        QVERIFY(trace.name(activity.row).find(kernel[kernel.contains("name") ? "name" : "name_contains"].toString().toStdString()) != std::string_view::npos);
    }
    QCOMPARE(static_cast<double>(devices.activities().size()), expected["gpu_kernels"].toDouble());
    QCOMPARE(static_cast<double>(kernelsIn.size()), expected["distinct_annotations_incl_none"].toDouble());
    const QJsonObject counts = expected["kernels_in"].toObject();
    for (auto count = counts.begin(); count != counts.end(); ++count)
        QCOMPARE(static_cast<double>(kernelsIn[count.key().toStdString()]), count->toDouble());
    std::set<std::string_view> deviceRanges, hostRanges;
    for (size_t row = 0; row < spans.size(); ++row) {
        if (!devices.hostCounts(row)) continue;
        if (trace.category(row) == "gpu_user_annotation") deviceRanges.insert(trace.name(row));
        if (trace.category(row) == "user_annotation") hostRanges.insert(trace.name(row));
    }
    QCOMPARE(static_cast<double>(deviceRanges.size()), expected["gpu_user_annotation_rows"].toDouble());
    // Steps have one name here and a number each; there they are as many names.
    QCOMPARE(static_cast<double>(hostRanges.size() - 1 + devices.steps().size()), expected["user_annotation_rows"].toDouble());
}

void TestHtaOracle::spansOfATimeRangeAndUnderAnOperator()
{
    Trace trace;
    EXPECT_OR_SKIP(expected, "sampled-time-range", &trace);
    const SpanTable& spans = trace.session->spans();
    const base::TimeNs origin = std::stoll(std::string(trace.session->environmentValue("import.origin_ns")));
    const QJsonArray range = expected["time_range_us"].toArray();
    const base::TimeNs begin = static_cast<base::TimeNs>(range[0].toDouble()) * 1000 - origin, end = static_cast<base::TimeNs>(range[1].toDouble()) * 1000 - origin;
    double inRange = 0;
    for (size_t row = 0; row < spans.size(); ++row)
        if (trace.counts(row) && spans.start[row] >= begin && spans.end(row) <= end) ++inRange;
    QCOMPARE(inRange, expected["events_in_range"].toDouble());

    // The first span of a name that begins at or after a time.
    const auto first = [&](std::string_view name, base::TimeNs after) {
        size_t found = spans.size();
        for (size_t row = 0; row < spans.size(); ++row)
            if (trace.counts(row) && trace.work(row) == nullptr && trace.name(row) == name && spans.start[row] >= after && (found == spans.size() || spans.start[row] < spans.start[found])) found = row;
        return found;
    };
    // Host spans of a track within a range, and the work that they launched.
    const auto within = [&](size_t track, base::TimeNs from, base::TimeNs to) {
        std::pair<double, double> counts;
        const auto inside = [&](size_t row) { return trace.trackOf(row) == track && spans.start[row] >= from && spans.end(row) <= to; };
        for (size_t row = 0; row < spans.size(); ++row) {
            const session::DeviceWork* work = trace.work(row);
            if (work == nullptr && trace.counts(row) && inside(row)) ++counts.first;
            if (work != nullptr && work->launch != SpanTable::kNoParent && inside(work->launch)) ++counts.second;
        }
        return counts;
    };
    const size_t forward = first("forward", INT64_MIN);
    QVERIFY(forward < spans.size());
    const auto [host, device] = within(trace.trackOf(forward), spans.start[forward], spans.end(forward));
    QCOMPARE(host + device, expected["under_operator_forward_incl_kernels"].toDouble());
    for (const QJsonValue& value : expected["between_ops"].toArray()) {
        const QJsonObject between = value.toObject();
        const size_t root = first(between["root"].toString().toStdString(), INT64_MIN);
        QVERIFY(root < spans.size());
        const size_t after = first(between["after"].toString().toStdString(), spans.start[root]);
        QVERIFY(after < spans.size());
        const size_t before = first(between["before"].toString().toStdString(), spans.end(after));
        QVERIFY(before < spans.size());
        const auto [calls, work] = within(trace.trackOf(root), spans.end(after), std::min(spans.end(root), spans.start[before]));
        QCOMPARE(between["gpu"].toBool() ? calls + work : calls, between["events"].toDouble());
        if (between["gpu"].toBool()) QCOMPARE(work, between["kernels"].toDouble());
    }
}

void TestHtaOracle::aTraceWithoutDeviceWorkHasNoQueues()
{
    Trace trace;
    EXPECT_OR_SKIP(expected, "no-gpu-file", &trace);
    const analysis::DeviceTrace devices(*trace.session);
    QCOMPARE(static_cast<double>(devices.activities().size()), expected["gpu_events"].toDouble());
    QVERIFY(analysis::queueReport(devices).empty());
    QVERIFY(analysis::copyReport(devices).empty());
    QVERIFY(!analysis::DeviceTrace::present(*trace.session));
}

void TestHtaOracle::aMemoryTimelineBecomesCounters()
{
    Trace trace;
    EXPECT_OR_SKIP(expected, "memory-timeline", &trace);
    const auto& counters = trace.session->counters();
    QCOMPARE(static_cast<double>(counters.size()), expected["categories"].toDouble());
    // The times at which anything changed, the state before the recording as the first.
    std::set<base::TimeNs> times;
    for (size_t c = 0; c < counters.size(); ++c)
        for (const base::TimeNs time : trace.session->counterSamples(base::CounterId(static_cast<uint32_t>(c))).time)
            times.insert(time);
    const QJsonArray sizes = expected["sizes_at_index_744"].toArray();
    QVERIFY(times.size() > 744);
    const base::TimeNs at = *std::next(times.begin(), 743);
    for (size_t c = 0; c < counters.size(); ++c) {
        const session::CounterSamples& samples = trace.session->counterSamples(base::CounterId(static_cast<uint32_t>(c)));
        const auto after = std::upper_bound(samples.time.begin(), samples.time.end(), at);
        const double value = after == samples.time.begin() ? 0 : samples.value[static_cast<size_t>(after - samples.time.begin() - 1)];
        QCOMPARE(value, sizes[static_cast<qsizetype>(c)].toDouble());
    }
}

void TestHtaOracle::everyCaseIsChecked()
{
    const QSet<QString> here{"diff-base-ops", "diff-base-vs-test", "callstack-kernel", "critical-path-simple-add", "critical-path-simple-add-bound",
        "event-sync-multistream", "nccl-args", "gpu-annotation-kernels", "sampled-time-range", "no-gpu-file", "memory-timeline", "amd"};
    for (const QJsonValue& value : m_cases) {
        const QString id = value.toObject()["id"].toString();
        QVERIFY2(id.startsWith("import:") || id.startsWith("analysis:") || here.contains(id), qPrintable(id));
    }
}

QTEST_GUILESS_MAIN(TestHtaOracle)
#include "tst_hta_oracle.moc"
