#include "core/present/flame_layout.h"

#include <algorithm>
#include <cmath>

namespace stepscope::present {

namespace {

using analysis::FlameNode;
using analysis::FlameTree;
using base::TimeNs;

// A node on its way to a row: where it begins, in ns from the begin of the zoomed node.
struct Placed {
    uint32_t node = kNoNode;
    TimeNs offset = 0;
};

class Layouter {
public:
    Layouter(const FlameTree& tree, const FlameViewport& viewport)
        : m_tree(tree)
    {
        m_layout.viewport = viewport;
        m_zoomed = viewport.zoomed < tree.nodes.size() ? viewport.zoomed : 0;
        m_total = tree.nodes.empty() ? 0 : tree.node(m_zoomed).total;
        m_scale = m_total > 0 ? viewport.width / static_cast<double>(m_total) : 0;
    }

    FlameLayout run();

private:
    void ancestors();
    void level(const std::vector<Placed>& parents, std::vector<Placed>& next);
    void children(const Placed& parent, std::vector<Placed>& next);
    void merged(TimeNs offset, TimeNs time, uint32_t count, uint32_t largest, double rightEdge);
    void push(FlameRect rect);
    void endRow() { m_layout.rowBegin.push_back(m_layout.rects.size()); }
    void place();

    const FlameTree& m_tree;
    FlameLayout m_layout;
    uint32_t m_zoomed = 0;
    TimeNs m_total = 0;
    double m_scale = 0; // pixels per ns
};

void Layouter::push(FlameRect rect)
{
    rect.row = static_cast<int32_t>(m_layout.rowBegin.size()) - 1;
    m_layout.rects.push_back(rect);
}

// Everything above the zoomed node, in full width.
void Layouter::ancestors()
{
    std::vector<uint32_t> path;
    for (uint32_t at = m_tree.node(m_zoomed).parent; at != kNoNode; at = m_tree.node(at).parent)
        path.push_back(at);
    const FlameNode& root = m_tree.node(0);
    const bool drawRoot = root.firstChild != kNoNode && m_tree.node(root.firstChild).nextSibling != kNoNode;
    for (size_t i = path.size(); i-- > 0;) {
        if (path[i] == 0 && !drawRoot) continue;
        FlameRect rect;
        rect.w = m_layout.viewport.width;
        rect.node = path[i];
        rect.time = m_tree.node(path[i]).total;
        rect.kind = FlameRectKind::ancestor;
        rect.colour = colourOf(m_tree, path[i]);
        rect.mark = statusMark(m_tree, path[i]);
        rect.slowBelow = m_tree.node(path[i]).slow > 0;
        push(rect);
        endRow();
    }
}

// Siblings too narrow to see become one rectangle, widened to the minimum so that it never vanishes.
void Layouter::merged(TimeNs offset, TimeNs time, uint32_t count, uint32_t largest, double rightEdge)
{
    FlameRect rect;
    rect.w = std::max(static_cast<double>(time) * m_scale, m_layout.viewport.minimumPixels);
    rect.x = std::max(0.0, std::min(static_cast<double>(offset) * m_scale, rightEdge - rect.w));
    rect.node = largest;
    rect.time = time;
    rect.kind = count > 1 ? FlameRectKind::merged : FlameRectKind::frame;
    rect.mergedCount = count > 1 ? count : 0;
    rect.colour = colourOf(m_tree, largest);
    rect.slowBelow = m_tree.node(largest).slow > 0;
    push(rect);
}

void Layouter::children(const Placed& parent, std::vector<Placed>& next)
{
    const FlameNode& node = m_tree.node(parent.node);
    const double rightEdge = static_cast<double>(parent.offset + node.total) * m_scale;
    TimeNs offset = parent.offset;
    TimeNs tinyBegin = 0, tinyTime = 0, largestTime = 0;
    uint32_t tinyCount = 0, largest = kNoNode;
    const auto endTiny = [&] {
        if (tinyCount > 0) merged(tinyBegin, tinyTime, tinyCount, largest, rightEdge);
        tinyCount = 0;
        tinyTime = largestTime = 0;
    };
    for (uint32_t child = node.firstChild; child != kNoNode; child = m_tree.node(child).nextSibling) {
        const TimeNs time = m_tree.node(child).total;
        if (time <= 0) continue;
        const double width = static_cast<double>(time) * m_scale;
        if (width < m_layout.viewport.minimumPixels) {
            if (tinyCount++ == 0) tinyBegin = offset;
            tinyTime += time;
            if (time > largestTime) {
                largestTime = time;
                largest = child;
            }
        } else {
            endTiny();
            FlameRect rect;
            rect.x = static_cast<double>(offset) * m_scale;
            rect.w = width;
            rect.node = child;
            rect.time = time;
            rect.colour = colourOf(m_tree, child);
            rect.mark = statusMark(m_tree, child);
            rect.slowBelow = m_tree.node(child).slow > 0;
            push(rect);
            next.push_back({child, offset});
        }
        offset += time;
    }
    endTiny();
    const double rest = static_cast<double>(node.self) * m_scale;
    if (m_layout.viewport.remainder && node.firstChild != kNoNode && rest >= m_layout.viewport.minimumPixels) {
        FlameRect rect;
        rect.x = static_cast<double>(offset) * m_scale;
        rect.w = rest;
        rect.node = parent.node;
        rect.time = node.self;
        rect.kind = FlameRectKind::remainder;
        rect.colour = ColourClass::remainder;
        push(rect);
    }
}

void Layouter::level(const std::vector<Placed>& parents, std::vector<Placed>& next)
{
    next.clear();
    const size_t before = m_layout.rects.size();
    for (const Placed& parent : parents)
        children(parent, next);
    if (m_layout.rects.size() > before) endRow();
}

// Rows are known only now: gives every rectangle its y and drops what is outside of the visible part.
void Layouter::place()
{
    const FlameViewport& view = m_layout.viewport;
    const auto rows = static_cast<int32_t>(m_layout.rowBegin.size()) - 1;
    m_layout.rows = rows;
    m_layout.contentHeight = rows * view.rowHeight;
    std::vector<FlameRect> kept;
    std::vector<size_t> begin{0};
    for (int32_t line = 0; line < rows; ++line) {
        // `row` counts from the top; with the root at the bottom the deepest level comes first.
        const int32_t source = view.rootAtBottom ? rows - 1 - line : line;
        const double y = line * view.rowHeight;
        if (y + view.rowHeight > view.top && y < view.top + view.height) {
            for (size_t i = m_layout.rowBegin[static_cast<size_t>(source)]; i < m_layout.rowBegin[static_cast<size_t>(source) + 1]; ++i) {
                FlameRect rect = m_layout.rects[i];
                rect.y = y;
                rect.h = view.rowHeight;
                rect.row = line;
                kept.push_back(rect);
            }
        }
        begin.push_back(kept.size());
    }
    m_layout.rects.swap(kept);
    m_layout.rowBegin.swap(begin);
}

FlameLayout Layouter::run()
{
    m_layout.rowBegin.push_back(0);
    const bool sane = std::isfinite(m_layout.viewport.width) && m_layout.viewport.width > 0 && m_layout.viewport.rowHeight > 0;
    // Without anything below the root (a series without stacks) there is nothing to draw.
    if (m_total <= 0 || !sane || m_tree.node(0).firstChild == kNoNode) return std::move(m_layout);
    ancestors();
    std::vector<Placed> parents, next;
    const FlameNode& zoomed = m_tree.node(m_zoomed);
    const bool hiddenRoot = m_zoomed == 0 && m_tree.node(zoomed.firstChild).nextSibling == kNoNode;
    if (!hiddenRoot) {
        FlameRect rect;
        rect.w = m_layout.viewport.width;
        rect.node = m_zoomed;
        rect.time = m_total;
        rect.colour = colourOf(m_tree, m_zoomed);
        rect.mark = statusMark(m_tree, m_zoomed);
        rect.slowBelow = zoomed.slow > 0;
        push(rect);
        endRow();
    }
    parents.push_back({m_zoomed, 0});
    while (!parents.empty()) {
        level(parents, next);
        parents.swap(next);
    }
    place();
    return std::move(m_layout);
}

} // namespace

FlameLayout layoutFlame(const analysis::FlameTree& tree, const FlameViewport& viewport) { return Layouter(tree, viewport).run(); }

const FlameRect* hit(const FlameLayout& layout, double x, double y)
{
    if (!(y >= 0) || !(y < layout.contentHeight) || !(layout.viewport.rowHeight > 0)) return nullptr;
    const auto row = static_cast<size_t>(y / layout.viewport.rowHeight);
    if (row + 1 >= layout.rowBegin.size()) return nullptr;
    const auto begin = layout.rects.begin() + static_cast<std::ptrdiff_t>(layout.rowBegin[row]);
    const auto end = layout.rects.begin() + static_cast<std::ptrdiff_t>(layout.rowBegin[row + 1]);
    auto after = std::upper_bound(begin, end, x, [](double at, const FlameRect& rect) { return at < rect.x; });
    if (after == begin) return nullptr;
    --after;
    return x < after->x + after->w ? &*after : nullptr;
}

} // namespace stepscope::present
