// LegendWidget: what the colours of a flame graph mean; only the classes that occur, in a fixed order.
// Owner: ui/flame. Thread: UI thread.
#pragma once

#include "core/present/colour_class.h"
#include "ui/theme/theme.h"

#include <QWidget>

#include <vector>

namespace stepscope::flame {

class LegendWidget : public QWidget {
    Q_OBJECT
public:
    explicit LegendWidget(const theme::Theme& theme, QWidget* parent = nullptr);

    void setTree(const analysis::FlameTree* tree); // null: empty legend
    const std::vector<present::ColourClass>& classes() const { return m_classes; }

    QSize sizeHint() const override;
    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    // Calls place(class, left, top) for every entry that flows into the width; returns the height.
    template <class Place>
    int flow(int width, Place place) const;

    const theme::Theme& m_theme;
    std::vector<present::ColourClass> m_classes;
};

} // namespace stepscope::flame
