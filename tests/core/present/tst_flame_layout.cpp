#include "core/present/flame_layout.h"

#include "tests/support/folded_session.h"
#include "tests/support/made_session.h"

#include <QtTest>

#include <cmath>
#include <limits>
#include <set>

using namespace stepscope;
using namespace stepscope::present;

class TestFlameLayout : public QObject {
    Q_OBJECT
private slots:
    void widthsAreShares();
    void boundariesAndHitsAtAThousandPixels();
    void theRestOfAFrameIsARectangle();
    void severalRootsAreDrawnUnderTheWhole();
    void zoomingShowsAncestorsInFullWidth();
    void theRootCanStandAtTheBottom();
    void smallFramesAreMergedAndStayVisible();
    void aDeepZoomIsExact();
    void onlyVisibleRowsAreLaidOut();
    void rectanglesOfARowDoNotOverlap();
    void coloursComeFromMeaning();
    void aNameHasTheSameHashEverywhere();
    void oddViewportsGiveNoRectangles();
};

namespace {

analysis::FlameTree stepTree()
{
    analysis::SpanFilter filter;
    filter.tracks = {base::TrackId(0u)};
    return analysis::buildFlameTree(support::madeSession(), filter);
}

FlameViewport viewport(double width)
{
    FlameViewport view;
    view.width = width;
    view.rowHeight = 20;
    return view;
}

// Rectangle of a frame by the path of its names.
const FlameRect* rectOf(const analysis::FlameTree& tree, const FlameLayout& layout, const std::string& path, FlameRectKind kind = FlameRectKind::frame)
{
    for (const FlameRect& rect : layout.rects)
        if (rect.kind == kind && tree.path(rect.node) == path) return &rect;
    return nullptr;
}

bool near(double a, double b) { return std::abs(a - b) < 1e-9; }

} // namespace

void TestFlameLayout::widthsAreShares()
{
    const analysis::FlameTree tree = stepTree();
    const FlameLayout layout = layoutFlame(tree, viewport(1000));
    const FlameRect* step = rectOf(tree, layout, "step");
    QVERIFY(step != nullptr);
    QVERIFY(near(step->x, 0) && near(step->w, 1000) && near(step->y, 0) && near(step->h, 20));
    // Children are packed in order of occurrence: data wait 100, forward 300, loss 30, backward 400, optimiser 120.
    const FlameRect* forward = rectOf(tree, layout, "step › forward");
    QVERIFY(near(forward->x, 100) && near(forward->w, 300) && near(forward->y, 20));
    const FlameRect* backward = rectOf(tree, layout, "step › backward");
    QVERIFY(near(backward->x, 430) && near(backward->w, 400));
    const FlameRect* dense = rectOf(tree, layout, "step › forward › block › block.dense1");
    QVERIFY(near(dense->x, 100 + 100) && near(dense->w, 60) && near(dense->y, 60));
    QCOMPARE(layout.rows, 5);
    QCOMPARE(layout.contentHeight, 100.0);
    QCOMPARE(dense->time, base::TimeNs{360});
}

void TestFlameLayout::boundariesAndHitsAtAThousandPixels()
{
    const auto tree = analysis::buildFlameTree(support::foldedSession({{{"a"}, 333}, {{"b"}, 334}, {{"c"}, 333}}), {});
    const FlameLayout layout = layoutFlame(tree, viewport(1000));
    const auto nameAt = [&](double x) {
        const FlameRect* rect = hit(layout, x, 25);
        return rect == nullptr ? std::string("nothing") : std::string(tree.name(rect->node));
    };
    QCOMPARE(nameAt(332), std::string("a"));
    QCOMPARE(nameAt(334), std::string("b"));
    QCOMPARE(nameAt(666.9), std::string("b"));
    QCOMPARE(nameAt(668), std::string("c"));
    QCOMPARE(nameAt(1000.5), std::string("nothing"));
    QCOMPARE(nameAt(-1), std::string("nothing"));
    QVERIFY(hit(layout, 10, -1) == nullptr);
    QVERIFY(hit(layout, 10, 41) == nullptr);
    QVERIFY(hit(layout, std::nan(""), std::nan("")) == nullptr);
}

