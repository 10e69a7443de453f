#include "ui/models/sample_tree_model.h"

#include "core/present/colour_class.h"
#include "core/present/format.h"
#include "core/present/profile_text.h"
#include "core/present/sample_sources.h"
#include "core/present/sample_view.h"
#include "ui/models/table_model.h"


#include <algorithm>

namespace stepscope::models {

namespace {

QString fromUtf8(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }

double share(int64_t part, int64_t all) { return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : 0; }

QString whole(const analysis::FlameTree& tree, uint32_t node)
{
    QString text = fromUtf8(tree.fullName(node));
    if (const analysis::FlamePlace* place = tree.place(node)) {
        const std::string file = present::placeFile(*tree.session, *place);
        if (!file.empty()) text += QLatin1Char('\n') + fromUtf8(file) + (place->line > 0 ? QStringLiteral(":%1").arg(place->line) : QString());
        const std::string note = present::frameFlagText(tree.node(node).flags);
        if (!note.empty()) text += QLatin1Char('\n') + fromUtf8(note);
    }
    return text;
}

} // namespace

SampleTreeModel::SampleTreeModel(QObject* parent) : QAbstractItemModel(parent) {}

void SampleTreeModel::setView(std::shared_ptr<const present::SampleView> view)
{
    beginResetModel();
    m_view = std::move(view);
    endResetModel();
}

QModelIndex SampleTreeModel::indexOf(uint32_t node) const
{
    if (m_view == nullptr || node == 0 || node >= m_view->rows.row.size()) return {};
    return createIndex(static_cast<int>(m_view->rows.row[node]), 0, quintptr{node});
}

QModelIndex SampleTreeModel::index(int row, int column, const QModelIndex& parent) const
{
    if (m_view == nullptr || row < 0 || column < 0 || column >= columnTotal || row >= rowCount(parent)) return {};
    return createIndex(row, column, quintptr{m_view->rows.child(nodeOf(parent), static_cast<uint32_t>(row))});
}

QModelIndex SampleTreeModel::parent(const QModelIndex& child) const
{
    if (m_view == nullptr || !child.isValid()) return {};
    return indexOf(m_view->profile.tree.node(nodeOf(child)).parent);
}

int SampleTreeModel::rowCount(const QModelIndex& parent) const
{
    if (m_view == nullptr || parent.column() > 0) return 0;
    return static_cast<int>(m_view->rows.count(nodeOf(parent)));
}

int SampleTreeModel::columnCount(const QModelIndex&) const { return columnTotal; }

QVariant SampleTreeModel::data(const QModelIndex& index, int role) const
{
    if (m_view == nullptr || !index.isValid()) return {};
    const analysis::FlameTree& tree = m_view->profile.tree;
    const uint32_t id = nodeOf(index);
    const analysis::FlameNode& node = tree.node(id);
    const int64_t all = m_view->profile.total;
    switch (role) {
    case Qt::DisplayRole:
        switch (index.column()) {
        case function: return fromUtf8(tree.name(id));
        case totalShare: return fromUtf8(present::formatShare(share(node.total, all)));
        case total: return fromUtf8(present::formatWeight(tree, static_cast<double>(node.total)));
        case selfShare: return node.self != 0 ? fromUtf8(present::formatShare(share(node.self, all))) : QString();
        case self: return node.self != 0 ? fromUtf8(present::formatWeight(tree, static_cast<double>(node.self))) : QString();
        case samples: return fromUtf8(present::formatCount(node.count));
        case place:
            if (const analysis::FlamePlace* at = tree.place(id)) {
                const QString file = fromUtf8(present::placeFile(*tree.session, *at)).section(QLatin1Char('/'), -1);
                return at->line > 0 && !file.isEmpty() ? QStringLiteral("%1:%2").arg(file).arg(at->line) : file;
            }
            return {};
        default: return {};
        }
    case Qt::ToolTipRole: return whole(tree, id);
    case Qt::TextAlignmentRole:
        return QVariant::fromValue(Qt::Alignment(
            (index.column() == function || index.column() == place ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter));
    case kBarRole:
        if (index.column() == totalShare) return std::clamp(share(node.total, all), 0.0, 1.0);
        if (index.column() == selfShare) return std::clamp(share(node.self, all), 0.0, 1.0);
        return -1.0;
    case kColourRole: return static_cast<int>(present::colourOf(tree, id));
    case kEmphasisRole: return (node.flags & session::kSlowPath) != 0;
    case kSubduedRole: return false;
    case kIndentRole: return 0;
    case kLayerRole: return node.layer.value;
    default: return {};
    }
}

QVariant SampleTreeModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal) return {};
    if (role == Qt::TextAlignmentRole)
        return QVariant::fromValue(Qt::Alignment((section == function || section == place ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter));
    if (role != Qt::DisplayRole && role != Qt::ToolTipRole) return {};
    const bool tip = role == Qt::ToolTipRole;
    switch (section) {
    case function: return tip ? tr("What ran; the whole name is in the tip of a row") : tr("Function");
    case totalShare: return tip ? tr("Of all selected samples: those in it and in what it calls") : tr("Total");
    case total: return tip ? tr("Weight of the samples in it and in what it calls") : tr("Weight");
    case selfShare: return tip ? tr("Of all selected samples: those that end in it") : tr("Self");
    case self: return tip ? tr("Weight of the samples that end in it") : tr("Self weight");
    case samples: return tip ? tr("Number of samples in it and in what it calls") : tr("Samples");
    case place: return tip ? tr("Source file and line, or the library") : tr("Code");
    default: return {};
    }
}

} // namespace stepscope::models
