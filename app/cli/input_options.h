// The options by which several commands open a file: a session of ours or a trace of another tool.
// Owner: app/cli. Thread: main.
#pragma once

#include "app/files/open_any.h"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

namespace stepscope::cli {

struct InputChoice {
    std::string format; // "" found by content
    std::string member; // of an archive
    std::string stepName; // spans of this name are the steps
    std::vector<double> range; // in seconds since the first event: begin, end
    std::vector<int64_t> steps; // first, last
    importers::ImportOptions options() const;
};

// Adds --input-format, --member, --load-range, --load-steps and --step-name.
void addInputOptions(CLI::App& parser, InputChoice& choice);

// Tells what else is in the archive, when the user did not choose.
void noteOtherMembers(const files::Opened& opened, const InputChoice& choice);

} // namespace stepscope::cli
