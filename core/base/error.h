// Error: what went wrong, where, and what the user can do about it.
// Owner: core/base. Thread: plain value, any. Units: bytes and 1-based lines/columns.
#pragma once

#include <cstdint>
#include <string>

namespace stepscope::base {

enum class ErrorCode {
    invalidArgument, // a value outside its documented range
    syntax,          // text that cannot be parsed
    notFound,        // a file, name or column that does not exist
    io,              // the operating system refused a read or write
    diskFull,        // no space left while writing
    truncated,       // a file that ends before its own header says
    wrongFormat,     // a file of another kind
    newerVersion,    // written by a newer schema than this program reads
    unsupported,     // understood, but this build or machine cannot do it
    unavailable,     // a device, library or permission is missing
    cancelled,       // stopped on request
    internal,        // a broken invariant of ours
};

// Stable short name of a code, for machine-readable output ("syntax", "disk-full", ...).
const char* codeName(ErrorCode code);

// Place of an error. Unknown parts stay at their defaults and are not printed.
struct Where {
    std::string file;
    int64_t byte = -1; // offset from the start of the file
    int line = 0;      // 1-based
    int column = 0;    // 1-based, in characters
    std::string field; // name of the offending field or column
};

struct Error {
    ErrorCode code = ErrorCode::internal;
    std::string message; // plain English, no trailing full stop needed
    Where where = {};
    std::string hint = {}; // what to do; may be empty
};

// "FILE:LINE:COLUMN: message" (or "FILE: byte N: message"), hint on a second line ("hint: ...").
std::string toText(const Error& error);

} // namespace stepscope::base
