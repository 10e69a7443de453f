#include "ui/models/table_model.h"

#include "core/present/table_source.h"

#include <QFont>

namespace stepscope::models {

namespace {

QString fromUtf8(const std::string& text) { return QString::fromStdString(text); }

} // namespace

TableModel::TableModel(QObject* parent)
    : QAbstractTableModel(parent)
{
}

void TableModel::setSource(std::shared_ptr<const present::TableSource> source)
{
    beginResetModel();
    m_source = std::move(source);
    endResetModel();
}

int TableModel::rowOfLayer(base::LayerId layer) const
{
    if (m_source == nullptr || !layer.valid()) return -1;
    for (size_t row = 0; row < m_source->rowCount(); ++row)
        if (m_source->layer(row) == layer) return static_cast<int>(row);
    return -1;
}

int TableModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() || m_source == nullptr ? 0 : static_cast<int>(m_source->rowCount());
}

int TableModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() || m_source == nullptr ? 0 : m_source->columnCount();
}

QVariant TableModel::data(const QModelIndex& index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid | CheckIndexOption::ParentIsInvalid)) return {};
    const auto row = static_cast<size_t>(index.row());
    const int column = index.column();
    switch (role) {
    case Qt::DisplayRole: return fromUtf8(m_source->text(row, column));
    case Qt::ToolTipRole: {
        const std::string tip = m_source->tip(row, column);
        return tip.empty() ? QVariant() : QVariant(fromUtf8(tip));
    }
    case Qt::TextAlignmentRole:
        return QVariant::fromValue(Qt::Alignment(
            (m_source->column(column).alignment == present::Alignment::right ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter));
    case kLayerRole: return m_source->layer(row).value;
    case kBarRole: return m_source->bar(row, column);
    case kColourRole: return static_cast<int>(m_source->colour(row));
    case kEmphasisRole: return m_source->emphasised(row);
    case kSubduedRole: return m_source->subdued(row);
    case kIndentRole: return m_source->indent(row);
    default: return {};
    }
}

QVariant TableModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || m_source == nullptr || section < 0 || section >= m_source->columnCount()) return {};
    const present::TableColumn& column = m_source->column(section);
    switch (role) {
    case Qt::DisplayRole: return fromUtf8(column.title);
    case Qt::ToolTipRole: return fromUtf8(column.tip);
    case Qt::TextAlignmentRole:
        return QVariant::fromValue(
            Qt::Alignment((column.alignment == present::Alignment::right ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter));
    case Qt::InitialSortOrderRole:
        return static_cast<int>(column.descendingFirst ? Qt::DescendingOrder : Qt::AscendingOrder);
    default: return {};
    }
}

SortModel::SortModel(QObject* parent)
    : QSortFilterProxyModel(parent)
{
}

bool SortModel::lessThan(const QModelIndex& left, const QModelIndex& right) const
{
    const present::TableSource* source = static_cast<const TableModel*>(sourceModel())->source();
    const present::SortValue a = source->sortValue(static_cast<size_t>(left.row()), left.column());
    const present::SortValue b = source->sortValue(static_cast<size_t>(right.row()), right.column());
    // A descending sort swaps the arguments, so an empty cell has to be small there to end up last.
    const bool emptyA = std::holds_alternative<std::monostate>(a), emptyB = std::holds_alternative<std::monostate>(b);
    if (emptyA != emptyB) return sortOrder() == Qt::AscendingOrder ? emptyB : emptyA;
    return present::compare(a, b) < 0;
}

} // namespace stepscope::models
