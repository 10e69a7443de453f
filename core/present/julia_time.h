// The line that Julia's @time prints, format for format (JuliaLang/julia base/timing.jl), and Julia's way to write bytes.
// Owner: core/present. Thread: any; pure functions. Units: ns, bytes.
#pragma once

#include "core/base/time_ns.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace stepscope::present {

struct JuliaTime {
    double elapsed = 0;        // ns
    int64_t bytes = 0;
    int64_t allocations = 0;
    double collection = 0;     // ns; Julia: of the garbage collector
    int64_t lockConflicts = 0;
    double compilation = 0;    // ns
    double recompilation = 0;  // ns, part of compilation
};
// What stands in the place of Julia's words.
struct JuliaTimeWords {
    std::string_view collection = "gc time";
    std::string_view compilation = "compilation time";
};

// "  0.001234 seconds (10 allocations: 2.500 KiB)". With a label the number is not padded: "cold: 0.038000 seconds (...)".
std::string juliaTimeText(const JuliaTime& time, std::string_view label = {}, const JuliaTimeWords& words = {});
// "1 byte", "1024 bytes", "9.766 KiB": the unit changes above 1024.
std::string juliaBytesText(int64_t bytes);

} // namespace stepscope::present
