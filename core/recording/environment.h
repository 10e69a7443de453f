// What a recording should remember about the machine, the program and the code under test.
// Owner: core/recording. Thread: any; reads files in /proc and /sys and may run git for up to two seconds.
// Neither the name of the machine nor of the user is recorded: sessions are meant to be passed on.
#pragma once

#include "core/session/types.h"

#include <filesystem>
#include <vector>

namespace stepscope::recording {

// Keys: "tool.version", "tool.compiler", "os.kernel", "cpu.model", "cpu.cores" (this process may use), "cpu.isa",
// "cpu.governor", "memory.bytes", "memory.hugepages", "clock", "perf_event_paranoid", "env.NAME" for variables that
// steer OpenMP and oneDNN, "git.revision" and "git.state" of `directory`, "start" (UTC, ISO 8601). A fact that
// cannot be read is left out.
std::vector<session::EnvironmentRow> collectEnvironment(const std::filesystem::path& directory = ".");

} // namespace stepscope::recording
