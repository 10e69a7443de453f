// Finds the file that holds the debug information of a stripped program or library.
// Owner: core/recording, internal. Thread: any.
#pragma once

#include "core/recording/elf_file.h"

#include <optional>
#include <string>
#include <vector>

namespace stepscope::recording {

// Looked for, in this order: by build-id in DIRECTORY/.build-id/ab/cdef.debug; by .gnu_debuglink beside the file, in
// .debug beside it and in DIRECTORY/<its folder>. A file of another build (by build-id or checksum) is not taken.
std::optional<ElfFile> findDebugFile(const ElfFile& stripped, const std::vector<std::string>& directories);

// Opens a file of debug information if it belongs to `stripped`.
std::optional<ElfFile> openDebugFile(const ElfFile& stripped, const std::string& path);

} // namespace stepscope::recording
