#include "flame_fixture.h"
#include "tests/support/made_session.h"
#include "ui/flame/flame_widget.h"
#include "ui/flame/legend_widget.h"

#include <QLabel>
#include <QSignalSpy>
#include <QTest>
#include <QWheelEvent>

#include <algorithm>
#include <cmath>

using namespace stepscope;
using flame::FlameWidget;

namespace {

// malloc is nested: 30 + 30 + 20 coloured, 50 of 100 covered; within work 20 of 60.
const test::Stacks kNested{{{"main", "alloc", "malloc", "malloc"}, 30}, {{"main", "work", "malloc"}, 20}, {{"main", "work", "loop"}, 40},
                           {{"main", "rest"}, 10}};

void wheel(FlameWidget& widget, const QPointF& at, int steps, Qt::KeyboardModifiers modifiers)
{
    QWheelEvent event(at, widget.viewport()->mapToGlobal(at), {}, {0, 120 * steps}, Qt::NoButton, modifiers, Qt::NoScrollPhase, false);
    QCoreApplication::sendEvent(widget.viewport(), &event);
}

} // namespace

class TestFlameWidget : public QObject {
    Q_OBJECT

    QPointF centreOf(const FlameWidget& widget, std::string_view name)
    {
        for (const present::FlameRect& rect : widget.layout().rects)
            if (rect.kind == present::FlameRectKind::frame && widget.tree()->name(rect.node) == name)
                return widget.viewportRect(rect).center();
        return {};
    }
    void click(FlameWidget& widget, std::string_view name)
    {
        QTest::mouseClick(widget.viewport(), Qt::LeftButton, Qt::NoModifier, centreOf(widget, name).toPoint());
    }

private slots:
    void init()
    {
        m_widget = std::make_unique<FlameWidget>(m_theme);
        m_widget->resize(800, 300);
        m_widget->setTree(test::treeOf(kNested));
        m_widget->show();
        QVERIFY(QTest::qWaitForWindowExposed(m_widget.get()));
    }
    void cleanup() { m_widget.reset(); }

    void clickSelectsAndZooms()
    {
        QSignalSpy selected(m_widget.get(), &FlameWidget::selectionChanged);
        click(*m_widget, "work");
        const uint32_t work = test::nodeNamed(*m_widget->tree(), "work");
        QCOMPARE(m_widget->zoomedNode(), work);
        QCOMPARE(m_widget->selectedNode(), work);
        QCOMPARE(selected.size(), 1);
        // The zoomed frame fills the width, its ancestors too.
        for (const present::FlameRect& rect : m_widget->layout().rects)
            if (rect.node == work && rect.kind == present::FlameRectKind::frame)
                QVERIFY(std::abs(rect.w - (m_widget->viewport()->width() - 20)) < 1e-6);
    }

    void backspaceUndoesAndAltRightRedoes()
    {
        click(*m_widget, "work");
        click(*m_widget, "loop");
        const uint32_t loop = m_widget->zoomedNode();
        QTest::keyClick(m_widget.get(), Qt::Key_Backspace);
        QCOMPARE(m_widget->tree()->name(m_widget->zoomedNode()), std::string_view("work"));
        QTest::keyClick(m_widget.get(), Qt::Key_Left, Qt::AltModifier);
        QCOMPARE(m_widget->zoomedNode(), 0u);
        QVERIFY(!m_widget->canUndo());
        QTest::keyClick(m_widget.get(), Qt::Key_Right, Qt::AltModifier);
        QTest::keyClick(m_widget.get(), Qt::Key_Right, Qt::AltModifier);
        QCOMPARE(m_widget->zoomedNode(), loop);
        QTest::mouseClick(m_widget->viewport(), Qt::BackButton, Qt::NoModifier, QPoint(100, 100));
        QCOMPARE(m_widget->tree()->name(m_widget->zoomedNode()), std::string_view("work"));
    }

    void zeroShowsEverythingAndCanBeUndone()
    {
        click(*m_widget, "work");
        QTest::keyClick(m_widget.get(), Qt::Key_0);
        QCOMPARE(m_widget->zoomedNode(), 0u);
        QTest::keyClick(m_widget.get(), Qt::Key_Backspace);
        QCOMPARE(m_widget->tree()->name(m_widget->zoomedNode()), std::string_view("work"));
    }

