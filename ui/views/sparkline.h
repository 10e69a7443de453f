// Sparkline: a small line of recent values without axes.
// Owner: ui/views. Thread: UI thread.
#pragma once

#include "ui/theme/theme.h"

#include <QWidget>

#include <vector>

namespace stepscope::views {

class Sparkline : public QWidget {
    Q_OBJECT
public:
    explicit Sparkline(const theme::Theme& theme, QWidget* parent = nullptr);
    void setValues(std::vector<double> values); // oldest first; values that are not finite leave a gap
    QSize sizeHint() const override { return {120, 34}; }
    QSize minimumSizeHint() const override { return {60, 28}; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    const theme::Theme& m_theme;
    std::vector<double> m_values;
};

} // namespace stepscope::views
