#include "core/recording/elf_file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

namespace stepscope::recording {

using base::ErrorCode;

base::Result<ElfFile> ElfFile::open(const std::string& path)
{
    ElfFile file;
    file.m_path = path;
    // Not a pipe or device under the name of a library: opening it could wait for ever.
    file.m_descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (file.m_descriptor < 0)
        return base::fail(errno == ENOENT ? ErrorCode::notFound : ErrorCode::io, fmt::format("cannot open it: {}", std::strerror(errno)), {path});
    struct stat status = {};
    if (::fstat(file.m_descriptor, &status) != 0 || !S_ISREG(status.st_mode))
        return base::fail(ErrorCode::wrongFormat, "not a file of code", {path});
    elf_version(EV_CURRENT);
    file.m_elf = elf_begin(file.m_descriptor, ELF_C_READ, nullptr);
    if (file.m_elf == nullptr || elf_kind(file.m_elf) != ELF_K_ELF) return base::fail(ErrorCode::wrongFormat, "not a file of code (ELF)", {path});
    file.readNotes();
    return file;
}

base::Result<ElfFile> ElfFile::fromMemory(std::vector<char> image)
{
    ElfFile file;
    file.m_image = std::move(image);
    elf_version(EV_CURRENT);
    file.m_elf = elf_memory(file.m_image.data(), file.m_image.size());
    if (file.m_elf == nullptr || elf_kind(file.m_elf) != ELF_K_ELF) return base::fail(ErrorCode::wrongFormat, "not an image of code (ELF)");
    file.readNotes();
    return file;
}

ElfFile::ElfFile(ElfFile&& other) noexcept { *this = std::move(other); }

ElfFile& ElfFile::operator=(ElfFile&& other) noexcept
{
    if (this == &other) return *this;
    close();
    m_path = std::move(other.m_path);
    m_image = std::move(other.m_image); // keeps its place in memory
    m_descriptor = std::exchange(other.m_descriptor, -1);
    m_elf = std::exchange(other.m_elf, nullptr);
    m_dwarf = std::exchange(other.m_dwarf, nullptr);
    m_dwarfTried = other.m_dwarfTried;
    m_buildId = std::move(other.m_buildId);
    m_debugLink = std::move(other.m_debugLink);
    m_debugLinkCrc = other.m_debugLinkCrc;
    return *this;
}

ElfFile::~ElfFile() { close(); }

void ElfFile::close() noexcept
{
    if (m_dwarf != nullptr) dwarf_end(m_dwarf);
    if (m_elf != nullptr) elf_end(m_elf);
    if (m_descriptor >= 0) ::close(m_descriptor);
    m_dwarf = nullptr;
    m_elf = nullptr;
    m_descriptor = -1;
}

Dwarf* ElfFile::dwarf()
{
    if (!m_dwarfTried && m_elf != nullptr) m_dwarf = dwarf_begin_elf(m_elf, DWARF_C_READ, nullptr);
    m_dwarfTried = true;
    return m_dwarf;
}

void ElfFile::readNotes()
{
    const void* id = nullptr;
    const ssize_t length = dwelf_elf_gnu_build_id(m_elf, &id);
    for (ssize_t i = 0; i < length && i < 64; ++i)
        m_buildId += fmt::format("{:02x}", static_cast<const uint8_t*>(id)[i]);
    GElf_Word crc = 0;
    if (const char* link = dwelf_elf_gnu_debuglink(m_elf, &crc); link != nullptr) {
        m_debugLink = link;
        m_debugLinkCrc = crc;
    }
}

std::vector<ElfFile::Section> ElfFile::codeSections() const
{
    std::vector<Section> sections;
    size_t names = 0;
    if (elf_getshdrstrndx(m_elf, &names) != 0) return sections;
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(m_elf, section)) != nullptr;) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) == nullptr || (header.sh_flags & SHF_EXECINSTR) == 0) continue;
        if (header.sh_addr + header.sh_size < header.sh_addr) continue;
        const char* name = elf_strptr(m_elf, names, header.sh_name);
        sections.push_back({header.sh_addr, header.sh_addr + header.sh_size, name != nullptr ? name : ""});
    }
    std::sort(sections.begin(), sections.end(), [](const Section& a, const Section& b) { return a.begin < b.begin; });
    return sections;
}

} // namespace stepscope::recording