    void escapeClearsTheSelectionFirstAndTheZoomNext()
    {
        click(*m_widget, "work");
        m_widget->setSearch(present::containsText("malloc"));
        QTest::keyClick(m_widget.get(), Qt::Key_Escape);
        QCOMPARE(m_widget->selectedNode(), present::kNoNode);
        QVERIFY(!m_widget->searching());
        QVERIFY(m_widget->zoomedNode() != 0u);
        QTest::keyClick(m_widget.get(), Qt::Key_Escape);
        QCOMPARE(m_widget->zoomedNode(), 0u);
    }

    void searchCountsNestedMatchesOnce()
    {
        m_widget->setSearch(present::containsText("malloc"));
        QCOMPARE(m_widget->matches().time, base::TimeNs{50});
        QCOMPARE(m_widget->matches().visible, base::TimeNs{100});
        click(*m_widget, "work");
        QCOMPARE(m_widget->matches().time, base::TimeNs{20});
        QCOMPARE(m_widget->matches().visible, base::TimeNs{60});
    }

    void nextAndPreviousWalkTheMatchesInACircle()
    {
        m_widget->setSearch(present::containsText("malloc"));
        QCOMPARE(m_widget->currentMatch(), -1);
        const size_t count = m_widget->matches().nodes.size();
        QCOMPARE(count, size_t{3});
        QList<uint32_t> visited;
        for (size_t i = 0; i < count; ++i) {
            m_widget->nextMatch(1);
            visited << m_widget->selectedNode();
        }
        QCOMPARE(QSet<uint32_t>(visited.begin(), visited.end()).size(), qsizetype{3});
        m_widget->nextMatch(1);
        QCOMPARE(m_widget->selectedNode(), visited.first());
        m_widget->nextMatch(-1);
        QCOMPARE(m_widget->selectedNode(), visited.last());
    }

    void whatIsFoundOutsideOfTheZoomIsReached()
    {
        click(*m_widget, "rest");
        QCOMPARE(m_widget->zoomedNode(), test::nodeNamed(*m_widget->tree(), "rest"));
        m_widget->setSearch(present::containsText("work"));
        QCOMPARE(m_widget->matches().nodes.size(), size_t{0});
        QCOMPARE(m_widget->matches().elsewhere, int64_t{1});
        m_widget->nextMatch(1);
        QCOMPARE(m_widget->selectedNode(), test::nodeNamed(*m_widget->tree(), "work"));
        QCOMPARE(m_widget->matches().elsewhere, int64_t{0});
        m_widget->undoZoom();
        QCOMPARE(m_widget->zoomedNode(), test::nodeNamed(*m_widget->tree(), "rest"));
    }

    void arrowsMoveTheSelection()
    {
        m_widget->select(test::nodeNamed(*m_widget->tree(), "main"));
        QTest::keyClick(m_widget.get(), Qt::Key_Down); // the widest child
        QCOMPARE(m_widget->tree()->name(m_widget->selectedNode()), std::string_view("work"));
        QTest::keyClick(m_widget.get(), Qt::Key_Left);
        QCOMPARE(m_widget->tree()->name(m_widget->selectedNode()), std::string_view("alloc"));
        QTest::keyClick(m_widget.get(), Qt::Key_Up);
        QCOMPARE(m_widget->tree()->name(m_widget->selectedNode()), std::string_view("main"));
        m_widget->setRootAtBottom(true); // up is deeper now
        QTest::keyClick(m_widget.get(), Qt::Key_Up);
        QCOMPARE(m_widget->tree()->name(m_widget->selectedNode()), std::string_view("work"));
        QTest::keyClick(m_widget.get(), Qt::Key_Return);
        QCOMPARE(m_widget->tree()->name(m_widget->zoomedNode()), std::string_view("work"));
    }

    void wheelMagnifiesAroundTheMouse()
    {
        const QPointF at = centreOf(*m_widget, "loop");
        for (int i = 0; i < 12; ++i) {
            wheel(*m_widget, at, 1, Qt::ControlModifier);
            const present::FlameRect* rect = m_widget->rectAt(at);
            QVERIFY(rect != nullptr);
            QCOMPARE(m_widget->tree()->name(rect->node), std::string_view("loop"));
        }
        QVERIFY(std::abs(m_widget->place().scale - std::pow(1.25, 12)) < 1e-6);
        m_widget->undoZoom(); // all wheel steps are one entry
        QCOMPARE(m_widget->place(), flame::FlamePlace());
    }

