// Every expected value here was worked out by hand from the definitions in core/analysis/device_reports.h.
#include "core/analysis/critical_path.h"
#include "core/analysis/device_reports.h"
#include "core/analysis/intervals.h"
#include "core/analysis/launch_stack.h"
#include "tests/support/device_session.h"

#include <QtTest>

#include <map>

using namespace stepscope;
using namespace stepscope::analysis;
using session::SpanKind;
using support::DeviceSession;

namespace {

constexpr base::TimeNs us(double microseconds) { return static_cast<base::TimeNs>(microseconds * 1000); }

const OperatorRow* find(const std::vector<OperatorRow>& rows, std::string_view name)
{
    for (const OperatorRow& row : rows)
        if (row.name == name) return &row;
    return nullptr;
}

const LaunchRow* find(const LaunchReport& report, LaunchKind kind, std::string_view call)
{
    for (const LaunchRow& row : report.rows)
        if (row.kind == kind && row.call == call) return &row;
    return nullptr;
}

} // namespace

class TestDeviceReports : public QObject {
    Q_OBJECT
private slots:
    void intervalsAreUnitedIntersectedAndSubtracted();
    void everyInstantOfAStepBelongsToOneCategory();
    void waitsOfStreamsAreNoWork();
    void busyTimeIsTheUnionPerDevice();
    void aLengthOfNothingCostsNothing();
    void communicationIsHiddenWhereSomethingComputes();
    void gapsHaveACause();
    void kernelsAreSummedByName();
    void deviceTimeBelongsToTheInnermostOperator();
    void anOperatorThatOnlyCallsItselfCountsOnce();
    void aCallOnAnotherLaneFindsItsOperator();
    void launchesAreJoinedWithTheirWork();
    void aGraphLaunchIsCountedApart();
    void queuesGrowAtLaunchesAndShrinkAtBegins();
    void copiesHaveDirectionKindAndRate();
    void chosenStepsTakeWhatTheyLaunched();
    void theCriticalPathGoesThroughTheDeviceWhereTheHostWaits();
    void theCriticalPathByLastArrivalTakesAsLongAsItSpans();
    void theCriticalPathGoesOnInTheThreadThatWasLeftLast();
    void aKernelHangsBelowTheBackwardRangeOfAnotherThread();
    void aSessionWithoutDeviceWorkGivesEmptyReports();
    void launchCallsAreKnownByName_data();
    void launchCallsAreKnownByName();
};

void TestDeviceReports::intervalsAreUnitedIntersectedAndSubtracted()
{
    const IntervalSet a({{20, 30}, {0, 10}, {5, 12}, {30, 31}, {50, 50}, {60, 55}});
    QCOMPARE(a.ranges().size(), size_t{2}); // [0, 12) and [20, 31)
    QCOMPARE(a.length(), base::TimeNs{23});
    const IntervalSet b({{11, 21}, {25, 26}});
    QCOMPARE(a.intersected(b).length(), base::TimeNs{3});
    QCOMPARE(a.without(b).length(), base::TimeNs{20});
    QCOMPARE(b.without(a).length(), base::TimeNs{8});
    QCOMPARE(a.clipped({5, 22}).length(), base::TimeNs{9});
    QVERIFY(a.clipped({12, 20}).empty());
    QVERIFY(IntervalSet().without(a).empty());
}

