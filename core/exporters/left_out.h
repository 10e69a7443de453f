// What a format has no place for, so that nothing is lost in silence.
// Owner: core/exporters. Thread: any; loads the big columns.
#pragma once

#include "core/session/session.h"

#include <string>
#include <string_view>
#include <vector>

namespace stepscope::exporters {

// One sentence with its count for each kind of thing that a file of that exporter does not have. Empty for formats that
// hold everything, and for pictures and benchmark results, which are summaries.
std::vector<std::string> leftOut(const session::Session& session, std::string_view exporter);

} // namespace stepscope::exporters
