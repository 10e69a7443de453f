#include <QtTest>

#include "core/analysis/sample_tree.h"
#include "tests/support/made_samples.h"

#include <map>

using namespace stepscope;
using analysis::FlameNode;
using analysis::SampleFilter;
using analysis::SampleProfile;
using support::SampleMaker;

namespace {

constexpr uint32_t kNone = FlameNode::kNone;

// "main 100; main/f 70; ..." of the visible tree, in its order.
std::string text(const analysis::FlameTree& tree)
{
    std::string out;
    std::vector<uint32_t> open{tree.nodes[0].firstChild};
    while (!open.empty()) {
        const uint32_t id = open.back();
        open.pop_back();
        if (id == kNone) continue;
        if (!out.empty()) out += "; ";
        std::string path;
        for (uint32_t at = id; at != 0; at = tree.node(at).parent)
            path = std::string(tree.name(at)) + (path.empty() ? "" : "/") + path;
        out += path + " " + std::to_string(tree.node(id).total);
        open.push_back(tree.node(id).nextSibling);
        open.push_back(tree.node(id).firstChild);
    }
    return out;
}

uint32_t find(const analysis::FlameTree& tree, std::string_view name)
{
    for (uint32_t id = 1; id < tree.nodes.size(); ++id)
        if (tree.name(id) == name) return id;
    return kNone;
}

std::map<std::string, std::pair<int64_t, int64_t>> flat(const SampleProfile& profile)
{
    std::map<std::string, std::pair<int64_t, int64_t>> rows;
    for (const analysis::FlatRow& row : profile.flat)
        rows[row.place == kNone ? "?" : profile.tree.places[row.place].shown] = {row.total, row.self};
    return rows;
}

// Case 69: main calls f, f calls g and itself.
session::SessionPtr recursive()
{
    SampleMaker maker(support::foldedSeries());
    maker.add("main;f;f;f", 1, 40);
    maker.add("main;f;g;f", 1, 30);
    maker.add("main;g", 1, 30);
    return maker.build();
}

SampleFilter shaped(analysis::SampleShape shape)
{
    SampleFilter filter;
    filter.shape = shape;
    return filter;
}

} // namespace

class TestSampleTree : public QObject {
    Q_OBJECT
private slots:
    void aRecursiveFunctionCountsOncePerStack()
    {
        const SampleProfile profile = analysis::sampleProfile(recursive(), {});
        QCOMPARE(profile.total, int64_t{100});
        QCOMPARE(profile.samples, int64_t{3});
        const auto rows = flat(profile);
        QCOMPARE(rows.size(), size_t{3});
        QCOMPARE(rows.at("main"), std::make_pair(int64_t{100}, int64_t{0}));
        QCOMPARE(rows.at("f"), std::make_pair(int64_t{70}, int64_t{70}));
        QCOMPARE(rows.at("g"), std::make_pair(int64_t{60}, int64_t{30}));
        QCOMPARE(text(profile.tree),
                 std::string("main 100; main/f 70; main/f/f 40; main/f/f/f 40; main/f/g 30; main/f/g/f 30; main/g 30"));
    }

    void theTreeFromTheLeavesHasSelfWeights()
    {
        const SampleProfile profile = analysis::sampleProfile(recursive(), shaped(analysis::SampleShape::bottomUp));
        QCOMPARE(text(profile.tree),
                 std::string("f 70; f/f 40; f/f/f 40; f/f/f/main 40; f/g 30; f/g/f 30; f/g/f/main 30; g 30; g/main 30"));
        QCOMPARE(flat(profile).at("main").first, int64_t{100}); // the table stays about whole stacks
    }