void TestDeviceReports::everyInstantOfAStepBelongsToOneCategory()
{
    DeviceSession made;
    const base::TrackId main = made.thread(7), stream = made.stream(0, 7), other = made.stream(0, 9);
    made.step(3, 0, 100);
    made.host(main, SpanKind::step, "ProfilerStep#3", 0, 100);
    made.host(main, SpanKind::operation, "aten::mm", 0, 60);
    made.call(main, "cudaLaunchKernel", 10, 10, 1);
    made.host(main, SpanKind::operation, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 60, 20);
    made.kernel(stream, "gemm", 15, 25, 1);
    made.work(other, SpanKind::copy, "Memcpy HtoD", 35, 15);
    made.work(stream, SpanKind::fill, "Memset", 45, 10);
    made.kernel(other, "ncclKernel_AllReduce", 50, 12);
    const session::SessionPtr session = made.build();
    const StepBreakdown report = stepBreakdown(DeviceTrace(*session));
    QCOMPARE(report.rows.size(), size_t{1});
    QCOMPARE(report.rows[0].step.index, int64_t{3});
    const CategoryTimes expected{us(25), us(10), us(5), us(7), us(5), us(18), us(10), us(20)};
    for (size_t c = 0; c < kStepCategoryCount; ++c)
        QCOMPARE(report.rows[0].times[c], expected[c]);
    QCOMPARE(report.duration, us(100));
}

void TestDeviceReports::waitsOfStreamsAreNoWork()
{
    DeviceSession made;
    const base::TrackId stream = made.stream(0, 7);
    made.step(0, 0, 100);
    made.kernel(stream, "gemm", 0, 10);
    made.work(stream, SpanKind::synchronisation, "Stream Wait Event", 20, 30, 5);
    const session::SessionPtr session = made.build();
    QCOMPARE(stepBreakdown(DeviceTrace(*session)).rows[0].times[static_cast<size_t>(StepCategory::kernel)], us(10));
    const std::vector<DeviceTimeRow> rows = deviceTimes(DeviceTrace(*session));
    QCOMPARE(rows.size(), size_t{1});
    QCOMPARE(rows[0].busy, us(10));
    QCOMPARE(rows[0].range, us(10));
}

void TestDeviceReports::busyTimeIsTheUnionPerDevice()
{
    DeviceSession made; // streams of one number on two devices are two queues
    const base::TrackId a = made.stream(0, 7), b = made.stream(0, 13), c = made.stream(1, 7);
    made.kernel(a, "gemm", 1, 4);
    made.kernel(a, "gemm", 4, 2);
    made.kernel(b, "ncclAllReduce", 5.5, 3.5);
    made.kernel(c, "gemm", 2, 6);
    const session::SessionPtr session = made.build();
    const std::vector<DeviceTimeRow> rows = deviceTimes(DeviceTrace(*session));
    QCOMPARE(rows.size(), size_t{2});
    QCOMPARE(rows[0].sum, us(9.5));
    QCOMPARE(rows[0].busy, us(8));
    QCOMPARE(rows[0].idle(), us(0));
    QCOMPARE(rows[0].compute, us(5));
    QCOMPARE(rows[0].nonCompute(), us(3));
    QCOMPARE(rows[1].device, 1);
    QCOMPARE(rows[1].sum, us(6));
    QCOMPARE(rows[1].busy, us(6));
    QCOMPARE(idleReport(DeviceTrace(*session)).size(), size_t{3});
}

void TestDeviceReports::aLengthOfNothingCostsNothing()
{
    DeviceSession made;
    const base::TrackId stream = made.stream(0, 7);
    made.kernel(stream, "g", 20, 60);
    made.kernel(stream, "h", 20, 0);
    const session::SessionPtr session = made.build();
    const std::vector<DeviceTimeRow> rows = deviceTimes(DeviceTrace(*session));
    QCOMPARE(rows[0].busy, us(60));
    QCOMPARE(rows[0].count, int64_t{2});
    QVERIFY(deviceOverlaps(DeviceTrace(*session)).size() == 1);
}

