// Members of zip and tar files, through libarchive. Nothing is written to disk, so names are only compared.
#include "core/importers/packing.h"

#include <archive.h>
#include <archive_entry.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

namespace stepscope::importers {

namespace {

constexpr size_t kBlockBytes = size_t{256} << 10;
constexpr int kMaxHeaders = 100000; // an archive of empty names would go on for long

class ArchiveReader {
public:
    explicit ArchiveReader(SourcePtr inner) : m_inner(std::move(inner)), m_block(kBlockBytes), m_archive(archive_read_new()) {}
    ~ArchiveReader()
    {
        if (m_archive != nullptr) archive_read_free(m_archive);
    }
    ArchiveReader(const ArchiveReader&) = delete;
    ArchiveReader& operator=(const ArchiveReader&) = delete;

    base::Status open()
    {
        if (m_archive == nullptr) return base::fail(base::ErrorCode::io, "no memory for unpacking");
        archive_read_support_format_zip_streamable(m_archive);
        archive_read_support_format_tar(m_archive);
        if (archive_read_open(m_archive, this, nullptr, &ArchiveReader::readBlock, nullptr) != ARCHIVE_OK)
            return base::fail(damage());
        return {};
    }

    // False at the end. Directories, links and the like are passed over.
    base::Result<bool> next(ArchiveMember& member)
    {
        while (m_headers++ < kMaxHeaders) {
            archive_entry* entry = nullptr;
            const int result = archive_read_next_header(m_archive, &entry);
            if (result == ARCHIVE_EOF) return false;
            if (result != ARCHIVE_OK && result != ARCHIVE_WARN) return base::fail(damage());
            if (archive_entry_filetype(entry) != AE_IFREG) continue;
            const char* name = archive_entry_pathname_utf8(entry);
            if (name == nullptr) name = archive_entry_pathname(entry);
            if (name == nullptr) continue;
            member = {name, archive_entry_size_is_set(entry) != 0 ? archive_entry_size(entry) : -1};
            return true;
        }
        return false;
    }

    // Not archive_read_data(), which loses what it has copied when a later block is missing.
    base::Result<size_t> readData(std::span<char> into)
    {
        while (m_blockNext == m_blockEnd) {
            const void* block = nullptr;
            size_t size = 0;
            la_int64_t at = 0;
            const int result = archive_read_data_block(m_archive, &block, &size, &at);
            if (result == ARCHIVE_EOF) return size_t{0};
            if (result != ARCHIVE_OK && result != ARCHIVE_WARN) return base::fail(damage());
            m_blockNext = static_cast<const char*>(block);
            m_blockEnd = m_blockNext + size;
            m_hole = at > m_written ? at - m_written : 0; // of a sparse file
            if (size == 0 && m_hole == 0 && ++m_emptyBlocks > kMaxHeaders) return size_t{0};
            if (m_hole > 0) break;
        }
        size_t count = 0;
        if (m_hole > 0) {
            count = static_cast<size_t>(std::min<la_int64_t>(m_hole, static_cast<la_int64_t>(into.size())));
            std::fill_n(into.data(), count, '\0');
            m_hole -= static_cast<la_int64_t>(count);
        } else {
            count = std::min(into.size(), static_cast<size_t>(m_blockEnd - m_blockNext));
            std::copy_n(m_blockNext, count, into.data());
            m_blockNext += count;
        }
        m_written += static_cast<la_int64_t>(count);
        return count;
    }

    double fraction() const { return m_inner->fraction(); }

private:
    static la_ssize_t readBlock(archive* owner, void* self, const void** block)
    {
        auto* reader = static_cast<ArchiveReader*>(self);
        const base::Result<size_t> got = reader->m_inner->read(reader->m_block);
        *block = reader->m_block.data();
        if (got) return static_cast<la_ssize_t>(*got);
        reader->m_error = got.error();
        archive_set_error(owner, EIO, "%s", got.error().message.c_str());
        return -1;
    }

    base::Error damage() const
    {
        if (m_error) return *m_error;
        const char* text = archive_error_string(m_archive);
        const char* format = archive_format_name(m_archive);
        const bool zip = format != nullptr && std::string_view(format).substr(0, 3) == "ZIP";
        const std::string message = fmt::format("the archive is damaged: {}", text != nullptr ? text : "no reason given");
        const bool cut = message.find("runcated") != std::string::npos;
        return {cut ? base::ErrorCode::truncated : base::ErrorCode::wrongFormat,
                message,
                {"", archive_filter_bytes(m_archive, 0), 0, 0, zip ? "zip" : "tar"},
                ""};
    }

    SourcePtr m_inner;
    std::vector<char> m_block;
    archive* m_archive;
    std::optional<base::Error> m_error;
    int m_headers = 0;
    const char* m_blockNext = nullptr; // of the current member
    const char* m_blockEnd = nullptr;
    la_int64_t m_hole = 0;    // zeros before the block
    la_int64_t m_written = 0; // bytes of the member so far
    int m_emptyBlocks = 0;
};

class MemberSource final : public ByteSource {
public:
    explicit MemberSource(std::unique_ptr<ArchiveReader> reader) : m_reader(std::move(reader)) {}

    base::Result<size_t> read(std::span<char> into) override
    {
        size_t filled = 0;
        while (filled < into.size() && !m_ended && !m_error) {
            const base::Result<size_t> got = m_reader->readData(into.subspan(filled));
            if (!got) m_error = got.error();
            else if (*got == 0) m_ended = true;
            else filled += *got;
        }
        if (filled == 0 && m_error) return base::fail(*m_error);
        return filled;
    }
    double fraction() const override { return m_reader->fraction(); }

private:
    std::unique_ptr<ArchiveReader> m_reader;
    bool m_ended = false;
    std::optional<base::Error> m_error;
};

} // namespace

base::Result<std::vector<ArchiveMember>> listArchive(SourcePtr inner, size_t limit)
{
    ArchiveReader reader(std::move(inner));
    if (const base::Status opened = reader.open(); !opened) return base::fail(opened.error());
    std::vector<ArchiveMember> members;
    ArchiveMember member;
    while (members.size() < limit) {
        const base::Result<bool> more = reader.next(member);
        if (!more && members.empty()) return base::fail(more.error());
        if (!more || !*more) break; // damage behind the members that were found shows when it is read
        members.push_back(member);
    }
    return members;
}

base::Result<SourcePtr> archiveSource(SourcePtr inner, const std::string& name)
{
    auto reader = std::make_unique<ArchiveReader>(std::move(inner));
    if (const base::Status opened = reader->open(); !opened) return base::fail(opened.error());
    ArchiveMember member;
    for (;;) {
        const base::Result<bool> more = reader->next(member);
        if (!more) return base::fail(more.error());
        if (!*more) break;
        if (member.name == name) return SourcePtr(std::make_unique<MemberSource>(std::move(reader)));
    }
    return base::fail(base::ErrorCode::notFound, "the archive has no file of this name", {name});
}

} // namespace stepscope::importers
