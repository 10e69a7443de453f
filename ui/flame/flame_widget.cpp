#include "ui/flame/flame_widget.h"

#include "ui/flame/flame_geometry.h"

#include <QEvent>
#include <QLabel>
#include <QScrollBar>

#include <algorithm>
#include <cmath>

namespace stepscope::flame {

namespace {

constexpr double kLargestScale = 1e6;

// Names from below the root down to the node.
std::vector<std::string> namesTo(const analysis::FlameTree& tree, uint32_t node)
{
    std::vector<std::string> names;
    for (; node != 0 && node != present::kNoNode; node = tree.node(node).parent) names.emplace_back(tree.name(node));
    std::reverse(names.begin(), names.end());
    return names;
}

// The node with these names in another tree; kNoNode when it has none.
uint32_t nodeByNames(const analysis::FlameTree& tree, const std::vector<std::string>& names)
{
    uint32_t at = 0;
    for (const std::string& name : names) {
        uint32_t child = tree.node(at).firstChild;
        while (child != present::kNoNode && tree.name(child) != name) child = tree.node(child).nextSibling;
        if (child == present::kNoNode) return present::kNoNode;
        at = child;
    }
    return at;
}

} // namespace

FlameWidget::FlameWidget(const theme::Theme& theme, QWidget* parent)
    : QAbstractScrollArea(parent)
    , m_theme(theme)
{
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::StrongFocus);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    viewport()->setMouseTracking(true);
    m_painter.setFont(font());
    m_details = new QLabel(viewport());
    m_details->setObjectName(QStringLiteral("flameDetails"));
    m_details->setAttribute(Qt::WA_TransparentForMouseEvents);
    m_details->setTextFormat(Qt::RichText);
    m_details->setMargin(8);
    m_details->setFrameShape(QFrame::StyledPanel);
    m_details->setAutoFillBackground(true);
    m_details->hide();
    setAccessibleName(tr("Flame graph"));
    setAccessibleDescription(tr("Width is the share of the time, depth is what runs inside what. It is not a time axis."));
    connect(&m_theme, &theme::Theme::changed, this, [this] {
        m_painter.clear();
        invalidate();
    });
}

// --- content ---

void FlameWidget::setTree(TreePtr tree, bool sameRun)
{
    const bool related = m_tree != nullptr && tree != nullptr && (sameRun || m_tree->session == tree->session);
    const FlamePlace oldHome = home();
    const TreePtr old = std::exchange(m_tree, std::move(tree));
    const FlamePlace newHome = home();
    const auto hoveredAt = related && m_hovered != nullptr ? std::optional(m_hoverPosition) : std::nullopt;
    setHovered(nullptr, {});
    if (old != m_tree) m_painter.clear();
    if (related) {
        const auto again = [&](uint32_t node) { return nodeByNames(*m_tree, namesTo(*old, node)); };
        m_selected = m_selected == present::kNoNode ? m_selected : again(m_selected);
        m_history.convert([&](const FlamePlace& place) {
            const uint32_t node = place.node == oldHome.node ? newHome.node : again(place.node);
            return node == present::kNoNode ? newHome : FlamePlace{node, place.scale, place.offset};
        });
    } else {
        m_selected = present::kNoNode;
        m_history.reset(newHome);
    }
    setHighlightedLayer(m_highlighted);
    placeMoved();
    if (hoveredAt) hoverAt(*hoveredAt); // the details stay under a mouse that rests
}

void FlameWidget::setEmptyText(const QString& text)
{
    m_emptyText = text;
    if (m_tree == nullptr) viewport()->update();
}

void FlameWidget::setRootAtBottom(bool atBottom)
{
    if (atBottom == m_rootAtBottom) return;
    m_rootAtBottom = atBottom;
    relayout();
    verticalScrollBar()->setValue(atBottom ? verticalScrollBar()->maximum() : 0);
}

void FlameWidget::setShowSelf(bool on)
{
    if (on == m_showSelf) return;
    m_showSelf = on;
    invalidate();
}

void FlameWidget::select(uint32_t node)
{
    if (node == m_selected) return;
    m_selected = node;
    viewport()->update();
}

void FlameWidget::setHighlightedLayer(base::LayerId layer)
{
    m_highlighted = layer;
    m_highlightedNodes.clear();
    if (m_tree != nullptr && layer.valid()) {
        m_highlightedNodes.assign(m_tree->nodes.size(), 0);
        for (const uint32_t node : present::nodesOfLayer(*m_tree, layer)) m_highlightedNodes[node] = 1;
    }
    viewport()->update();
}