void TestDeviceReports::communicationIsHiddenWhereSomethingComputes()
{
    DeviceSession made;
    const base::TrackId compute = made.stream(0, 7), comm = made.stream(0, 20), copies = made.stream(0, 21);
    made.kernel(compute, "gemm", 0, 40);
    made.kernel(comm, "ncclKernel_AllReduce", 30, 40);
    made.work(copies, SpanKind::copy, "Memcpy HtoD", 35, 10);
    const session::SessionPtr session = made.build();
    const DeviceTrace trace(*session);
    const std::vector<DeviceTimeRow> rows = deviceTimes(trace);
    QCOMPARE(rows[0].communication, us(40));
    QCOMPARE(rows[0].communicationHidden, us(10));
    QCOMPARE(rows[0].busy, us(70));
    std::map<std::string, base::TimeNs> overlaps;
    for (const OverlapRow& row : deviceOverlaps(trace))
        overlaps[overlapName(row.mask)] = row.time;
    QCOMPARE(overlaps["compute"], us(30));
    QCOMPARE(overlaps["compute overlapping communication"], us(5));
    QCOMPARE(overlaps["compute overlapping communication overlapping memory"], us(5));
    QCOMPARE(overlaps["communication overlapping memory"], us(5));
    QCOMPARE(overlaps["communication"], us(25));
    QCOMPARE(overlaps.size(), size_t{5});
}

void TestDeviceReports::gapsHaveACause()
{
    DeviceSession made;
    const base::TrackId main = made.thread(1), stream = made.stream(0, 7);
    made.call(main, "cudaLaunchKernel", 0, 1, 1);
    made.call(main, "cudaLaunchKernel", 15, 1, 2); // after the first kernel has ended: the device waits for the host
    made.call(main, "cudaLaunchKernel", 17, 1, 3);
    made.call(main, "cudaLaunchKernel", 19, 1, 4);
    made.kernel(stream, "a", 2, 8, 1);
    made.kernel(stream, "b", 20, 10, 2);  // gap 10, host
    made.kernel(stream, "c", 35, 10, 3);  // gap 5, kernel
    made.kernel(stream, "d", 85, 10, 4);  // gap 40, other
    const session::SessionPtr session = made.build();
    const std::vector<IdleRow> rows = idleReport(DeviceTrace(*session));
    QCOMPARE(rows.size(), size_t{1});
    QCOMPARE(rows[0].queue.stream, int64_t{7});
    QCOMPARE(rows[0].hostWait, us(10));
    QCOMPARE(rows[0].kernelWait, us(5));
    QCOMPARE(rows[0].other, us(40));
    QCOMPARE(rows[0].hostGaps + rows[0].kernelGaps + rows[0].otherGaps, int64_t{3});
    QCOMPARE(rows[0].busy, us(38));
}

void TestDeviceReports::kernelsAreSummedByName()
{
    DeviceSession made;
    const base::TrackId a = made.stream(0, 7), b = made.stream(1, 7);
    made.kernel(a, "gemm", 0, 2);
    made.kernel(b, "gemm", 0, 4);
    made.kernel(a, "relu", 10, 1);
    made.work(a, SpanKind::copy, "Memcpy", 20, 100);
    const session::SessionPtr session = made.build();
    const std::vector<KernelRow> rows = kernelReport(DeviceTrace(*session));
    QCOMPARE(rows.size(), size_t{2});
    QCOMPARE(rows[0].name, std::string("gemm"));
    QCOMPARE(rows[0].calls, int64_t{2});
    QCOMPARE(rows[0].total, us(6));
    QCOMPARE(rows[0].mean, 3000.0);
    QCOMPARE(rows[0].least, us(2));
    QCOMPARE(rows[0].most, us(4));
    QVERIFY(std::abs(rows[0].deviation - 1000 * std::sqrt(2.0)) < 1e-6); // of 2 and 4
    QCOMPARE(rows[0].share, 6.0 / 7.0);
}

