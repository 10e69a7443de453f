#include "core/exporters/output_file.h"

#include "core/storage/file_place.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <zlib.h>

namespace stepscope::exporters {

namespace {

constexpr size_t kBuffer = size_t{1} << 20;

} // namespace

OutputFile::OutputFile(const std::filesystem::path& path, bool gzip) : m_path(path)
{
    m_file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (m_file < 0) {
        fail(std::strerror(errno));
        return;
    }
    if (!gzip) return;
    m_gzip = ::gzdopen(m_file, "wb6");
    if (m_gzip == nullptr) fail("no memory for packing");
    else m_file = -1; // gzclose() closes it
}

OutputFile::~OutputFile()
{
    if (m_gzip != nullptr) ::gzclose(static_cast<gzFile>(m_gzip));
    if (m_file >= 0) ::close(m_file);
}

void OutputFile::fail(std::string what)
{
    if (m_failed) return;
    m_failed = true;
    m_message = std::move(what);
    m_diskFull = errno == ENOSPC || errno == EDQUOT;
}

void OutputFile::write(std::string_view text)
{
    if (m_failed) return;
    m_buffer += text;
    if (m_buffer.size() >= kBuffer) flush();
}

void OutputFile::flush()
{
    for (size_t at = 0; at < m_buffer.size() && !m_failed;) {
        const size_t size = std::min(m_buffer.size() - at, size_t{1} << 30);
        const ssize_t written = m_gzip != nullptr
            ? ::gzwrite(static_cast<gzFile>(m_gzip), m_buffer.data() + at, static_cast<unsigned>(size))
            : ::write(m_file, m_buffer.data() + at, size);
        if (written > 0) at += static_cast<size_t>(written);
        else if (errno != EINTR) fail(std::strerror(errno));
    }
    m_buffer.clear();
}

base::Status OutputFile::close()
{
    flush();
    if (m_gzip != nullptr && ::gzclose(static_cast<gzFile>(m_gzip)) != Z_OK) fail(std::strerror(errno));
    m_gzip = nullptr;
    if (m_file >= 0 && ::close(m_file) != 0) fail(std::strerror(errno));
    m_file = -1;
    if (!m_failed) return {};
    return base::fail(m_diskFull ? base::ErrorCode::diskFull : base::ErrorCode::io,
                      fmt::format("cannot write the file: {}", m_message), {.file = m_path.string()});
}

base::Status writeOutput(const std::filesystem::path& path, bool replace,
                         const std::function<base::Status(OutputFile&)>& write)
{
    const bool gzip = path.extension() == ".gz" || path.extension() == ".GZ";
    return storage::writeThenRename(path, replace ? storage::Existing::replace : storage::Existing::refuse,
                                    [&](const std::filesystem::path& part) -> base::Status {
                                        OutputFile file(part, gzip);
                                        base::Status written = write(file);
                                        base::Status closed = file.close();
                                        return written ? closed : written;
                                    });
}

base::Status cancelled() { return base::fail(base::ErrorCode::cancelled, "cancelled"); }

void appendJson(std::string_view text, std::string& out)
{
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            out += fmt::format("\\u{:04x}", static_cast<unsigned>(static_cast<unsigned char>(c)));
        } else {
            out += c;
        }
    }
}

std::string jsonString(std::string_view text)
{
    std::string out = "\"";
    appendJson(text, out);
    return out + '"';
}

std::string microseconds(int64_t nanoseconds)
{
    const bool negative = nanoseconds < 0;
    const uint64_t size = negative ? 0 - static_cast<uint64_t>(nanoseconds) : static_cast<uint64_t>(nanoseconds);
    return fmt::format("{}{}.{:03}", negative ? "-" : "", size / 1000, size % 1000);
}

} // namespace stepscope::exporters
