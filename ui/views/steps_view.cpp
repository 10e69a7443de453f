#include "core/present/report_sources.h"
#include "ui/views/report_dock.h"

#include <QCoreApplication>

namespace stepscope::views {

QWidget* makeStepsView(const ViewContext& context, QWidget* parent)
{
    const MakeTable make = [](const session::Session& session, const analysis::SpanFilter& filter, std::stop_token stop,
                              const base::Progress& progress) {
        return present::makeStepTable(analysis::stepReport(session, filter, stop, progress));
    };
    return new ReportDock(context, make, QCoreApplication::translate("views", "Every step with its phases and what the system did meanwhile."), parent);
}

} // namespace stepscope::views