void TestDeviceReports::deviceTimeBelongsToTheInnermostOperator()
{
    DeviceSession made;
    const base::TrackId main = made.thread(1), stream = made.stream(0, 7);
    made.host(main, SpanKind::annotation, "## forward ##", 0, 200);
    made.host(main, SpanKind::operation, "aten::linear", 0, 100);
    made.host(main, SpanKind::function, "linear.py(3)", 5, 90);
    made.host(main, SpanKind::operation, "aten::addmm", 10, 50);
    made.call(main, "cudaLaunchKernel", 20, 10, 1);
    made.call(main, "cuLaunchKernel", 22, 5, 99); // inside of the runtime's call
    made.call(main, "cudaLaunchKernel", 70, 10, 2);
    made.call(main, "cudaLaunchKernel", 150, 10, 3); // outside of any operator
    made.kernel(stream, "gemm", 40, 30, 1);
    made.kernel(stream, "add", 80, 7, 2);
    made.kernel(stream, "lost", 170, 5, 3);
    const session::SessionPtr session = made.build();
    const std::vector<OperatorRow> rows = operatorReport(DeviceTrace(*session));
    QCOMPARE(rows.size(), size_t{2});
    const OperatorRow* inner = find(rows, "aten::addmm");
    const OperatorRow* outer = find(rows, "aten::linear");
    QVERIFY(inner != nullptr && outer != nullptr);
    QCOMPARE(inner->deviceSelf, us(30));
    QCOMPARE(inner->deviceTotal, us(30));
    QCOMPARE(inner->hostTotal, us(50));
    QCOMPARE(inner->hostSelf, us(40));
    QCOMPARE(outer->deviceSelf, us(7));
    QCOMPARE(outer->deviceTotal, us(37));
    QCOMPARE(outer->hostTotal, us(100));
    QCOMPARE(outer->hostSelf, us(40)); // 100 - 50 - 10
}

void TestDeviceReports::anOperatorThatOnlyCallsItselfCountsOnce()
{
    DeviceSession made;
    const base::TrackId main = made.thread(1), stream = made.stream(0, 7);
    made.host(main, SpanKind::operation, "aten::add_", 0, 50);
    made.host(main, SpanKind::operation, "aten::add_", 5, 40);
    made.call(main, "cudaLaunchKernel", 10, 10, 1);
    made.host(main, SpanKind::operation, "aten::add_, op_id = 7", 100, 20); // as NVTX ranges of PyTorch are named
    made.kernel(stream, "add", 30, 6, 1);
    const session::SessionPtr session = made.build();
    const std::vector<OperatorRow> rows = operatorReport(DeviceTrace(*session));
    QCOMPARE(rows.size(), size_t{1});
    QCOMPARE(rows[0].calls, int64_t{2});
    QCOMPARE(rows[0].hostTotal, us(70));
    QCOMPARE(rows[0].hostSelf, us(60)); // 10 of the outer, 30 of the inner, 20
    QCOMPARE(rows[0].deviceSelf, us(6));
    QCOMPARE(rows[0].deviceTotal, us(6));
}

void TestDeviceReports::aCallOnAnotherLaneFindsItsOperator()
{
    DeviceSession made;
    const base::TrackId main = made.thread(1), stream = made.stream(0, 7);
    made.host(main, SpanKind::operation, "aten::mm", 0, 50);
    made.call(main, "cudaLaunchKernel", 40, 20, 1); // ends after its operator
    made.kernel(stream, "gemm", 70, 9, 1);
    const session::SessionPtr session = made.build();
    QCOMPARE(session->tracks().size(), size_t{3});
    const std::vector<OperatorRow> rows = operatorReport(DeviceTrace(*session));
    QCOMPARE(rows.size(), size_t{1});
    QCOMPARE(rows[0].deviceSelf, us(9));
    QCOMPARE(rows[0].hostSelf, us(50));
}

