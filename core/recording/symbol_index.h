// SymbolIndex: the functions of an ELF file's symbol tables, by address.
// Owner: core/recording, internal. Thread: one at a time. Names live as long as the files.
#pragma once

#include "core/recording/elf_file.h"

#include <string_view>

namespace stepscope::recording {

class SymbolIndex {
public:
    struct Entry {
        uint64_t begin = 0, end = 0; // an address belongs to a symbol only if it lies within its size
        uint64_t furthest = 0;       // largest end of this entry and those before it
        std::string_view name;       // as the linker knows it (mangled)
        int rank = 0;                // of several at one address the highest is shown
    };

    // Adds the symbols of the file, of .symtab and of .dynsym.
    void add(const ElfFile& file);
    // Sorts; to be called after the last add().
    void finish();
    // The function whose bytes hold the address; null when no symbol covers it.
    const Entry* find(uint64_t address) const;
    size_t size() const { return m_entries.size(); }

private:
    std::vector<Entry> m_entries;
};

} // namespace stepscope::recording
