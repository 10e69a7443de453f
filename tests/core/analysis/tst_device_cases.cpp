// Device figures of files that made other programs show wrong ones; the expected values come with the collection.
#include "core/analysis/device_reports.h"
#include "core/importers/importer.h"

#include <QtTest>

using namespace stepscope;

namespace {

session::SessionPtr open(const char* name)
{
    const base::Result<importers::Imported> imported = importers::importFile(std::string(STEPSCOPE_SOURCE_DIR "/tests/golden/cases/") + name + "/input.json");
    return imported ? imported->session : nullptr;
}

} // namespace

class TestDeviceCases : public QObject {
    Q_OBJECT
private slots:
    void overlappingKernelsOfAStreamKeepTheBusyTimeBelowTheRange();
    void aKernelWithoutTimesIsALaunchWithoutWork();
    void busyTimeIsNeverAboveTheRange();
};

void TestDeviceCases::overlappingKernelsOfAStreamKeepTheBusyTimeBelowTheRange()
{
    const session::SessionPtr session = open("19-overlapping-not-nested");
    QVERIFY(session != nullptr);
    const analysis::DeviceTrace trace(*session);
    const std::vector<analysis::DeviceTimeRow> rows = analysis::deviceTimes(trace);
    QCOMPARE(rows.size(), size_t{1});
    QCOMPARE(rows[0].sum, base::TimeNs{230'000});
    QCOMPARE(rows[0].busy, base::TimeNs{200'000});
    QCOMPARE(rows[0].idle(), base::TimeNs{0});
    QCOMPARE(trace.queues().size(), size_t{1}); // lanes are no streams
    const std::vector<analysis::IdleRow> idle = analysis::idleReport(trace);
    QCOMPARE(idle.size(), size_t{1});
    QCOMPARE(idle[0].busy, base::TimeNs{200'000});
    QCOMPARE(idle[0].hostWait + idle[0].kernelWait + idle[0].other, base::TimeNs{0});
}

void TestDeviceCases::aKernelWithoutTimesIsALaunchWithoutWork()
{
    const session::SessionPtr session = open("25-kernel-at-time-zero");
    QVERIFY(session != nullptr);
    const std::vector<analysis::KernelRow> kernels = analysis::kernelReport(analysis::DeviceTrace(*session));
    QCOMPARE(kernels.size(), size_t{1});
    QCOMPARE(kernels[0].name, std::string("gemm"));
    QCOMPARE(kernels[0].total, base::TimeNs{200'000});
    QCOMPARE(kernels[0].mean, 200'000.0);
    // Two launched kernels are known by correlation: one call without work that has times, and one piece of work.
    const analysis::LaunchReport launches = analysis::launchReport(analysis::DeviceTrace(*session));
    QCOMPARE(launches.launchesWithoutWork, int64_t{1});
    QCOMPARE(launches.workWithoutLaunch, int64_t{1});
}

void TestDeviceCases::busyTimeIsNeverAboveTheRange()
{
    const session::SessionPtr session = open("78-negative-self-and-busy-over-100");
    QVERIFY(session != nullptr);
    const std::vector<analysis::DeviceTimeRow> rows = analysis::deviceTimes(analysis::DeviceTrace(*session));
    QCOMPARE(rows.size(), size_t{2});
    QCOMPARE(rows[0].device, 0);
    QCOMPARE(rows[0].sum, base::TimeNs{120'000});
    QCOMPARE(rows[0].busy, base::TimeNs{90'000});
    QCOMPARE(rows[1].device, 1000);
    QCOMPARE(rows[1].sum, base::TimeNs{50'000});
    QCOMPARE(rows[1].busy, base::TimeNs{50'000});
    for (const analysis::OperatorRow& row : analysis::operatorReport(analysis::DeviceTrace(*session)))
        QVERIFY(row.hostSelf >= 0);
}

QTEST_GUILESS_MAIN(TestDeviceCases)
#include "tst_device_cases.moc"