void TestDeviceReports::launchesAreJoinedWithTheirWork()
{
    DeviceSession made;
    const base::TrackId main = made.thread(1), stream = made.stream(0, 7);
    made.call(main, "cudaLaunchKernel", 0, 10, 1);
    made.call(main, "cudaLaunchKernel", 20, 60, 2);
    made.call(main, "cudaMemcpy", 100, 50, 3);
    made.call(main, "cudaLaunchKernel", 160, 5, 4); // its kernel is not in the file
    made.kernel(stream, "a", 12, 3, 1);             // delay 2, shorter than its call
    made.kernel(stream, "b", 200, 100, 2);          // delay 120
    made.work(stream, SpanKind::copy, "Memcpy HtoD", 310, 40, 3);
    made.kernel(stream, "c", 400, 1, 77);           // its call is not in the file
    made.kernel(stream, "d", 500, 1);
    const session::SessionPtr session = made.build();
    const LaunchReport report = launchReport(DeviceTrace(*session));
    const LaunchRow* all = find(report, LaunchKind::launch, "");
    QVERIFY(all != nullptr);
    QCOMPARE(all->count, int64_t{2});
    QCOMPARE(all->host, us(70));
    QCOMPARE(all->device, us(103));
    QCOMPARE(all->delay, us(122));
    QCOMPARE(all->delayMost, us(120));
    QCOMPARE(all->delayMedian, 61000.0);
    QCOMPARE(all->shortKernels, int64_t{1});
    QCOMPARE(all->shortAfterShortCall, int64_t{1});
    QCOMPARE(all->longCalls, int64_t{1});
    QCOMPARE(all->longDelays, int64_t{1});
    const LaunchRow* copy = find(report, LaunchKind::other, "cudaMemcpy");
    QVERIFY(copy != nullptr);
    QCOMPARE(copy->count, int64_t{1});
    QCOMPARE(report.launchesWithoutWork, int64_t{1});
    QCOMPARE(report.workWithoutLaunch, int64_t{2});
    QCOMPARE(report.workBeforeLaunch, int64_t{0});
}

void TestDeviceReports::aGraphLaunchIsCountedApart()
{
    DeviceSession made;
    const base::TrackId main = made.thread(1), stream = made.stream(0, 7);
    made.call(main, "cudaGraphLaunch", 0, 10, 1);
    made.kernel(stream, "a", 20, 3, 1);
    made.kernel(stream, "b", 30, 3, 1);
    const session::SessionPtr session = made.build();
    const LaunchReport report = launchReport(DeviceTrace(*session));
    QVERIFY(find(report, LaunchKind::launch, "") == nullptr);
    const LaunchRow* graph = find(report, LaunchKind::graph, "cudaGraphLaunch");
    QVERIFY(graph != nullptr);
    QCOMPARE(graph->count, int64_t{2});
    QVERIFY(queueReport(DeviceTrace(*session)).empty());
}

void TestDeviceReports::queuesGrowAtLaunchesAndShrinkAtBegins()
{
    DeviceSession made;
    const base::TrackId main = made.thread(1), stream = made.stream(0, 7);
    for (int i = 0; i < 3; ++i)
        made.call(main, "cudaLaunchKernel", 10.0 * i, 5, i);
    made.kernel(stream, "a", 40, 10, 0); // +1 at 0, 10, 20 and -1 at 40, 50, 60
    made.kernel(stream, "a", 50, 10, 1);
    made.kernel(stream, "a", 60, 10, 2);
    const session::SessionPtr session = made.build();
    const std::vector<QueueRow> rows = queueReport(DeviceTrace(*session));
    QCOMPARE(rows.size(), size_t{1});
    QCOMPARE(rows[0].count, int64_t{6}); // lengths 1 2 3 2 1 0
    QCOMPARE(rows[0].least, int64_t{0});
    QCOMPARE(rows[0].most, int64_t{3});
    QCOMPARE(rows[0].median, 1.5);
    QCOMPARE(rows[0].mean, (1 * 10 + 2 * 10 + 3 * 20 + 2 * 10 + 1 * 10) / 60.0);
    QCOMPARE(rows[0].full, us(0));
}

