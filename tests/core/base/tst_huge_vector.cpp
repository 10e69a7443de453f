#include <QtTest>

#include "core/base/huge_vector.h"

#include <cstdint>

using stepscope::base::HugeVector;

class TestHugeVector : public QObject {
    Q_OBJECT
private slots:
    void bigBlocksAreAlignedToHugePages()
    {
        HugeVector<int64_t> big(1 << 20);
        QCOMPARE(reinterpret_cast<uintptr_t>(big.data()) % (2u << 20), uintptr_t{0});
        HugeVector<int64_t> small(10);
        QCOMPARE(reinterpret_cast<uintptr_t>(small.data()) % 64, uintptr_t{0});
    }

    void itGrowsLikeAVector()
    {
        HugeVector<int> values;
        for (int i = 0; i < 2'000'000; ++i)
            values.push_back(i);
        bool right = true;
        for (int i = 0; i < 2'000'000; ++i)
            right &= values[static_cast<size_t>(i)] == i;
        QVERIFY(right);
        HugeVector<int> moved = std::move(values);
        QCOMPARE(moved.size(), size_t{2'000'000});
        QCOMPARE(moved.back(), 1'999'999);
    }
};

QTEST_GUILESS_MAIN(TestHugeVector)
#include "tst_huge_vector.moc"
