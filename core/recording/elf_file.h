// ElfFile: a program, library or file of debug information, opened for reading names and lines.
// Owner: core/recording, internal. Thread: one at a time. Units: addresses as in the file (pc less the load bias).
//
// Files are read, not mapped: a file that is cut while it is open gives an error and no signal.
#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <string>
#include <vector>

struct Elf;   // libelf
struct Dwarf; // libdw

namespace stepscope::recording {

class ElfFile {
public:
    // notFound, io or wrongFormat.
    static base::Result<ElfFile> open(const std::string& path);
    // The image of a library as it lies in memory, such as the one that the system maps into every process.
    static base::Result<ElfFile> fromMemory(std::vector<char> image);

    ElfFile(ElfFile&& other) noexcept;
    ElfFile& operator=(ElfFile&& other) noexcept;
    ~ElfFile();

    Elf* elf() const { return m_elf; }
    // Null without (readable) debug information.
    Dwarf* dwarf();
    const std::string& path() const { return m_path; }
    // As hexadecimal digits; "" when the file has none.
    const std::string& buildId() const { return m_buildId; }
    // File name in .gnu_debuglink, "" without one, and the checksum of that file.
    const std::string& debugLink() const { return m_debugLink; }
    uint32_t debugLinkCrc() const { return m_debugLinkCrc; }

    struct Section {
        uint64_t begin = 0, end = 0;
        std::string name;
    };
    // The sections that hold code, by address.
    std::vector<Section> codeSections() const;

private:
    ElfFile() = default;
    void readNotes();
    void close() noexcept;

    std::string m_path;
    std::vector<char> m_image; // of fromMemory()
    int m_descriptor = -1;
    Elf* m_elf = nullptr;
    Dwarf* m_dwarf = nullptr;
    bool m_dwarfTried = false;
    std::string m_buildId, m_debugLink;
    uint32_t m_debugLinkCrc = 0;
};

} // namespace stepscope::recording