// --- geometry ---

QRectF FlameWidget::graphRect() const
{
    return QRectF(kGutter, kAxis, viewport()->width() - kGutter, viewport()->height() - kAxis);
}

double FlameWidget::graphWidth() const { return std::max(1.0, graphRect().width()); }

double FlameWidget::contentLeft() const { return place().offset * graphWidth() * place().scale; }

double FlameWidget::contentTop() const
{
    const double spare = graphRect().height() - m_layout.contentHeight;
    return m_rootAtBottom && spare > 0 ? -spare : verticalScrollBar()->value();
}

QRectF FlameWidget::viewportRect(const present::FlameRect& rect) const
{
    const QRectF graph = graphRect();
    const double top = contentTop();
    return QRectF(graph.left() + rect.x - contentLeft(), graph.top() + rect.y - top, rect.w, rect.h);
}

const present::FlameRect* FlameWidget::rectAt(const QPointF& position) const
{
    const QRectF graph = graphRect();
    if (m_tree == nullptr || !graph.contains(position)) return nullptr;
    const double top = contentTop();
    return present::hit(m_layout, position.x() - graph.left() + contentLeft(), position.y() - graph.top() + top);
}

void FlameWidget::relayout()
{
    setHovered(nullptr, {});
    if (m_tree == nullptr) {
        m_layout = {};
        updateScrollBar();
        invalidate();
        return;
    }
    present::FlameViewport view;
    view.zoomed = zoomedNode();
    view.width = graphWidth() * place().scale;
    view.rowHeight = kRowHeight;
    view.top = verticalScrollBar()->value();
    view.height = graphRect().height() + kRowHeight;
    view.rootAtBottom = m_rootAtBottom;
    m_layout = present::layoutFlame(*m_tree, view);
    ++m_layoutCount;
    updateScrollBar();
    invalidate();
}

void FlameWidget::updateScrollBar()
{
    const double height = graphRect().height();
    const QSignalBlocker quiet(verticalScrollBar());
    verticalScrollBar()->setPageStep(static_cast<int>(height));
    verticalScrollBar()->setSingleStep(static_cast<int>(kRowHeight));
    verticalScrollBar()->setRange(0, static_cast<int>(std::max(0.0, std::ceil(m_layout.contentHeight - height))));
}

void FlameWidget::invalidate()
{
    m_imageValid = false;
    viewport()->update();
}

void FlameWidget::resizeEvent(QResizeEvent*) { relayout(); }

void FlameWidget::scrollContentsBy(int, int) { relayout(); }

void FlameWidget::changeEvent(QEvent* event)
{
    if (event->type() == QEvent::FontChange) {
        m_painter.setFont(font());
        invalidate();
    }
    QAbstractScrollArea::changeEvent(event);
}

// --- zoom ---

FlamePlace FlameWidget::home() const
{
    // A recorded run is about its step, and the loader's threads are beside it. Of a trace without layers the step is
    // one track among others: kernels and gradients are on the rest.
    const bool recorded = m_tree != nullptr && !m_tree->session->layers().empty();
    const uint32_t step = recorded ? m_tree->stepNode() : present::kNoNode;
    return {step != present::kNoNode ? step : 0, 1, 0};
}

void FlameWidget::placeMoved()
{
    runSearch();
    relayout();
    emit placeChanged();
}

void FlameWidget::go(const FlamePlace& place)
{
    m_magnifying = false;
    if (place == m_history.current()) return;
    m_history.go(place);
    placeMoved();
}

void FlameWidget::zoomTo(uint32_t node)
{
    if (m_tree == nullptr || node >= m_tree->nodes.size()) return;
    go({node, 1, 0});
}

void FlameWidget::undoZoom()
{
    m_magnifying = false;
    if (m_history.undo()) placeMoved();
}

void FlameWidget::redoZoom()
{
    m_magnifying = false;
    if (m_history.redo()) placeMoved();
}

void FlameWidget::showWhole() { go(home()); }

