// Exporter: writes a session in another format. One file per format, one line in builtin.cpp.
// Owner: core/exporters. Thread: any; meant for jobs.
#pragma once

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/session/session.h"

#include <filesystem>
#include <span>
#include <stop_token>
#include <string_view>

namespace stepscope::exporters {

struct Exporter {
    std::string_view name;        // as in `stepscope convert --to NAME`: "sqlite"
    std::string_view extension;   // without the dot; chooses the exporter when no name is given
    std::string_view description; // one line for help and dialogs
    // Writes the file; with replace, one that exists is replaced once the new one is complete, else it is an error.
    base::Status (*run)(const session::Session& session, const std::filesystem::path& path, bool replace,
                        std::stop_token stop, const base::Progress& progress);
};

// All exporters, in the order in which they are shown.
std::span<const Exporter> builtinExporters();

// The exporter of that name, or with name "" the one for the extension of the path.
// Error: unsupported, which lists the names that exist.
base::Result<const Exporter*> findExporter(std::string_view name, const std::filesystem::path& path);

} // namespace stepscope::exporters
