// TemporaryFile: the unpacked bytes of an input as a file, for what reads files only. It is gone with the object.
// Owner: core/importers. Thread: one at a time.
#pragma once

#include "core/base/progress.h"
#include "core/importers/input.h"

#include <filesystem>
#include <stop_token>

namespace stepscope::importers {

class TemporaryFile {
public:
    TemporaryFile() = default;
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    ~TemporaryFile();

    // Once. Progress goes to a quarter. Errors: io, diskFull, cancelled, and those of reading.
    base::Status fill(ByteSource& bytes, const std::stop_token& stop, const base::Progress& progress);
    const std::filesystem::path& path() const { return m_path; } // empty before fill()

private:
    base::Status copy(ByteSource& bytes, int file, const std::stop_token& stop, const base::Progress& progress);

    std::filesystem::path m_path;
};

} // namespace stepscope::importers
