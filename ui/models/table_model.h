// TableModel: any present::TableSource as a Qt model. Sorting is by the source's sort keys, in a SortModel on top.
// Owner: ui/models. Thread: UI thread; the source is immutable.
#pragma once

#include <QAbstractTableModel>
#include <QSortFilterProxyModel>

#include <memory>

#include "core/base/ids.h" // last: moc of Qt 6.4 stumbles over <compare> when it comes first

namespace stepscope::present {
class TableSource; // not included: moc of Qt 6.4 cannot read <variant>
}

namespace stepscope::models {

enum TableRole {
    kLayerRole = Qt::UserRole + 1, // uint, base::LayerId::kNone without one
    kBarRole,                      // double 0..1, negative without a bar
    kColourRole,                   // int of present::ColourClass
    kEmphasisRole,                 // bool
    kSubduedRole,                  // bool
    kIndentRole,                   // int
};

class TableModel : public QAbstractTableModel {
    Q_OBJECT
public:
    explicit TableModel(QObject* parent = nullptr);

    void setSource(std::shared_ptr<const present::TableSource> source); // null: an empty table
    const present::TableSource* source() const { return m_source.get(); }
    // Row of a layer; -1 when it has none.
    int rowOfLayer(base::LayerId layer) const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    std::shared_ptr<const present::TableSource> m_source;
};

// Sorts by SortValue: numbers as numbers, empty cells last whichever way the column is sorted.
class SortModel : public QSortFilterProxyModel {
    Q_OBJECT
public:
    explicit SortModel(QObject* parent = nullptr);

protected:
    bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;
};

} // namespace stepscope::models
