// HistogramWidget: step times as bars, with median and p99 marks; disturbed steps stand out in each bar.
// Owner: ui/histogram. Thread: UI thread; geometry comes from core/present. Units: logical pixels.
#pragma once

#include "core/present/histogram_layout.h"
#include "ui/theme/theme.h"

#include <QWidget>

#include <cstdint>
#include <optional>
#include <vector>

class QFontMetricsF;
class QLabel;

namespace stepscope::histogram {

struct HistogramData {
    stats::Histogram histogram;
    stats::Summary summary;
    std::vector<int64_t> disturbed; // per bin, the overflow last; how many of the bin's steps were disturbed
};

// Counts disturbed samples per bin.
HistogramData makeHistogramData(const std::vector<double>& durations, const std::vector<uint8_t>& disturbed,
                                const stats::HistogramOptions& options);

class HistogramWidget : public QWidget {
    Q_OBJECT
public:
    explicit HistogramWidget(const theme::Theme& theme, QWidget* parent = nullptr);

    void setData(std::optional<HistogramData> data); // nothing shows the empty text
    const std::optional<HistogramData>& data() const { return m_data; }
    void setEmptyText(const QString& text);
    const present::HistogramLayout& layout() const { return m_layout; }
    // Height of the disturbed part of a bar, from its foot.
    double disturbedHeight(const present::HistogramBar& bar) const;
    void hoverAt(const QPointF& position);
    QString hoverText() const;

    QSize sizeHint() const override { return {480, 260}; }
    QSize minimumSizeHint() const override { return {240, 140}; }

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;

private:
    void relayout();
    QString overflowText() const;
    QRectF overflowLabel(const QFontMetricsF& metrics) const; // empty without an overflow bar
    void paintAxes(QPainter& painter);
    void paintBars(QPainter& painter);
    void paintMarks(QPainter& painter);

    const theme::Theme& m_theme;
    std::optional<HistogramData> m_data;
    QString m_emptyText;
    present::HistogramLayout m_layout;
    int64_t m_hoveredBin = -1;
    QLabel* m_details = nullptr;
};

} // namespace stepscope::histogram
