// LoadEstimate: whether the memory of this machine will bear a file, before it is read.
// Owner: app/files. Thread: any; meant for jobs, as it unpacks the first part of a packed file. Units: bytes.
#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

namespace stepscope::files {

struct LoadEstimate {
    uint64_t unpacked = 0;  // of the file; of a packed one extrapolated from its first part
    uint64_t needed = 0;    // memory for the whole of it, about
    uint64_t available = 0; // memory that is free now, or that the control group still allows
    bool fits() const { return needed <= available / 10 * 9; }
};

// Nothing for session files, whose columns are mapped as they are needed, and for files that cannot be read at all.
std::optional<LoadEstimate> estimateLoad(const std::filesystem::path& path);
// The same as a message; null for a file that fits.
std::optional<base::Error> tooLargeFor(const LoadEstimate& estimate, const std::filesystem::path& path);
// Of files that are opened as one session, together. Null where they fit or nothing is known of any.
std::optional<base::Error> tooLargeFor(const std::vector<std::filesystem::path>& paths);

} // namespace stepscope::files
