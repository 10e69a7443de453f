#include "ui/models/cell_delegate.h"

#include "ui/models/table_model.h"

#include <QApplication>
#include <QPainter>

#include <algorithm>

namespace stepscope::models {

namespace {
constexpr int kSwatch = 10, kLevel = 14;
}

CellDelegate::CellDelegate(const theme::Theme& theme, Swatch swatch, QObject* parent)
    : QStyledItemDelegate(parent)
    , m_theme(theme)
    , m_swatch(std::move(swatch))
{
}

int CellDelegate::textIndent(const QModelIndex& index) const
{
    if (index.column() != 0) return 0;
    return index.data(kIndentRole).toInt() * kLevel + (m_swatch ? kSwatch + 6 : 0);
}

void CellDelegate::paint(QPainter* painter, const QStyleOptionViewItem& given, const QModelIndex& index) const
{
    QStyleOptionViewItem option = given;
    initStyleOption(&option, index);
    const theme::Colours& c = m_theme.colours();
    const bool selected = (option.state & QStyle::State_Selected) != 0;
    const bool subdued = index.data(kSubduedRole).toBool();
    const bool emphasised = index.data(kEmphasisRole).toBool();

    // Background and selection by the style, the rest here.
    const QString text = std::exchange(option.text, QString());
    const QStyle* style = option.widget != nullptr ? option.widget->style() : QApplication::style();
    style->drawControl(QStyle::CE_ItemViewItem, &option, painter, option.widget);

    painter->save();
    const double bar = index.data(kBarRole).toDouble();
    if (bar > 0) {
        QColor fill = c.bar;
        fill.setAlphaF(selected ? 0.55f : (c.dark ? 0.45f : 0.32f));
        const QRect room = option.rect.adjusted(2, 3, -2, -3);
        painter->fillRect(QRectF(room.left(), room.top(), room.width() * std::min(bar, 1.0), room.height()), fill);
    }
    QRect textRect = option.rect.adjusted(6 + textIndent(index), 0, -6, 0);
    if (index.column() == 0 && m_swatch) {
        const QColor colour = m_swatch(index.data(kColourRole).toInt());
        if (colour.isValid())
            painter->fillRect(QRect(textRect.left() - kSwatch - 6, option.rect.center().y() - kSwatch / 2 + 1, kSwatch, kSwatch), colour);
    }
    QColor colour = selected ? c.selectionText : subdued ? c.dimText : c.text;
    if (emphasised && !selected && index.column() == 0) colour = c.error;
    painter->setPen(colour);
    painter->setFont(option.font);
    const auto elide = index.column() == 0 ? Qt::ElideMiddle : Qt::ElideRight;
    painter->drawText(textRect, static_cast<int>(option.displayAlignment),
                      QFontMetrics(option.font).elidedText(text, elide, textRect.width()));
    painter->restore();
}

QSize CellDelegate::sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const
{
    const QFontMetrics metrics(option.font);
    return {metrics.horizontalAdvance(index.data().toString()) + 16 + textIndent(index), metrics.height() + 6};
}

} // namespace stepscope::models
