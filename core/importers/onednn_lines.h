// The grammar of oneDNN's verbose lines.
// Owner: core/importers. Thread: any; pure functions. Units: ns.
#pragma once

#include "core/base/time_ns.h"

#include <optional>
#include <string_view>
#include <vector>

namespace stepscope::importers::onednn {

enum class LineKind {
    other,   // of the program
    info,    // "info,oneDNN v3.7.0 (commit ...)": `text`
    message, // checks and errors of the library: `text`
    execution,
    creation,
    nested, // a creation within another one
    bad,    // a line of the library that is torn or cut
};

struct Line {
    LineKind kind = LineKind::other;
    std::string_view text;
    std::optional<base::TimeNs> start; // of the stamp, in ns since 1970
    base::TimeNs duration = 0;
    std::string_view engine, primitive, implementation, propagation, memory, attributes, auxiliary, problem;
};

Line parseLine(std::string_view line);

} // namespace stepscope::importers::onednn
