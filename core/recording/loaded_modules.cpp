#include "core/recording/loaded_modules.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>

#include <elf.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/auxv.h>

namespace stepscope::recording {

namespace {

struct Search {
    const std::string& path;
    bool isProgram = false;
    std::string buildId;
};

std::string buildIdIn(const char* notes, size_t size)
{
    constexpr size_t kAlign = 4;
    for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= size;) {
        ElfW(Nhdr) note;
        std::memcpy(&note, notes + at, sizeof(note));
        const size_t name = at + sizeof(note);
        const size_t value = name + (note.n_namesz + kAlign - 1) / kAlign * kAlign;
        const size_t next = value + (note.n_descsz + kAlign - 1) / kAlign * kAlign;
        if (value < name || next < value || value + note.n_descsz > size) break;
        if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(notes + name, "GNU", 4) == 0) {
            std::string text;
            for (size_t i = 0; i < note.n_descsz && i < 64; ++i)
                text += fmt::format("{:02x}", static_cast<uint8_t>(notes[value + i]));
            return text;
        }
        at = next;
    }
    return {};
}

int look(dl_phdr_info* info, size_t, void* data)
{
    Search& search = *static_cast<Search*>(data);
    const std::string_view name = info->dlpi_name != nullptr ? info->dlpi_name : "";
    if (name.empty() ? !search.isProgram : name != search.path) return 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)& header = info->dlpi_phdr[i];
        if (header.p_type != PT_NOTE) continue;
        search.buildId = buildIdIn(reinterpret_cast<const char*>(info->dlpi_addr + header.p_vaddr), header.p_memsz);
        if (!search.buildId.empty()) break;
    }
    return 1;
}

} // namespace

std::string loadedBuildId(const std::string& path)
{
    std::error_code ignored;
    std::string program = std::filesystem::read_symlink("/proc/self/exe", ignored).string();
    constexpr std::string_view kGone = " (deleted)";
    if (program.size() > kGone.size() && program.compare(program.size() - kGone.size(), kGone.size(), kGone) == 0)
        program.resize(program.size() - kGone.size());
    Search search{path, program == path, {}};
    dl_iterate_phdr(&look, &search);
    return search.buildId;
}

std::vector<char> systemLibraryImage()
{
    const char* base = reinterpret_cast<const char*>(getauxval(AT_SYSINFO_EHDR));
    if (base == nullptr) return {};
    ElfW(Ehdr) header;
    std::memcpy(&header, base, sizeof(header));
    size_t size = header.e_shoff + size_t{header.e_shnum} * header.e_shentsize;
    for (int i = 0; i < header.e_phnum; ++i) {
        ElfW(Phdr) part;
        std::memcpy(&part, base + header.e_phoff + size_t{static_cast<unsigned>(i)} * header.e_phentsize, sizeof(part));
        if (part.p_type == PT_LOAD) size = std::max(size, static_cast<size_t>(part.p_offset + part.p_filesz));
    }
    constexpr size_t kLargest = size_t{64} << 10;
    return {base, base + std::min(size, kLargest)};
}

} // namespace stepscope::recording
