// CellDelegate: cells of a TableModel with a swatch of the row's colour, share bars, and dimmed remainder rows.
// Owner: ui/models. Thread: UI thread.
#pragma once

#include "ui/theme/theme.h"

#include <QStyledItemDelegate>

#include <functional>

namespace stepscope::models {

class CellDelegate : public QStyledItemDelegate {
    Q_OBJECT
public:
    // `swatch` gives the colour of a present::ColourClass value; an invalid colour draws none.
    using Swatch = std::function<QColor(int colourClass)>;
    CellDelegate(const theme::Theme& theme, Swatch swatch, QObject* parent = nullptr);

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override;

private:
    int textIndent(const QModelIndex& index) const;

    const theme::Theme& m_theme;
    Swatch m_swatch;
};

} // namespace stepscope::models