    void callersAndCalleesOfAFunctionAddUpToItsInclusiveWeight()
    {
        const session::SessionPtr session = recursive();
        SampleFilter filter = shaped(analysis::SampleShape::callers);
        for (const session::FrameRow& frame : session->frames())
            if (session->string(frame.function) == "f") filter.function = frame.function;
        QVERIFY(filter.function.valid());
        QCOMPARE(text(analysis::sampleProfile(session, filter).tree), std::string("f 70; f/main 70"));
        filter.shape = analysis::SampleShape::callees;
        QCOMPARE(text(analysis::sampleProfile(session, filter).tree), std::string("f 70; f/f 40; f/f/f 40; f/g 30; f/g/f 30"));
    }

    void flatteningTurnsRecursionIntoALoop()
    {
        SampleFilter filter;
        filter.recursion = analysis::SampleRecursion::flat;
        const SampleProfile profile = analysis::sampleProfile(recursive(), filter);
        // In f;g;f the walk goes back to f, so g ends there: it was seen 30, but nothing is left below it.
        QCOMPARE(text(profile.tree), std::string("main 100; main/f 70; main/f/g 0; main/g 30"));
        const FlameNode& f = profile.tree.node(find(profile.tree, "f"));
        QCOMPARE(f.self, int64_t{70});
        QCOMPARE(f.seen, int64_t{70});
        const FlameNode& g = profile.tree.node(profile.tree.node(find(profile.tree, "f")).firstChild);
        QCOMPARE(g.seen, int64_t{30});
        QCOMPARE(flat(profile).at("g"), std::make_pair(int64_t{60}, int64_t{30}));
    }

