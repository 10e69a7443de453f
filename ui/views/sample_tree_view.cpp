// The tree of stack samples.
#include "core/present/profile_text.h"
#include "core/present/sample_view.h"
#include "ui/flame/frame_role.h"
#include "ui/models/cell_delegate.h"
#include "ui/models/sample_tree_model.h"
#include "ui/views/sample_menu.h"
#include "ui/views/view.h"

#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QMenu>
#include <QPainter>
#include <QScrollBar>
#include <QTreeView>
#include <QVBoxLayout>

#include <algorithm>

namespace stepscope::views {

namespace {

using models::SampleTreeModel;

constexpr int kDeepestOpen = 200; // levels that open by themselves along the widest path

class SampleTree : public QTreeView {
public:
    SampleTree(const ViewContext& context, QWidget* parent)
        : QTreeView(parent)
        , m_workbench(context.workbench)
        , m_samples(context.workbench.samples())
        , m_theme(context.theme)
    {
        setObjectName(QStringLiteral("sampleTree"));
        const theme::Theme& theme = context.theme;
        const auto swatch = [&theme](int colour) {
            return theme::roleColour(theme.dark(), flame::frameRole(static_cast<present::ColourClass>(colour)));
        };
        setModel(&m_model);
        setItemDelegate(new models::CellDelegate(theme, swatch, this));
        setUniformRowHeights(true);
        setAlternatingRowColors(true);
        setFrameShape(QFrame::NoFrame);
        setSelectionBehavior(QAbstractItemView::SelectRows);
        setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
        setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
        setIndentation(14);
        header()->setStretchLastSection(true);
        connect(header(), &QHeaderView::sectionResized, this, [this] { m_userSized |= !m_fitting; });
        connect(&m_samples, &state::Samples::viewChanged, this, &SampleTree::refresh);
        connect(&m_samples, &state::Samples::availableChanged, this, &SampleTree::refresh);
        connect(selectionModel(), &QItemSelectionModel::currentChanged, this, [this](const QModelIndex& now) { selected(now); });
        refresh();
    }

protected:
    void paintEvent(QPaintEvent* event) override
    {
        QTreeView::paintEvent(event);
        if (m_model.rowCount() > 0) return;
        QPainter painter(viewport());
        painter.setPen(m_theme.colours().dimText);
        painter.drawText(viewport()->rect().adjusted(16, 16, -16, -16), Qt::AlignCenter | Qt::TextWordWrap, emptyText());
    }

    void showEvent(QShowEvent* event) override
    {
        QTreeView::showEvent(event);
        if (m_stale) refresh();
    }

    void resizeEvent(QResizeEvent* event) override
    {
        QTreeView::resizeEvent(event);
        fitColumns();
    }

    void keyPressEvent(QKeyEvent* event) override
    {
        if (event->key() == Qt::Key_E && event->modifiers() == Qt::NoModifier) {
            if (const analysis::FlamePlace* place = placeOf(currentIndex())) openPlace(m_workbench, *session(), *place);
            return;
        }
        QTreeView::keyPressEvent(event);
    }

    void contextMenuEvent(QContextMenuEvent* event) override
    {
        const QModelIndex index = indexAt(viewport()->mapFromGlobal(event->globalPos()));
        QMenu menu;
        if (const analysis::FlamePlace* place = placeOf(index)) addPlaceActions(menu, m_workbench, session(), *place);
        if (index.isValid()) {
            menu.addSeparator();
            menu.addAction(tr("E&xpand the Widest Path"), this, [this, node = SampleTreeModel::nodeOf(index)] { openWidest(node); });
        }
        if (!menu.isEmpty()) menu.exec(event->globalPos());
    }

private:
    QString emptyText() const
    {
        if (!m_samples.available())
            return m_workbench.session() == nullptr ? tr("Where the samples of the threads' stacks were taken, once a session is open.")
                                                    : QString::fromStdString(present::noSamplesText());
        return m_samples.view() == nullptr ? tr("Merging stacks …") : QString::fromStdString(present::noFramesText(m_samples.view()->profile));
    }

    const session::SessionPtr& session() const { return m_model.view()->profile.tree.session; }

    const analysis::FlamePlace* placeOf(const QModelIndex& index) const
    {
        return index.isValid() && m_model.view() != nullptr ? m_model.view()->profile.tree.place(SampleTreeModel::nodeOf(index)) : nullptr;
    }

    // Names of the open nodes and of the current one survive a new tree.
    void refresh()
    {
        m_stale = m_samples.live() && !isVisible(); // a hidden view costs a running measurement nothing
        if (m_stale) return;
        const auto& view = m_samples.view();
        const int scrolled = verticalScrollBar() != nullptr ? verticalScrollBar()->value() : 0;
        m_quiet = true;
        m_model.setView(view);
        m_quiet = false;
        if (view != nullptr && m_model.rowCount() > 0) {
            for (int row = 0; row < std::min(m_model.rowCount(), 20); ++row) expand(m_model.index(row, 0));
            openWidest(0);
            if (m_samples.live()) verticalScrollBar()->setValue(scrolled);
        }
        viewport()->update();
    }

    void openWidest(uint32_t node)
    {
        const analysis::FlameTree& tree = m_model.view()->profile.tree;
        for (int level = 0; level < kDeepestOpen; ++level) {
            uint32_t widest = 0;
            for (uint32_t child = tree.node(node).firstChild; child != analysis::FlameNode::kNone; child = tree.node(child).nextSibling)
                if (widest == 0 || tree.node(child).total > tree.node(widest).total) widest = child;
            if (node != 0) expand(m_model.indexOf(node));
            if (widest == 0 || (node != 0 && tree.node(widest).total * 2 < tree.node(node).total)) return;
            node = widest;
        }
    }

    // The names and both shares fit; the rest is a scroll away. Widths that the user chose stay.
    void fitColumns()
    {
        if (m_userSized) return;
        m_fitting = true;
        const int number = fontMetrics().horizontalAdvance(QStringLiteral("1_000_000")) + 16;
        for (int column = SampleTreeModel::totalShare; column <= SampleTreeModel::samples; ++column) header()->resizeSection(column, number);
        header()->resizeSection(SampleTreeModel::function, std::clamp(viewport()->width() - 3 * number, 240, 640));
        m_fitting = false;
    }

    void selected(const QModelIndex& now)
    {
        if (m_quiet) return;
        const analysis::FlamePlace* place = placeOf(now);
        m_samples.selectFunction(place != nullptr ? place->function : base::StringId());
    }

    state::Workbench& m_workbench;
    state::Samples& m_samples;
    const theme::Theme& m_theme;
    SampleTreeModel m_model;
    bool m_stale = false;
    bool m_fitting = false;
    bool m_userSized = false;
    bool m_quiet = false;
};

} // namespace

QWidget* makeSampleTreeView(const ViewContext& context, QWidget* parent) { return new SampleTree(context, parent); }

} // namespace stepscope::views