void FlameWidget::zoomBy(double factor, double x)
{
    if (m_tree == nullptr || !(factor > 0)) return;
    FlamePlace next = place();
    const double width = graphWidth();
    const double within = std::clamp(x - kGutter, 0.0, width);
    // The share of the content under the mouse stays under the mouse.
    double share = next.offset + within / (width * next.scale);
    double scale = next.scale * factor;
    if (scale < 1 && next.node != 0) {
        // Out of the zoomed node: the same picture seen from its parent. The parent's own layout says where the node is.
        const uint32_t parent = m_tree->node(next.node).parent;
        present::FlameViewport view;
        view.zoomed = parent;
        view.width = 1;
        view.minimumPixels = 0;
        view.rowHeight = 1;
        const present::FlameLayout layout = present::layoutFlame(*m_tree, view);
        for (const present::FlameRect& rect : layout.rects) {
            if (rect.node != next.node || rect.kind != present::FlameRectKind::frame || rect.w <= 0) continue;
            share = rect.x + share * rect.w;
            scale /= rect.w;
            break;
        }
        next.node = parent;
    }
    next.scale = std::clamp(scale, 1.0, kLargestScale);
    next.offset = std::clamp(share - within / (width * next.scale), 0.0, 1 - 1 / next.scale);
    if (next == place()) return;
    if (m_magnifying) m_history.replace(next);
    else m_history.go(next);
    m_magnifying = true;
    placeMoved();
}

void FlameWidget::pan(const QPointF& delta)
{
    verticalScrollBar()->setValue(verticalScrollBar()->value() - static_cast<int>(std::lround(delta.y())));
    FlamePlace next = place();
    if (next.scale <= 1) return;
    next.offset = std::clamp(next.offset - delta.x() / (graphWidth() * next.scale), 0.0, 1 - 1 / next.scale);
    m_history.replace(next);
    relayout();
}

void FlameWidget::ensureVisible(uint32_t node)
{
    const analysis::FlameNode& wanted = m_tree->node(node);
    const auto total = [this](uint32_t id) { return static_cast<double>(m_tree->node(id).total); };
    bool inside = false;
    for (uint32_t at = node; at != present::kNoNode; at = m_tree->node(at).parent) inside |= at == zoomedNode();
    const bool wide = inside && total(node) * graphWidth() >= 4 * total(zoomedNode());
    if (!wide) {
        // The widest ancestor that still shows the node.
        uint32_t at = 0;
        if (total(node) * graphWidth() < 4 * total(0))
            for (at = node; wanted.parent != present::kNoNode && m_tree->node(at).parent != present::kNoNode
                 && total(node) * graphWidth() >= 4 * total(m_tree->node(at).parent);)
                at = m_tree->node(at).parent;
        zoomTo(at);
    }
    const bool rootDrawn = m_tree->nodes[0].firstChild == present::kNoNode
        || m_tree->node(m_tree->nodes[0].firstChild).nextSibling != present::kNoNode;
    int row = wanted.depth - (rootDrawn ? 0 : 1);
    if (m_rootAtBottom) row = m_layout.rows - 1 - row;
    const double y = row * kRowHeight, height = graphRect().height();
    QScrollBar* bar = verticalScrollBar();
    if (y < bar->value()) bar->setValue(static_cast<int>(y - kRowHeight));
    else if (y + 2 * kRowHeight > bar->value() + height) bar->setValue(static_cast<int>(y + 2 * kRowHeight - height));
}

// --- search ---

void FlameWidget::setSearch(const present::NameMatcher& matcher)
{
    m_matcher = matcher;
    m_currentMatch = -1;
    runSearch();
    invalidate();
}

void FlameWidget::runSearch()
{
    m_matches = m_tree != nullptr && m_matcher ? present::searchFlame(*m_tree, zoomedNode(), m_matcher) : present::FlameMatches();
    if (m_currentMatch >= static_cast<int>(m_matches.nodes.size())) m_currentMatch = -1;
    emit matchesChanged();
}

void FlameWidget::nextMatch(int direction)
{
    if (m_matches.nodes.empty() && m_matches.elsewhere > 0) zoomTo(0); // what is found in other places is shown, too
    const int count = static_cast<int>(m_matches.nodes.size());
    if (count == 0) return;
    m_currentMatch = m_currentMatch < 0 ? (direction > 0 ? 0 : count - 1) : (m_currentMatch + direction + count) % count;
    const int index = m_currentMatch;
    const uint32_t node = m_matches.nodes[static_cast<size_t>(index)];
    select(node);
    ensureVisible(node);
    // A zoom changes the list of visible matches: stay on the same node.
    const auto at = std::find(m_matches.nodes.begin(), m_matches.nodes.end(), node);
    m_currentMatch = at == m_matches.nodes.end() ? -1 : static_cast<int>(at - m_matches.nodes.begin());
    emit matchesChanged();
}

} // namespace stepscope::flame
