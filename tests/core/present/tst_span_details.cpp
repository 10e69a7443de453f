#include "core/present/span_details.h"
#include "tests/support/device_session.h"

#include <QTest>

using namespace stepscope;
using present::SpanDetails;

namespace {

// An operator with two kernels and a copy, and a kernel of nobody. Times in µs.
session::SessionPtr deviceWork()
{
    support::DeviceSession made;
    const auto thread = made.thread(1);
    made.host(thread, session::SpanKind::annotation, "train", 0, 100);
    made.host(thread, session::SpanKind::operation, "aten::linear", 5, 60);
    made.host(thread, session::SpanKind::operation, "aten::mm", 10, 40);
    made.call(thread, "cudaLaunchKernel", 12, 3, 7);
    made.call(thread, "cudaLaunchKernel", 20, 3, 8);
    made.call(thread, "cudaMemcpyAsync", 55, 4, 9);
    const auto stream = made.stream(0, 20);
    session::DeviceWork work;
    work.grid[0] = 128, work.grid[1] = 2, work.grid[2] = 1;
    work.block[0] = 256, work.block[1] = 1, work.block[2] = 1;
    work.registers = 64;
    work.sharedBytes = 2048;
    work.occupancy = 0.5F;
    made.work(stream, session::SpanKind::kernel, "gemm", 30, 20, 7, work);
    made.kernel(stream, "bias", 51, 2, 8);
    session::DeviceWork copy;
    copy.bytes = 3'000'000;
    copy.copy = session::CopyKind::hostToDevice;
    copy.source = session::MemoryKind::pageable;
    copy.destination = session::MemoryKind::device;
    made.work(stream, session::SpanKind::copy, "Memcpy HtoD", 60, 1000, 9, copy);
    made.kernel(stream, "stray", 2000, 5, 99);
    return made.build();
}

SpanDetails detailsOf(const session::Session& session, std::string_view name)
{
    for (uint32_t row = 0; row < session.spans().size(); ++row)
        if (session.string(session.labels()[session.spans().label[row]].name) == name) return present::spanDetails(session, row);
    return {};
}

QString field(const SpanDetails& details, std::string_view title)
{
    for (const auto& each : details.fields)
        if (each.title == title) return QString::fromStdString(each.value);
    return QStringLiteral("(missing)");
}

QStringList links(const SpanDetails& details)
{
    QStringList out;
    for (const auto& each : details.links) out << QString::fromStdString(each.relation + " " + each.name);
    return out;
}

} // namespace

class TestSpanDetails : public QObject {
    Q_OBJECT
private slots:
    void aKernelTellsItsShapeAndWhatLaunchedIt()
    {
        const auto session = deviceWork();
        const SpanDetails gemm = detailsOf(*session, "gemm");
        QCOMPARE(field(gemm, "start"), QStringLiteral("30.00 µs (30 000 ns)"));
        QCOMPARE(field(gemm, "duration"), QStringLiteral("20.00 µs (20 000 ns)"));
        QCOMPARE(field(gemm, "grid"), QStringLiteral("128 × 2 × 1"));
        QCOMPARE(field(gemm, "block"), QStringLiteral("256 × 1 × 1"));
        QCOMPARE(field(gemm, "registers per thread"), QStringLiteral("64"));
        QCOMPARE(field(gemm, "shared memory per block"), QStringLiteral("2.000 KiB"));
        QCOMPARE(field(gemm, "occupancy, estimated"), QStringLiteral("50.0 %"));
        QCOMPARE(field(gemm, "stream number"), QStringLiteral("20"));
        QCOMPARE(field(gemm, "correlation id"), QStringLiteral("7"));
        QCOMPARE(links(gemm), QStringList({"launched by cudaLaunchKernel", "inside of aten::mm", "inside of aten::linear", "inside of train"}));
    }

    void aCopyTellsItsDirectionAndRate()
    {
        const auto session = deviceWork();
        const SpanDetails copy = detailsOf(*session, "Memcpy HtoD");
        QCOMPARE(field(copy, "direction"), QStringLiteral("host to device"));
        QCOMPARE(field(copy, "memory"), QStringLiteral("pageable to device"));
        QCOMPARE(field(copy, "rate"), QStringLiteral("3.00 GB/s")); // 3 MB in 1 ms
        QCOMPARE(links(copy), QStringList({"launched by cudaMemcpyAsync", "inside of aten::linear", "inside of train"}));
    }

    void anOperatorTellsWhatItLaunched()
    {
        const auto session = deviceWork();
        const SpanDetails mm = detailsOf(*session, "aten::mm");
        QCOMPARE(links(mm), QStringList({"launches gemm", "launches bias"})); // longest first
        QCOMPARE(field(mm, "work on devices"), QStringLiteral("22.00 µs in 2 pieces"));
        QCOMPARE(field(mm, "own time"), QStringLiteral("34.00 µs")); // 40 without the two calls
        QCOMPARE(links(detailsOf(*session, "aten::linear")), QStringList({"launches Memcpy HtoD", "launches gemm", "launches bias"}));
        QCOMPARE(links(detailsOf(*session, "cudaMemcpyAsync")), QStringList({"launches Memcpy HtoD"}));
        QVERIFY(links(detailsOf(*session, "stray")).isEmpty());
        QVERIFY(present::spanDetails(*session, 1000).fields.empty()); // no such row
    }

    void ofManyLinksTheLongestAreGivenAndTheRestCounted()
    {
        support::DeviceSession made;
        const auto thread = made.thread(1), stream = made.stream(0, 7);
        made.host(thread, session::SpanKind::operation, "loop", 0, 1000);
        for (int i = 0; i < 30; ++i) {
            made.call(thread, "launch", 1 + 10 * i, 2, 100 + i);
            made.kernel(stream, i == 17 ? "longest" : "k", 2000 + 10 * i, i == 17 ? 9 : 1, 100 + i);
        }
        const SpanDetails loop = detailsOf(*made.build(), "loop");
        QCOMPARE(loop.links.size(), SpanDetails::kMostLinks);
        QCOMPARE(loop.links[0].name, std::string("longest"));
        QCOMPARE(loop.linksLeftOut, static_cast<int64_t>(30 - SpanDetails::kMostLinks));
    }
};

QTEST_GUILESS_MAIN(TestSpanDetails)
#include "tst_span_details.moc"
