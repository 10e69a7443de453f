// SampleTreeModel: the tree of stack samples as a Qt model, with the columns of the flat table.
// Owner: ui/models. Thread: UI thread; the tree is immutable.
#pragma once

#include <QAbstractItemModel>

#include <cstdint>
#include <memory>

namespace stepscope::present {
struct SampleView; // not included: moc of Qt 6.4 cannot read <variant>
}

namespace stepscope::models {

class SampleTreeModel : public QAbstractItemModel {
    Q_OBJECT
public:
    enum Column { function, totalShare, selfShare, total, self, samples, place, columnTotal };

    explicit SampleTreeModel(QObject* parent = nullptr);

    void setView(std::shared_ptr<const present::SampleView> view); // null: an empty tree
    const present::SampleView* view() const { return m_view.get(); }
    QModelIndex indexOf(uint32_t node) const; // of a node of the tree; the root has none
    static uint32_t nodeOf(const QModelIndex& index) { return index.isValid() ? static_cast<uint32_t>(index.internalId()) : 0; }

    QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
    QModelIndex parent(const QModelIndex& child) const override;
    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    bool hasChildren(const QModelIndex& parent = {}) const override { return rowCount(parent) > 0; }
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    std::shared_ptr<const present::SampleView> m_view;
};

} // namespace stepscope::models
