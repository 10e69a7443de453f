#include "app/cli/exit_code.h"

namespace stepscope::cli {

ExitCode exitCodeOf(const base::Error& error, Stage stage)
{
    using base::ErrorCode;
    switch (error.code) {
    case ErrorCode::unavailable: return kUnavailable;
    case ErrorCode::cancelled: return kInterrupted;
    case ErrorCode::internal:
    case ErrorCode::diskFull: return kFailed;
    default: break;
    }
    if (stage == Stage::writing) return kFailed;
    if (stage == Stage::running && error.code == ErrorCode::io) return kFailed;
    // A value that stands in no file was given as an option.
    if (error.code == ErrorCode::invalidArgument && error.where.file.empty()) return kUsage;
    return kBadInput;
}

} // namespace stepscope::cli
