#include "ui/models/report_table.h"

#include "core/present/table_source.h"

#include <QApplication>
#include <QClipboard>
#include <QHeaderView>
#include <QKeyEvent>
#include <QPainter>

#include <algorithm>
#include <numeric>
#include <vector>

namespace stepscope::models {

ReportTable::ReportTable(const theme::Theme& theme, CellDelegate::Swatch swatch, QWidget* parent)
    : QTableView(parent)
    , m_theme(theme)
{
    m_sorted.setSourceModel(&m_model);
    setModel(&m_sorted);
    setItemDelegate(new CellDelegate(theme, std::move(swatch), this));
    setSelectionBehavior(QAbstractItemView::SelectRows);
    setSelectionMode(QAbstractItemView::ExtendedSelection);
    setAlternatingRowColors(true);
    setShowGrid(false);
    setSortingEnabled(true);
    setWordWrap(false);
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    setEditTriggers(QAbstractItemView::NoEditTriggers);
    verticalHeader()->hide();
    verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 6);
    horizontalHeader()->setHighlightSections(false);
    horizontalHeader()->setStretchLastSection(false);
    horizontalHeader()->setSectionsMovable(true);
    // Until a header is clicked, rows keep the report's own order.
    sortByColumn(-1, Qt::AscendingOrder);
    connect(&m_theme, &theme::Theme::changed, viewport(), qOverload<>(&QWidget::update));
}

void ReportTable::setSource(std::shared_ptr<const present::TableSource> source)
{
    base::LayerId selected;
    if (const QModelIndexList rows = selectionModel()->selectedRows(); !rows.isEmpty())
        selected = base::LayerId(rows.first().data(kLayerRole).toUInt());
    m_quiet = true;
    m_model.setSource(std::move(source));
    m_quiet = false;
    if (m_model.rowCount() > 0 && !m_fitted) fitColumns();
    selectLayer(selected);
    viewport()->update();
}

void ReportTable::fitColumns()
{
    m_fitted = true;
    resizeColumnsToContents();
    for (int column = 0; column < m_model.columnCount(); ++column) {
        const int header = horizontalHeader()->sectionSizeHint(column);
        const int widest = column == 0 ? 280 : 220;
        setColumnWidth(column, std::clamp(columnWidth(column), std::min(header, widest), widest));
    }
    orderColumns();
}

void ReportTable::orderColumns()
{
    const int columns = m_model.columnCount();
    const auto rank = [this](int column) {
        const present::TableColumn& about = m_model.source()->column(column);
        const auto leading = std::find(m_leading.begin(), m_leading.end(), about.key);
        if (column == 0) return -1;
        if (leading != m_leading.end()) return static_cast<int>(leading - m_leading.begin());
        return static_cast<int>(m_leading.size()) + (about.alignment == present::Alignment::left ? 1 : 0);
    };
    std::vector<int> order(static_cast<size_t>(columns));
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return rank(a) < rank(b); });
    for (int place = 0; place < columns; ++place)
        horizontalHeader()->moveSection(horizontalHeader()->visualIndex(order[static_cast<size_t>(place)]), place);
}

void ReportTable::setEmptyText(const QString& text)
{
    m_emptyText = text;
    viewport()->update();
}

void ReportTable::selectLayer(base::LayerId layer)
{
    const int row = m_model.rowOfLayer(layer);
    m_quiet = true;
    if (row < 0) {
        clearSelection();
    } else {
        const QModelIndex index = m_sorted.mapFromSource(m_model.index(row, 0));
        const QModelIndexList rows = selectionModel()->selectedRows();
        if (rows.size() != 1 || rows.first().row() != index.row()) {
            selectionModel()->setCurrentIndex(index, QItemSelectionModel::ClearAndSelect | QItemSelectionModel::Rows);
            scrollTo(index);
        }
    }
    m_quiet = false;
}

void ReportTable::selectionChanged(const QItemSelection& selected, const QItemSelection& deselected)
{
    QTableView::selectionChanged(selected, deselected);
    if (m_quiet) return;
    const QModelIndexList rows = selectionModel()->selectedRows();
    emit layerSelected(rows.size() == 1 ? base::LayerId(rows.first().data(kLayerRole).toUInt()) : base::LayerId());
}

void ReportTable::paintEvent(QPaintEvent* event)
{
    QTableView::paintEvent(event);
    if (m_model.rowCount() > 0 || m_emptyText.isEmpty()) return;
    QPainter painter(viewport());
    painter.setPen(m_theme.colours().dimText);
    painter.drawText(viewport()->rect().adjusted(16, 16, -16, -16), Qt::AlignCenter | Qt::TextWordWrap, m_emptyText);
}

void ReportTable::keyPressEvent(QKeyEvent* event)
{
    if (event->matches(QKeySequence::Copy)) return copySelection();
    if (event->key() == Qt::Key_Escape && selectionModel()->hasSelection()) return clearSelection();
    QTableView::keyPressEvent(event);
}

void ReportTable::copySelection() const
{
    QModelIndexList rows = selectionModel()->selectedRows();
    std::sort(rows.begin(), rows.end());
    QStringList lines;
    const auto line = [this](auto cell) {
        QStringList cells;
        for (int column = 0; column < m_model.columnCount(); ++column) cells << cell(column);
        return cells.join(QLatin1Char('\t'));
    };
    lines << line([this](int column) { return m_model.headerData(column, Qt::Horizontal).toString(); });
    for (const QModelIndex& row : rows) lines << line([&row](int column) { return row.siblingAtColumn(column).data().toString(); });
    QApplication::clipboard()->setText(lines.join(QLatin1Char('\n')) + QLatin1Char('\n'));
}

} // namespace stepscope::models
