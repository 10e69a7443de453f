#include "core/analysis/flame_tree.h"

#include "tests/support/made_session.h"

#include <QtTest>

#include <random>

using namespace stepscope;
using namespace stepscope::analysis;

class TestFlameTree : public QObject {
    Q_OBJECT
private slots:
    void stepsAreMergedByTheirPathOfLabels();
    void warmUpIsLeftOutUnlessAskedFor();
    void onlyWarmUpStepsAreShownRatherThanNothing();
    void selectedStepsAlone();
    void helperTracksAreRootsOfTheirOwn();
    void aPhaseFilterKeepsOnlyItsStacks();
    void whatHappensOutsideOfStepsComesOnRequest();
    void slowTimeIsHandedUpwards();
    void childrenComeByOccurrenceOrByWeight();
    void theRestOfANodeHasAName();
    void selfTimesSumToTheTotalInRandomNesting();
    void aStackOfTwoHundredThousandFramesIsBuilt();
    void aSessionWithoutStepsShowsItsTracks();
    void tracksOfOneNameAreToldApart();
    void anEmptySessionGivesTheRootAlone();
    void aStopGivesTheRootAlone();
};

namespace {

// Node by its names from below the root; kNone when there is none.
uint32_t find(const FlameTree& tree, const std::vector<std::string>& names)
{
    uint32_t at = 0;
    for (const std::string& name : names) {
        uint32_t child = tree.node(at).firstChild;
        while (child != FlameNode::kNone && tree.name(child) != name)
            child = tree.node(child).nextSibling;
        if (child == FlameNode::kNone) return child;
        at = child;
    }
    return at;
}

base::TimeNs total(const FlameTree& tree, const std::vector<std::string>& names)
{
    const uint32_t id = find(tree, names);
    return id == FlameNode::kNone ? -1 : tree.node(id).total;
}

SpanFilter trainingOnly()
{
    SpanFilter filter;
    filter.tracks = {base::TrackId(0u)};
    return filter;
}

} // namespace

void TestFlameTree::stepsAreMergedByTheirPathOfLabels()
{
    const FlameTree tree = buildFlameTree(support::madeSession(), trainingOnly());
    // Steps 1 to 3 have the scales 1, 2 and 3: all times are 6 times the unit.
    QCOMPARE(tree.steps, int64_t{3});
    QCOMPARE(tree.warmupLeftOut, int64_t{1});
    QCOMPARE(tree.stepTotal, base::TimeNs{6000});
    QCOMPARE(total(tree, {"step"}), base::TimeNs{6000});
    QCOMPARE(total(tree, {"step", "forward"}), base::TimeNs{1800});
    QCOMPARE(total(tree, {"step", "forward", "conv1"}), base::TimeNs{600});
    QCOMPARE(total(tree, {"step", "forward", "conv1", "conv1 forward"}), base::TimeNs{420});
    QCOMPARE(total(tree, {"step", "forward", "block", "block.dense1"}), base::TimeNs{360});
    QCOMPARE(total(tree, {"step", "backward", "conv1"}), base::TimeNs{1320});
    const FlameNode& conv = tree.node(find(tree, {"step", "forward", "conv1"}));
    QCOMPARE(conv.count, int64_t{3});
    QCOMPARE(conv.self, base::TimeNs{180});
    QCOMPARE(conv.depth, 3);
    QCOMPARE(conv.height, 1);
    QCOMPARE(tree.node(tree.stepNode()).self, base::TimeNs{300});
    QCOMPARE(tree.path(find(tree, {"step", "forward", "conv1"})), std::string("step › forward › conv1"));
    QCOMPARE(tree.spans, int64_t{3 * 20});
}

void TestFlameTree::warmUpIsLeftOutUnlessAskedFor()
{
    SpanFilter filter = trainingOnly();
    filter.includeWarmup = true;
    const FlameTree tree = buildFlameTree(support::madeSession(), filter);
    QCOMPARE(tree.steps, int64_t{4});
    QCOMPARE(total(tree, {"step"}), base::TimeNs{16000});
    QCOMPARE(total(tree, {"step", "forward", "conv1", "conv1 creation"}), base::TimeNs{180});
}

void TestFlameTree::onlyWarmUpStepsAreShownRatherThanNothing()
{
    SpanFilter filter = trainingOnly();
    filter.lastStep = 0;
    const FlameTree tree = buildFlameTree(support::madeSession(), filter);
    QVERIFY(tree.warmupOnly);
    QCOMPARE(total(tree, {"step"}), base::TimeNs{10000});
}

void TestFlameTree::selectedStepsAlone()
{
    SpanFilter filter = trainingOnly();
    filter.steps = {3, 1};
    QCOMPARE(total(buildFlameTree(support::madeSession(), filter), {"step"}), base::TimeNs{4000});
    filter.steps.clear();
    filter.firstStep = 2;
    filter.lastStep = 2;
    QCOMPARE(total(buildFlameTree(support::madeSession(), filter), {"step"}), base::TimeNs{2000});
    filter.firstStep = 99;
    filter.lastStep = 200;
    const FlameTree none = buildFlameTree(support::madeSession(), filter);
    QCOMPARE(none.nodes.size(), size_t{1});
    QCOMPARE(none.steps, int64_t{0});
}

