#include "core/analysis/span_nodes.h"
#include "tests/support/device_session.h"
#include "tests/support/made_session.h"

#include <QTest>

#include <numeric>

using namespace stepscope;
using analysis::FlameNode;

class TestSpanNodes : public QObject {
    Q_OBJECT
private slots:
    // The tree adds up what the list holds, frame by frame, whatever the filter.
    void everyFrameHasTheSpansThatItAddsUp_data()
    {
        QTest::addColumn<bool>("warmup");
        QTest::addColumn<bool>("outside");
        QTest::addColumn<int>("onlyStep");
        QTest::newRow("plain") << false << false << -1;
        QTest::newRow("warm-up") << true << false << -1;
        QTest::newRow("outside of steps") << true << true << -1;
        QTest::newRow("one step") << false << false << 2;
    }
    void everyFrameHasTheSpansThatItAddsUp()
    {
        QFETCH(bool, warmup);
        QFETCH(bool, outside);
        QFETCH(int, onlyStep);
        analysis::SpanFilter filter;
        filter.includeWarmup = warmup;
        filter.outsideSteps = outside;
        if (onlyStep >= 0) filter.steps = {onlyStep};
        const analysis::FlameTree tree = analysis::buildFlameTree(support::madeSession(), filter);
        const session::SpanTable& spans = tree.session->spans();
        int frames = 0;
        for (uint32_t node = 0; node < tree.nodes.size(); ++node) {
            const auto rows = analysis::spansOfNode(tree, node);
            if (!tree.node(node).label.valid()) {
                QVERIFY(rows.empty());
                continue;
            }
            ++frames;
            QCOMPARE(static_cast<int64_t>(rows.size()), tree.node(node).count);
            QCOMPARE(std::accumulate(rows.begin(), rows.end(), int64_t{0}, [&](int64_t sum, uint32_t row) { return sum + spans.duration[row]; }),
                     tree.node(node).total);
            for (size_t i = 0; i < rows.size(); ++i) {
                QCOMPARE(analysis::nodeOfSpan(tree, rows[i]), node);
                if (i > 0) QVERIFY(spans.duration[rows[i - 1]] >= spans.duration[rows[i]]);
            }
        }
        QVERIFY(frames > 10);
    }

    void stepsComeLongestFirst()
    {
        const analysis::FlameTree tree = analysis::buildFlameTree(support::madeSession(), {});
        const auto rows = analysis::spansOfNode(tree, tree.stepNode());
        QCOMPARE(rows.size(), size_t{3}); // without the warm-up step: 1, 2 and 3 µs
        QCOMPARE(tree.session->spans().duration[rows[0]], base::TimeNs{3000});
        QCOMPARE(tree.session->spans().duration[rows[2]], base::TimeNs{1000});
    }

    // Equal names in other places are other frames.
    void onlyThePathDecides()
    {
        support::DeviceSession made;
        const auto thread = made.thread(1);
        made.host(thread, session::SpanKind::operation, "a", 0, 10);
        made.host(thread, session::SpanKind::operation, "x", 1, 2);
        made.host(thread, session::SpanKind::operation, "b", 20, 10);
        made.host(thread, session::SpanKind::operation, "x", 21, 5);
        made.host(thread, session::SpanKind::operation, "x", 40, 1);
        const analysis::FlameTree tree = analysis::buildFlameTree(made.build(), {});
        for (uint32_t node = 1; node < tree.nodes.size(); ++node) {
            if (tree.name(node) == "x") QCOMPARE(analysis::spansOfNode(tree, node).size(), size_t{1});
        }
        QCOMPARE(analysis::endOfSubtree(tree.session->spans(), 0), 2u); // a and the x in it
        QCOMPARE(analysis::endOfSubtree(tree.session->spans(), 4), 5u);
    }
};

QTEST_GUILESS_MAIN(TestSpanNodes)
#include "tst_span_nodes.moc"
