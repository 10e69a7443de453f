// Exit codes of the command line. resources/help/command-line.md documents them.
// Owner: app/cli.
#pragma once

#include "core/base/error.h"

namespace stepscope::cli {

enum ExitCode : int {
    kOk = 0,
    kFailed = 1,      // the run or the writing of a result failed
    kUsage = 2,       // wrong arguments
    kBadInput = 3,    // a model, data or session file is missing, damaged, of another kind or too new
    kUnavailable = 4, // this machine or build cannot do it: the backend refused, a device is missing
    kInterrupted = 130,
};

enum class Stage { reading, running, writing };

ExitCode exitCodeOf(const base::Error& error, Stage stage);

} // namespace stepscope::cli
