#include <QtTest>

#include "core/session/session_builder.h"

#include <algorithm>
#include <random>

using namespace stepscope::session;

namespace {

using Records = std::vector<SpanRecord>;

// A random laminar family: spans inside spans, with distinct times, in order of completion.
// label numbers the spans in order of their start, which is the row they must get.
void growTree(std::mt19937& random, TimeNs begin, TimeNs end, int depth, uint32_t& nextLabel, Records& out)
{
    TimeNs at = begin + 1;
    while (at + 4 < end && random() % 6 != 0) {
        const TimeNs length =
            2 + static_cast<TimeNs>(random() % static_cast<uint32_t>(std::max<TimeNs>(1, (end - at) / 2)));
        const TimeNs stop = std::min(end - 1, at + length);
        if (stop <= at) break;
        const uint32_t label = nextLabel++;
        if (depth < 8) growTree(random, at, stop, depth + 1, nextLabel, out);
        out.push_back({at, stop - at, label, static_cast<int32_t>(label % 7)});
        at = stop + 1 + static_cast<TimeNs>(random() % 5);
    }
}

// Every span's parent by looking at all spans: the shortest one around it.
std::vector<int64_t> parentsByBruteForce(const Records& byRow)
{
    std::vector<int64_t> parents(byRow.size(), -1);
    for (size_t i = 0; i < byRow.size(); ++i) {
        TimeNs best = -1;
        for (size_t j = 0; j < byRow.size(); ++j) {
            const SpanRecord& outer = byRow[j];
            const bool contains = j != i && outer.start <= byRow[i].start
                && outer.start + outer.duration >= byRow[i].start + byRow[i].duration
                && outer.duration > byRow[i].duration;
            if (contains && (best < 0 || outer.duration < best)) {
                best = outer.duration;
                parents[i] = static_cast<int64_t>(j);
            }
        }
    }
    return parents;
}

void verifyTable(const SpanTable& t)
{
    for (size_t track = 0; track + 1 < t.trackBegin.size(); ++track) {
        for (size_t row = t.trackBegin[track]; row < t.trackBegin[track + 1]; ++row) {
            const uint32_t parent = t.parent[row];
            if (parent != SpanTable::kNoParent) {
                QVERIFY(parent < row);
                QVERIFY(parent >= t.trackBegin[track]);
                QVERIFY(t.start[parent] <= t.start[row]);
                QVERIFY(t.end(parent) >= t.end(row));
            }
            if (row == t.trackBegin[track]) continue;
            QVERIFY(t.start[row - 1] <= t.start[row]);
            QVERIFY(t.start[row - 1] < t.start[row] || t.duration[row - 1] >= t.duration[row]);
        }
    }
}

} // namespace

class TestNestSpans : public QObject {
    Q_OBJECT
private slots:
    void nothingGivesAnEmptyTable()
    {
        const LoadedColumns columns = nestSpans(Records2{});
        QCOMPARE(columns.spans.size(), size_t{0});
        QCOMPARE(columns.spans.trackBegin.size(), size_t{1});
        QVERIFY(columns.quality.empty());
    }

    void randomTreesMatchBruteForce_data()
    {
        QTest::addColumn<int>("order");
        QTest::newRow("in order of completion") << 0;
        QTest::newRow("in order of start") << 1;
        QTest::newRow("shuffled") << 2;
        QTest::newRow("reversed") << 3;
    }
    void randomTreesMatchBruteForce()
    {
        QFETCH(int, order);
        std::mt19937 random(7);
        size_t total = 0;
        for (int round = 0; round < 40; ++round) {
            Records records;
            uint32_t labels = 0;
            growTree(random, 0, 4000, 0, labels, records);
            Records byRow(records.size());
            for (const SpanRecord& span : records)
                byRow[span.label] = span;
            if (order == 1) records = byRow;
            if (order == 2) std::shuffle(records.begin(), records.end(), random);
            if (order == 3) std::reverse(records.begin(), records.end());

            const LoadedColumns columns = nestSpans(Records2{records});
            const SpanTable& t = columns.spans;
            QCOMPARE(t.size(), byRow.size());
            QVERIFY(columns.quality.empty());
            const std::vector<int64_t> parents = parentsByBruteForce(byRow);
            for (size_t row = 0; row < t.size(); ++row) {
                QCOMPARE(t.label[row], static_cast<uint32_t>(row));
                QCOMPARE(t.start[row], byRow[row].start);
                QCOMPARE(t.duration[row], byRow[row].duration);
                QCOMPARE(t.step[row], static_cast<int32_t>(row % 7));
                QCOMPARE(t.parent[row] == SpanTable::kNoParent ? -1 : static_cast<int64_t>(t.parent[row]),
                         parents[row]);
            }
            total += t.size();
        }
        QVERIFY(total > 1000);
    }

