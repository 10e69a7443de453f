#include "ui/state/span_selection.h"

#include "core/analysis/span_nodes.h"
#include "ui/state/workbench.h"

#include <algorithm>

namespace stepscope::state {

SpanSelection::SpanSelection(Workbench& workbench)
    : m_workbench(workbench)
{
    connect(&m_workbench, &Workbench::sessionChanged, this, &SpanSelection::clear);
}

void SpanSelection::clear()
{
    m_rowsSlot.cancel();
    m_reportSlot.cancel();
    m_jumpSlot.cancel();
    m_tree.reset();
    m_rows.clear();
    m_current = 0;
    m_report.reset();
    emit changed();
}

void SpanSelection::setNode(TreePtr tree, uint32_t node)
{
    if (tree == nullptr || tree->ofSamples || node >= tree->nodes.size() || !tree->node(node).label.valid()) {
        if (!m_rows.empty() || m_rowsSlot.busy()) clear();
        return;
    }
    m_tree = std::move(tree);
    findRows(node, {});
    emit picked();
}

void SpanSelection::findRows(uint32_t node, std::optional<uint32_t> row)
{
    using Rows = std::vector<uint32_t>;
    m_reportSlot.cancel();
    m_workbench.jobs().start<Rows>(
        m_rowsSlot, QString(),
        [tree = m_tree, node](std::stop_token stop, const base::Progress&) -> base::Result<Rows> { return analysis::spansOfNode(*tree, node, stop); },
        [this, row](base::Result<Rows> rows) {
            m_rows = rows ? std::move(*rows) : Rows();
            const auto at = row ? std::find(m_rows.begin(), m_rows.end(), *row) : m_rows.begin();
            m_current = at == m_rows.end() ? 0 : static_cast<size_t>(at - m_rows.begin());
            m_report.reset();
            makeReport();
        });
    emit changed();
}

void SpanSelection::setCurrent(size_t index)
{
    if (index >= m_rows.size() || index == m_current) return;
    m_current = index;
    makeReport();
}

// The last report stays until the next one is there.
void SpanSelection::makeReport()
{
    if (m_current >= m_rows.size()) {
        emit changed();
        return;
    }
    m_workbench.jobs().start<ReportPtr>(
        m_reportSlot, QString(),
        [session = m_tree->session, row = m_rows[m_current]](std::stop_token stop, const base::Progress& progress) -> base::Result<ReportPtr> {
            return std::make_shared<const SpanReport>(
                SpanReport{row, present::spanDetails(*session, row, stop), importers::readEvent(*session, row, stop, progress)});
        },
        [this](base::Result<ReportPtr> report) {
            m_report = report ? *report : nullptr;
            emit changed();
        });
    emit changed();
}

void SpanSelection::jumpTo(uint32_t row)
{
    if (m_tree == nullptr) return;
    m_workbench.jobs().start<uint32_t>(
        m_jumpSlot, QString(),
        [tree = m_tree, row](std::stop_token, const base::Progress&) -> base::Result<uint32_t> { return analysis::nodeOfSpan(*tree, row); },
        [this, row](base::Result<uint32_t> node) {
            if (!node || *node == analysis::FlameNode::kNone) {
                emit failed(tr("This span is not in the flame graph: it lies outside of the steps that are shown."));
                return;
            }
            findRows(*node, row);
            emit nodeRequested(*node);
        });
}

} // namespace stepscope::state
