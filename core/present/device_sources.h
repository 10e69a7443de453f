// The reports of device work as tables; the command line and the workbench show the same ones.
// Owner: core/present. Thread: immutable after construction, any. They own what they show.
//
// Keys of columns, and their units where the key ends in none, are those of the files that people compare with: times
// of the PyTorch profiler's plugin and of HolisticTraceAnalysis are in microseconds, rates in GB/s.
#pragma once

#include "core/analysis/critical_path.h"
#include "core/analysis/device_reports.h"
#include "core/present/table_source.h"

#include <memory>
#include <span>
#include <string>
#include <vector>

namespace stepscope::present {

std::unique_ptr<TableSource> makeStepBreakdownTable(const analysis::StepBreakdown& report); // ends with the average
std::unique_ptr<TableSource> makeDeviceTable(const std::vector<analysis::DeviceTimeRow>& rows);
std::unique_ptr<TableSource> makeOverlapTable(const std::vector<analysis::OverlapRow>& rows);
std::unique_ptr<TableSource> makeIdleTable(const std::vector<analysis::IdleRow>& rows);
std::unique_ptr<TableSource> makeKernelTable(const std::vector<analysis::KernelRow>& rows);
std::unique_ptr<TableSource> makeOperatorTable(const std::vector<analysis::OperatorRow>& rows);
std::unique_ptr<TableSource> makeLaunchTable(const analysis::LaunchReport& report);
std::unique_ptr<TableSource> makeQueueTable(const std::vector<analysis::QueueRow>& rows);
std::unique_ptr<TableSource> makePathTable(const std::vector<analysis::PathShare>& rows);
std::unique_ptr<TableSource> makeCopyTable(const std::vector<analysis::CopyRow>& rows);

// A report by the name under which command line and workbench know it.
struct DeviceReportKind {
    const char* name;        // "kernel"
    const char* title;       // "Kernels"
    const char* description; // what the table shows, a sentence
    std::vector<std::string> textColumns; // most important first, for narrow text
};
std::span<const DeviceReportKind> deviceReportKinds();

struct DeviceReport {
    std::unique_ptr<TableSource> table;
    std::vector<std::string> notes; // sentences to show with it
    int64_t steps = 0;              // that were looked at
};
// Null table for a name that deviceReportKinds() does not have, and when stopped.
DeviceReport makeDeviceReport(std::string_view name, const session::Session& session, const analysis::DeviceOptions& options = {},
                              std::stop_token stop = {});

} // namespace stepscope::present