void TestFlameLayout::theRestOfAFrameIsARectangle()
{
    const analysis::FlameTree tree = stepTree();
    FlameViewport view = viewport(1000);
    FlameLayout layout = layoutFlame(tree, view);
    const FlameRect* rest = rectOf(tree, layout, "step", FlameRectKind::remainder);
    QVERIFY(rest != nullptr);
    QVERIFY(near(rest->x, 950) && near(rest->w, 50) && near(rest->y, 20));
    QCOMPARE(rest->time, base::TimeNs{300});
    QCOMPARE(rest->colour, ColourClass::remainder);
    QCOMPARE(flameDetails(tree, *rest).name, std::string("between phases"));
    // Without them, the row has a gap.
    view.remainder = false;
    layout = layoutFlame(tree, view);
    QVERIFY(rectOf(tree, layout, "step", FlameRectKind::remainder) == nullptr);
    QVERIFY(hit(layout, 975, 25) == nullptr);
}

void TestFlameLayout::severalRootsAreDrawnUnderTheWhole()
{
    // The step's 6000 ns beside the loader's 3000 ns.
    const auto tree = analysis::buildFlameTree(support::madeSession(), {});
    const FlameLayout layout = layoutFlame(tree, viewport(900));
    QCOMPARE(layout.rects[0].node, uint32_t{0});
    QVERIFY(near(layout.rects[0].w, 900));
    QVERIFY(near(rectOf(tree, layout, "step")->w, 600));
    QVERIFY(near(rectOf(tree, layout, "loader 0")->w, 300));
    QCOMPARE(rectOf(tree, layout, "loader 0")->row, 1);
}

void TestFlameLayout::zoomingShowsAncestorsInFullWidth()
{
    const analysis::FlameTree tree = stepTree();
    FlameViewport view = viewport(1000);
    const FlameRect forward = *rectOf(tree, layoutFlame(tree, view), "step › forward");
    view.zoomed = forward.node;
    const FlameLayout layout = layoutFlame(tree, view);
    const FlameRect* step = rectOf(tree, layout, "step", FlameRectKind::ancestor);
    QVERIFY(step != nullptr);
    QVERIFY(near(step->w, 1000) && step->row == 0);
    const FlameRect* zoomed = rectOf(tree, layout, "step › forward");
    QVERIFY(near(zoomed->x, 0) && near(zoomed->w, 1000) && zoomed->row == 1);
    const FlameRect* conv = rectOf(tree, layout, "step › forward › conv1");
    QVERIFY(near(conv->w, 1000.0 / 3) && conv->row == 2);
    QVERIFY(rectOf(tree, layout, "step › backward") == nullptr);
    QCOMPARE(hit(layout, 500, 5)->kind, FlameRectKind::ancestor);
}

void TestFlameLayout::theRootCanStandAtTheBottom()
{
    const analysis::FlameTree tree = stepTree();
    FlameViewport view = viewport(1000);
    view.rootAtBottom = true;
    const FlameLayout layout = layoutFlame(tree, view);
    QVERIFY(near(rectOf(tree, layout, "step")->y, 80));
    QVERIFY(near(rectOf(tree, layout, "step › forward")->y, 60));
    const FlameRect* under = hit(layout, 150, 65);
    QVERIFY(under != nullptr);
    QCOMPARE(tree.path(under->node), std::string("step › forward"));
}

void TestFlameLayout::smallFramesAreMergedAndStayVisible()
{
    std::vector<support::FoldedStack> stacks{{{"main", "big"}, 1000000}};
    for (int i = 0; i < 50; ++i)
        stacks.push_back({{"main", "tiny" + std::to_string(i), "below"}, 10 + i});
    stacks.push_back({{"main", "other"}, 500000});
    const auto tree = analysis::buildFlameTree(support::foldedSession(stacks), {});
    const FlameLayout layout = layoutFlame(tree, viewport(800));
    const FlameRect* merged = nullptr;
    for (const FlameRect& rect : layout.rects)
        if (rect.kind == FlameRectKind::merged) merged = &rect;
    QVERIFY(merged != nullptr);
    QCOMPARE(merged->mergedCount, uint32_t{50});
    QCOMPARE(merged->time, base::TimeNs{50 * 10 + 49 * 50 / 2});
    QVERIFY(merged->w >= 1);
    QCOMPARE(tree.name(merged->node), std::string_view("tiny49")); // the largest
    QCOMPARE(flameDetails(tree, *merged).name, std::string("50 small frames"));
    // Zooming in on the largest makes it wide.
    FlameViewport view = viewport(800);
    view.zoomed = merged->node;
    const FlameLayout zoomed = layoutFlame(tree, view);
    QVERIFY(near(zoomed.rects.back().w, 800));
}