    void aLongOuterSpanIsMovedBeforeManyRuns()
    {
        // 200 000 spans make several runs; the last record encloses all, the one before it the second half.
        constexpr int64_t kCount = 200'000;
        Records records;
        for (int64_t i = 0; i < kCount; ++i)
            records.push_back({i * 10 + 5, 4, 1, 0});
        records.push_back({kCount * 5, kCount * 5 + 1, 2, 0});
        records.push_back({0, kCount * 10 + 10, 3, 0});
        const LoadedColumns columns = nestSpans(Records2{records});
        const SpanTable& t = columns.spans;
        QCOMPARE(t.size(), size_t{kCount} + 2);
        QCOMPARE(t.label[0], 3u);
        QCOMPARE(t.parent[0], SpanTable::kNoParent);
        QCOMPARE(t.label[kCount / 2 + 1], 2u);
        QCOMPARE(t.parent[kCount / 2 + 1], 0u);
        QCOMPARE(t.parent[kCount / 2], 0u);
        QCOMPARE(t.parent[kCount / 2 + 2], static_cast<uint32_t>(kCount / 2 + 1));
        QCOMPARE(t.parent[kCount + 1], static_cast<uint32_t>(kCount / 2 + 1));
        verifyTable(t);
    }

    void ofEqualSpansTheLaterRecordIsOutside()
    {
        const LoadedColumns columns = nestSpans(Records2{{{10, 5, 1, 0}, {10, 5, 2, 0}, {10, 5, 3, 0}}});
        const SpanTable& t = columns.spans;
        QCOMPARE(t.label[0], 3u);
        QCOMPARE(t.label[1], 2u);
        QCOMPARE(t.label[2], 1u);
        QCOMPARE(t.parent[0], SpanTable::kNoParent);
        QCOMPARE(t.parent[1], 0u);
        QCOMPARE(t.parent[2], 1u);
    }

    void equalStartsNestByLength()
    {
        const LoadedColumns columns = nestSpans(Records2{{{10, 2, 1, 0}, {10, 9, 2, 0}, {12, 3, 3, 0}}});
        const SpanTable& t = columns.spans;
        QCOMPARE(t.label[0], 2u);
        QCOMPARE(t.label[1], 1u);
        QCOMPARE(t.parent[1], 0u);
        QCOMPARE(t.label[2], 3u);
        QCOMPARE(t.parent[2], 0u);
    }

    void emptySpansBelongToWhatRunsAtTheirTime()
    {
        // At 10 the first span has ended and the second runs.
        const LoadedColumns columns =
            nestSpans(Records2{{{0, 10, 1, 0}, {10, 0, 2, 0}, {10, 10, 3, 0}, {15, 0, 4, 0}}});
        const SpanTable& t = columns.spans;
        QCOMPARE(t.label[1], 3u);
        QCOMPARE(t.parent[1], SpanTable::kNoParent);
        QCOMPARE(t.label[2], 2u);
        QCOMPARE(t.parent[2], 1u);
        QCOMPARE(t.label[3], 4u);
        QCOMPARE(t.parent[3], 1u);
        verifyTable(t);
    }

    void overlapsAreCutAndCounted()
    {
        const LoadedColumns columns = nestSpans(Records2{{{0, 10, 1, 0}, {5, 10, 2, 0}, {7, 20, 3, 0}, {30, 1, 4, 0}}});
        const SpanTable& t = columns.spans;
        QCOMPARE(t.end(0), TimeNs{10});
        QCOMPARE(t.end(1), TimeNs{10});
        QCOMPARE(t.end(2), TimeNs{10});
        QCOMPARE(t.parent[1], 0u);
        QCOMPARE(t.parent[2], 1u);
        QCOMPARE(t.parent[3], SpanTable::kNoParent);
        QCOMPARE(columns.quality.size(), size_t{1});
        QCOMPARE(columns.quality[0].code, std::string("overlapping-spans"));
        QCOMPARE(columns.quality[0].count, int64_t{2});
        verifyTable(t);
    }

    void tracksDoNotMix()
    {
        const LoadedColumns columns = nestSpans(Records2{{{0, 10, 1, 0}}, {}, {{2, 3, 2, 0}, {1, 8, 3, 0}}});
        const SpanTable& t = columns.spans;
        QCOMPARE(t.trackBegin, (std::vector<size_t>{0, 1, 1, 3}));
        QCOMPARE(t.parent[1], SpanTable::kNoParent);
        QCOMPARE(t.parent[2], 1u);
    }

    void randomIntervalsKeepTheInvariants()
    {
        std::mt19937 random(11);
        for (int round = 0; round < 50; ++round) {
            Records records;
            for (int i = 0; i < 300; ++i)
                records.push_back({static_cast<TimeNs>(random() % 100), static_cast<TimeNs>(random() % 20), 0, 0});
            verifyTable(nestSpans(Records2{records}).spans);
        }
    }

private:
    using Records2 = std::vector<Records>;
};

QTEST_GUILESS_MAIN(TestNestSpans)
#include "tst_nest_spans.moc"
