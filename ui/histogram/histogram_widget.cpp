#include "ui/histogram/histogram_widget.h"

#include "core/present/format.h"

#include <QLabel>
#include <QMouseEvent>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace stepscope::histogram {

namespace {

QString fromUtf8(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

} // namespace

HistogramData makeHistogramData(const std::vector<double>& durations, const std::vector<uint8_t>& disturbed,
                                const stats::HistogramOptions& options)
{
    HistogramData data;
    data.histogram = stats::makeHistogram(durations, options);
    data.summary = stats::summarise(durations);
    data.disturbed.assign(data.histogram.bins.size() + 1, 0);
    for (size_t i = 0; i < durations.size(); ++i) {
        const int64_t bin = disturbed[i] != 0 ? stats::binOf(data.histogram, durations[i]) : -1;
        if (bin >= 0) ++data.disturbed[static_cast<size_t>(bin)];
    }
    return data;
}

HistogramWidget::HistogramWidget(const theme::Theme& theme, QWidget* parent)
    : QWidget(parent)
    , m_theme(theme)
{
    setMouseTracking(true);
    setAccessibleName(tr("Histogram of step times"));
    m_details = new QLabel(this);
    m_details->setAttribute(Qt::WA_TransparentForMouseEvents);
    m_details->setTextFormat(Qt::RichText);
    m_details->setMargin(8);
    m_details->setFrameShape(QFrame::StyledPanel);
    m_details->setAutoFillBackground(true);
    m_details->hide();
    connect(&m_theme, &theme::Theme::changed, this, qOverload<>(&QWidget::update));
}

void HistogramWidget::setData(std::optional<HistogramData> data)
{
    m_data = std::move(data);
    relayout();
}

void HistogramWidget::setEmptyText(const QString& text)
{
    m_emptyText = text;
    update();
}

void HistogramWidget::relayout()
{
    m_hoveredBin = -1;
    m_details->hide();
    m_layout = {};
    if (m_data.has_value() && m_data->histogram.count > 0) {
        present::HistogramViewport view;
        view.width = width();
        view.height = height();
        view.top = 2.0 * fontMetrics().height() + 12;
        view.bottom = fontMetrics().height() + 28;
        m_layout = present::layoutHistogram(m_data->histogram, m_data->summary, view);
    }
    update();
}

void HistogramWidget::resizeEvent(QResizeEvent*) { relayout(); }

double HistogramWidget::disturbedHeight(const present::HistogramBar& bar) const
{
    const auto bin = static_cast<size_t>(bar.bin);
    const stats::Histogram& h = m_data->histogram;
    const int64_t count = bin < h.bins.size() ? h.bins[bin].count : h.overflow.count;
    return count > 0 ? bar.h * static_cast<double>(m_data->disturbed[bin]) / static_cast<double>(count) : 0;
}

void HistogramWidget::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.fillRect(rect(), m_theme.colours().base);
    if (m_layout.bars.empty()) {
        painter.setPen(m_theme.colours().dimText);
        painter.drawText(rect().adjusted(16, 16, -16, -16), Qt::AlignCenter | Qt::TextWordWrap,
                         m_data.has_value() ? tr("There are no steps to show.") : m_emptyText);
        return;
    }
    paintAxes(painter);
    paintBars(painter);
    paintMarks(painter);
}

QString HistogramWidget::overflowText() const
{
    return tr("to %1").arg(fromUtf8(present::formatTime(m_data->histogram.overflow.high))); // where it begins is marked as p99
}

QRectF HistogramWidget::overflowLabel(const QFontMetricsF& metrics) const
{
    if (m_layout.bars.empty() || !m_layout.bars.back().overflow) return {};
    const present::HistogramBar& bar = m_layout.bars.back();
    const double w = metrics.horizontalAdvance(overflowText());
    const double right = std::min<double>(width() - 2, bar.x + bar.w + 4);
    return QRectF(right - w, m_layout.plotBottom + 6, w, metrics.height());
}

void HistogramWidget::paintAxes(QPainter& painter)
{
    const theme::Colours& c = m_theme.colours();
    painter.setFont(m_theme.small());
    const QFontMetricsF metrics(painter.font());
    for (const present::Tick& tick : m_layout.yTicks) {
        painter.setPen(c.line);
        painter.drawLine(QPointF(m_layout.plotLeft, tick.position), QPointF(m_layout.plotRight, tick.position));
        painter.setPen(c.dimText);
        const QString label = fromUtf8(tick.label);
        painter.drawText(QPointF(m_layout.plotLeft - 6 - metrics.horizontalAdvance(label),
                                 tick.position + metrics.ascent() / 2 - 1), label);
    }
    // The room below the overflow bar belongs to its own label.
    const double overflowLeft = overflowLabel(metrics).left();
    for (const present::Tick& tick : m_layout.xTicks) {
        painter.setPen(c.strongLine);
        painter.drawLine(QPointF(tick.position, m_layout.plotBottom), QPointF(tick.position, m_layout.plotBottom + 4));
        const QString label = fromUtf8(tick.label);
        const double w = metrics.horizontalAdvance(label);
        const double x = std::clamp(tick.position - w / 2, 2.0, std::max(2.0, width() - w - 2));
        painter.setPen(c.dimText);
        if (overflowLeft <= 0 || x + w + 8 < overflowLeft) painter.drawText(QPointF(x, m_layout.plotBottom + 6 + metrics.ascent()), label);
    }
    painter.setPen(c.strongLine);
    painter.drawLine(QPointF(m_layout.plotLeft, m_layout.plotBottom), QPointF(m_layout.plotRight, m_layout.plotBottom));

    painter.setPen(c.dimText);
    const QString xTitle = m_data->histogram.logarithmic ? tr("step time (logarithmic)") : tr("step time");
    const double titleBaseline = height() - metrics.descent() - 3;
    painter.drawText(QPointF((m_layout.plotLeft + m_layout.plotRight - metrics.horizontalAdvance(xTitle)) / 2, titleBaseline), xTitle);
    painter.save();
    const QString yTitle = tr("steps");
    painter.translate(metrics.ascent() + 2, (m_layout.plotTop + m_layout.plotBottom + metrics.horizontalAdvance(yTitle)) / 2);
    painter.rotate(-90);
    painter.drawText(QPointF(0, 0), yTitle);
    painter.restore();
}

