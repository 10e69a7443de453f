#include "core/present/report_sources.h"
#include "ui/views/report_dock.h"

#include <QCoreApplication>

namespace stepscope::views {

QWidget* makePrimitivesView(const ViewContext& context, QWidget* parent)
{
    const MakeTable make = [](const session::Session& session, const analysis::SpanFilter& filter, std::stop_token stop,
                              const base::Progress& progress) {
        return present::makePrimitiveTable(analysis::primitiveReport(session, filter, stop, progress));
    };
    auto* dock = new ReportDock(
        context, make, QCoreApplication::translate("views", "Every primitive of the backend with its implementation and memory formats."),
        parent);
    dock->table().setLeadingColumns({"median_ns", "share", "flop_per_s", "implementation", "formats"});
    return dock;
}

} // namespace stepscope::views