void TestDeviceReports::copiesHaveDirectionKindAndRate()
{
    DeviceSession made;
    const base::TrackId stream = made.stream(0, 7);
    session::DeviceWork copy;
    copy.copy = session::CopyKind::hostToDevice;
    copy.source = session::MemoryKind::pinned;
    copy.destination = session::MemoryKind::device;
    copy.bytes = 10'000;
    made.work(stream, SpanKind::copy, "Memcpy HtoD (Pinned -> Device)", 0, 1, -1, copy); // 10 GB/s
    made.work(stream, SpanKind::copy, "Memcpy HtoD (Pinned -> Device)", 10, 2, -1, copy); // 5 GB/s
    copy.source = session::MemoryKind::pageable;
    made.work(stream, SpanKind::copy, "Memcpy HtoD (Pageable -> Device)", 20, 10, -1, copy);
    copy.bytes = -1;
    made.work(stream, SpanKind::copy, "Memcpy HtoD (Pageable -> Device)", 40, 10, -1, copy);
    const session::SessionPtr session = made.build();
    const std::vector<CopyRow> rows = copyReport(DeviceTrace(*session));
    QCOMPARE(rows.size(), size_t{2});
    QCOMPARE(rows[0].source, session::MemoryKind::pageable); // 20 us
    QCOMPARE(rows[0].withoutBytes, int64_t{1});
    QCOMPARE(rows[0].rate(), 1e9);
    QCOMPARE(rows[1].name, std::string("Memcpy HtoD"));
    QCOMPARE(rows[1].bytes, int64_t{20'000});
    QCOMPARE(rows[1].meanRate, 7.5e9);
    QCOMPARE(rows[1].mostRate, 10e9);
    QVERIFY(std::abs(rows[1].rate() - 20e3 / 3e-6) < 1);
}

void TestDeviceReports::chosenStepsTakeWhatTheyLaunched()
{
    DeviceSession made;
    const base::TrackId main = made.thread(1), stream = made.stream(0, 7);
    made.step(0, 0, 50);
    made.step(1, 50, 50);
    made.call(main, "cudaLaunchKernel", 40, 5, 1);
    made.call(main, "cudaLaunchKernel", 60, 5, 2);
    made.kernel(stream, "first", 55, 10, 1); // runs in step 1, launched in step 0
    made.kernel(stream, "second", 70, 20, 2);
    const session::SessionPtr session = made.build();
    DeviceOptions options;
    options.filter.firstStep = options.filter.lastStep = 0;
    const std::vector<KernelRow> rows = kernelReport(DeviceTrace(*session, options));
    QCOMPARE(rows.size(), size_t{1});
    QCOMPARE(rows[0].name, std::string("first"));
    QCOMPARE(stepBreakdown(DeviceTrace(*session, options)).rows.size(), size_t{1});
    QCOMPARE(kernelReport(DeviceTrace(*session)).size(), size_t{2});
}

void TestDeviceReports::theCriticalPathGoesThroughTheDeviceWhereTheHostWaits()
{
    DeviceSession made;
    const base::TrackId main = made.thread(1), stream = made.stream(0, 7);
    made.host(main, SpanKind::operation, "aten::mm", 0, 50);
    made.call(main, "cudaLaunchKernel", 10, 10, 1);
    made.call(main, "cudaDeviceSynchronize", 60, 40, 2);
    made.kernel(stream, "gemm", 30, 60, 1);
    made.work(stream, SpanKind::synchronisation, "Context Sync", 90, 10, 2);
    const session::SessionPtr session = made.build();
    const DeviceTrace trace(*session);
    const CriticalPath path = criticalPath(trace, {0, us(100)}, PathRule::holistic);
    // 10 to the launch, 20 until the kernel begins, 60 in it, and nothing in the call that waits for it.
    QCOMPARE(path.total, us(90));
    QCOMPARE(path.nodes(), size_t{4}); // begin of the operator, of the call and of the kernel, end of the kernel
    QCOMPARE(path.spans, int64_t{3});
    QCOMPARE(path.times[static_cast<size_t>(PathBound::host)], us(10));
    QCOMPARE(path.times[static_cast<size_t>(PathBound::launchDelay)], us(20));
    QCOMPARE(path.times[static_cast<size_t>(PathBound::compute)], us(60));
    const std::vector<PathShare> shares = pathShares(trace, path);
    QCOMPARE(shares.size(), size_t{3});
    QCOMPARE(shares[0].name, std::string("gemm"));
    QCOMPARE(shares[2].name, std::string("aten::mm"));
    // On the host alone the operator is all there is: the waiting call has no length of its own.
    QCOMPARE(criticalPath(trace, {us(40), us(100)}, PathRule::holistic).total, us(0));
}

// A host that is ahead of the device, a copy back that blocks without a wait on record, and a gap between operators.
void TestDeviceReports::theCriticalPathByLastArrivalTakesAsLongAsItSpans()
{
    DeviceSession made;
    const base::TrackId main = made.thread(1), stream = made.stream(0, 7);
    made.host(main, SpanKind::operation, "aten::mm", 0, 20);
    made.call(main, "cudaLaunchKernel", 5, 5, 1);
    made.host(main, SpanKind::operation, "aten::relu", 25, 20);
    made.call(main, "cudaLaunchKernel", 30, 5, 2);
    made.host(main, SpanKind::operation, "aten::item", 50, 105);
    made.call(main, "cudaMemcpyAsync", 60, 90, 3);
    made.kernel(stream, "gemm", 15, 65, 1);  // 15 to 80
    made.kernel(stream, "relu", 82, 40, 2);  // waited for gemm, not for its launch
    made.work(stream, SpanKind::copy, "Memcpy DtoH", 124, 20, 3);
    made.kernel(stream, "graph", 160, 10);   // without a launch
    const session::SessionPtr session = made.build();
    const DeviceTrace trace(*session);
    const CriticalPath path = criticalPath(trace, {0, us(200)});
    // mm 5, launch 10, gemm 65, gap 2, relu 40, gap 2, copy 20, gap 16 (the copy is what the stream did last), graph 10.
    QCOMPARE(path.total, us(170));
    QCOMPARE(path.range.begin, us(0));
    QCOMPARE(path.range.end, us(170));
    QCOMPARE(path.times[static_cast<size_t>(PathBound::host)], us(5));
    QCOMPARE(path.times[static_cast<size_t>(PathBound::launchDelay)], us(10));
    QCOMPARE(path.times[static_cast<size_t>(PathBound::compute)], us(135));
    QCOMPARE(path.times[static_cast<size_t>(PathBound::kernelGap)], us(20));
}

void TestDeviceReports::theCriticalPathGoesOnInTheThreadThatWasLeftLast()
{
    DeviceSession made;
    const base::TrackId main = made.thread(1), backward = made.thread(2), stream = made.stream(0, 7);
    made.host(main, SpanKind::operation, "forward", 0, 40);
    made.host(backward, SpanKind::operation, "earlier", 0, 10);
    made.host(backward, SpanKind::operation, "backward", 50, 30);
    made.host(main, SpanKind::operation, "aten::item", 90, 60);
    made.call(main, "cudaMemcpyAsync", 95, 50, 1);
    made.work(stream, SpanKind::copy, "Memcpy DtoH", 100, 40, 1);
    const session::SessionPtr session = made.build();
    const DeviceTrace trace(*session);
    const CriticalPath path = criticalPath(trace, {0, us(200)});
    // forward 40, between 10, backward 30, between 10, item 5, launch 5, copy 40, the rest of the call 5 and of item 5.
    QCOMPARE(path.total, us(150));
    QCOMPARE(path.times[static_cast<size_t>(PathBound::compute)], us(40));
    QCOMPARE(path.times[static_cast<size_t>(PathBound::launchDelay)], us(5));
    QCOMPARE(path.times[static_cast<size_t>(PathBound::host)], us(105));
    std::map<std::string, base::TimeNs> host;
    for (const PathShare& share : pathShares(trace, path))
        if (share.bound == PathBound::host) host[share.name] = share.time;
    QCOMPARE(host["forward"], us(40));
    QCOMPARE(host["backward"], us(30));
    QCOMPARE(host[std::string(kBetweenOperators)], us(20));
    QCOMPARE(host["aten::item"], us(10));
    QCOMPARE(host["cudaMemcpyAsync"], us(5));
    QCOMPARE(host.count("earlier"), size_t{0});
}

void TestDeviceReports::aKernelHangsBelowTheBackwardRangeOfAnotherThread()
{
    DeviceSession made;
    const base::TrackId main = made.thread(1), backward = made.thread(2), stream = made.stream(0, 7);
    made.host(main, SpanKind::step, "ProfilerStep", 0, 100);
    made.host(main, SpanKind::annotation, "## backward ##", 10, 80);
    made.host(backward, SpanKind::operation, "AddmmBackward0", 20, 40);
    made.call(backward, "cudaLaunchKernel", 30, 5, 1);
    made.kernel(stream, "gemm", 50, 10, 1);
    made.kernel(stream, "alone", 70, 10);
    const session::SessionPtr session = made.build();
    const DeviceTrace trace(*session);
    std::vector<std::string> names;
    for (const uint32_t row : launchStack(*session, trace.activities()[0].row))
        names.emplace_back(trace.name(row));
    QCOMPARE(names, (std::vector<std::string>{"ProfilerStep", "## backward ##", "AddmmBackward0", "cudaLaunchKernel", "gemm"}));
    QCOMPARE(launchStack(*session, trace.activities()[1].row).size(), size_t{1});
}

void TestDeviceReports::aSessionWithoutDeviceWorkGivesEmptyReports()
{
    DeviceSession made;
    made.host(made.thread(1), SpanKind::operation, "aten::mm", 0, 50);
    const session::SessionPtr session = made.build();
    QVERIFY(!DeviceTrace::present(*session));
    const DeviceTrace trace(*session);
    QVERIFY(stepBreakdown(trace).rows.empty());
    QVERIFY(deviceTimes(trace).empty());
    QVERIFY(deviceOverlaps(trace).empty());
    QVERIFY(idleReport(trace).empty());
    QVERIFY(kernelReport(trace).empty());
    QVERIFY(launchReport(trace).rows.empty());
    QVERIFY(queueReport(trace).empty());
    QVERIFY(copyReport(trace).empty());
    QCOMPARE(operatorReport(trace).size(), size_t{1});
}

void TestDeviceReports::launchCallsAreKnownByName_data()
{
    QTest::addColumn<QString>("name");
    QTest::addColumn<bool>("launches");
    QTest::newRow("runtime") << "cudaLaunchKernel" << true;
    QTest::newRow("driver") << "cuLaunchKernelEx" << true;
    QTest::newRow("hip") << "hipExtModuleLaunchKernel" << true;
    QTest::newRow("nsight") << "cudaLaunchKernel_v7000" << true;
    QTest::newRow("per-thread stream") << "cudaMemcpyAsync_ptsz" << true;
    QTest::newRow("nsight, per-thread stream") << "cudaLaunchKernel_ptsz_v7000" << true;
    QTest::newRow("synchronous copy") << "cudaMemcpy" << false;
    QTest::newRow("graph") << "cudaGraphLaunch_v10000" << false;
    QTest::newRow("wait") << "cudaStreamSynchronize" << false;
}

void TestDeviceReports::launchCallsAreKnownByName()
{
    QFETCH(QString, name);
    QFETCH(bool, launches);
    QCOMPARE(isLaunchCall(name.toStdString()), launches);
}

QTEST_GUILESS_MAIN(TestDeviceReports)
#include "tst_device_reports.moc"
