#include <QtTest>

#include "core/recording/span_buffer.h"

#include <atomic>
#include <thread>
#include <vector>

#include <sys/resource.h>

using stepscope::recording::RawSpan;
using stepscope::recording::SpanBuffer;

namespace {

std::vector<RawSpan> drained(SpanBuffer& buffer)
{
    std::vector<RawSpan> all;
    buffer.drain([&](std::span<const RawSpan> spans) { all.insert(all.end(), spans.begin(), spans.end()); });
    return all;
}

int64_t faultsOfThisThread()
{
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_minflt + usage.ru_majflt;
}

} // namespace

class TestSpanBuffer : public QObject {
    Q_OBJECT
private slots:
    void whatIsPushedComesOutInOrderWithItsStep()
    {
        SpanBuffer buffer;
        QVERIFY(drained(buffer).empty());
        buffer.push(7, 100, 200);
        buffer.setStep(3);
        buffer.push(8, 150, 300);
        const auto spans = drained(buffer);
        QCOMPARE(spans.size(), size_t{2});
        QCOMPARE(spans[0].label, 7u);
        QCOMPARE(spans[0].step, -1);
        QCOMPARE(spans[1].start, uint64_t{150});
        QCOMPARE(spans[1].end, uint64_t{300});
        QCOMPARE(spans[1].step, 3);
        QVERIFY(drained(buffer).empty());
    }

    void overflowIsDroppedAndCountedAndRecovers()
    {
        SpanBuffer buffer(2);
        constexpr uint64_t kRoom = 2 * SpanBuffer::kBlockSpans;
        for (uint64_t i = 0; i < kRoom + 100; ++i)
            buffer.push(0, i, i);
        QCOMPARE(buffer.dropped(), uint64_t{100});
        const auto first = drained(buffer);
        QCOMPARE(first.size(), size_t{kRoom});
        QCOMPARE(first.back().start, kRoom - 1);
        buffer.push(0, 424242, 424243);
        QCOMPARE(buffer.dropped(), uint64_t{100});
        const auto second = drained(buffer);
        QCOMPARE(second.size(), size_t{1});
        QCOMPARE(second[0].start, uint64_t{424242});
    }

    void moreBlocksAreMadeUpToTheLimit()
    {
        SpanBuffer buffer(64);
        for (int round = 0; round < 3; ++round) {
            for (size_t i = 0; i < 10 * SpanBuffer::kBlockSpans; ++i)
                buffer.push(0, i, i);
            drained(buffer);
        }
        for (size_t i = 0; i < 60 * SpanBuffer::kBlockSpans; ++i)
            buffer.push(0, i, i);
        QCOMPARE(buffer.dropped(), uint64_t{0});
        QCOMPARE(drained(buffer).size(), 60 * SpanBuffer::kBlockSpans);
    }

    void aWarmProducerTakesNoPageFaults()
    {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
        QSKIP("the sanitizer's own memory takes page faults");
#endif
        SpanBuffer buffer(16);
        int64_t faults = -1;
        std::thread producer([&] {
            buffer.push(0, 1, 2);
            const int64_t before = faultsOfThisThread();
            for (uint64_t i = 0; i < 10 * SpanBuffer::kBlockSpans; ++i)
                buffer.push(1, i, i + 1);
            faults = faultsOfThisThread() - before;
        });
        producer.join();
        QCOMPARE(faults, int64_t{0});
    }

    void oneThreadPushesWhileAnotherDrains()
    {
        SpanBuffer buffer(8);
        constexpr uint64_t kCount = 3'000'000;
        std::atomic<bool> done{false};
        std::thread producer([&] {
            for (uint64_t i = 0; i < kCount; ++i)
                buffer.push(static_cast<uint32_t>(i & 0xffff), i, i + 1);
            done.store(true);
        });
        uint64_t seen = 0, next = 0;
        bool ordered = true;
        const auto take = [&](std::span<const RawSpan> spans) {
            for (const RawSpan& span : spans) {
                ordered &= span.start >= next && span.end == span.start + 1 && span.label == (span.start & 0xffff);
                next = span.start + 1;
            }
            seen += spans.size();
        };
        while (!done.load())
            buffer.drain(take);
        producer.join();
        buffer.drain(take);
        QVERIFY(ordered);
        QCOMPARE(seen + buffer.dropped(), kCount); // nothing vanishes uncounted
    }
};

QTEST_GUILESS_MAIN(TestSpanBuffer)
#include "tst_span_buffer.moc"