void TestFlameLayout::aDeepZoomIsExact()
{
    // Ten spans of 10 ns at the end of an hour, in a frame of their own: every box 100 px wide at 1000 px.
    std::vector<support::FoldedStack> stacks{{{"hour"}, 3599999999900}};
    for (int i = 0; i < 10; ++i)
        stacks.push_back({{"last", "box" + std::to_string(i)}, 10});
    const auto tree = analysis::buildFlameTree(support::foldedSession(stacks), {});
    FlameViewport view = viewport(1000);
    for (uint32_t id = 0; id < tree.nodes.size(); ++id)
        if (tree.name(id) == "last") view.zoomed = id;
    const FlameLayout layout = layoutFlame(tree, view);
    int boxes = 0;
    for (const FlameRect& rect : layout.rects) {
        if (tree.name(rect.node).substr(0, 3) != "box") continue;
        QVERIFY(near(rect.x, 100.0 * boxes));
        QVERIFY(near(rect.w, 100));
        ++boxes;
    }
    QCOMPARE(boxes, 10);
}

void TestFlameLayout::onlyVisibleRowsAreLaidOut()
{
    constexpr int kDepth = 100000;
    std::vector<std::string> frames(kDepth, "r");
    const auto tree = analysis::buildFlameTree(support::foldedSession({{frames, 5}}), {});
    FlameViewport view = viewport(300);
    view.top = 20.0 * 50000;
    view.height = 400;
    FlameLayout layout = layoutFlame(tree, view);
    QCOMPARE(layout.contentHeight, 20.0 * (kDepth + 1)); // and the track
    QVERIFY(layout.rects.size() >= 20 && layout.rects.size() <= 22);
    const FlameRect* rect = hit(layout, 100, view.top + 10);
    QVERIFY(rect != nullptr);
    QCOMPARE(tree.node(rect->node).depth, 50001);
    // The deepest frame can be reached.
    view.top = layout.contentHeight - 400;
    layout = layoutFlame(tree, view);
    QCOMPARE(tree.node(hit(layout, 100, layout.contentHeight - 1)->node).height, 0);
}

void TestFlameLayout::rectanglesOfARowDoNotOverlap()
{
    const analysis::FlameTree tree = stepTree();
    for (const double width : {3.0, 17.0, 100.0, 999.0, 1e6}) {
        const FlameLayout layout = layoutFlame(tree, viewport(width));
        QCOMPARE(layout.rowBegin.size(), static_cast<size_t>(layout.rows) + 1);
        for (size_t row = 0; row + 1 < layout.rowBegin.size(); ++row) {
            double last = 0;
            for (size_t i = layout.rowBegin[row]; i < layout.rowBegin[row + 1]; ++i) {
                const FlameRect& rect = layout.rects[i];
                QCOMPARE(rect.row, static_cast<int32_t>(row));
                QVERIFY(rect.x >= last - 1); // merged frames may be widened to a pixel
                QVERIFY(rect.x >= 0 && rect.x + rect.w <= width + 1e-6);
                last = rect.x + rect.w;
            }
        }
    }
}

void TestFlameLayout::coloursComeFromMeaning()
{
    const analysis::FlameTree tree = stepTree();
    const FlameLayout layout = layoutFlame(tree, viewport(1000));
    const auto colour = [&](const std::string& path) { return rectOf(tree, layout, path)->colour; };
    QCOMPARE(colour("step"), ColourClass::step);
    QCOMPARE(colour("step › forward"), ColourClass::forward);
    QCOMPARE(colour("step › forward › conv1"), ColourClass::forward);
    QCOMPARE(colour("step › backward › conv1 › conv1 reorder"), ColourClass::slow);
    QCOMPARE(colour("step › forward › block › block.dense1 › dense1 forward"), ColourClass::naive);
    QVERIFY(rectOf(tree, layout, "step › backward › conv1")->slowBelow);
    QVERIFY(!rectOf(tree, layout, "step › forward")->slowBelow);
}

void TestFlameLayout::aNameHasTheSameHashEverywhere()
{
    // Published vectors of 32-bit FNV-1a.
    QCOMPARE(nameHash(""), 0x811c9dc5u);
    QCOMPARE(nameHash("a"), 0xe40c292cu);
    QCOMPARE(nameHash("foobar"), 0xbf9cf968u);
}

void TestFlameLayout::oddViewportsGiveNoRectangles()
{
    const analysis::FlameTree tree = stepTree();
    for (const double width : {0.0, -5.0, std::nan(""), std::numeric_limits<double>::infinity()}) {
        const FlameLayout layout = layoutFlame(tree, viewport(width));
        QVERIFY(layout.rects.empty());
        QVERIFY(hit(layout, 1, 1) == nullptr);
    }
    FlameViewport unknown = viewport(100);
    unknown.zoomed = 123456;
    QVERIFY(!layoutFlame(tree, unknown).rects.empty()); // shows everything
}

QTEST_GUILESS_MAIN(TestFlameLayout)
#include "tst_flame_layout.moc"
