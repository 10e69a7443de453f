// The grammar of `perf script` output, line by line.
// Owner: core/importers. Thread: any; pure functions. Units: ns.
#pragma once

#include "core/base/time_ns.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace stepscope::importers::perf {

// "V8 Worker 3 4021/4055 [003]   100.000100:     250000 cycles:u: REST". The thread's name may hold anything, so the
// line is read outwards from the time stamp.
struct Header {
    std::string_view comm;
    int64_t pid = 0; // 0 when only the thread's number is given
    int64_t tid = 0;
    bool timed = false;
    base::TimeNs time = 0;
    std::optional<int64_t> period;
    std::string_view event; // "" when it is not printed
    std::string_view rest;  // behind the event: fields of a tracepoint, or the only frame
};
std::optional<Header> parseHeader(std::string_view line);

// "  7f10 brk+0x1b (/lib/libc.so)": `function` without the offset; `module` "" when it is not printed.
struct Frame {
    uint64_t address = 0;
    std::string_view function, module;
    bool inlined = false; // "(inlined)" stands where the module should
};
std::optional<Frame> parseFrame(std::string_view line);

// "  a.cpp:12", which says where the frame on the line before is.
struct Place {
    std::string_view file;
    int32_t line = 0;
};
std::optional<Place> parsePlace(std::string_view line);

// session::FrameFlag bits that the names tell.
uint32_t frameFlags(const Frame& frame);

} // namespace stepscope::importers::perf