void HistogramWidget::paintBars(QPainter& painter)
{
    const theme::Colours& c = m_theme.colours();
    for (const present::HistogramBar& bar : m_layout.bars) {
        const double gap = bar.w > 4 ? 1 : 0;
        QColor fill = c.bar, disturbed = c.barDisturbed;
        if (bar.bin == m_hoveredBin) {
            fill = c.dark ? fill.lighter(125) : fill.darker(115);
            disturbed = c.dark ? disturbed.lighter(125) : disturbed.darker(115);
        }
        painter.fillRect(QRectF(bar.x, bar.y, bar.w - gap, bar.h), fill);
        const double part = disturbedHeight(bar);
        if (part > 0) painter.fillRect(QRectF(bar.x, bar.y + bar.h - part, bar.w - gap, part), disturbed);
        if (bar.overflow) {
            painter.setPen(c.dimText);
            painter.setFont(m_theme.small());
            const QFontMetricsF metrics(painter.font());
            painter.drawText(overflowLabel(metrics).topLeft() + QPointF(0, metrics.ascent()), overflowText());
        }
    }
}

void HistogramWidget::paintMarks(QPainter& painter)
{
    const theme::Colours& c = m_theme.colours();
    const QFontMetricsF metrics(font());
    painter.setFont(font());
    double line = 0;
    for (const present::HistogramMark& mark : m_layout.marks) {
        const bool median = mark.kind == present::HistogramMark::Kind::median;
        const QColor colour = median ? c.median : c.tail;
        const QString label = fromUtf8(mark.label);
        const double baseline = 4 + metrics.ascent() + line * metrics.height();
        painter.setPen(QPen(colour, 1.5, median ? Qt::SolidLine : Qt::DashLine));
        painter.drawLine(QPointF(mark.x, baseline + 3), QPointF(mark.x, m_layout.plotBottom));
        const double w = metrics.horizontalAdvance(label);
        const bool leftSide = mark.x + 5 + w > width() - 4;
        painter.setPen(colour);
        painter.drawText(QPointF(leftSide ? mark.x - 5 - w : mark.x + 5, baseline), label);
        line += 1;
    }
}

QString HistogramWidget::hoverText() const
{
    if (m_hoveredBin < 0 || !m_data.has_value()) return {};
    const present::FlameDetails details = present::histogramDetails(m_data->histogram, m_hoveredBin);
    const theme::Colours& c = m_theme.colours();
    QString html = QStringLiteral("<b>%1</b><table cellspacing='0' cellpadding='1'>").arg(fromUtf8(details.name).toHtmlEscaped());
    const auto row = [&](const QString& title, const QString& value) {
        html += QStringLiteral("<tr><td style='color:%1; padding-right:14px'>%2</td><td>%3</td></tr>")
                    .arg(c.dimText.name(), title.toHtmlEscaped(), value.toHtmlEscaped());
    };
    for (const present::DetailField& field : details.fields) row(fromUtf8(field.title), fromUtf8(field.value));
    const int64_t disturbed = m_data->disturbed[static_cast<size_t>(m_hoveredBin)];
    row(tr("disturbed"), disturbed == 0 ? tr("none") : disturbed == 1 ? tr("1 step") : tr("%1 steps").arg(disturbed));
    return html + QStringLiteral("</table>");
}

void HistogramWidget::hoverAt(const QPointF& position)
{
    const present::HistogramBar* bar = m_layout.bars.empty() ? nullptr : present::hit(m_layout, position.x(), position.y());
    const int64_t bin = bar != nullptr ? bar->bin : -1;
    if (bin != m_hoveredBin) {
        m_hoveredBin = bin;
        update();
    }
    if (bin < 0) {
        m_details->hide();
        return;
    }
    QPalette palette = m_details->palette();
    palette.setColor(QPalette::Window, m_theme.colours().panel);
    m_details->setPalette(palette);
    m_details->setText(hoverText());
    m_details->adjustSize();
    int x = static_cast<int>(position.x()) + 16, y = static_cast<int>(position.y()) + 16;
    if (x + m_details->width() > width() - 4) x = std::max(4, static_cast<int>(position.x()) - m_details->width() - 12);
    y = std::clamp(y, 4, std::max(4, height() - m_details->height() - 4));
    m_details->move(x, y);
    m_details->show();
}

void HistogramWidget::mouseMoveEvent(QMouseEvent* event) { hoverAt(event->position()); }

void HistogramWidget::leaveEvent(QEvent*)
{
    m_hoveredBin = -1;
    m_details->hide();
    update();
}

} // namespace stepscope::histogram
