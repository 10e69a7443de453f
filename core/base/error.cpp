#include "core/base/error.h"

#include <fmt/format.h>

namespace stepscope::base {

const char* codeName(ErrorCode code)
{
    switch (code) {
    case ErrorCode::invalidArgument: return "invalid-argument";
    case ErrorCode::syntax: return "syntax";
    case ErrorCode::notFound: return "not-found";
    case ErrorCode::io: return "io";
    case ErrorCode::diskFull: return "disk-full";
    case ErrorCode::truncated: return "truncated";
    case ErrorCode::wrongFormat: return "wrong-format";
    case ErrorCode::newerVersion: return "newer-version";
    case ErrorCode::unsupported: return "unsupported";
    case ErrorCode::unavailable: return "unavailable";
    case ErrorCode::cancelled: return "cancelled";
    case ErrorCode::internal: return "internal";
    }
    return "internal";
}

std::string toText(const Error& error)
{
    std::string place = error.where.file;
    if (error.where.line > 0) {
        place += fmt::format("{}{}", place.empty() ? "line " : ":", error.where.line);
        if (error.where.column > 0) place += fmt::format(":{}", error.where.column);
    } else if (error.where.byte >= 0) {
        place += fmt::format("{}byte {}", place.empty() ? "" : ": ", error.where.byte);
    }
    std::string text = place.empty() ? error.message : fmt::format("{}: {}", place, error.message);
    if (!error.where.field.empty()) text += fmt::format(" (field '{}')", error.where.field);
    if (!error.hint.empty()) text += fmt::format("\nhint: {}", error.hint);
    return text;
}

} // namespace stepscope::base
