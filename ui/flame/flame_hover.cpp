// The details that follow the mouse over the flame graph.
#include "ui/flame/flame_geometry.h"
#include "ui/flame/flame_widget.h"

#include <QLabel>

#include <algorithm>

namespace stepscope::flame {

void FlameWidget::hoverAt(const QPointF& position) { setHovered(rectAt(position), position); }

QString FlameWidget::detailsHtml(const present::FlameRect& rect) const
{
    const present::FlameDetails details = present::flameDetails(*m_tree, rect);
    const theme::Colours& c = m_theme.colours();
    QString html = QStringLiteral("<b>%1</b>").arg(fromUtf8(details.name).toHtmlEscaped());
    if (!details.path.empty() && details.path != details.name)
        html += QStringLiteral("<br><span style='color:%1'>%2</span>").arg(c.dimText.name(), fromUtf8(details.path).toHtmlEscaped());
    html += QStringLiteral("<table cellspacing='0' cellpadding='1' style='margin-top:4px'>");
    for (const present::DetailField& field : details.fields) {
        html += QStringLiteral("<tr><td style='color:%1; padding-right:14px'>%2</td><td>%3</td></tr>")
                    .arg(c.dimText.name(), fromUtf8(field.title).toHtmlEscaped(), fromUtf8(field.value).toHtmlEscaped());
    }
    return html + QStringLiteral("</table>");
}

void FlameWidget::setHovered(const present::FlameRect* rect, const QPointF& position)
{
    if (rect == nullptr) {
        if (m_hovered != nullptr) viewport()->update();
        m_hovered = nullptr;
        m_details->hide();
        return;
    }
    m_hoverPosition = position;
    if (rect != m_hovered) {
        m_hovered = rect;
        QPalette palette = m_details->palette();
        palette.setColor(QPalette::Window, m_theme.colours().panel);
        m_details->setPalette(palette);
        m_details->setText(detailsHtml(*rect));
        m_details->setWordWrap(false);
        m_details->setMaximumWidth(std::max(200, viewport()->width() - 16));
        m_details->adjustSize();
        if (m_details->sizeHint().width() > m_details->maximumWidth()) {
            m_details->setWordWrap(true);
            m_details->adjustSize();
        }
        viewport()->update();
    }
    // Beside the mouse, on the side with room, never under it.
    const QSize size = m_details->size();
    int x = static_cast<int>(position.x()) + 16, y = static_cast<int>(position.y()) + 18;
    if (x + size.width() > viewport()->width() - 4) x = std::max(4, static_cast<int>(position.x()) - size.width() - 12);
    if (y + size.height() > viewport()->height() - 4) y = std::max(4, static_cast<int>(position.y()) - size.height() - 12);
    m_details->move(x, y);
    m_details->show();
    m_details->raise();
}

} // namespace stepscope::flame
