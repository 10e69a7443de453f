#include "core/present/flame_layout.h"

#include "tests/support/folded_session.h"
#include "tests/support/made_session.h"

#include <QRegularExpression>
#include <QtTest>

#include <algorithm>

using namespace stepscope;
using namespace stepscope::present;

class TestFlameSearch : public QObject {
    Q_OBJECT
private slots:
    void nestedMatchesCountOnce_data();
    void nestedMatchesCountOnce();
    void plainTextIgnoresCase();
    void nothingMatchesNothing();
    void nodesOfALayerAreTheOutermost();
    void keysWalkThroughTheTree();
    void theWidestPathEndsInTheHottestLeaf();
    void hoverTellsShares();
};

namespace {

analysis::FlameTree allocations()
{
    return analysis::buildFlameTree(support::foldedSession({{{"app", "alloc", "malloc", "malloc_inner"}, 30},
                                        {{"app", "work", "malloc"}, 20},
                                        {{"app", "work", "compute"}, 40},
                                        {{"app", "io"}, 10}}),
        {});
}

uint32_t firstNamed(const analysis::FlameTree& tree, std::string_view name)
{
    for (uint32_t id = 1; id < tree.nodes.size(); ++id)
        if (tree.name(id) == name) return id;
    return kNoNode;
}

NameMatcher expression(const QString& pattern)
{
    return [regular = QRegularExpression(pattern)](std::string_view name) {
        return regular.match(QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()))).hasMatch();
    };
}

std::string field(const FlameDetails& details, const std::string& title)
{
    for (const DetailField& candidate : details.fields)
        if (candidate.title == title) return candidate.value;
    return "missing";
}

} // namespace

void TestFlameSearch::nestedMatchesCountOnce_data()
{
    QTest::addColumn<QString>("pattern");
    QTest::addColumn<QString>("zoomedOn");
    QTest::addColumn<qint64>("matched");
    QTest::addColumn<qint64>("visible");
    QTest::newRow("malloc") << "malloc" << "" << qint64{50} << qint64{100};
    QTest::newRow("whole name") << "^malloc$" << "" << qint64{50} << qint64{100};
    QTest::newRow("either") << "work|malloc" << "" << qint64{90} << qint64{100};
    QTest::newRow("zoomed") << "malloc" << "work" << qint64{20} << qint64{60};
    QTest::newRow("an ancestor of the zoomed frame") << "app" << "work" << qint64{60} << qint64{60};
    QTest::newRow("nothing") << "zzz" << "" << qint64{0} << qint64{100};
}

void TestFlameSearch::nestedMatchesCountOnce()
{
    QFETCH(QString, pattern);
    QFETCH(QString, zoomedOn);
    QFETCH(qint64, matched);
    QFETCH(qint64, visible);
    const analysis::FlameTree tree = allocations();
    const uint32_t zoomed = zoomedOn.isEmpty() ? 0 : firstNamed(tree, zoomedOn.toStdString());
    const FlameMatches found = searchFlame(tree, zoomed, expression(pattern));
    QCOMPARE(found.time, matched);
    QCOMPARE(found.visible, visible);
    // What is not shown is counted, so that it can be told.
    const auto all = std::count(found.matched.begin(), found.matched.end(), uint8_t{1});
    QCOMPARE(found.elsewhere + static_cast<int64_t>(found.nodes.size()), static_cast<int64_t>(all));
    QCOMPARE(found.elsewhere > 0, pattern == "malloc" && !zoomedOn.isEmpty());
}

void TestFlameSearch::plainTextIgnoresCase()
{
    const analysis::FlameTree tree = allocations();
    const FlameMatches found = searchFlame(tree, 0, containsText("MALLOC"));
    QCOMPARE(found.time, base::TimeNs{50});
    QCOMPARE(found.nodes.size(), size_t{3});
    QVERIFY(found.matched[firstNamed(tree, "malloc_inner")] == 1);
    QVERIFY(found.matched[firstNamed(tree, "io")] == 0);
    QVERIFY(containsText("(")("operator()"));
}

void TestFlameSearch::nothingMatchesNothing()
{
    session::SessionBuilder builder;
    const analysis::FlameTree empty = analysis::buildFlameTree(builder.build(), {});
    const FlameMatches found = searchFlame(empty, 0, containsText("a"));
    QCOMPARE(found.share(), 0.0);
    QVERIFY(searchFlame(empty, 77, containsText("a")).nodes.empty());
}

void TestFlameSearch::nodesOfALayerAreTheOutermost()
{
    const analysis::FlameTree tree = analysis::buildFlameTree(support::madeSession(), {});
    const std::vector<uint32_t> nodes = nodesOfLayer(tree, base::LayerId(1u));
    QCOMPARE(nodes.size(), size_t{3}); // forward, backward, optimiser; not the primitives inside
    for (const uint32_t id : nodes)
        QCOMPARE(tree.label(id)->kind, session::SpanKind::layer);
    QVERIFY(nodesOfLayer(tree, {}).empty());
}

void TestFlameSearch::keysWalkThroughTheTree()
{
    const analysis::FlameTree tree = allocations();
    const uint32_t work = firstNamed(tree, "work");
    QCOMPARE(tree.name(move(tree, work, FlameMove::parent)), std::string_view("app"));
    QCOMPARE(tree.name(move(tree, work, FlameMove::child)), std::string_view("compute"));
    QCOMPARE(tree.name(move(tree, work, FlameMove::next)), std::string_view("io"));
    QCOMPARE(tree.name(move(tree, work, FlameMove::previous)), std::string_view("alloc"));
    QCOMPARE(move(tree, firstNamed(tree, "alloc"), FlameMove::previous), kNoNode);
    QCOMPARE(move(tree, firstNamed(tree, "io"), FlameMove::child), kNoNode);
    QCOMPARE(move(tree, 0, FlameMove::parent), kNoNode);
}

void TestFlameSearch::theWidestPathEndsInTheHottestLeaf()
{
    const analysis::FlameTree tree = allocations();
    QCOMPARE(tree.name(widestLeaf(tree, 0)), std::string_view("compute"));
}

void TestFlameSearch::hoverTellsShares()
{
    const analysis::FlameTree tree = analysis::buildFlameTree(support::madeSession(), {});
    const uint32_t conv = nodesOfLayer(tree, base::LayerId(1u)).front();
    const FlameDetails details = flameDetails(tree, conv);
    QCOMPARE(details.name, std::string("conv1"));
    QCOMPARE(details.path, std::string("step › forward › conv1"));
    QCOMPARE(field(details, "total"), std::string("600 ns"));
    QCOMPARE(field(details, "self"), std::string("180 ns (30.0 %)"));
    QCOMPARE(field(details, "share of step"), std::string("10.0 %"));
    QCOMPARE(field(details, "share of forward"), std::string("33.3 %"));
    QCOMPARE(field(details, "per step"), std::string("200 ns (mean)"));
    QCOMPARE(field(details, "count"), std::string("3"));
    QCOMPARE(field(details, "layer"), std::string("Conv(...)"));
    QCOMPARE(field(details, "rate"), std::string("2.00 GFLOP/s (mean)")); // 400 FLOP in 200 ns
    const uint32_t primitive = tree.node(conv).firstChild;
    QCOMPARE(field(flameDetails(tree, primitive), "implementation"), std::string("jit:avx2"));
    QCOMPARE(flameDetails(tree, uint32_t{9999}).name, std::string());
}

QTEST_GUILESS_MAIN(TestFlameSearch)
#include "tst_flame_search.moc"
