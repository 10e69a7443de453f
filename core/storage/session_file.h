// Opens and saves session files.
// Owner: core/storage. Thread: any; meant for jobs. Units: ns.
#pragma once

#include "core/base/progress.h"
#include "core/session/session.h"
#include "core/storage/file_place.h"

#include <filesystem>
#include <stop_token>

namespace stepscope::storage {

// Reads the small tables at once and the columns when the session is first asked for them; the file stays open
// until then. A file that is not complete (cut short, or still being recorded by another program) is read whole at
// once. What is damaged or missing is left out and counted in quality: "cut-short", "still-recording",
// "truncated-file", "damaged-chunk", "damaged-table", "unusable-spans".
// Errors: notFound, io, wrongFormat (says what the file is, if known), newerVersion, truncated, cancelled.
base::Result<session::SessionPtr> openSession(const std::filesystem::path& path, std::stop_token stop = {},
                                              const base::Progress& progress = {});

// Writes a session of any origin. The file appears under its name only when it is complete; on failure an existing
// file of that name is untouched.
base::Status saveSession(const session::Session& session, const std::filesystem::path& path,
                         Existing existing = Existing::backup, std::stop_token stop = {},
                         const base::Progress& progress = {});

// True when the file begins like a session file (an SQLite database with our application id). For sniffing.
bool isSessionFile(const std::filesystem::path& path);

} // namespace stepscope::storage
