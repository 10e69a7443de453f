// The reports of device work on the command line.
// Owner: app/cli. Thread: main.
#pragma once

#include "core/present/device_sources.h"

#include <string>
#include <vector>

namespace stepscope::cli {

// Names for --by.
std::vector<std::string> deviceReportNames();
// True when --by NAME is a report of device work for this session: "step" is one for traces of other tools alone.
bool isDeviceReport(const std::string& name, const session::Session& session);

std::string deviceReportText(const session::Session& session, const std::string& name, const std::string& file, const std::string& format,
                             const analysis::SpanFilter& filter, int width);

} // namespace stepscope::cli
