// Makes room for a file that is about to be written.
// Owner: core/storage. Thread: any.
#pragma once

#include "core/base/result.h"

#include <filesystem>
#include <functional>

namespace stepscope::storage {

// What happens to a file that already has the name of the new one.
enum class Existing {
    refuse,  // an error
    backup,  // it is renamed to NAME~; an older NAME~ is replaced
    replace, // it is deleted
};

// Checks that the directory exists and clears the place as asked, together with the old file's journal. A session
// that is being recorded at this moment is never touched: that is the error "unavailable".
base::Status clearPlace(const std::filesystem::path& path, Existing existing);

// Calls write(NAME.part) and gives the result its name when that succeeded; on failure the part is deleted and an
// existing file stays as it was. A link is written through, and a replaced file hands on its mode.
base::Status writeThenRename(const std::filesystem::path& path, Existing existing,
                             const std::function<base::Status(const std::filesystem::path&)>& write);

// Where a write to `path` ends up: the target of a link, which need not exist, else the path itself.
std::filesystem::path behindLinks(const std::filesystem::path& path);

// What a backup of this file is called: NAME~.
std::filesystem::path backupName(const std::filesystem::path& path);

} // namespace stepscope::storage
