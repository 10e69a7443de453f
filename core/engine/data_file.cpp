#include "core/engine/data_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <sys/stat.h>
#include <zlib.h>

namespace stepscope::engine {

using base::ErrorCode;
using base::fail;

struct DataFile::Handle {
    gzFile file = nullptr;
    ~Handle()
    {
        if (file != nullptr) gzclose(file);
    }
};

namespace {

// Deflate stores 258 bytes in two bits at best.
constexpr int64_t kLargestRatio = 1032;
constexpr int64_t kChunk = int64_t{1} << 20;

std::string systemMessage(int code) { return std::generic_category().message(code); }

} // namespace

DataFile::DataFile(std::string path, int64_t fileSize, std::unique_ptr<Handle> handle)
    : m_path(std::move(path)),
      m_fileSize(fileSize),
      m_handle(std::move(handle))
{
    m_compressed = gzdirect(m_handle->file) == 0;
}

DataFile::DataFile(DataFile&&) noexcept = default;
DataFile& DataFile::operator=(DataFile&&) noexcept = default;
DataFile::~DataFile() = default;

base::Result<DataFile> DataFile::open(const std::string& path, const std::string& missingHint)
{
    struct stat info = {};
    if (::stat(path.c_str(), &info) != 0) {
        const int code = errno;
        if (code == ENOENT || code == ENOTDIR)
            return fail(ErrorCode::notFound, "the data file does not exist", {path}, missingHint);
        return fail(ErrorCode::io, fmt::format("cannot read the data file: {}", systemMessage(code)), {path});
    }
    if (!S_ISREG(info.st_mode)) {
        return fail(ErrorCode::wrongFormat,
                    S_ISDIR(info.st_mode) ? "is a folder, expected a data file" : "is not a regular file", {path});
    }
    errno = 0;
    auto handle = std::make_unique<Handle>();
    handle->file = gzopen(path.c_str(), "rbe");
    if (handle->file == nullptr) {
        return fail(ErrorCode::io,
                    fmt::format("cannot open the data file: {}", systemMessage(errno == 0 ? ENOMEM : errno)), {path});
    }
    gzbuffer(handle->file, 256 * 1024);
    return DataFile(path, info.st_size, std::move(handle));
}

int64_t DataFile::largestContent() const { return m_compressed ? m_fileSize * kLargestRatio : m_fileSize; }

base::Result<int64_t> DataFile::read(void* out, int64_t n, std::stop_token stop)
{
    int64_t done = 0;
    while (done < n) {
        if (stop.stop_requested()) return fail(ErrorCode::cancelled, "stopped while reading data", {m_path});
        const auto wanted = static_cast<unsigned>(std::min(kChunk, n - done));
        const int got = gzread(m_handle->file, static_cast<char*>(out) + done, wanted);
        if (got > 0) {
            done += got;
            m_position += got;
            continue;
        }
        int code = Z_OK;
        const char* text = gzerror(m_handle->file, &code);
        if (got == 0 && code != Z_BUF_ERROR) break; // the end
        if (code == Z_BUF_ERROR) {
            return fail(ErrorCode::truncated,
                        fmt::format("the gzip file is cut short: its {} bytes hold only {} bytes of content",
                                    m_fileSize, m_position),
                        {m_path, m_fileSize}, "copy or download the file again");
        }
        if (code == Z_ERRNO)
            return fail(ErrorCode::io, fmt::format("cannot read: {}", systemMessage(errno)), {m_path, m_position});
        return fail(ErrorCode::wrongFormat,
                    fmt::format("damaged gzip data after {} bytes of content ({})", m_position, text), {m_path},
                    "copy or download the file again");
    }
    return done;
}

} // namespace stepscope::engine