void TestFlameTree::helperTracksAreRootsOfTheirOwn()
{
    const FlameTree tree = buildFlameTree(support::madeSession(), {});
    QCOMPARE(total(tree, {"loader 0"}), base::TimeNs{3000}); // the batch of the warm-up step is left out, too
    QCOMPARE(total(tree, {"loader 0", "batch"}), base::TimeNs{3000});
    QCOMPARE(tree.node(find(tree, {"loader 0", "batch"})).count, int64_t{3});
    QCOMPARE(tree.node(0).total, base::TimeNs{9000});
    QCOMPARE(tree.node(0).self, base::TimeNs{0});
}

void TestFlameTree::aPhaseFilterKeepsOnlyItsStacks()
{
    SpanFilter filter = trainingOnly();
    filter.phases = phaseBit(session::Phase::forward);
    const FlameTree tree = buildFlameTree(support::madeSession(), filter);
    QCOMPARE(total(tree, {"step"}), base::TimeNs{1800});
    QCOMPARE(total(tree, {"step", "forward"}), base::TimeNs{1800});
    QCOMPARE(tree.node(tree.stepNode()).self, base::TimeNs{0});
    QCOMPARE(find(tree, {"step", "backward"}), FlameNode::kNone);
    QCOMPARE(tree.stepTotal, base::TimeNs{6000}); // shares still refer to whole steps
}

void TestFlameTree::whatHappensOutsideOfStepsComesOnRequest()
{
    SpanFilter filter = trainingOnly();
    QCOMPARE(find(buildFlameTree(support::madeSession(), filter), {"evaluation"}), FlameNode::kNone);
    filter.outsideSteps = true;
    const FlameTree tree = buildFlameTree(support::madeSession(), filter);
    QCOMPARE(total(tree, {"evaluation"}), base::TimeNs{1000});
    QCOMPARE(total(tree, {"preparation"}), base::TimeNs{4000});
    QCOMPARE(total(tree, {"step"}), base::TimeNs{6000});
}

void TestFlameTree::slowTimeIsHandedUpwards()
{
    const FlameTree tree = buildFlameTree(support::madeSession(), trainingOnly());
    QCOMPARE(tree.node(find(tree, {"step", "backward", "conv1", "conv1 reorder"})).slow, base::TimeNs{120});
    QCOMPARE(tree.node(find(tree, {"step", "backward", "conv1"})).slow, base::TimeNs{120});
    QCOMPARE(tree.node(tree.stepNode()).slow, base::TimeNs{120});
    QCOMPARE(tree.node(find(tree, {"step", "forward"})).slow, base::TimeNs{0});
}

void TestFlameTree::childrenComeByOccurrenceOrByWeight()
{
    const auto names = [](const FlameTree& tree) {
        std::vector<std::string> found;
        for (uint32_t id = tree.node(tree.stepNode()).firstChild; id != FlameNode::kNone; id = tree.node(id).nextSibling)
            found.emplace_back(tree.name(id));
        return found;
    };
    const std::vector<std::string> occurrence{"data wait", "forward", "loss", "backward", "optimiser"};
    const std::vector<std::string> weight{"backward", "forward", "optimiser", "data wait", "loss"};
    QCOMPARE(names(buildFlameTree(support::madeSession(), trainingOnly())), occurrence);
    QCOMPARE(names(buildFlameTree(support::madeSession(), trainingOnly(), ChildOrder::weight)), weight);
}

void TestFlameTree::theRestOfANodeHasAName()
{
    const FlameTree tree = buildFlameTree(support::madeSession(), trainingOnly());
    QCOMPARE(tree.remainderName(tree.stepNode()), std::string_view("between phases"));
    QCOMPARE(tree.remainderName(find(tree, {"step", "forward"})), std::string_view("between layers"));
    QCOMPARE(tree.remainderName(find(tree, {"step", "forward", "conv1"})), std::string_view("between primitives"));
    QCOMPARE(tree.remainderName(find(tree, {"step", "loss"})), std::string_view("self"));
}

void TestFlameTree::selfTimesSumToTheTotalInRandomNesting()
{
    std::mt19937 random(3);
    for (int round = 0; round < 20; ++round) {
        session::SessionBuilder builder;
        builder.addTrack({"t", 1});
        std::vector<base::LabelId> labels;
        for (int i = 0; i < 6; ++i) {
            session::Label label;
            label.name = builder.intern("f" + std::to_string(i));
            labels.push_back(builder.internLabel(label));
        }
        std::vector<session::SpanRecord> spans;
        struct Room {
            int64_t begin, end;
            int depth;
        };
        std::vector<Room> rooms{{0, 1 << 20, 0}};
        base::TimeNs outermost = 0;
        while (!rooms.empty()) {
            const Room room = rooms.back();
            rooms.pop_back();
            for (int64_t at = room.begin; at < room.end;) {
                const int64_t length = std::min<int64_t>(room.end - at, 1 + static_cast<int64_t>(random() % static_cast<uint64_t>(room.end - room.begin)));
                if (random() % 4 != 0) {
                    spans.push_back({at, length, labels[random() % labels.size()].value, -1});
                    if (room.depth == 0) outermost += length;
                    if (room.depth < 8 && length > 4) rooms.push_back({at, at + length, room.depth + 1});
                }
                at += length;
            }
        }
        builder.addSpans(base::TrackId(0u), spans);
        const FlameTree tree = buildFlameTree(builder.build(), {});
        base::TimeNs self = 0;
        int64_t count = 0;
        for (const FlameNode& node : tree.nodes) {
            QVERIFY(node.self >= 0);
            self += node.self;
            count += node.count;
        }
        QCOMPARE(self, outermost);
        QCOMPARE(tree.node(0).total, outermost);
        QCOMPARE(count, static_cast<int64_t>(spans.size()));
    }
}

