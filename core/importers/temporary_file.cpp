#include "core/importers/temporary_file.h"

#include <cerrno>
#include <string>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

namespace stepscope::importers {

TemporaryFile::~TemporaryFile()
{
    if (!m_path.empty()) ::unlink(m_path.c_str());
}

base::Status TemporaryFile::fill(ByteSource& bytes, const std::stop_token& stop, const base::Progress& progress)
{
    std::error_code failed;
    std::filesystem::path folder = std::filesystem::temp_directory_path(failed);
    if (failed) folder = "/tmp";
    std::string name = (folder / "stepscope-import-XXXXXX").string();
    const int file = ::mkostemp(name.data(), O_CLOEXEC);
    if (file < 0)
        return base::fail(base::ErrorCode::io, "no file for the unpacked data can be made", {.file = folder.string()},
                          "free some space there, or set TMPDIR");
    m_path = name;
    const base::Status copied = copy(bytes, file, stop, progress);
    ::close(file);
    return copied;
}

base::Status TemporaryFile::copy(ByteSource& bytes, int file, const std::stop_token& stop, const base::Progress& progress)
{
    std::vector<char> buffer(size_t{1} << 20);
    for (;;) {
        if (stop.stop_requested()) return base::fail(base::ErrorCode::cancelled, "stopped");
        const base::Result<size_t> got = bytes.read(buffer);
        if (!got) return base::fail(got.error());
        if (*got == 0) return {};
        for (size_t done = 0; done < *got;) {
            const ssize_t wrote = ::write(file, buffer.data() + done, *got - done);
            if (wrote < 0 && errno == EINTR) continue;
            if (wrote <= 0)
                return base::fail(base::ErrorCode::diskFull, "there is no room for the unpacked data",
                                  {.file = m_path.string()}, "free some space there, or set TMPDIR to another folder");
            done += static_cast<size_t>(wrote);
        }
        if (progress) progress(bytes.fraction() / 4, "unpacking");
    }
}

} // namespace stepscope::importers
