// ReportDock: the part that the table views share: makes the table in a job whenever the session or the filter
// changes, and follows the selected layer.
// Owner: ui/views. Thread: UI thread; `make` runs on a worker.
#pragma once

#include "core/analysis/span_filter.h"
#include "ui/models/report_table.h"
#include "ui/views/view.h"

#include <functional>
#include <memory>

namespace stepscope::present {
class TableSource;
}

namespace stepscope::views {

using MakeTable = std::function<std::unique_ptr<present::TableSource>(
    const session::Session& session, const analysis::SpanFilter& filter, std::stop_token stop, const base::Progress& progress)>;

class ReportDock : public QWidget {
    Q_OBJECT
public:
    // The empty text says what the table will show.
    ReportDock(const ViewContext& context, MakeTable make, const QString& emptyText, QWidget* parent);
    models::ReportTable& table() { return *m_table; }

private:
    void rebuild();

    state::Workbench& m_workbench;
    MakeTable m_make;
    models::ReportTable* m_table = nullptr;
    jobs::JobSlot m_job;
    QString m_emptyText;
};

} // namespace stepscope::views