void TestFlameTree::aStackOfTwoHundredThousandFramesIsBuilt()
{
    constexpr int64_t kDepth = 200000;
    session::SessionBuilder builder;
    builder.addTrack({"deep", 1});
    const base::LabelId label = builder.internLabel({builder.intern("r")});
    std::vector<session::SpanRecord> spans;
    for (int64_t i = 0; i < kDepth; ++i)
        spans.push_back({i, 2 * kDepth - 2 * i, label.value, -1});
    builder.addSpans(base::TrackId(0u), spans);
    const FlameTree tree = buildFlameTree(builder.build(), {});
    QCOMPARE(tree.nodes.size(), static_cast<size_t>(kDepth + 2));
    QCOMPARE(tree.nodes.back().depth, static_cast<int32_t>(kDepth + 1));
    QCOMPARE(tree.node(0).height, static_cast<int32_t>(kDepth + 1));
    QCOMPARE(tree.node(0).total, 2 * kDepth);
}

void TestFlameTree::aSessionWithoutStepsShowsItsTracks()
{
    session::SessionBuilder builder;
    builder.addTrack({"main", 1});
    const base::LabelId label = builder.internLabel({builder.intern("work")});
    const std::vector<session::SpanRecord> spans{{10, 5, label.value, -1}, {20, 7, label.value, -1}};
    builder.addSpans(base::TrackId(0u), spans);
    const FlameTree tree = buildFlameTree(builder.build(), {});
    QCOMPARE(total(tree, {"main", "work"}), base::TimeNs{12});
    QCOMPARE(tree.stepNode(), FlameNode::kNone);
}

void TestFlameTree::tracksOfOneNameAreToldApart()
{
    session::SessionBuilder builder;
    const auto add = [&](const char* name, session::TrackKind kind, int64_t thread, int64_t process, int32_t device, int32_t lane = 0) {
        session::Track track;
        track.name = name;
        track.kind = kind;
        track.threadId = thread;
        track.processId = process;
        track.device = device;
        track.lane = lane;
        builder.addTrack(track);
    };
    add("main", session::TrackKind::thread, 11, 11, -1);
    add("python3", session::TrackKind::thread, 21, 21, -1);
    add("python3", session::TrackKind::thread, 31, 31, -1);
    add("python3", session::TrackKind::thread, 32, 31, -1);
    add("stream 7", session::TrackKind::stream, 7, 21, 0);
    add("stream 7", session::TrackKind::stream, 7, 31, 1);
    add("stream 7", session::TrackKind::stream, 7, 31, 1, 1);
    add("same", session::TrackKind::thread, 5, 5, -1);
    add("same", session::TrackKind::thread, 5, 5, -1);
    const base::LabelId label = builder.internLabel({builder.intern("work")});
    const std::vector<session::SpanRecord> spans{{10, 5, label.value, -1}};
    for (uint32_t track = 0; track < 9; ++track) builder.addSpans(base::TrackId(track), spans);
    const FlameTree tree = buildFlameTree(builder.build(), {});
    std::vector<std::string> names;
    for (uint32_t id = tree.node(0).firstChild; id != FlameNode::kNone; id = tree.node(id).nextSibling) names.emplace_back(tree.name(id));
    QCOMPARE(names, (std::vector<std::string>{"main", "python3 (process 21, thread 21)", "python3 (process 31, thread 31)",
                                              "python3 (process 31, thread 32)", "stream 7 (device 0)", "stream 7 (device 1)",
                                              "stream 7 (device 1, lane 2)", "same", "same"}));
}

void TestFlameTree::anEmptySessionGivesTheRootAlone()
{
    session::SessionBuilder builder;
    const FlameTree tree = buildFlameTree(builder.build(), {});
    QCOMPARE(tree.nodes.size(), size_t{1});
    QCOMPARE(tree.node(0).total, base::TimeNs{0});
    QCOMPARE(tree.path(0), std::string());
}

void TestFlameTree::aStopGivesTheRootAlone()
{
    std::stop_source stop;
    stop.request_stop();
    QCOMPARE(buildFlameTree(support::madeSession(), {}, ChildOrder::weight, stop.get_token()).nodes.size(), size_t{1});
}

QTEST_GUILESS_MAIN(TestFlameTree)
#include "tst_flame_tree.moc"