    // Two hundred steps in and three hundred out end where they began: no NaN, no hang, no drift out of the window.
    void magnifyingHasLimitsAndAWayBack()
    {
        const QPointF at = centreOf(*m_widget, "rest");
        for (int i = 0; i < 200; ++i) wheel(*m_widget, at, 1, Qt::ControlModifier);
        QVERIFY(std::isfinite(m_widget->place().scale) && m_widget->place().scale <= 1e6);
        QVERIFY(m_widget->place().offset >= 0 && m_widget->place().offset < 1);
        for (int i = 0; i < 300; ++i) wheel(*m_widget, at, -1, Qt::ControlModifier);
        QCOMPARE(m_widget->place(), flame::FlamePlace());
    }

    void magnifyingOutOfAZoomedNodeShowsItsSurroundings()
    {
        click(*m_widget, "loop");
        for (int i = 0; i < 60; ++i) wheel(*m_widget, {400, 100}, -1, Qt::ControlModifier);
        QCOMPARE(m_widget->place(), flame::FlamePlace());
    }

    // Dragging a magnified graph by n pixels moves it by n pixels.
    void draggingFollowsTheMouse()
    {
        for (int i = 0; i < 20; ++i) wheel(*m_widget, centreOf(*m_widget, "loop"), 1, Qt::ControlModifier);
        const auto leftOf = [&] {
            for (const present::FlameRect& rect : m_widget->layout().rects)
                if (rect.kind == present::FlameRectKind::frame && m_widget->tree()->name(rect.node) == "loop")
                    return m_widget->viewportRect(rect).left();
            return std::nan("");
        };
        const double before = leftOf();
        const uint32_t zoomed = m_widget->zoomedNode();
        QTest::mousePress(m_widget->viewport(), Qt::LeftButton, Qt::NoModifier, QPoint(300, 150));
        QTest::mouseMove(m_widget->viewport(), QPoint(340, 150));
        QTest::mouseMove(m_widget->viewport(), QPoint(361, 150));
        QTest::mouseRelease(m_widget->viewport(), Qt::LeftButton, Qt::NoModifier, QPoint(361, 150));
        QVERIFY2(std::abs(leftOf() - before - 61) < 0.5, qPrintable(QString::number(leftOf() - before)));
        QCOMPARE(m_widget->zoomedNode(), zoomed); // a drag is no click
    }

    void hoverShowsTotalAndShare()
    {
        m_widget->hoverAt(centreOf(*m_widget, "work"));
        auto* details = m_widget->findChild<QLabel*>("flameDetails");
        QVERIFY(details->isVisible());
        QVERIFY(details->text().contains("work"));
        QVERIFY2(details->text().contains("60 ns"), qPrintable(details->text()));
        QVERIFY2(details->text().contains("60 %") || details->text().contains("60.0 %"), qPrintable(details->text()));
        QVERIFY(m_widget->viewport()->rect().contains(details->geometry()));
        m_widget->hoverAt({1, 1});
        QVERIFY(!details->isVisible());
    }

    void aLayerIsOutlinedWhereverItOccurs()
    {
        m_widget->setTree(test::treeOf(support::madeSession()));
        const QImage before = m_widget->viewport()->grab().toImage();
        m_widget->setHighlightedLayer(base::LayerId(1u)); // conv1
        const QImage after = m_widget->viewport()->grab().toImage();
        for (const present::FlameRect& rect : m_widget->layout().rects) {
            const session::Label* label = m_widget->tree()->label(rect.node);
            if (rect.kind != present::FlameRectKind::frame || rect.w < 8 || label == nullptr || label->kind != session::SpanKind::layer) continue;
            const QPoint corner = (m_widget->viewportRect(rect).topLeft() + QPointF(3, 1)).toPoint() * after.devicePixelRatio();
            QCOMPARE(before.pixelColor(corner) != after.pixelColor(corner), label->layer == base::LayerId(1u));
        }
    }

