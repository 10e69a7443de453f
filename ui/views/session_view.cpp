// The session's environment and quality record.
#include "core/present/format.h"
#include "ui/views/view.h"

#include <QCoreApplication>
#include <QHeaderView>
#include <QLabel>
#include <QTreeWidget>
#include <QVBoxLayout>

namespace stepscope::views {

namespace {

QString tr(const char* text) { return QCoreApplication::translate("SessionView", text); }

QTreeWidgetItem* section(QTreeWidget& tree, const QString& title)
{
    auto* item = new QTreeWidgetItem(&tree, {title});
    QFont font = tree.font();
    font.setBold(true);
    item->setFont(0, font);
    item->setFirstColumnSpanned(true);
    item->setExpanded(true);
    return item;
}

void addRow(QTreeWidgetItem& parent, const QString& key, const QString& value)
{
    auto* item = new QTreeWidgetItem(&parent, {key, value});
    item->setToolTip(1, value);
}

void fill(QTreeWidget& tree, const state::Workbench& workbench)
{
    tree.clear();
    const session::SessionPtr& session = workbench.session();
    if (session == nullptr) {
        section(tree, tr("No session is open"));
        return;
    }
    QTreeWidgetItem* quality = section(tree, tr("Quality"));
    const std::vector<session::QualityRow> rows = workbench.quality();
    if (rows.empty()) addRow(*quality, tr("complete"), tr("Nothing was skipped, repaired or lost."));
    for (const session::QualityRow& row : rows) {
        addRow(*quality, QStringLiteral("%1 × %2").arg(row.count).arg(QString::fromStdString(row.code)),
               QString::fromStdString(row.message));
        if (!row.places.empty()) addRow(*quality, tr("first places"), QString::fromStdString(row.places));
    }
    QTreeWidgetItem* content = section(tree, tr("Content"));
    const auto count = [](size_t n) { return QString::fromStdString(present::formatCount(static_cast<int64_t>(n))); };
    for (const QString& file : workbench.files())
        addRow(*content, tr("file"), file);
    addRow(*content, tr("steps"), count(session->steps().size()));
    addRow(*content, tr("spans"), count(session->spanCount()));
    addRow(*content, tr("layers"), count(session->layers().size()));
    addRow(*content, tr("primitives"), count(session->primitives().size()));
    QTreeWidgetItem* environment = section(tree, tr("Environment"));
    for (const session::EnvironmentRow& row : session->environment())
        addRow(*environment, QString::fromStdString(row.key), QString::fromStdString(row.value));
    tree.resizeColumnToContents(0);
}

} // namespace

QWidget* makeSessionView(const ViewContext& context, QWidget* parent)
{
    auto* tree = new QTreeWidget(parent);
    tree->setColumnCount(2);
    tree->setHeaderHidden(true);
    tree->setRootIsDecorated(false);
    tree->setFrameShape(QFrame::NoFrame);
    tree->setSelectionMode(QAbstractItemView::ExtendedSelection);
    tree->setWordWrap(true);
    // The heights of wrapped rows follow the width of the column.
    QObject::connect(tree->header(), &QHeaderView::sectionResized, tree, [tree] { tree->doItemsLayout(); });
    state::Workbench* workbench = &context.workbench;
    const auto refill = [tree, workbench] { fill(*tree, *workbench); };
    QObject::connect(workbench, &state::Workbench::sessionChanged, tree, refill);
    QObject::connect(workbench, &state::Workbench::qualityChanged, tree, refill);
    QObject::connect(workbench, &state::Workbench::saved, tree, refill);
    refill();
    return tree;
}

} // namespace stepscope::views
