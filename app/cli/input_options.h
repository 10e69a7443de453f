// The options by which several commands open a file: a session of ours or a trace of another tool.
// Owner: app/cli. Thread: main.
#pragma once

#include "app/files/open_any.h"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>

namespace stepscope::cli {

struct InputChoice {
    std::string format; // "" found by content
    std::string member; // of an archive
    importers::ImportOptions options() const;
};

// Adds --input-format and --member.
void addInputOptions(CLI::App& parser, InputChoice& choice);

} // namespace stepscope::cli
