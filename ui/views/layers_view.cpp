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
    auto* dock = new ReportDock(
        context, make, QCoreApplication::translate("views", "Forward, backward and update time of every layer, once a session is open."),
        parent);
    dock->table().setLeadingColumns({"forward_median_ns", "backward_median_ns", "update_median_ns", "share", "note", "forward_flop_per_s",
                                     "backward_flop_per_s"});
    return dock;
}

} // namespace stepscope::views
