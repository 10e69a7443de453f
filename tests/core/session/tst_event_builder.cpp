#include "core/session/event_builder.h"

#include "core/session/session_builder.h"

#include <QTest>

#include <algorithm>
#include <map>
#include <random>
#include <tuple>

using namespace stepscope;
using namespace stepscope::session;

class TestEventBuilder : public QObject {
    Q_OBJECT

private slots:
    void overlappingKernelsKeepTheirLengthOnLanes();
    void equalSpansNestInTheOrderOfAdding();
    void emptySpansNeitherEncloseNorOverlap();
    void durationsMayBeGivenLater();
    void randomSpansAreKeptWholeAndNested_data();
    void randomSpansAreKeptWholeAndNested();
    void manyStackedOverlapsTakeNoQuadraticTime();
    void detailsAreReorderedByClassAndStayWithTheirSpans();
    void launchesAreJoinedByCorrelationAlone();
    void impossibleTimesAreCounted();
};

namespace {

EventBuilder::Finished finish(EventBuilder& builder, std::vector<Track>& tracks)
{
    return builder.finish(tracks, 1000, 0, {});
}

} // namespace

// Case 19 of the collection of reported faults: k1, k2, k3 on a stream, two calls on a thread; three overlaps.
void TestEventBuilder::overlappingKernelsKeepTheirLengthOnLanes()
{
    EventBuilder builder;
    std::vector<Track> tracks{{"stream 7", 7}, {"thread 1", 1}};
    builder.add(TrackId(size_t{0}), {0, 100, 1});
    builder.add(TrackId(size_t{0}), {80, 80, 2});
    builder.add(TrackId(size_t{0}), {150, 50, 3});
    builder.add(TrackId(size_t{1}), {0, 100, 4});
    builder.add(TrackId(size_t{1}), {10, 110, 5});
    const EventBuilder::Finished f = finish(builder, tracks);
    QCOMPARE(f.overlaps, 3);
    QCOMPARE(f.spans.size(), size_t{5});
    QCOMPARE(tracks.size(), size_t{4});
    QCOMPARE(f.spans.trackBegin, (std::vector<size_t>{0, 2, 3, 4, 5}));
    QCOMPARE(tracks[2].name, std::string("stream 7"));
    QCOMPARE(tracks[2].lane, 1);
    QCOMPARE(tracks[3].threadId, 1);
    std::map<uint32_t, TimeNs> durations;
    for (size_t i = 0; i < f.spans.size(); ++i)
        durations[f.spans.label[i]] = f.spans.duration[i];
    QCOMPARE(durations, (std::map<uint32_t, TimeNs>{{1, 100}, {2, 80}, {3, 50}, {4, 100}, {5, 110}}));
    for (const uint32_t parent : f.spans.parent)
        QCOMPARE(parent, SpanTable::kNoParent);
}

void TestEventBuilder::equalSpansNestInTheOrderOfAdding()
{
    EventBuilder builder;
    std::vector<Track> tracks{{"t", 1}};
    for (const uint32_t label : {7u, 8u, 9u})
        builder.add(TrackId(size_t{0}), {5, 10, label});
    const EventBuilder::Finished f = finish(builder, tracks);
    QCOMPARE(std::vector<uint32_t>(f.spans.label.begin(), f.spans.label.end()), (std::vector<uint32_t>{7, 8, 9}));
    QCOMPARE(std::vector<uint32_t>(f.spans.parent.begin(), f.spans.parent.end()),
             (std::vector<uint32_t>{SpanTable::kNoParent, 0, 1}));
    QCOMPARE(f.overlaps, 0);
}

void TestEventBuilder::emptySpansNeitherEncloseNorOverlap()
{
    EventBuilder builder;
    std::vector<Track> tracks{{"t", 1}};
    builder.add(TrackId(size_t{0}), {0, 0, 1});
    builder.add(TrackId(size_t{0}), {0, 10, 2});
    builder.add(TrackId(size_t{0}), {4, 0, 3});
    builder.add(TrackId(size_t{0}), {4, 2, 4});
    const EventBuilder::Finished f = finish(builder, tracks);
    QCOMPARE(f.overlaps, 0);
    QCOMPARE(std::vector<uint32_t>(f.spans.label.begin(), f.spans.label.end()), (std::vector<uint32_t>{2, 1, 4, 3}));
    QCOMPARE(std::vector<uint32_t>(f.spans.parent.begin(), f.spans.parent.end()),
             (std::vector<uint32_t>{SpanTable::kNoParent, 0, 0, 2}));
}

