// DwarfIndex: functions, inlined functions and lines of a file's debug information, by address.
// Owner: core/recording, internal. Thread: one at a time. Units: addresses as in the file.
//
// libdw walks a compilation unit's whole tree for every question. Here the tree is walked once: the functions of a unit
// when an address falls into it for the first time, the inlined calls of a function likewise.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <elfutils/libdw.h>

namespace stepscope::recording {

class DwarfIndex {
public:
    struct Frame {
        const char* linkageName = nullptr; // mangled; null when the compiler left it out
        const char* name = nullptr;        // as in the source, without the scopes around it
        const char* file = nullptr;        // may be relative to the folder
        const char* folder = nullptr;      // where it was compiled
        int line = 0;
    };

    // The debug information must outlive the index, and the frames point into it.
    explicit DwarfIndex(Dwarf* dwarf) : m_dwarf(dwarf) {}

    // Innermost inlined function first. False when no unit has the address; a unit that has it but knows no function
    // there gives one frame with file and line alone.
    bool resolve(uint64_t address, std::vector<Frame>& frames);

private:
    struct Range {
        uint64_t begin = 0, end = 0;
        uint32_t owner = 0; // unit, function or inlined call
    };
    struct Inlined {
        Dwarf_Off offset = 0;
        uint32_t rangesBegin = 0, rangesEnd = 0; // in Function::ranges
        uint32_t subtreeEnd = 0;                 // behind the last call inlined into this one
        Dwarf_Word callFile = 0;
        int callLine = 0;
    };
    struct Function {
        Dwarf_Off offset = 0;
        bool expanded = false;
        std::vector<Inlined> inlined; // in pre-order
        std::vector<Range> ranges;
    };
    struct Unit {
        Dwarf_Die die = {};  // with the lines
        Dwarf_Die tree = {}; // with the functions: the same, or its part in a file of its own
        bool indexed = false, indexedDeeply = false;
        std::vector<Function> functions;
        std::vector<Range> ranges; // of the functions, by begin
    };

    void findUnits();
    void indexUnit(Unit& unit, bool deeply);
    void expand(Unit& unit, Function& function);
    Function* functionAt(Unit& unit, uint64_t address);
    void addFrames(Unit& unit, Function* function, uint64_t address, std::vector<Frame>& frames);
    static const Range* find(const std::vector<Range>& ranges, uint64_t address);
    static void addRanges(Dwarf_Die& die, uint32_t owner, std::vector<Range>& ranges);
    static void sort(std::vector<Range>& ranges);

    Dwarf* m_dwarf;
    bool m_hasUnits = false;
    std::vector<Unit> m_units;
    std::vector<Range> m_ranges; // of the units
};

} // namespace stepscope::recording
