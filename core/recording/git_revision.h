// The git revision of a directory, read from the files of .git without running git.
// Owner: core/recording. Thread: any; reads files.
#pragma once

#include <filesystem>
#include <string>

namespace stepscope::recording {

// The commit that is checked out in the work tree around `directory`, in hex; "" outside a work tree, before the
// first commit, or when the files of .git cannot be read. Understands linked work trees and packed references.
std::string gitRevision(const std::filesystem::path& directory);

// Whether tracked files differ from that commit: "clean", "modified", or "unknown" when git is not installed or does
// not answer within two seconds.
std::string gitState(const std::filesystem::path& directory);

} // namespace stepscope::recording
