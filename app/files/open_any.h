// Opens whatever has measurements in it: a session file of ours, or the file of another tool through its importer.
// Owner: app/files, for the command line and the workbench. Thread: any; meant for jobs.
#pragma once

#include "core/importers/importer.h"
#include "core/session/session.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace stepscope::files {

// One of several files that were opened together.
struct OpenedFile {
    std::filesystem::path path;
    std::string group; // of its tracks and steps
    std::string format, why;
    bool complete = true;
    base::TimeNs shift = 0; // what was added to its times, which count from its own first event
};

struct Opened {
    session::SessionPtr session;
    std::string format; // "stepscope" or the name of an importer
    std::string why;    // how the format was found
    bool complete = true;
    std::optional<importers::ImportProblem> problem; // why reading ended early
    std::vector<OpenedFile> files; // of openSeveral(); empty for one file
};

// By content; options.format overrides ("stepscope" for a session file). Errors as storage::openSession and
// importers::importFile, and unsupported or notFound for a part that the file cannot give.
base::Result<Opened> openAny(const std::filesystem::path& path, const importers::ImportOptions& options = {},
                             std::stop_token stop = {}, const base::Progress& progress = {});

// True for "-", which is standard input, named pipes and sockets: openAny() keeps their bytes in a temporary file while it
// reads them; they can be opened once.
bool isPipe(const std::filesystem::path& path);

// Only the range or the steps that the options choose. Errors besides those of openAny(): unsupported for files that are
// not opened in parts or mark no steps; notFound when nothing lies in the part.
base::Result<session::SessionPtr> openPart(const std::filesystem::path& path, const importers::ImportOptions& part, std::stop_token stop = {},
                                           const base::Progress& progress = {});

// The first part of a large trace, for a picture while the whole is read; nothing for what is read fast enough anyway.
base::Result<session::SessionPtr> openFirstPart(const std::filesystem::path& path, std::stop_token stop = {});

inline constexpr std::string_view kSessionFormat = "stepscope";

} // namespace stepscope::files
