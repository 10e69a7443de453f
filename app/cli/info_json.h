// `stepscope info FILE --format json`: a session or a trace in numbers, for scripts and for comparing with other tools.
// Owner: app/cli. Thread: main. resources/help/command-line.md documents the members.
#pragma once

#include "app/files/open_any.h"

#include <string>

namespace stepscope::cli {

std::string infoJson(const files::Opened& opened, const std::string& file);

} // namespace stepscope::cli
