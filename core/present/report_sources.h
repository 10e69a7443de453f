// The reports of core/analysis as tables; the command line and the workbench show the same ones.
// Owner: core/present. Thread: immutable after construction, any. They own a copy of the report.
#pragma once

#include "core/analysis/reports.h"
#include "core/analysis/span_report.h"
#include "core/present/table_source.h"

#include <memory>

namespace stepscope::present {

std::unique_ptr<TableSource> makeSpanTable(analysis::SpanReport report);
std::unique_ptr<TableSource> makePhaseTable(analysis::PhaseReport report);
// Containers are left out unless asked for: then rows form a tree by indent() and include their children.
std::unique_ptr<TableSource> makeLayerTable(analysis::LayerReport report, bool containers = false);
std::unique_ptr<TableSource> makePrimitiveTable(analysis::PrimitiveReport report);
std::unique_ptr<TableSource> makeStepTable(analysis::StepReport report);

// Lines for a header or status bar: "120 steps: median 1.234 ms, p99 1.5 ms, min ..., 5 warm-up steps left out, 3 disturbed".
std::string stepSummaryText(const analysis::StepStatistics& steps);

} // namespace stepscope::present
