// The options by which several commands open a file: a session of ours or a trace of another tool.
// Owner: app/cli. Thread: main.
#pragma once

#include "app/files/open_several.h"

#include <CLI/CLI.hpp>

#include <memory>
#include <string>
#include <vector>

namespace stepscope::cli {

struct InputChoice {
    std::vector<std::string> files;   // several: one session
    std::vector<std::string> offsets; // FILE=TIME
    std::string format; // "" found by content
    std::string member; // of an archive
    std::string stepName; // spans of this name are the steps
    std::vector<double> range; // in seconds since the first event: begin, end
    std::vector<int64_t> steps; // first, last
    importers::ImportOptions options() const;
    // The files with their offsets. Error invalidArgument: an offset that is none, or of no file or several.
    base::Result<std::vector<files::FileChoice>> choices() const;
    std::string name() const; // of the files, for titles
};

// choices() opened as one session.
base::Result<files::Opened> openInput(const InputChoice& choice);

// Adds the files themselves, and --offset. Help pages say `about` of them.
void addInputFiles(CLI::App& parser, InputChoice& choice, const std::string& about);
// Adds --input-format, --member, --load-range, --load-steps and --step-name.
void addInputOptions(CLI::App& parser, InputChoice& choice);

// Tells what else is in the archive, when the user did not choose.
void noteOtherMembers(const files::Opened& opened, const InputChoice& choice);

} // namespace stepscope::cli
