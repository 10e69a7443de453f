#include <QtTest>

#include "core/storage/column_codec.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

using namespace stepscope::storage;

namespace {

template <class T>
bool roundTrips(const std::vector<T>& values, Transform transform)
{
    ColumnEncoder encoder;
    ColumnDecoder decoder;
    const auto bytes = encoder.encode(std::span<const T>(values), transform);
    std::vector<T> back(values.size());
    if (!decoder.decode(bytes, std::span<T>(back))) return false;
    return std::memcmp(values.data(), back.data(), values.size() * sizeof(T)) == 0;
}

} // namespace

class TestColumnCodec : public QObject {
    Q_OBJECT
private slots:
    void extremesSurvive_data()
    {
        QTest::addColumn<int>("transform");
        QTest::newRow("offset") << 0;
        QTest::newRow("delta") << 1;
    }
    void extremesSurvive()
    {
        QFETCH(int, transform);
        const auto t = static_cast<Transform>(transform);
        constexpr int64_t kMin = std::numeric_limits<int64_t>::min(), kMax = std::numeric_limits<int64_t>::max();
        QVERIFY(roundTrips(std::vector<int64_t>{}, t));
        QVERIFY(roundTrips(std::vector<int64_t>{kMin}, t));
        QVERIFY(roundTrips(std::vector<int64_t>{kMax, kMin, 0, -1, 1, kMin, kMax}, t));
        QVERIFY(roundTrips(std::vector<uint32_t>{0xffffffffu, 0, 0x80000000u}, t));
        QVERIFY(roundTrips(std::vector<int32_t>{-1, INT32_MIN, INT32_MAX, 0}, t));
        QVERIFY(roundTrips(
            std::vector<double>{0.0, -0.0, 1e308, -1e-308, std::nan(""), std::numeric_limits<double>::infinity()}, t));
    }

    void randomColumnsOfEveryWidthSurvive()
    {
        std::mt19937_64 random(3);
        for (int bits = 1; bits <= 64; ++bits) {
            std::vector<int64_t> values(1000);
            for (int64_t& value : values)
                value = static_cast<int64_t>(random() >> (64 - bits)) - 5;
            QVERIFY(roundTrips(values, Transform::offset));
            QVERIFY(roundTrips(values, Transform::delta));
        }
    }

    void evenStepsCostOnlyTheHeader()
    {
        std::vector<int64_t> values(65536);
        for (size_t i = 0; i < values.size(); ++i)
            values[i] = 1'000'000 + static_cast<int64_t>(i) * 250;
        ColumnEncoder encoder;
        QCOMPARE(encoder.encode(std::span<const int64_t>(values), Transform::delta).size(), size_t{18});
        QVERIFY(roundTrips(values, Transform::delta));
    }

    // The bytes as resources/help/session-format.md describes them, written out by hand.
    void aColumnWithoutPlanesIsReadAsDocumented()
    {
        const std::vector<uint8_t> delta = {1, 0,    10,   0,    0,    0,    0,    0,    0,
                                            0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
        std::vector<int64_t> values(3);
        ColumnDecoder decoder;
        QVERIFY(decoder.decode(delta, std::span(values)));
        QCOMPARE(values, (std::vector<int64_t>{10, 9, 8}));
        std::vector<uint8_t> offset = delta;
        offset[0] = 0;
        QVERIFY(decoder.decode(offset, std::span(values)));
        QCOMPARE(values, (std::vector<int64_t>{10, 10, 10}));
    }

    void damagedBytesAreRefused()
    {
        std::vector<int64_t> values(5000);
        std::mt19937_64 random(5);
        for (int64_t& value : values)
            value = static_cast<int64_t>(random() % 100'000);
        ColumnEncoder encoder;
        const auto encoded = encoder.encode(std::span<const int64_t>(values), Transform::offset);
        const std::vector<uint8_t> bytes(encoded.begin(), encoded.end());
        ColumnDecoder decoder;
        std::vector<int64_t> out(values.size());
        for (size_t length = 0; length < bytes.size(); length += 97)
            QVERIFY(!decoder.decode(std::span(bytes).first(length), std::span(out)));
        for (size_t at = 18; at < bytes.size(); at += 101) {
            std::vector<uint8_t> damaged = bytes;
            damaged[at] ^= 0x40;
            // Either noticed, or the flip met a bit without meaning.
            QVERIFY(!decoder.decode(damaged, std::span(out)) || out == values);
        }
        std::vector<int64_t> shorter(values.size() - 1);
        QVERIFY(!decoder.decode(bytes, std::span(shorter)));
        std::vector<uint8_t> wrong = bytes;
        wrong[0] = 7;
        QVERIFY(!decoder.decode(wrong, std::span(out)));
        wrong = bytes;
        wrong[1] = 9;
        QVERIFY(!decoder.decode(wrong, std::span(out)));
    }
};

QTEST_GUILESS_MAIN(TestColumnCodec)
#include "tst_column_codec.moc"