    void aStackOf200001FramesIsNothingSpecial_data()
    {
        QTest::addColumn<int>("shape");
        QTest::addColumn<int>("recursion");
        QTest::newRow("top-down") << 0 << 0;
        QTest::newRow("flattened") << 0 << 1;
        QTest::newRow("bottom-up") << 1 << 0;
        QTest::newRow("callers") << 2 << 0;
        QTest::newRow("callees") << 3 << 0;
    }
    void aStackOf200001FramesIsNothingSpecial()
    {
        QFETCH(int, shape);
        QFETCH(int, recursion);
        session::SessionBuilder builder;
        builder.addSeries(support::foldedSeries());
        const base::FrameId r = builder.internFrame({builder.intern("r")});
        const base::FrameId leaf = builder.internFrame({builder.intern("leaf")});
        for (uint32_t i = 0; i < 200'000; ++i)
            builder.addStack({i == 0 ? base::StackId{} : base::StackId(i - 1), r});
        builder.addStack({base::StackId(199'999u), leaf});
        const session::SampleRecord samples[] = {{0, 1, base::StackId(200'000u)}, {0, 1, base::StackId(99u)}};
        builder.addSamples(base::SeriesId(0u), samples);
        const session::SessionPtr session = builder.build();
        SampleFilter filter = shaped(static_cast<analysis::SampleShape>(shape));
        filter.recursion = static_cast<analysis::SampleRecursion>(recursion);
        filter.function = session->frames()[0].function;
        const SampleProfile profile = analysis::sampleProfile(session, filter);
        const auto rows = flat(profile);
        QCOMPARE(rows.at("r"), std::make_pair(int64_t{2}, int64_t{1}));
        QCOMPARE(rows.at("leaf"), std::make_pair(int64_t{1}, int64_t{1}));
        QCOMPARE(profile.tree.nodes[0].total, int64_t{2});
        if (shape == 0) QCOMPARE(profile.tree.nodes[0].height, recursion == 0 ? 200'001 : 2);
        QVERIFY(profile.tree.path(static_cast<uint32_t>(profile.tree.nodes.size() - 1)).size() < 1000);
    }

    void hiddenFramesGiveTheirStatusToTheirCaller()
    {
        // As FlameGraphs.jl does with the frames of C: the caller of a hidden slow or allocating frame shows it, the
        // caller of that caller does not.
        SampleMaker maker;
        maker.frame("main", "main", "main.cpp", 1, session::kOwnCode);
        maker.frame("step", "step", "step.cpp", 2, session::kOwnCode);
        maker.frame("clean", "clean", "step.cpp", 3, session::kOwnCode);
        maker.frame("execute", "execute", "", 0, session::kLibraryCode);
        maker.frame("ref", "ref_conv", "", 0, session::kLibraryCode | session::kSlowPath);
        maker.frame("malloc", "malloc", "", 0, session::kLibraryCode | session::kAllocation);
        maker.frame("jit", "jit_conv", "", 0, session::kGenerated);
        maker.add("main;step;execute;ref", 3);
        maker.add("main;step;execute;jit", 2);
        maker.add("main;clean;jit", 1);
        maker.add("main;step;execute;malloc", 1);
        const session::SessionPtr session = maker.build();

        const SampleProfile hidden = analysis::sampleProfile(session, {});
        const analysis::FlameTree& tree = hidden.tree;
        QCOMPARE(text(tree), std::string("main:1 7000000; main:1/clean:3 1000000; main:1/clean:3/jit_conv 1000000; "
                                         "main:1/step:2 6000000; main:1/step:2/jit_conv 2000000"));
        QCOMPARE(tree.node(find(tree, "step:2")).self, int64_t{4'000'000});
        QCOMPARE(tree.node(find(tree, "step:2")).flags, uint32_t{session::kOwnCode | session::kSlowPath | session::kAllocation});
        QCOMPARE(tree.node(find(tree, "step:2")).ownSlow, int64_t{3'000'000});
        QCOMPARE(tree.node(find(tree, "step:2")).ownAllocation, int64_t{1'000'000});
        QCOMPARE(tree.node(find(tree, "step:2")).slow, int64_t{3'000'000}); // not all of it
        QCOMPARE(tree.node(find(tree, "main:1")).ownSlow, int64_t{0});
        QCOMPARE(tree.nodes[0].slow, int64_t{3'000'000});
        QCOMPARE(tree.node(find(tree, "main:1")).flags, uint32_t{session::kOwnCode});
        QCOMPARE(tree.node(find(tree, "clean:3")).flags, uint32_t{session::kOwnCode});
        QCOMPARE(tree.node(find(tree, "jit_conv")).flags, uint32_t{session::kGenerated});

        SampleFilter filter;
        filter.native = true;
        const SampleProfile whole = analysis::sampleProfile(session, filter);
        QCOMPARE(whole.tree.node(find(whole.tree, "step:2")).flags, uint32_t{session::kOwnCode});
        QCOMPARE(whole.tree.node(find(whole.tree, "ref_conv")).flags, uint32_t{session::kLibraryCode | session::kSlowPath});
        QCOMPARE(whole.tree.node(find(whole.tree, "execute")).total, int64_t{6'000'000});
    }

    void workOfASlowPrimitiveMarksItsLeaf()
    {
        SampleMaker maker;
        maker.builder.addPrimitive({"reorder", "reorder", "jit:uni", "", {}, session::Phase::forward, 0, 0, 1, session::kReorder});
        maker.frame("jit", "jit_reorder", "", 0, session::kGenerated);
        maker.add("main;jit", 2, 5, {maker.label(session::Phase::forward, {}, session::PrimitiveId(0u), session::SpanKind::primitive)});
        const SampleProfile profile = analysis::sampleProfile(maker.build(), {});
        QCOMPARE(profile.tree.node(find(profile.tree, "jit_reorder")).flags, uint32_t{session::kGenerated | session::kSlowPath});
        QCOMPARE(profile.tree.node(find(profile.tree, "main")).flags, uint32_t{0});
        QCOMPARE(profile.tree.nodes[0].slow, int64_t{10});

        // Other samples of the same stack are not slow with it, nor is a thread that waits meanwhile.
        SampleMaker mixed;
        mixed.builder.addPrimitive({"reorder", "reorder", "jit:uni", "", {}, session::Phase::forward, 0, 0, 1, session::kReorder});
        mixed.frame("wait", "OpenMP wait", "", 0, session::kWaiting);
        const SampleMaker::Tags slow{mixed.label(session::Phase::forward, {}, session::PrimitiveId(0u), session::SpanKind::primitive)};
        mixed.add("main;run", 1, 5, slow);
        mixed.add("main;run", 3, 5);
        mixed.add("wait", 2, 5, slow);
        const SampleProfile both = analysis::sampleProfile(mixed.build(), {});
        QCOMPARE(both.tree.node(find(both.tree, "run")).ownSlow, int64_t{5});
        QCOMPARE(both.tree.node(find(both.tree, "OpenMP wait")).flags, uint32_t{session::kWaiting});
        QCOMPARE(both.tree.node(find(both.tree, "OpenMP wait")).ownWaiting, int64_t{10});
    }

    void framesMergeByAddressLineOrFunction_data()
    {
        QTest::addColumn<int>("merge");
        QTest::addColumn<QString>("tree");
        QTest::newRow("address") << 0 << "f:7 3; f:7 4; f:8 5";
        QTest::newRow("line") << 1 << "f:7 7; f:8 5";
        QTest::newRow("function") << 2 << "f 12";
    }
    void framesMergeByAddressLineOrFunction()
    {
        QFETCH(int, merge);
        QFETCH(QString, tree);
        SampleMaker maker(support::foldedSeries());
        maker.frame("a", "f", "f.cpp", 7, 0, 0x10);
        maker.frame("b", "f", "f.cpp", 7, 0, 0x20);
        maker.frame("c", "f", "f.cpp", 8, 0, 0x30);
        maker.add("a", 1, 3);
        maker.add("b", 1, 4);
        maker.add("c", 1, 5);
        SampleFilter filter;
        filter.merge = static_cast<analysis::SampleMerge>(merge);
        const SampleProfile profile = analysis::sampleProfile(maker.build(), filter);
        QCOMPARE(text(profile.tree), tree.toStdString());
        QCOMPARE(profile.flat.size(), size_t(3 - merge));
    }

    void siblingsComeByFileByCountOrByOverhead_data()
    {
        QTest::addColumn<int>("order");
        QTest::addColumn<QString>("names");
        QTest::newRow("file, function, line") << 0 << "b:9 a:1 a:2 c:5 ";
        QTest::newRow("count") << 1 << "a:2 c:5 b:9 a:1 ";
        QTest::newRow("overhead") << 2 << "c:5 b:9 a:1 a:2 ";
    }
    void siblingsComeByFileByCountOrByOverhead()
    {
        QFETCH(int, order);
        QFETCH(QString, names);
        SampleMaker maker;
        maker.frame("b", "b", "a.cpp", 9);
        maker.frame("a1", "a", "z.cpp", 1);
        maker.frame("a2", "a", "z.cpp", 2);
        maker.frame("c", "c", "z.cpp", 5);
        maker.add("m;b", 2);
        maker.add("m;a1", 1);
        maker.add("m;a2;x", 4);
        maker.add("m;c", 3);
        SampleFilter filter;
        filter.order = static_cast<analysis::SampleOrder>(order);
        const SampleProfile profile = analysis::sampleProfile(maker.build(), filter);
        QString found;
        for (uint32_t id = profile.tree.node(find(profile.tree, "m")).firstChild; id != kNone; id = profile.tree.node(id).nextSibling)
            found += QString::fromStdString(std::string(profile.tree.name(id))) + " ";
        QCOMPARE(found, names);
    }

    void smallFramesAreHiddenByDepthCountAndNoise()
    {
        SampleMaker maker;
        maker.add("main;a;b;c", 100);
        maker.add("main;a;d", 20);
        maker.add("main;a;e", 21);
        maker.add("main;x", 1);
        const session::SessionPtr session = maker.build();
        const auto visible = [&](const SampleFilter& filter) {
            QString names;
            const SampleProfile profile = analysis::sampleProfile(session, filter);
            for (uint32_t id = 1; id < profile.tree.nodes.size(); ++id)
                names += QString::fromStdString(std::string(profile.tree.name(id))) + " ";
            return names;
        };
        SampleFilter filter;
        filter.maxDepth = 1; // Julia counts the first level as 0
        QCOMPARE(visible(filter), "main a x ");
        filter = {};
        filter.minCount = 21;
        QCOMPARE(visible(filter), "main a b c e ");
        // a has 141 samples: 2 sqrt(141) = 23.7 hides d and e; main has 142: 23.8 hides x. The first level stays.
        filter = {};
        filter.noiseFloor = 2;
        QCOMPARE(visible(filter), "main a b c ");
        // 20 <= 1.7 sqrt(141) = 20.19 < 21
        filter.noiseFloor = 1.7;
        QCOMPARE(visible(filter), "main a b c e ");
        // Numbers of what stays do not change.
        const SampleProfile profile = analysis::sampleProfile(session, filter);
        QCOMPARE(profile.tree.node(find(profile.tree, "a")).count, int64_t{141});
        QCOMPARE(profile.tree.node(find(profile.tree, "a")).selfCount, int64_t{0});
        QCOMPARE(profile.flat.size(), size_t{7});
    }

    void exactlyAtTheNoiseFloorIsHidden()
    {
        SampleMaker maker;
        maker.add("main;a", 20);
        maker.add("main;b", 80);
        SampleFilter filter;
        filter.noiseFloor = 2; // 2 sqrt(100) = 20
        const SampleProfile profile = analysis::sampleProfile(maker.build(), filter);
        QCOMPARE(text(profile.tree), std::string("main 100000000; main/b 80000000"));
    }

    void groupsByThreadPhaseAndLayer()
    {
        SampleMaker maker(support::foldedSeries());
        maker.builder.addTrack({"training", 1});
        maker.builder.addTrack({"loader 0", 2});
        session::LayerRow conv;
        conv.path = "conv1";
        maker.builder.addLayer(conv);
        const session::TrackId training(0u), loader(1u);
        const session::LabelId forward = maker.label(session::Phase::forward, session::LayerId(0u));
        const session::LabelId loss = maker.label(session::Phase::loss);
        const session::LabelId loading = maker.label(session::Phase::loading);
        maker.add("main;f", 1, 1, {loading, loader});
        maker.add("main;f", 1, 2, {loss, training});
        maker.add("main;g", 1, 4, {forward, training});
        maker.add("main;g", 1, 8, {{}, {}});
        const session::SessionPtr session = maker.build();
        const auto grouped = [&](std::vector<analysis::SampleGroup> groups) {
            SampleFilter filter;
            filter.groups = std::move(groups);
            filter.maxDepth = 0;
            return analysis::sampleProfile(session, filter);
        };
        using enum analysis::SampleGroup;
        QCOMPARE(text(grouped({thread}).tree), std::string("training 6; training/main 6; loader 0 1; loader 0/main 1; "
                                                           "unknown thread 8; unknown thread/main 8"));
        QCOMPARE(text(grouped({phase}).tree), std::string("no phase 8; no phase/main 8; forward 4; forward/main 4; loss 2; "
                                                          "loss/main 2; loading 1; loading/main 1"));
        QCOMPARE(text(grouped({layer}).tree), std::string("conv1 4; conv1/main 4; no layer 11; no layer/main 11"));
        const SampleProfile nested = grouped({thread, phase});
        QCOMPARE(text(nested.tree),
                 std::string("training 6; training/forward 4; training/forward/main 4; training/loss 2; training/loss/main 2; "
                             "loader 0 1; loader 0/loading 1; loader 0/loading/main 1; unknown thread 8; "
                             "unknown thread/no phase 8; unknown thread/no phase/main 8"));
        QCOMPARE(nested.groups.size(), size_t{4});
        QCOMPARE(nested.groups[1].names, (std::vector<std::string>{"training", "loss"}));
        QCOMPARE(nested.groups[1].total, int64_t{2});
        // f and main of each group are rows of their own.
        QCOMPARE(nested.flat.size(), size_t{8});
    }

    void filtersSelectThreadsPhasesLayersAndSteps()
    {
        SampleMaker maker(support::foldedSeries());
        maker.builder.addTrack({"training", 1});
        maker.builder.addTrack({"loader 0", 2});
        session::LayerRow layer;
        maker.builder.addLayer(layer);
        layer.parent = session::LayerId(0u);
        maker.builder.addLayer(layer);
        const session::LabelId outer = maker.label(session::Phase::forward, session::LayerId(0u));
        const session::LabelId inner = maker.label(session::Phase::forward, session::LayerId(1u));
        const session::LabelId loss = maker.label(session::Phase::loss);
        const session::LabelId loading = maker.label(session::Phase::loading);
        const session::LabelId step = maker.label(session::Phase::none, {}, {}, session::SpanKind::step);
        for (int i = 0; i < 3; ++i) {
            session::StepRow row;
            row.index = i;
            row.warmup = i == 0;
            row.start = i * 100;
            row.duration = 90;
            maker.builder.addStep(row);
            const session::SpanRecord span[] = {{row.start, 90, step.value, i}};
            maker.builder.addSpans(session::TrackId(0u), span);
        }
        const auto sample = [&](int64_t time, int64_t weight, session::LabelId label, uint32_t track, int index) {
            const session::SampleRecord row{time, weight, maker.stack("main"), label, session::TrackId(track), index};
            maker.builder.addSamples(session::SeriesId(0u), std::span(&row, 1));
        };
        sample(10, 1, outer, 0, 0);     // warm-up
        sample(110, 2, outer, 0, 1);
        sample(120, 4, inner, 0, 1);
        sample(210, 8, loss, 0, 2);
        sample(150, 16, loading, 1, -1); // a helper during step 1
        sample(50, 32, loading, 1, -1);  // during the warm-up
        sample(195, 64, {}, 0, -1);      // the training thread between steps
        const session::SessionPtr session = maker.build();
        const auto total = [&](const SampleFilter& filter) { return analysis::sampleProfile(session, filter).total; };
        QCOMPARE(total({}), int64_t{2 + 4 + 8 + 16});
        SampleFilter filter;
        filter.spans.includeWarmup = true;
        QCOMPARE(total(filter), int64_t{1 + 2 + 4 + 8 + 16 + 32});
        filter = {};
        filter.spans.outsideSteps = true;
        QCOMPARE(total(filter), int64_t{2 + 4 + 8 + 16 + 64});
        filter = {};
        filter.spans.firstStep = 2;
        QCOMPARE(total(filter), int64_t{8});
        filter = {};
        filter.spans.tracks = {session::TrackId(1u)};
        QCOMPARE(total(filter), int64_t{16});
        filter = {};
        filter.spans.phases = analysis::phaseBit(session::Phase::forward);
        QCOMPARE(total(filter), int64_t{2 + 4});
        filter = {};
        filter.layers = {session::LayerId(0u)};
        QCOMPARE(total(filter), int64_t{2 + 4});
        filter.layers = {session::LayerId(1u)};
        QCOMPARE(total(filter), int64_t{4});
    }

    void samplesWithoutAStackAreCounted()
    {
        SampleMaker maker(support::foldedSeries());
        maker.add("main", 1, 5);
        maker.add("", 2, 1);
        const SampleProfile profile = analysis::sampleProfile(maker.build(), {});
        QCOMPARE(profile.total, int64_t{7});
        QCOMPARE(profile.unknownStacks, int64_t{2});
        QCOMPARE(flat(profile).at("?"), std::make_pair(int64_t{2}, int64_t{2}));
        QCOMPARE(profile.tree.nodes[0].self, int64_t{2});
    }

    void theDefaultSeriesIsShownFirstAndSeriesNeverMix()
    {
        SampleMaker maker({"wall time", "ns", session::SeriesKind::wallTime, true, false});
        const session::SeriesId bytes = maker.addSeries({"allocated", "bytes", session::SeriesKind::allocatedBytes, true, true});
        maker.add("main;wait", 3);
        maker.add("main;new", 2, 4096, {{}, {}, -1, bytes});
        const session::SessionPtr session = maker.build();
        const SampleProfile first = analysis::sampleProfile(session, {});
        QCOMPARE(first.series, bytes);
        QVERIFY(first.tree.unit == analysis::FlameUnit::bytes);
        QCOMPARE(first.total, int64_t{8192});
        QCOMPARE(analysis::reportCount(first.tree, first.tree.nodes[0]), int64_t{8192});
        SampleFilter filter;
        filter.series = session::SeriesId(0u);
        const SampleProfile wall = analysis::sampleProfile(session, filter);
        QVERIFY(wall.tree.unit == analysis::FlameUnit::time);
        QCOMPARE(analysis::reportCount(wall.tree, wall.tree.nodes[0]), int64_t{3});
        QCOMPARE(find(wall.tree, "new"), kNone);
    }

    void aSessionWithoutSamplesGivesAnEmptyTree()
    {
        session::SessionBuilder builder;
        const SampleProfile profile = analysis::sampleProfile(builder.build(), {});
        QCOMPARE(profile.tree.nodes.size(), size_t{1});
        QVERIFY(!profile.series.valid());
        QVERIFY(profile.flat.empty());
    }

    void aStopGivesNothing()
    {
        std::stop_source stop;
        stop.request_stop();
        const SampleProfile profile = analysis::sampleProfile(recursive(), {}, stop.get_token());
        QCOMPARE(profile.tree.nodes.size(), size_t{1});
        QCOMPARE(profile.total, int64_t{0});
    }

    void namesAreShortenedForDisplay_data()
    {
        QTest::addColumn<QString>("whole");
        QTest::addColumn<QString>("shown");
        const auto row = [](const char* whole, const char* shown) { QTest::newRow(whole) << whole << shown; };
        row("main", "main");
        row("train::step(int, std::vector<int>&)", "train::step");
        row("void dnnl::impl::gemm<float, (int)3>(float const*, int) [clone .omp_fn.0]", "dnnl::impl::gemm");
        row("std::vector<int, std::allocator<int> >::push_back(int const&)", "std::vector::push_back");
        row("Net::forward() const", "Net::forward");
        row("run()::{lambda(int)#1}::operator()(int) const", "run::{lambda#1}::operator()");
        row("std::ostream& operator<< <char>(std::ostream&, char)", "operator<<");
        row("bool operator<(A const&, B const&)", "operator<");
        row("Loader::operator bool() const", "Loader::operator bool");
        row("operator new(unsigned long)", "operator new");
        row("(anonymous namespace)::work(int)", "(anonymous namespace)::work");
        row("void (anonymous namespace)::work<int>(int)", "(anonymous namespace)::work");
        row("std::function<void (int)>::operator()(int) const", "std::function::operator()");
        row("[vdso]", "[vdso]");
        row("", "");
    }
    void namesAreShortenedForDisplay()
    {
        QFETCH(QString, whole);
        QFETCH(QString, shown);
        QCOMPARE(QString::fromStdString(analysis::shortFunctionName(whole.toStdString())), shown);
    }

    void widestPathsOfA60To40ProgramAreThoseShares()
    {
        SampleMaker maker;
        maker.add("main;sixty", 600);
        maker.add("main;forty", 400);
        const SampleProfile profile = analysis::sampleProfile(maker.build(), {});
        QCOMPARE(profile.tree.node(find(profile.tree, "sixty")).total * 10, profile.total * 6);
        QCOMPARE(profile.tree.node(find(profile.tree, "forty")).total * 10, profile.total * 4);
    }
};

QTEST_GUILESS_MAIN(TestSampleTree)
#include "tst_sample_tree.moc"