void TestEventBuilder::durationsMayBeGivenLater()
{
    EventBuilder builder;
    std::vector<Track> tracks{{"t", 1}};
    Event* outer = builder.add(TrackId(size_t{0}), {10, -1, 1});
    for (int i = 0; i < 1000; ++i)
        builder.add(TrackId(size_t{0}), {20 + i, 1, 2});
    Event* never = builder.add(TrackId(size_t{0}), {2000, -1, 3});
    Q_UNUSED(never);
    outer->duration = 5000;
    const EventBuilder::Finished f = finish(builder, tracks);
    QCOMPARE(f.spans.size(), size_t{1001});
    QCOMPARE(f.unusable, 1);
    QCOMPARE(f.spans.label[0], 1u);
    for (size_t i = 1; i < f.spans.size(); ++i)
        QCOMPARE(f.spans.parent[i], 0u);
}

void TestEventBuilder::randomSpansAreKeptWholeAndNested_data()
{
    QTest::addColumn<int>("count");
    QTest::addColumn<int>("range");
    QTest::addColumn<int>("longest");
    QTest::newRow("few, crowded") << 60 << 40 << 30;
    QTest::newRow("sparse") << 400 << 4000 << 6;
    QTest::newRow("many lanes") << 600 << 300 << 200;
    QTest::newRow("several blocks") << 200000 << 1000000 << 12;
}

// Against the definition: every span is there once with its length, spans of a track nest, the parent is the innermost
// span around, and an overlap is a span that begins inside an earlier one and ends after it.
void TestEventBuilder::randomSpansAreKeptWholeAndNested()
{
    QFETCH(int, count);
    QFETCH(int, range);
    QFETCH(int, longest);
    std::mt19937 random(static_cast<unsigned>(count));
    using Key = std::tuple<TimeNs, TimeNs, uint32_t>;
    std::vector<Key> given;
    EventBuilder builder;
    std::vector<Track> tracks{{"a", 1}};
    for (int i = 0; i < count; ++i) {
        const Event e{static_cast<TimeNs>(random() % static_cast<unsigned>(range)),
                      static_cast<TimeNs>(random() % static_cast<unsigned>(longest)), static_cast<uint32_t>(i % 1000)};
        builder.add(TrackId(size_t{0}), e);
        given.emplace_back(e.start, -e.duration, e.label);
    }
    const EventBuilder::Finished f = finish(builder, tracks);
    std::vector<Key> got;
    for (size_t i = 0; i < f.spans.size(); ++i)
        got.emplace_back(f.spans.start[i], -f.spans.duration[i], f.spans.label[i]);
    std::sort(given.begin(), given.end());
    std::sort(got.begin(), got.end());
    QVERIFY(given == got);

    for (size_t track = 0; track + 1 < f.spans.trackBegin.size(); ++track) {
        std::vector<size_t> open;
        for (size_t i = f.spans.trackBegin[track]; i < f.spans.trackBegin[track + 1]; ++i) {
            while (!open.empty() && f.spans.end(open.back()) <= f.spans.start[i])
                open.pop_back();
            QCOMPARE(f.spans.parent[i], open.empty() ? SpanTable::kNoParent : static_cast<uint32_t>(open.back()));
            if (!open.empty()) QVERIFY(f.spans.end(i) <= f.spans.end(open.back()));
            open.push_back(i);
        }
    }
    if (count > 1000) return;
    int64_t overlaps = 0;
    for (size_t i = 0; i < given.size(); ++i) {
        const TimeNs start = std::get<0>(given[i]), end = start - std::get<1>(given[i]);
        for (size_t j = 0; j < i; ++j) {
            const TimeNs otherEnd = std::get<0>(given[j]) - std::get<1>(given[j]);
            if (otherEnd > start && otherEnd < end) {
                ++overlaps;
                break;
            }
        }
    }
    QCOMPARE(f.overlaps, overlaps);
}

void TestEventBuilder::manyStackedOverlapsTakeNoQuadraticTime()
{
    EventBuilder builder;
    std::vector<Track> tracks{{"a", 1}};
    constexpr int kCount = 100000;
    for (int i = 0; i < kCount; ++i)
        builder.add(TrackId(size_t{0}), {i, kCount, 0});
    const EventBuilder::Finished f = finish(builder, tracks);
    QCOMPARE(f.spans.size(), size_t{kCount});
    QCOMPARE(f.overlaps, kCount - 1);
}

