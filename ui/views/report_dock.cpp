#include "ui/views/report_dock.h"

#include "core/present/table_source.h"
#include "ui/flame/frame_role.h"
#include "ui/state/error_text.h"
#include "ui/views/analysis_filter.h"

#include <QVBoxLayout>

namespace stepscope::views {

ReportDock::ReportDock(const ViewContext& context, MakeTable make, const QString& emptyText, QWidget* parent)
    : QWidget(parent)
    , m_workbench(context.workbench)
    , m_make(std::move(make))
    , m_emptyText(emptyText)
{
    const theme::Theme& theme = context.theme;
    const auto swatch = [&theme](int colourClass) {
        if (colourClass == static_cast<int>(present::ColourClass::other)) return QColor();
        return theme::roleColour(theme.dark(), flame::frameRole(static_cast<present::ColourClass>(colourClass)));
    };
    m_table = new models::ReportTable(theme, swatch, this);
    auto* layout = new QVBoxLayout(this);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->addWidget(m_table);
    connect(&m_workbench, &state::Workbench::sessionChanged, this, &ReportDock::rebuild);
    connect(&m_workbench, &state::Workbench::filterChanged, this, &ReportDock::rebuild);
    connect(&m_workbench, &state::Workbench::selectedLayerChanged, this,
            [this] { m_table->selectLayer(m_workbench.selectedLayer()); });
    connect(m_table, &models::ReportTable::layerSelected, &m_workbench, &state::Workbench::selectLayer);
    rebuild();
}

void ReportDock::rebuild()
{
    using Table = std::shared_ptr<const present::TableSource>;
    const session::SessionPtr session = m_workbench.session();
    if (session == nullptr) {
        m_job.cancel();
        m_table->setSource(nullptr);
        m_table->setEmptyText(m_emptyText);
        return;
    }
    if (m_table->model().rowCount() == 0) m_table->setEmptyText(tr("Adding up …"));
    m_workbench.jobs().start<Table>(
        m_job, tr("Adding up the steps"),
        [session, make = m_make, filter = analysisFilter(m_workbench.filter())](
            std::stop_token stop, const base::Progress& progress) -> base::Result<Table> {
            return Table(make(*session, filter, stop, progress));
        },
        [this](base::Result<Table> table) {
            m_table->setSource(table ? *table : nullptr);
            m_table->setEmptyText(table ? tr("This session has no rows of this kind.") : state::errorText(table.error()));
            m_table->selectLayer(m_workbench.selectedLayer());
        });
}

} // namespace stepscope::views
