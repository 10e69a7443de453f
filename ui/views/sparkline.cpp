#include "ui/views/sparkline.h"

#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>
#include <limits>

namespace stepscope::views {

Sparkline::Sparkline(const theme::Theme& theme, QWidget* parent)
    : QWidget(parent)
    , m_theme(theme)
{
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

void Sparkline::setValues(std::vector<double> values)
{
    m_values = std::move(values);
    update();
}

void Sparkline::paintEvent(QPaintEvent*)
{
    const theme::Colours& c = m_theme.colours();
    QPainter painter(this);
    double low = std::numeric_limits<double>::infinity(), high = -low;
    for (const double value : m_values) {
        if (!std::isfinite(value)) continue;
        low = std::min(low, value);
        high = std::max(high, value);
    }
    if (m_values.size() < 2 || low > high) return;
    painter.fillRect(rect(), c.base);
    const double span = high > low ? high - low : 1;
    const double step = (width() - 8.0) / static_cast<double>(m_values.size() - 1);
    QPainterPath path;
    bool pen = false;
    QPointF point;
    for (size_t i = 0; i < m_values.size(); ++i) {
        if (!std::isfinite(m_values[i])) {
            pen = false;
            continue;
        }
        point = QPointF(4 + step * static_cast<double>(i), 4 + (height() - 8) * (1 - (m_values[i] - low) / span));
        if (pen) path.lineTo(point);
        else path.moveTo(point);
        pen = true;
    }
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(c.accent, 1.5));
    painter.drawPath(path);
    if (pen) {
        painter.setPen(Qt::NoPen);
        painter.setBrush(c.accent);
        painter.drawEllipse(point, 2.5, 2.5);
    }
}

} // namespace stepscope::views
