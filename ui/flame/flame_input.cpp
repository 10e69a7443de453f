// Mouse and keyboard of the flame graph.
#include "ui/flame/flame_widget.h"

#include <QApplication>
#include <QContextMenuEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QScrollBar>
#include <QWheelEvent>

#include <cmath>

namespace stepscope::flame {

bool FlameWidget::viewportEvent(QEvent* event)
{
    if (event->type() == QEvent::Leave) setHovered(nullptr, {});
    return QAbstractScrollArea::viewportEvent(event);
}

void FlameWidget::mousePressEvent(QMouseEvent* event)
{
    if (event->button() == Qt::BackButton) return undoZoom();
    if (event->button() == Qt::ForwardButton) return redoZoom();
    if (event->button() != Qt::LeftButton && event->button() != Qt::MiddleButton) return;
    m_pressed = event->position();
    m_lastDrag = event->position();
    m_dragging = false;
}

void FlameWidget::mouseMoveEvent(QMouseEvent* event)
{
    if (m_pressed.has_value() && (event->buttons() & (Qt::LeftButton | Qt::MiddleButton)) != 0) {
        const QPointF way = event->position() - *m_pressed;
        if (!m_dragging && way.manhattanLength() >= QApplication::startDragDistance()) {
            m_dragging = true;
            viewport()->setCursor(Qt::ClosedHandCursor);
        }
        if (m_dragging) {
            pan(event->position() - m_lastDrag);
            m_lastDrag = event->position();
            return;
        }
    }
    hoverAt(event->position());
}

void FlameWidget::mouseReleaseEvent(QMouseEvent* event)
{
    if (!m_pressed.has_value()) return;
    m_pressed.reset();
    if (m_dragging) {
        m_dragging = false;
        viewport()->unsetCursor();
        return;
    }
    const present::FlameRect* rect = rectAt(event->position());
    if (rect == nullptr) {
        if (m_selected != present::kNoNode) {
            select(present::kNoNode);
            emit selectionChanged(m_selected);
        }
        return;
    }
    // Small frames that are drawn as one open by zooming to what holds them.
    const bool several = rect->kind == present::FlameRectKind::merged;
    const uint32_t node = several ? m_tree->node(rect->node).parent : rect->node;
    select(several ? present::kNoNode : node);
    emit selectionChanged(m_selected);
    if (several && node == zoomedNode()) zoomBy(16, event->position().x());
    else zoomTo(node);
    hoverAt(event->position());
}

// Two quick clicks are two clicks.
void FlameWidget::mouseDoubleClickEvent(QMouseEvent* event) { mousePressEvent(event); }

void FlameWidget::wheelEvent(QWheelEvent* event)
{
    const double steps = event->angleDelta().y() / 120.0;
    if ((event->modifiers() & Qt::ControlModifier) != 0) {
        zoomBy(std::pow(1.25, steps), event->position().x());
        event->accept();
        return;
    }
    const double sideways = (event->modifiers() & Qt::ShiftModifier) != 0 ? steps : event->angleDelta().x() / 120.0;
    if (sideways != 0) {
        pan({sideways * 80, 0});
        event->accept();
        return;
    }
    QAbstractScrollArea::wheelEvent(event);
}

void FlameWidget::moveSelection(present::FlameMove way)
{
    if (m_tree == nullptr) return;
    const uint32_t from = m_selected == present::kNoNode ? zoomedNode() : m_selected;
    const uint32_t to = m_selected == present::kNoNode && zoomedNode() != 0 ? from : present::move(*m_tree, from, way);
    if (to == present::kNoNode) return;
    select(to);
    ensureVisible(to);
    emit selectionChanged(to);
}

void FlameWidget::followWidest()
{
    if (m_tree == nullptr) return;
    const uint32_t leaf = present::widestLeaf(*m_tree, m_selected == present::kNoNode ? zoomedNode() : m_selected);
    if (leaf == present::kNoNode || leaf == 0) return;
    select(leaf);
    ensureVisible(leaf);
    emit selectionChanged(leaf);
}

void FlameWidget::escape()
{
    if (m_selected != present::kNoNode || searching() || m_highlighted.valid()) {
        const bool wasSearching = searching();
        select(present::kNoNode);
        emit selectionChanged(m_selected);
        setHighlightedLayer({});
        if (wasSearching) {
            setSearch({});
            emit searchCleared();
        }
        return;
    }
    showWhole();
}

void FlameWidget::contextMenuEvent(QContextMenuEvent* event)
{
    if (m_tree == nullptr) return;
    uint32_t node = m_selected;
    QPoint place = event->globalPos();
    if (event->reason() == QContextMenuEvent::Mouse) {
        const present::FlameRect* rect = rectAt(viewport()->mapFromGlobal(event->globalPos()));
        node = rect != nullptr && rect->kind != present::FlameRectKind::merged ? rect->node : present::kNoNode;
        if (node != m_selected) {
            select(node);
            emit selectionChanged(node);
        }
    } else {
        place = viewport()->mapToGlobal(viewport()->rect().center());
    }
    setHovered(nullptr, {});
    emit menuRequested(node, place);
}

void FlameWidget::keyPressEvent(QKeyEvent* event)
{
    using present::FlameMove;
    if ((event->modifiers() & Qt::AltModifier) != 0) {
        if (event->key() == Qt::Key_Left) return undoZoom();
        if (event->key() == Qt::Key_Right) return redoZoom();
    }
    switch (event->key()) {
    case Qt::Key_Backspace: return undoZoom();
    case Qt::Key_0: return showWhole();
    case Qt::Key_E:
        if (event->modifiers() != Qt::NoModifier) break;
        if (m_selected != present::kNoNode) emit sourceRequested(m_selected);
        return;
    case Qt::Key_Escape: return escape();
    case Qt::Key_Up: return moveSelection(m_rootAtBottom ? FlameMove::child : FlameMove::parent);
    case Qt::Key_Down: return moveSelection(m_rootAtBottom ? FlameMove::parent : FlameMove::child);
    case Qt::Key_Left: return moveSelection(FlameMove::previous);
    case Qt::Key_Right: return moveSelection(FlameMove::next);
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_F:
        if (event->key() == Qt::Key_F && event->modifiers() != Qt::NoModifier) break;
        if (m_selected != present::kNoNode) zoomTo(m_selected);
        return;
    case Qt::Key_Plus:
    case Qt::Key_Equal: return zoomBy(1.5, 0.5 * viewport()->width());
    case Qt::Key_Minus:
    case Qt::Key_Underscore: return zoomBy(1 / 1.5, 0.5 * viewport()->width());
    default: break;
    }
    QAbstractScrollArea::keyPressEvent(event);
}

void FlameWidget::focusInEvent(QFocusEvent* event)
{
    QAbstractScrollArea::focusInEvent(event);
    viewport()->update();
}

void FlameWidget::focusOutEvent(QFocusEvent* event)
{
    QAbstractScrollArea::focusOutEvent(event);
    viewport()->update();
}

} // namespace stepscope::flame
