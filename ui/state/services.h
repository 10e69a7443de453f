// Services: what the program around the ui provides: files, the training backend and facts about this build.
// Owner: ui/state; filled by app/desktop, or by tests with made-up ones. Thread: every function is called on a worker
// thread unless it says otherwise.
#pragma once

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/engine/backend.h"
#include "core/importers/importer.h"
#include "core/model/model.h"
#include "core/session/session.h"
#include "core/session/session_sink.h"

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace stepscope::state {

struct Services {
    std::function<base::Result<session::SessionPtr>(const std::string& path, std::stop_token, const base::Progress&)> openSession;
    // Several files as one session; all or nothing. May be empty where one file is all that can be opened.
    std::function<base::Result<session::SessionPtr>(const std::vector<std::string>& paths, std::stop_token, const base::Progress&)> openTogether;
    // The first part of a large trace, null for files that need none. May be empty.
    std::function<base::Result<session::SessionPtr>(const std::string& path, std::stop_token)> openFirstPart;
    // Why the memory of this machine will not bear the whole files; null when it will. May be empty.
    std::function<std::optional<base::Error>(const std::vector<std::string>& paths)> tooLarge;
    // Only a range of time or some steps of a trace. May be empty.
    std::function<base::Result<session::SessionPtr>(const std::string& path, const importers::ImportOptions& part, std::stop_token,
                                                    const base::Progress&)>
        openPart;
    std::function<base::Status(const session::Session&, const std::string& path, std::stop_token, const base::Progress&)>
        saveSession;
    // A new session file that a recording streams into.
    std::function<base::Result<std::unique_ptr<session::SessionSink>>(const std::string& path)> createSink;
    std::function<base::Result<std::unique_ptr<engine::Backend>>()> createBackend;
    // Rows about the tool, the machine and the working directory of the model file.
    std::function<std::vector<session::EnvironmentRow>(const model::ModelFile&)> environment;
    std::string version;            // of the program
    std::string samplesDirectory;   // models that come with it; may be empty
    std::string recordingsDirectory; // where unsaved recordings are kept
};

} // namespace stepscope::state
