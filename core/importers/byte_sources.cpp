// Sources that unpack nothing: files, memory, joined and limited bytes.
#include "core/importers/packing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace stepscope::importers {

namespace {

class FileSource final : public ByteSource {
public:
    FileSource(int file, uint64_t size, std::string path) : m_file(file), m_size(size), m_path(std::move(path)) {}
    ~FileSource() override { ::close(m_file); }
    FileSource(const FileSource&) = delete;
    FileSource& operator=(const FileSource&) = delete;

    base::Result<size_t> read(std::span<char> into) override
    {
        size_t filled = 0;
        while (filled < into.size()) {
            const ssize_t got = ::read(m_file, into.data() + filled, into.size() - filled);
            if (got < 0 && errno == EINTR) continue;
            if (got < 0 && filled == 0)
                return base::fail(base::ErrorCode::io, fmt::format("cannot read the file: {}", std::strerror(errno)),
                                  {m_path, static_cast<int64_t>(m_read)});
            if (got <= 0) break;
            filled += static_cast<size_t>(got);
            m_read += static_cast<uint64_t>(got);
        }
        return filled;
    }

    double fraction() const override
    {
        return m_size == 0 ? 1.0 : std::min(1.0, static_cast<double>(m_read) / static_cast<double>(m_size));
    }

private:
    int m_file;
    uint64_t m_size;
    uint64_t m_read = 0;
    std::string m_path;
};

class MemorySource final : public ByteSource {
public:
    explicit MemorySource(std::shared_ptr<const std::string> bytes) : m_bytes(std::move(bytes)) {}

    base::Result<size_t> read(std::span<char> into) override
    {
        const size_t count = std::min(into.size(), m_bytes->size() - m_read);
        if (count > 0) std::memcpy(into.data(), m_bytes->data() + m_read, count);
        m_read += count;
        return count;
    }

    double fraction() const override
    {
        return m_bytes->empty() ? 1.0 : static_cast<double>(m_read) / static_cast<double>(m_bytes->size());
    }

private:
    std::shared_ptr<const std::string> m_bytes;
    size_t m_read = 0;
};

class JoinedSource final : public ByteSource {
public:
    JoinedSource(std::string head, SourcePtr rest) : m_head(std::move(head)), m_rest(std::move(rest)) {}

    base::Result<size_t> read(std::span<char> into) override
    {
        const size_t count = std::min(into.size(), m_head.size() - m_read);
        if (count > 0) std::memcpy(into.data(), m_head.data() + m_read, count);
        m_read += count;
        if (m_read < m_head.size() || count == into.size()) return count;
        const base::Result<size_t> more = m_rest->read(into.subspan(count));
        if (!more && count > 0) return count; // the error comes with the next call
        return more ? base::Result<size_t>(count + *more) : more;
    }

    double fraction() const override { return m_rest->fraction(); }

private:
    std::string m_head;
    size_t m_read = 0;
    SourcePtr m_rest;
};

class LimitedSource final : public ByteSource {
public:
    LimitedSource(SourcePtr inner, uint64_t limit) : m_inner(std::move(inner)), m_limit(limit) {}

    base::Result<size_t> read(std::span<char> into) override
    {
        if (m_read > m_limit)
            return base::fail(base::ErrorCode::unsupported,
                              fmt::format("the unpacked file has more than {} bytes", m_limit), {},
                              "unpack it and open the result");
        const base::Result<size_t> got = m_inner->read(into);
        if (got) m_read += *got;
        return got;
    }

    double fraction() const override { return m_inner->fraction(); }

private:
    SourcePtr m_inner;
    uint64_t m_limit;
    uint64_t m_read = 0;
};

class FirstPartSource final : public ByteSource {
public:
    FirstPartSource(SourcePtr inner, uint64_t bytes) : m_inner(std::move(inner)), m_left(bytes) {}

    base::Result<size_t> read(std::span<char> into) override
    {
        const base::Result<size_t> got = m_inner->read(into.first(static_cast<size_t>(std::min<uint64_t>(into.size(), m_left))));
        if (got) m_left -= *got;
        return got;
    }

    double fraction() const override { return m_inner->fraction(); }

private:
    SourcePtr m_inner;
    uint64_t m_left;
};

} // namespace

base::Result<SourcePtr> openFileSource(const std::filesystem::path& path)
{
    const std::string name = path.string();
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored))
        return base::fail(base::ErrorCode::io, "this is a folder, not a file", {name});
    const int file = ::open(name.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        const bool missing = errno == ENOENT || errno == ENOTDIR;
        return base::fail(missing ? base::ErrorCode::notFound : base::ErrorCode::io,
                          fmt::format("cannot open the file: {}", std::strerror(errno)), {name},
                          missing ? "check the path" : "");
    }
    struct stat status = {};
    const bool sized = ::fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    ::posix_fadvise(file, 0, 0, POSIX_FADV_SEQUENTIAL); // advice only
    return std::make_unique<FileSource>(file, sized ? static_cast<uint64_t>(status.st_size) : 0, name);
}

SourcePtr memorySource(std::shared_ptr<const std::string> bytes)
{
    return std::make_unique<MemorySource>(std::move(bytes));
}

SourcePtr joinedSource(std::string head, SourcePtr rest)
{
    return std::make_unique<JoinedSource>(std::move(head), std::move(rest));
}

SourcePtr limitedSource(SourcePtr inner, uint64_t limit)
{
    return std::make_unique<LimitedSource>(std::move(inner), limit);
}

SourcePtr firstPartSource(SourcePtr inner, uint64_t bytes)
{
    return std::make_unique<FirstPartSource>(std::move(inner), bytes);
}

} // namespace stepscope::importers
