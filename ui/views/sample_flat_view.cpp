// The flat table of stack samples: functions by what they spend themselves and with what they call.
#include "core/present/profile_text.h"
#include "core/present/sample_view.h"
#include "ui/flame/frame_role.h"
#include "ui/models/report_table.h"
#include "ui/views/sample_menu.h"
#include "ui/views/view.h"

#include <QContextMenuEvent>
#include <QKeyEvent>
#include <QMenu>
#include <QVBoxLayout>

namespace stepscope::views {

namespace {

class SampleFlat : public QWidget {
public:
    SampleFlat(const ViewContext& context, QWidget* parent)
        : QWidget(parent)
        , m_workbench(context.workbench)
        , m_samples(context.workbench.samples())
    {
        setObjectName(QStringLiteral("sampleFlat"));
        const theme::Theme& theme = context.theme;
        const auto swatch = [&theme](int colour) {
            return theme::roleColour(theme.dark(), flame::frameRole(static_cast<present::ColourClass>(colour)));
        };
        m_table = new models::ReportTable(theme, swatch, this);
        m_table->setSelectionMode(QAbstractItemView::SingleSelection);
        m_table->setLeadingColumns({"self_share", "total_share", "self_ns", "total_ns", "self_bytes", "total_bytes"});
        m_table->installEventFilter(this);
        m_table->viewport()->installEventFilter(this);
        auto* layout = new QVBoxLayout(this);
        layout->setContentsMargins(0, 0, 0, 0);
        layout->addWidget(m_table);
        connect(&m_samples, &state::Samples::viewChanged, this, &SampleFlat::refresh);
        connect(&m_samples, &state::Samples::availableChanged, this, &SampleFlat::refresh);
        connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this, [this](const QModelIndex& now) {
            if (m_quiet) return;
            const analysis::FlamePlace* place = placeOf(now);
            m_samples.selectFunction(place != nullptr ? place->function : base::StringId());
        });
        refresh();
    }

protected:
    void showEvent(QShowEvent* event) override
    {
        QWidget::showEvent(event);
        if (m_stale) refresh();
    }

    bool eventFilter(QObject* watched, QEvent* event) override
    {
        if (event->type() == QEvent::ContextMenu && watched == m_table->viewport()) {
            showMenu(*static_cast<QContextMenuEvent*>(event));
            return true;
        }
        if (event->type() == QEvent::KeyPress && watched == m_table) {
            const auto* key = static_cast<QKeyEvent*>(event);
            if (key->key() == Qt::Key_E && key->modifiers() == Qt::NoModifier) {
                if (const analysis::FlamePlace* place = placeOf(m_table->currentIndex())) openPlace(m_workbench, *m_view->profile.tree.session, *place);
                return true;
            }
        }
        return QWidget::eventFilter(watched, event);
    }

private:
    const analysis::FlamePlace* placeOf(const QModelIndex& sorted) const
    {
        if (!sorted.isValid() || m_view == nullptr) return nullptr;
        const auto* proxy = qobject_cast<const QSortFilterProxyModel*>(sorted.model());
        const QModelIndex index = proxy != nullptr ? proxy->mapToSource(sorted) : sorted;
        const auto& flat = m_view->profile.flat;
        if (index.row() < 0 || static_cast<size_t>(index.row()) >= flat.size()) return nullptr;
        const uint32_t place = flat[static_cast<size_t>(index.row())].place;
        return place < m_view->profile.tree.places.size() ? &m_view->profile.tree.places[place] : nullptr;
    }

    void showMenu(const QContextMenuEvent& event)
    {
        const analysis::FlamePlace* place = placeOf(m_table->indexAt(event.pos()));
        if (place == nullptr) return;
        QMenu menu;
        addPlaceActions(menu, m_workbench, m_view->profile.tree.session, *place);
        menu.exec(event.globalPos());
    }

    void refresh()
    {
        m_stale = m_samples.live() && !isVisible(); // a hidden view costs a running measurement nothing
        if (m_stale) return;
        m_quiet = true;
        m_view = m_samples.view();
        m_table->setSource(m_view != nullptr ? m_view->flat : nullptr);
        m_quiet = false;
        if (m_view != nullptr && !m_sortedOnce) {
            m_sortedOnce = true;
            m_table->sortByColumn(1, Qt::DescendingOrder); // what runs most itself
        }
        if (!m_samples.available())
            m_table->setEmptyText(m_workbench.session() == nullptr ? tr("Functions by their samples, once a session is open.")
                                                                    : QString::fromStdString(present::noSamplesText()));
        else m_table->setEmptyText(m_view == nullptr ? tr("Merging stacks …") : QString::fromStdString(present::noFramesText(m_view->profile)));
    }

    state::Workbench& m_workbench;
    state::Samples& m_samples;
    state::Samples::ViewPtr m_view;
    models::ReportTable* m_table = nullptr;
    bool m_sortedOnce = false;
    bool m_quiet = false;
    bool m_stale = false;
};

} // namespace

QWidget* makeSampleFlatView(const ViewContext& context, QWidget* parent) { return new SampleFlat(context, parent); }

} // namespace stepscope::views
