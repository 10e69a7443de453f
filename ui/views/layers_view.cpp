#include "core/present/report_sources.h"
#include "ui/views/report_dock.h"

#include <QCoreApplication>

namespace stepscope::views {

QWidget* makeLayersView(const ViewContext& context, QWidget* parent)
{
    const MakeTable make = [](const session::Session& session, const analysis::SpanFilter& filter, std::stop_token stop,
                              const base::Progress& progress) {
        return present::makeLayerTable(analysis::layerReport(session, filter, stop, progress));
    };
    return new ReportDock(context, make, QCoreApplication::translate("views", "Forward, backward and update time of every layer, once a session is open."), parent);
}

} // namespace stepscope::views
