#include "core/recording/allocation_counter.h"
#include "core/recording/allocation_recorder.h"
#include "core/session/session_builder.h"

#include <QtTest>

#include <cerrno>
#include <cstring>
#include <malloc.h>
#include <memory>
#include <thread>
#include <vector>

using namespace stepscope::recording;

namespace {

struct Counted {
    uint64_t allocations = 0, bytes = 0;
    int64_t live = 0;
};

Counted now()
{
    const ThreadAllocations* counts = allocationsOfThisThread();
    return {counts->allocations.load(), counts->bytes.load(), counts->live.load()};
}

Counted operator-(const Counted& a, const Counted& b) { return {a.allocations - b.allocations, a.bytes - b.bytes, a.live - b.live}; }

// The compiler may leave out pairs of malloc() and free() that it sees through.
void* kept(void* memory)
{
    asm volatile("" : "+r"(memory) : : "memory");
    return memory;
}

template <class Action>
Counted during(const Action& action)
{
    const Counted before = now();
    action();
    return now() - before;
}

} // namespace

class TestAllocationCounter : public QObject {
    Q_OBJECT
private slots:
    void initTestCase()
    {
        const QByteArray why(whyNoAllocationCounts());
        if (why.contains("sanitizer")) QSKIP(why.constData());
        QCOMPARE(why, QByteArray());
    }

    void nothingIsCountedWhileOff()
    {
        { const AllocationCounting once(kCountAllocations); now(); }
        const Counted seen = during([] { std::free(kept(std::malloc(100))); });
        QCOMPARE(seen.allocations, uint64_t{0});
        QCOMPARE(seen.bytes, uint64_t{0});
    }

    void eachWayToAllocateIsOneAllocationOfTheBytesAskedFor_data()
    {
        QTest::addColumn<int>("way");
        QTest::addColumn<int>("bytes");
        QTest::newRow("malloc") << 0 << 100;
        QTest::newRow("calloc") << 1 << 21;
        QTest::newRow("operator new") << 2 << 40;
        QTest::newRow("operator new, aligned") << 3 << 256;
        QTest::newRow("posix_memalign") << 4 << 5000;
        QTest::newRow("aligned_alloc") << 5 << 128;
        QTest::newRow("memalign") << 6 << 77;
        QTest::newRow("strdup") << 7 << 6; // "hello" and its end
        QTest::newRow("realloc of nothing") << 8 << 333;
        QTest::newRow("1 MiB") << 9 << 1048576;
        QTest::newRow("reallocarray of nothing") << 10 << 48;
    }

    void eachWayToAllocateIsOneAllocationOfTheBytesAskedFor()
    {
        QFETCH(int, way);
        QFETCH(int, bytes);
        const AllocationCounting counting(kCountAllocations);
        const Counted seen = during([&] {
            void* p = nullptr;
            switch (way) {
            case 0: p = std::malloc(100); break;
            case 1: p = std::calloc(3, 7); break;
            case 2: delete[] static_cast<int*>(kept(new int[10])); return;
            case 3: {
                struct alignas(128) Wide { char data[256]; };
                delete static_cast<Wide*>(kept(new Wide));
                return;
            }
            case 4: QCOMPARE(::posix_memalign(&p, 4096, 5000), 0); break;
            case 5: p = std::aligned_alloc(64, 128); break;
            case 6: p = ::memalign(32, 77); break;
            case 7: p = ::strdup("hello"); break;
            case 8: p = std::realloc(nullptr, 333); break;
            case 9: p = std::malloc(1048576); break;
            case 10: p = ::reallocarray(nullptr, 6, 8); break;
            }
            std::free(kept(p));
        });
        QCOMPARE(seen.allocations, uint64_t{1});
        QCOMPARE(seen.bytes, static_cast<uint64_t>(bytes));
        QCOMPARE(seen.live, int64_t{0});
    }

    void liveBytesAreWhatTheAllocatorKeeps()
    {
        const AllocationCounting counting(kCountAllocations);
        now();
        std::vector<void*> blocks;
        blocks.reserve(2000);
        int64_t usable = 0;
        const Counted seen = during([&] {
            for (size_t i = 0; i < 2000; ++i) {
                blocks.push_back(std::malloc(1 + i * 7 % 3000));
                usable += static_cast<int64_t>(malloc_usable_size(blocks.back())) + static_cast<int64_t>(sizeof(size_t));
            }
        });
        QVERIFY(std::abs(seen.live - usable) <= usable / 100);
        const Counted freed = during([&] {
            for (void* block : blocks) std::free(block);
        });
        QCOMPARE(freed.live, -usable);
    }

    void thePeakIsKeptUntilItIsSet()
    {
        const AllocationCounting counting(kCountAllocations);
        ThreadAllocations& counts = *allocationsOfThisThread();
        const int64_t before = counts.live.load();
        counts.peak.store(before);
        std::free(kept(std::malloc(3 << 20)));
        QVERIFY(counts.peak.load() - before >= 3 << 20);
        QVERIFY(counts.peak.load() - before < (3 << 20) + 8192);
        QCOMPARE(counts.live.load(), before);
    }

