// `stepscope report --samples`: stack samples as a tree or a flat table, with the options of Julia's Profile.print.
// Owner: app/cli. Thread: main.
#pragma once

#include "core/analysis/sample_tree.h"
#include "core/base/result.h"

#include <CLI/CLI.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace stepscope::cli {

struct SampleOptions {
    std::string shape; // "tree" or "flat"; "" no report of samples
    std::string series, combine = "line", sortedBy = "fileline", recursion = "off";
    std::vector<std::string> groupBy, threads, phases, layers;
    std::string callersOf, calleesOf;
    bool native = false, fromLeaves = false, outsideSteps = false;
    int32_t maxDepth = -1; // no limit
    int64_t minCount = 0;
    double noiseFloor = 0;
    int width = 0;         // 0: that of the terminal, or 80
    bool wanted() const { return !shape.empty(); }
};

void addSampleOptions(CLI::App& parser, SampleOptions& options);

// The names of threads, phases, layers, functions and series resolved against the session. Errors: invalidArgument,
// with what there is.
base::Result<analysis::SampleFilter> sampleFilter(const session::Session& session, const SampleOptions& options,
                                                  const analysis::SpanFilter& steps);

// In the format text, csv or json.
std::string sampleReport(const analysis::SampleProfile& profile, const SampleOptions& options, const std::string& format, bool toTerminal);

} // namespace stepscope::cli