void TestEventBuilder::detailsAreReorderedByClassAndStayWithTheirSpans()
{
    EventBuilder builder;
    DetailBuilder details;
    std::vector<Track> tracks{{"a", 1}};
    // In the file: a plain event, a kernel, a call, a kernel; later in time first.
    builder.add(TrackId(size_t{0}), {40, 1, 0, -1, details.addPlain(100)});
    DeviceWork work;
    work.bytes = 11;
    builder.add(TrackId(size_t{0}), {30, 1, 1, -1, details.addDevice(work, 5, 200)});
    const uint32_t call = details.addLinked(5, 300);
    details.setUnfinished(call);
    builder.add(TrackId(size_t{0}), {20, 1, 2, -1, call});
    work.bytes = 22;
    builder.add(TrackId(size_t{0}), {10, 1, 3, -1, details.addDevice(work, 6, 400)});
    builder.add(TrackId(size_t{0}), {5, 1, 4});
    const EventBuilder::Finished f = builder.finish(tracks, 10, 0, std::move(details));
    QCOMPARE(f.details.deviceRows(), size_t{2});
    QCOMPARE(f.details.linkedRows(), size_t{3});
    QCOMPARE(f.details.size(), size_t{4});
    const auto detailOf = [&](uint32_t label) {
        return f.spans.detail[static_cast<size_t>(std::find(f.spans.label.begin(), f.spans.label.end(), label)
                                                  - f.spans.label.begin())];
    };
    QCOMPARE(f.details.placeOf(detailOf(0)), uint64_t{100});
    QVERIFY(f.details.deviceWork(detailOf(0)) == nullptr);
    QCOMPARE(f.details.deviceWork(detailOf(1))->bytes, 11);
    QCOMPARE(f.details.placeOf(detailOf(1)), uint64_t{200});
    QCOMPARE(f.details.correlationOf(detailOf(2)), 5);
    QVERIFY(f.details.isUnfinished(detailOf(2)));
    QVERIFY(!f.details.isUnfinished(detailOf(3)));
    QCOMPARE(f.details.deviceWork(detailOf(3))->bytes, 22);
    QCOMPARE(f.details.correlationOf(detailOf(3)), 6);
    QCOMPARE(detailOf(4), DetailTable::kNone);
}

void TestEventBuilder::launchesAreJoinedByCorrelationAlone()
{
    SessionBuilder session;
    Label call{session.intern("cudaLaunchKernel"), SpanKind::call};
    Label kernel{session.intern("k"), SpanKind::kernel};
    const LabelId callId = session.internLabel(call), kernelId = session.internLabel(kernel);
    session.addTrack({"thread", 1});
    session.addTrack({"stream", 7, TrackKind::stream});
    EventBuilder builder;
    DetailBuilder details;
    // The runtime call around a driver call with the same id; a kernel before it in time, and one without a call.
    builder.add(TrackId(size_t{0}), {100, 10, callId.value, -1, details.addLinked(9)});
    builder.add(TrackId(size_t{0}), {102, 5, callId.value, -1, details.addLinked(9)});
    builder.add(TrackId(size_t{0}), {200, 5, callId.value, -1, details.addLinked(9)});
    builder.add(TrackId(size_t{1}), {50, 10, kernelId.value, -1, details.addDevice({}, 9)});
    builder.add(TrackId(size_t{1}), {201, 10, kernelId.value, -1, details.addDevice({}, 10)});
    builder.add(TrackId(size_t{1}), {300, 10, kernelId.value, -1, details.addDevice({}, DetailTable::kNoCorrelation)});
    EventBuilder::Finished f =
        builder.finish(session.tables().tracks, session.tables().labels.size(), 0, std::move(details));
    const LaunchCheck check = linkLaunches(f.spans, session.tables().labels, f.details);
    QCOMPARE(check.launched, 1);
    QCOMPARE(check.withoutCall, 1);
    QCOMPARE(check.repeatedCalls, 1);
    QCOMPARE(f.details.device[0].launch, 0u);
    QCOMPARE(f.details.device[1].launch, SpanTable::kNoParent);
    const SessionPtr made = session.build(std::move(f.spans), std::move(f.details));
    QCOMPARE(made->spanCount(), uint64_t{6});
    QCOMPARE(made->details().deviceRows(), size_t{3});
}

void TestEventBuilder::impossibleTimesAreCounted()
{
    EventBuilder builder;
    std::vector<Track> tracks{{"a", 1}};
    builder.add(TrackId(size_t{0}), {INT64_MIN, 5, 0});
    builder.add(TrackId(size_t{0}), {INT64_MAX, INT64_MAX, 0});
    builder.add(TrackId(size_t{0}), {10, 5, 99});
    builder.add(TrackId(size_t{0}), {1010, 5, 0});
    const EventBuilder::Finished f = builder.finish(tracks, 1, 1000, {});
    QCOMPARE(f.spans.size(), size_t{1});
    QCOMPARE(f.spans.start[0], 10);
    QCOMPARE(f.unusable, 3);
    QCOMPARE(eventQuality(f).size(), size_t{1});
}

QTEST_GUILESS_MAIN(TestEventBuilder)
#include "tst_event_builder.moc"