    void growingABlockCountsTheNewSizeAndKeepsTheContents()
    {
        const AllocationCounting counting(kCountAllocations);
        const Counted seen = during([] {
            char* text = static_cast<char*>(std::malloc(16));
            std::strcpy(text, "kept");
            text = static_cast<char*>(std::realloc(text, 100000));
            QVERIFY(std::strcmp(text, "kept") == 0);
            std::free(text);
        });
        QCOMPARE(seen.allocations, uint64_t{2});
        QCOMPARE(seen.bytes, uint64_t{100016});
        QCOMPARE(seen.live, int64_t{0});
    }

    void errorsAreThoseOfTheCLibrary()
    {
        const AllocationCounting counting(kCountAllocations);
        const Counted seen = during([] {
            void* p = nullptr;
            QCOMPARE(::posix_memalign(&p, 24, 8), EINVAL);
            QCOMPARE(::posix_memalign(&p, 4, 8), EINVAL);
            volatile size_t huge = ~size_t{0} / 2;
            QCOMPARE(::posix_memalign(&p, 64, huge), ENOMEM);
            QVERIFY(std::malloc(huge) == nullptr);
            QVERIFY(std::calloc(huge, 4) == nullptr);
            errno = 0;
            QVERIFY(::reallocarray(nullptr, huge, 4) == nullptr);
            QCOMPARE(errno, ENOMEM);
        });
        QCOMPARE(seen.allocations, uint64_t{0});
        void* p = std::aligned_alloc(4096, 8192);
        QCOMPARE(reinterpret_cast<uintptr_t>(p) % 4096, uintptr_t{0});
        std::free(p);
    }

    void aThreadIsCountedByItself()
    {
        const AllocationCounting counting(kCountAllocations);
        const AllocationTotals before = allocationsOfProcess();
        Counted inside;
        const Counted here = during([&] {
            std::thread([&] { inside = during([] { std::free(kept(std::malloc(12345))); }); }).join();
        });
        QCOMPARE(inside.allocations, uint64_t{1});
        QCOMPARE(inside.bytes, uint64_t{12345});
        QVERIFY(here.bytes < 12345);
        QVERIFY(allocationsOfProcess().bytes - before.bytes >= 12345);
    }

    void memoryThatOneThreadMakesAndAnotherFreesIsGone()
    {
        const AllocationCounting counting(kCountAllocations);
        now();
        const AllocationTotals before = allocationsOfProcess();
        void* block = nullptr;
        std::thread([&] { block = std::malloc(1 << 20); }).join();
        QVERIFY(allocationsOfProcess().live - before.live >= 1 << 20);
        std::free(block);
        QVERIFY(std::abs(allocationsOfProcess().live - before.live) < 65536);
    }

    void threadsOfTheRecordingAreLeftOut()
    {
        const AllocationCounting counting(kCountAllocations);
        now();
        const AllocationTotals before = allocationsOfProcess();
        std::thread([] {
            excludeAllocationsOfThisThread();
            std::free(kept(std::malloc(1 << 22)));
        }).join();
        QVERIFY(allocationsOfProcess().bytes - before.bytes < 1 << 20);
    }

    void manyThreadsOneAfterTheOtherTakeFewPlaces()
    {
        const AllocationCounting counting(kCountAllocations);
        const AllocationTotals before = allocationsOfProcess();
        for (int i = 0; i < 6000; ++i)
            std::thread([] { std::free(kept(std::malloc(1000))); }).join();
        QCOMPARE(threadsWithoutCounts(), uint64_t{0});
        QVERIFY(allocationsOfProcess().bytes - before.bytes >= 6000 * 1000);
    }

    void aSecondRecordingDoesNotSampleByWhatTheFirstAllocated()
    {
        const AllocationCounting on(kCountAllocations);
        for (int i = 0; i < 20000; ++i)
            std::free(kept(std::malloc(4096)));
        stepscope::session::SessionBuilder builder;
        {
            Recorder recorder(builder, {.drainMilliseconds = 600'000}); // asks its sources at the end alone
            AllocationOptions options;
            options.count = options.stacks = true;
            recorder.countAllocations(options);
            recorder.allocations()->collect(TickClock());
            QCOMPARE(allocationSampling(), uint64_t{1}); // hardly anything was allocated since
        } // and without finish() the recording ends in order
    }

    void timeInTheAllocatorIsCountedWhenAsked()
    {
        const AllocationCounting counting(kCountAllocations | kTimeAllocations);
        const ThreadAllocations& counts = *allocationsOfThisThread();
        const uint64_t before = counts.ticks.load();
        for (int i = 0; i < 1000; ++i)
            std::free(kept(std::malloc(1 << 20)));
        QVERIFY(counts.ticks.load() > before);
    }
};

QTEST_GUILESS_MAIN(TestAllocationCounter)
#include "tst_allocation_counter.moc"
