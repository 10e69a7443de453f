// DataFile: a data file read from front to back, gzip-compressed or plain (told apart by its content).
// Owner: core/engine. Thread: one. Units: bytes of the uncompressed content.
#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

namespace stepscope::engine {

class DataFile {
public:
    // A missing, unreadable or irregular file is an Error with path and `missingHint`.
    static base::Result<DataFile> open(const std::string& path, const std::string& missingHint = {});
    DataFile(DataFile&&) noexcept;
    DataFile& operator=(DataFile&&) noexcept;
    ~DataFile();

    // Reads up to n bytes; fewer only at the end of the content. A cut or damaged gzip stream is an Error.
    base::Result<int64_t> read(void* out, int64_t n, std::stop_token stop = {});
    const std::string& path() const { return m_path; }
    int64_t position() const { return m_position; }
    // The most content the file can hold: its size, or what gzip can make of it. Guards allocations against headers
    // that promise more.
    int64_t largestContent() const;
    bool compressed() const { return m_compressed; }
    int64_t fileSize() const { return m_fileSize; }

private:
    struct Handle;
    DataFile(std::string path, int64_t fileSize, std::unique_ptr<Handle> handle);

    std::string m_path;
    int64_t m_fileSize = 0;
    int64_t m_position = 0;
    bool m_compressed = false;
    std::unique_ptr<Handle> m_handle;
};

} // namespace stepscope::engine
