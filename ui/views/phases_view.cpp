#include "core/present/report_sources.h"
#include "ui/views/report_dock.h"

#include <QCoreApplication>

namespace stepscope::views {

QWidget* makePhasesView(const ViewContext& context, QWidget* parent)
{
    const MakeTable make = [](const session::Session& session, const analysis::SpanFilter& filter, std::stop_token stop,
                              const base::Progress& progress) {
        return present::makePhaseTable(analysis::phaseReport(session, filter, stop, progress));
    };
    return new ReportDock(context, make, QCoreApplication::translate("views", "Where a step spends its time: data, forward, loss, backward, optimiser."), parent);
}

} // namespace stepscope::views