    void zoomSurvivesAChangeOfTheFilter()
    {
        const session::SessionPtr session = support::madeSession();
        m_widget->setTree(test::treeOf(session));
        m_widget->zoomTo(test::nodeNamed(*m_widget->tree(), "backward"));
        m_widget->setTree(std::make_shared<const analysis::FlameTree>(analysis::buildFlameTree(session, {})));
        QCOMPARE(m_widget->tree()->name(m_widget->zoomedNode()), std::string_view("backward"));
        m_widget->setTree(test::treeOf(kNested)); // another session
        QCOMPARE(m_widget->zoomedNode(), 0u);
    }

    // A state of the run that comes half a second later: more of the same, and something new.
    void aLaterStateOfARunMovesNothing()
    {
        m_widget->setTree(test::treeOf({{{"main", "step", "conv"}, 60}, {{"main", "step", "pool"}, 40}}));
        m_widget->zoomTo(test::nodeNamed(*m_widget->tree(), "step"));
        m_widget->zoomBy(2, 300);
        m_widget->select(test::nodeNamed(*m_widget->tree(), "pool"));
        const flame::FlamePlace place = m_widget->place();
        const QPointF mouse = m_widget->viewportRect(m_widget->layout().rects.back()).center();
        m_widget->hoverAt({std::clamp(mouse.x(), 40.0, 700.0), mouse.y()});
        auto* details = m_widget->findChild<QLabel*>("flameDetails");
        QVERIFY(details->isVisible());
        const QString told = details->text();
        const auto order = [&] {
            QStringList names;
            for (const present::FlameRect& rect : m_widget->layout().rects)
                if (rect.kind == present::FlameRectKind::frame) names << flame::FlamePainter::labelOf(*m_widget->tree(), rect);
            return names;
        };
        const QStringList before = order();

        m_widget->setTree(test::treeOf({{{"main", "step", "conv"}, 600}, {{"main", "step", "pool"}, 500}, {{"main", "late"}, 10}}), true);
        QCOMPARE(m_widget->tree()->name(m_widget->place().node), std::string_view("step"));
        QCOMPARE(m_widget->place().scale, place.scale);
        QCOMPARE(m_widget->place().offset, place.offset);
        QCOMPARE(m_widget->tree()->name(m_widget->selectedNode()), std::string_view("pool"));
        QStringList after = order();
        QCOMPARE(after, before);
        QVERIFY(details->isVisible()); // the mouse rests, its details do too, with the new figures
        QVERIFY(details->text() != told);
        m_widget->undoZoom();
        m_widget->undoZoom();
        QVERIFY(m_widget->atHome());
        QVERIFY(order().contains("late"));
        m_widget->redoZoom();
        QCOMPARE(m_widget->tree()->name(m_widget->zoomedNode()), std::string_view("step"));
    }

    void theLegendNamesWhatOccurs()
    {
        flame::LegendWidget legend(m_theme);
        const auto tree = test::treeOf(support::madeSession());
        legend.setTree(tree.get());
        const auto has = [&](present::ColourClass colour) {
            return std::find(legend.classes().begin(), legend.classes().end(), colour) != legend.classes().end();
        };
        QVERIFY(has(present::ColourClass::forward));
        QVERIFY(has(present::ColourClass::backward));
        QVERIFY(has(present::ColourClass::slow)); // the reorder
        QVERIFY(!has(present::ColourClass::hostToDevice));
        QVERIFY(legend.heightForWidth(100) > legend.heightForWidth(2000));
    }

    void withoutATreeTheWidgetSaysWhatToDo()
    {
        m_widget->setTree(nullptr);
        m_widget->setEmptyText("Open a session");
        const QImage image = m_widget->viewport()->grab().toImage();
        QVERIFY(m_widget->rectAt({100, 100}) == nullptr);
        QTest::keyClick(m_widget.get(), Qt::Key_Down); // nothing to move to
        QTest::keyClick(m_widget.get(), Qt::Key_Backspace);
        wheel(*m_widget, {100, 100}, 1, Qt::ControlModifier);
        bool text = false;
        for (int x = 0; x < image.width(); ++x) text |= image.pixelColor(x, image.height() / 2) != m_theme.colours().base;
        QVERIFY(text);
    }

private:
    theme::Theme m_theme;
    std::unique_ptr<FlameWidget> m_widget;
};

QTEST_MAIN(TestFlameWidget)
#include "tst_flame_widget.moc"
