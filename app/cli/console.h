// What the commands print, and where.
// Owner: app/cli. Thread: main.
#pragma once

#include "core/base/result.h"

#include <string>
#include <string_view>

namespace stepscope::cli {

bool isTerminal(int descriptor);
// Columns of the terminal; `fallback` when it is none.
int terminalWidth(int descriptor, int fallback);

void printError(const base::Error& error);     // "stepscope: error: ...", on stderr
void printNote(std::string_view text);         // "stepscope: note: ...", on stderr

// Writes text to standard output ("" or "-") or to a file, which appears under its name only when it is complete.
base::Status writeResult(const std::string& path, std::string_view text);

// Without control characters, so that names from a foreign file cannot steer the terminal.
std::string printable(std::string_view text);
// Number of characters of UTF-8 text, taken as one column each.
size_t columns(std::string_view text);

} // namespace stepscope::cli
