// What the flame widget paints around the frames: axes, notes and marks.
#include "core/present/axis.h"
#include "core/present/sample_sources.h"
#include "ui/flame/flame_geometry.h"
#include "ui/flame/flame_widget.h"

#include <QPainter>

#include <algorithm>
#include <cmath>

namespace stepscope::flame {

void FlameWidget::paintEvent(QPaintEvent*)
{
    const theme::Colours& c = m_theme.colours();
    QPainter painter(viewport());
    if (m_tree == nullptr || m_tree->nodes.size() <= 1 || m_tree->nodes[0].total <= 0) {
        painter.fillRect(viewport()->rect(), c.base);
        painter.setPen(c.dimText);
        const QString text = m_tree == nullptr || m_tree->ofSamples ? m_emptyText : tr("The selected steps hold no recorded time.");
        painter.drawText(viewport()->rect().adjusted(24, 24, -24, -24), Qt::AlignCenter | Qt::TextWordWrap, text);
        return;
    }
    const QRectF graph = graphRect();
    // The screen may have changed since the image was made.
    const double ratio = viewport()->devicePixelRatioF();
    const QSize pixels(static_cast<int>(std::ceil(graph.width() * ratio)), static_cast<int>(std::ceil(graph.height() * ratio)));
    if (m_image.size() != pixels || m_image.devicePixelRatio() != ratio) {
        m_image = QImage(pixels, QImage::Format_RGB32);
        m_image.setDevicePixelRatio(ratio);
        m_imageValid = false;
    }
    if (!m_imageValid && !m_image.isNull()) {
        FlamePaintOptions options;
        options.dark = m_theme.dark();
        options.background = c.base;
        options.left = contentLeft();
        options.top = contentTop();
        options.matched = searching() ? &m_matches.matched : nullptr;
        options.showSelf = m_showSelf;
        m_painter.paint(m_image, *m_tree, m_layout, options);
        m_imageValid = true;
    }
    painter.fillRect(viewport()->rect(), c.base);
    painter.drawImage(graph.topLeft(), m_image);
    paintAxis(painter);
    painter.setClipRect(graph);
    paintMarks(painter);
}

// What the widths are shares of.
QString FlameWidget::axisTitle() const
{
    const bool perStep = m_tree->steps > 0;
    QString what;
    if (m_tree->ofSamples) {
        QString weight = fromUtf8(m_tree->weightName);
        if (weight.startsWith(QLatin1String("cpu "))) weight.replace(0, 3, QStringLiteral("CPU"));
        if (!m_tree->countsAreWeights) weight = tr("%1 by samples").arg(weight); // an estimate
        what = perStep ? tr("%1, mean per step").arg(weight) : weight;
    } else {
        what = perStep ? tr("mean time per step") : tr("total time");
    }
    return m_showSelf ? tr("%1 (solid: its own; width is a share, not a time axis)").arg(what)
                      : tr("%1 (width is a share, not a time axis)").arg(what);
}

void FlameWidget::paintAxis(QPainter& painter)
{
    const theme::Colours& c = m_theme.colours();
    const QRectF graph = graphRect();
    painter.setFont(m_theme.small());
    const QFontMetricsF metrics(painter.font());

    // Time of the visible part, as a sum over all spans that were merged.
    const double perPixel = static_cast<double>(m_tree->node(zoomedNode()).total) / (graph.width() * place().scale);
    const double steps = std::max<double>(1, static_cast<double>(m_tree->steps));
    const double from = contentLeft() * perPixel / steps, to = from + graph.width() * perPixel / steps;
    const QString title = axisTitle();
    const double titleWidth = metrics.horizontalAdvance(title);
    painter.setPen(c.dimText);
    if (titleWidth + 12 < graph.width()) painter.drawText(QPointF(graph.right() - titleWidth - 6, metrics.ascent() + 3), title);

    const std::vector<double> ticks = present::niceTicks(from, to, std::max(2, static_cast<int>(graph.width() / 130)));
    std::vector<std::string> labels;
    if (m_tree->unit == analysis::FlameUnit::time) labels = present::timeTickLabels(ticks);
    else if (m_tree->unit == analysis::FlameUnit::count) labels = present::countTickLabels(ticks);
    else
        for (const double tick : ticks) labels.push_back(present::formatWeight(*m_tree, tick));
    for (size_t i = 0; i < ticks.size(); ++i) {
        const double x = graph.left() + (ticks[i] - from) / (to - from) * graph.width();
        painter.setPen(c.strongLine);
        painter.drawLine(QPointF(x, graph.top() - 5), QPointF(x, graph.top() - 1));
        const QString label = fromUtf8(labels[i]);
        const double left = x + 3;
        painter.setPen(c.dimText);
        if (left + metrics.horizontalAdvance(label) < graph.right()) painter.drawText(QPointF(left, graph.top() - metrics.descent() - 4), label);
    }
    painter.setPen(c.line);
    painter.drawLine(QPointF(graph.left(), graph.top() - 1), QPointF(graph.right(), graph.top() - 1));

    painter.save();
    painter.setPen(c.dimText);
    const QString depth = m_rootAtBottom ? tr("depth →") : tr("← depth");
    painter.translate(kGutter / 2 + metrics.ascent() / 2 - 2, graph.top() + 8 + metrics.horizontalAdvance(depth));
    painter.rotate(-90);
    painter.drawText(QPointF(0, 0), depth);
    painter.restore();
}

void FlameWidget::outline(QPainter& painter, const present::FlameRect& rect, const QColor& colour, double width) const
{
    painter.setPen(QPen(colour, width));
    painter.setBrush(Qt::NoBrush);
    const double inset = width / 2;
    QRectF r = viewportRect(rect).adjusted(inset, inset, -inset - 1, -inset - 1);
    r.setLeft(std::max(r.left(), kGutter - 4)); // the painter need not clip millions of pixels
    r.setRight(std::min(r.right(), static_cast<double>(viewport()->width()) + 4));
    if (r.width() > 0) painter.drawRect(r);
}

void FlameWidget::paintMarks(QPainter& painter)
{
    const theme::Colours& c = m_theme.colours();
    const QRectF graph = graphRect();
    const bool layers = !m_highlightedNodes.empty();
    for (int row = 0; row < m_layout.rows; ++row) {
        const auto [first, last] = FlamePainter::visibleRange(m_layout, row, contentLeft(), contentLeft() + graph.width());
        for (size_t i = first; i < last; ++i) {
            const present::FlameRect& rect = m_layout.rects[i];
            if (rect.kind == present::FlameRectKind::remainder || rect.kind == present::FlameRectKind::merged) continue;
            if (layers && m_highlightedNodes[rect.node] != 0) outline(painter, rect, c.accent, 2);
            if (searching() && rect.node < m_matches.matched.size() && m_matches.matched[rect.node] != 0)
                outline(painter, rect, c.match, 1.5);
            if (rect.node == m_selected) outline(painter, rect, c.text, 2);
        }
    }
    if (m_hovered != nullptr) outline(painter, *m_hovered, c.text, 1);
}

} // namespace stepscope::flame
