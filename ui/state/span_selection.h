// SpanSelection: the single spans behind the frame that was clicked in the flame graph of an imported trace, and what is
// known of the current one, its arguments in the file of the other tool included.
// Owner: ui/state; the Workbench holds it. Thread: UI thread; spans are looked for and files read in jobs.
#pragma once

#include "core/analysis/flame_tree.h"
#include "core/base/error.h"
#include "core/importers/event_text.h"
#include "core/present/span_details.h"
#include "ui/jobs/job_runner.h"

#include <QObject>

#include <memory>
#include <optional>
#include <vector>

namespace stepscope::state {

class Workbench;

// Everything that is shown of one span.
struct SpanReport {
    uint32_t row = 0;
    present::SpanDetails details;
    base::Result<importers::EventText> event; // or why the file tells no more
};

class SpanSelection : public QObject {
    Q_OBJECT
public:
    using TreePtr = std::shared_ptr<const analysis::FlameTree>;
    using ReportPtr = std::shared_ptr<const SpanReport>;

    explicit SpanSelection(Workbench& workbench);

    // The spans of a frame; kNone, or a tree of samples, clears.
    void setNode(TreePtr tree, uint32_t node);
    // Jumps to a span: its frame is asked for by nodeRequested() and it becomes the current span.
    void jumpTo(uint32_t row);
    void clear();

    bool empty() const { return m_rows.empty(); }
    bool busy() const { return m_rowsSlot.busy() || m_reportSlot.busy(); }
    size_t count() const { return m_rows.size(); } // spans of the frame
    size_t current() const { return m_current; }   // 0: the longest
    void setCurrent(size_t index);
    const ReportPtr& report() const { return m_report; } // null until it is made

signals:
    void changed();
    void picked();                     // by the user: a frame with spans was clicked
    void nodeRequested(uint32_t node); // of the tree of setNode(): show it
    void failed(const QString& text);

private:
    void findRows(uint32_t node, std::optional<uint32_t> row);
    void makeReport();

    Workbench& m_workbench;
    TreePtr m_tree;
    std::vector<uint32_t> m_rows;
    size_t m_current = 0;
    ReportPtr m_report;
    jobs::JobSlot m_rowsSlot, m_reportSlot, m_jumpSlot;
};

} // namespace stepscope::state
