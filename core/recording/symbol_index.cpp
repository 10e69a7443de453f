#include "core/recording/symbol_index.h"

#include <algorithm>

#include <gelf.h>

namespace stepscope::recording {

namespace {

using Sections = std::vector<ElfFile::Section>;

const ElfFile::Section* sectionOf(const Sections& sections, uint64_t address)
{
    const auto after = std::upper_bound(sections.begin(), sections.end(), address,
        [](uint64_t a, const ElfFile::Section& section) { return a < section.begin; });
    if (after == sections.begin() || address >= std::prev(after)->end) return nullptr;
    return &*std::prev(after);
}

bool isFunction(const GElf_Sym& symbol, std::string_view name)
{
    if (symbol.st_shndx == SHN_UNDEF || symbol.st_value == 0 || name.empty()) return false;
    const int type = GELF_ST_TYPE(symbol.st_info);
    if (type == STT_FUNC || type == STT_GNU_IFUNC) return true;
    return type == STT_NOTYPE && name.front() != '$'; // labels of assembly code; '$' marks data within code
}

int rankOf(const GElf_Sym& symbol, std::string_view name)
{
    const int type = GELF_ST_TYPE(symbol.st_info), binding = GELF_ST_BIND(symbol.st_info);
    int rank = type == STT_NOTYPE ? 0 : 100;
    rank += binding == STB_GLOBAL ? 30 : binding == STB_WEAK ? 20 : 10;
    const size_t underscores = std::min(name.find_first_not_of('_'), size_t{5});
    return rank + 5 - static_cast<int>(underscores);
}

} // namespace

void SymbolIndex::add(const ElfFile& file)
{
    const Sections code = file.codeSections();
    for (Elf_Scn* section = nullptr; (section = elf_nextscn(file.elf(), section)) != nullptr;) {
        GElf_Shdr header;
        if (gelf_getshdr(section, &header) == nullptr) continue;
        if ((header.sh_type != SHT_SYMTAB && header.sh_type != SHT_DYNSYM) || header.sh_entsize == 0) continue;
        Elf_Data* data = elf_getdata(section, nullptr);
        if (data == nullptr) continue;
        const size_t count = data->d_size / header.sh_entsize;
        for (size_t i = 1; i < count; ++i) {
            GElf_Sym symbol;
            if (gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) break;
            const char* text = elf_strptr(file.elf(), header.sh_link, symbol.st_name);
            const std::string_view name = text != nullptr ? text : "";
            if (!isFunction(symbol, name)) continue;
            const ElfFile::Section* place = sectionOf(code, symbol.st_value);
            if (place == nullptr) continue;
            // In .symtab a symbol without size is a label of assembly code: it lasts until the next one (finish()).
            uint64_t end = symbol.st_value + symbol.st_size;
            if (end < symbol.st_value || end > place->end) end = place->end;
            if (symbol.st_size == 0 && header.sh_type == SHT_DYNSYM) continue;
            m_entries.push_back({symbol.st_value, symbol.st_size == 0 ? 0 : end, place->end, name, rankOf(symbol, name)});
        }
    }
}

void SymbolIndex::finish()
{
    std::sort(m_entries.begin(), m_entries.end(), [](const Entry& a, const Entry& b) {
        return a.begin != b.begin ? a.begin < b.begin : a.rank < b.rank;
    });
    uint64_t next = ~uint64_t{0}; // begin of the symbol after
    for (size_t i = m_entries.size(); i-- > 0;) {
        Entry& entry = m_entries[i];
        const uint64_t following = i + 1 < m_entries.size() && m_entries[i + 1].begin > entry.begin ? m_entries[i + 1].begin : next;
        if (entry.end == 0) entry.end = std::min(entry.furthest, following);
        next = following;
    }
    uint64_t furthest = 0;
    for (Entry& entry : m_entries) {
        furthest = std::max(furthest, entry.end);
        entry.furthest = furthest;
    }
}

const SymbolIndex::Entry* SymbolIndex::find(uint64_t address) const
{
    auto at = std::upper_bound(m_entries.begin(), m_entries.end(), address, [](uint64_t a, const Entry& entry) { return a < entry.begin; });
    constexpr int kMostNested = 256; // a damaged table may hold a symbol as long as the file
    for (int steps = 0; at != m_entries.begin() && steps < kMostNested; ++steps) {
        --at;
        if (address < at->end) return &*at;
        if (at->furthest <= address) return nullptr;
    }
    return nullptr;
}

} // namespace stepscope::recording
