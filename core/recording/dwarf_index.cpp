#include "core/recording/dwarf_index.h"

#include <algorithm>

#include <dwarf.h>

namespace stepscope::recording {

namespace {

constexpr size_t kMostRanges = 100000; // of one entry; more are damage
constexpr size_t kDeepest = 512;       // nesting of entries; more is damage

// The entries below a root in pre-order, without recursion. visit(entry, depth) tells whether to look at its children,
// leave(depth) comes after the last of them. Offsets must grow: a damaged file could lead in a circle.
template <class Visit, class Leave>
void walk(Dwarf_Die& root, const Visit& visit, const Leave& leave)
{
    std::vector<Dwarf_Die> path(1);
    if (dwarf_child(&root, &path[0]) != 0) return;
    while (!path.empty()) {
        Dwarf_Die& entry = path.back();
        const Dwarf_Off offset = dwarf_dieoffset(&entry);
        if (visit(entry, path.size()) && path.size() < kDeepest) {
            Dwarf_Die child;
            if (dwarf_child(&entry, &child) == 0 && dwarf_dieoffset(&child) > offset) {
                path.push_back(child);
                continue;
            }
        }
        while (!path.empty()) {
            leave(path.size());
            Dwarf_Die next;
            const Dwarf_Off from = dwarf_dieoffset(&path.back());
            if (dwarf_siblingof(&path.back(), &next) == 0 && dwarf_dieoffset(&next) > from) {
                path.back() = next;
                break;
            }
            path.pop_back();
        }
    }
}

const char* textOf(Dwarf_Die& die, unsigned attribute)
{
    Dwarf_Attribute found;
    return dwarf_formstring(dwarf_attr_integrate(&die, attribute, &found));
}

} // namespace

void DwarfIndex::addRanges(Dwarf_Die& die, uint32_t owner, std::vector<Range>& ranges)
{
    Dwarf_Addr base = 0, begin = 0, end = 0;
    size_t count = 0;
    for (ptrdiff_t at = 0; count < kMostRanges && (at = dwarf_ranges(&die, at, &base, &begin, &end)) > 0; ++count)
        if (begin < end && begin != 0) ranges.push_back({begin, end, owner}); // code that the linker left out has address 0
}

void DwarfIndex::sort(std::vector<Range>& ranges)
{
    std::stable_sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
}

const DwarfIndex::Range* DwarfIndex::find(const std::vector<Range>& ranges, uint64_t address)
{
    auto at = std::upper_bound(ranges.begin(), ranges.end(), address, [](uint64_t a, const Range& range) { return a < range.begin; });
    for (int steps = 0; at != ranges.begin() && steps < 16; ++steps) {
        --at;
        if (address < at->end) return &*at;
    }
    return nullptr;
}

void DwarfIndex::findUnits()
{
    m_hasUnits = true;
    Dwarf_CU* cu = nullptr;
    Dwarf_Half version = 0;
    uint8_t type = 0;
    Dwarf_Die die, part;
    while (dwarf_get_units(m_dwarf, cu, &cu, &version, &type, &die, &part) == 0) {
        if (dwarf_tag(&die) != DW_TAG_compile_unit && dwarf_tag(&die) != DW_TAG_skeleton_unit) continue;
        const size_t before = m_ranges.size();
        addRanges(die, static_cast<uint32_t>(m_units.size()), m_ranges);
        if (m_ranges.size() == before) continue;
        Unit unit;
        unit.die = die;
        unit.tree = type == DW_UT_skeleton && dwarf_tag(&part) == DW_TAG_compile_unit ? part : die;
        m_units.push_back(std::move(unit));
    }
    sort(m_ranges);
}

// At first only the entries beside each other; `deeply` also those within types, scopes and functions.
void DwarfIndex::indexUnit(Unit& unit, bool deeply)
{
    unit.functions.clear();
    unit.ranges.clear();
    walk(
        unit.tree,
        [&](Dwarf_Die& die, size_t) {
            const int tag = dwarf_tag(&die);
            if (tag == DW_TAG_subprogram) {
                const size_t before = unit.ranges.size();
                addRanges(die, static_cast<uint32_t>(unit.functions.size()), unit.ranges);
                if (unit.ranges.size() > before) unit.functions.push_back({dwarf_dieoffset(&die), false, {}, {}});
            }
            return deeply || tag == DW_TAG_namespace || tag == DW_TAG_module;
        },
        [](size_t) {});
    sort(unit.ranges);
    unit.indexed = true;
    unit.indexedDeeply = deeply;
}

void DwarfIndex::expand(Unit& unit, Function& function)
{
    function.expanded = true;
    Dwarf* dwarf = dwarf_cu_getdwarf(unit.tree.cu);
    Dwarf_Die root;
    if (dwarf_offdie(dwarf, function.offset, &root) == nullptr) return;
    std::vector<std::pair<size_t, size_t>> open; // depth and index of the calls that the walk is in
    walk(
        root,
        [&](Dwarf_Die& die, size_t depth) {
            const int tag = dwarf_tag(&die);
            if (tag == DW_TAG_lexical_block || tag == DW_TAG_GNU_call_site || tag == DW_TAG_try_block || tag == DW_TAG_catch_block) return true;
            if (tag != DW_TAG_inlined_subroutine) return false;
            Inlined call;
            call.offset = dwarf_dieoffset(&die);
            call.rangesBegin = static_cast<uint32_t>(function.ranges.size());
            addRanges(die, 0, function.ranges);
            call.rangesEnd = static_cast<uint32_t>(function.ranges.size());
            Dwarf_Attribute attribute;
            Dwarf_Word value = 0;
            if (dwarf_formudata(dwarf_attr(&die, DW_AT_call_file, &attribute), &value) == 0) call.callFile = value;
            if (dwarf_formudata(dwarf_attr(&die, DW_AT_call_line, &attribute), &value) == 0) call.callLine = static_cast<int>(value);
            open.emplace_back(depth, function.inlined.size());
            function.inlined.push_back(call);
            return true;
        },
        [&](size_t depth) {
            if (open.empty() || open.back().first != depth) return;
            function.inlined[open.back().second].subtreeEnd = static_cast<uint32_t>(function.inlined.size());
            open.pop_back();
        });
}

DwarfIndex::Function* DwarfIndex::functionAt(Unit& unit, uint64_t address)
{
    if (!unit.indexed) indexUnit(unit, false);
    const Range* range = find(unit.ranges, address);
    if (range == nullptr && !unit.indexedDeeply) { // within another function or a type
        indexUnit(unit, true);
        range = find(unit.ranges, address);
    }
    if (range == nullptr) return nullptr;
    Function& function = unit.functions[range->owner];
    if (!function.expanded) expand(unit, function);
    return &function;
}

void DwarfIndex::addFrames(Unit& unit, Function* function, uint64_t address, std::vector<Frame>& frames)
{
    Dwarf_Attribute attribute;
    const char* folder = dwarf_formstring(dwarf_attr(&unit.die, DW_AT_comp_dir, &attribute));
    Frame place; // of the code itself; then of the call
    place.folder = folder;
    if (Dwarf_Line* line = dwarf_getsrc_die(&unit.die, address); line != nullptr) {
        place.file = dwarf_linesrc(line, nullptr, nullptr);
        if (dwarf_lineno(line, &place.line) != 0) place.line = 0;
    }
    if (function == nullptr) {
        frames.push_back(place);
        return;
    }
    std::vector<const Inlined*> chain; // outermost first
    for (uint32_t i = 0, end = static_cast<uint32_t>(function->inlined.size()); i < end;) {
        const Inlined& call = function->inlined[i];
        const auto holds = [&](const Range& range) { return range.begin <= address && address < range.end; };
        const auto first = function->ranges.begin() + call.rangesBegin, last = function->ranges.begin() + call.rangesEnd;
        if (std::any_of(first, last, holds)) {
            chain.push_back(&call);
            end = call.subtreeEnd;
            ++i;
        } else {
            i = std::max(call.subtreeEnd, i + 1);
        }
    }
    Dwarf* dwarf = dwarf_cu_getdwarf(unit.tree.cu);
    const auto nameAt = [&](Dwarf_Off offset) {
        Dwarf_Die die;
        if (dwarf_offdie(dwarf, offset, &die) == nullptr) return;
        place.linkageName = textOf(die, DW_AT_linkage_name);
        if (place.linkageName == nullptr) place.linkageName = textOf(die, DW_AT_MIPS_linkage_name);
        place.name = textOf(die, DW_AT_name);
    };
    Dwarf_Files* files = nullptr;
    size_t fileCount = 0;
    if (!chain.empty() && dwarf_getsrcfiles(&unit.die, &files, &fileCount) != 0) files = nullptr;
    for (size_t i = chain.size(); i-- > 0;) {
        nameAt(chain[i]->offset);
        frames.push_back(place);
        place = {};
        place.folder = folder;
        place.line = chain[i]->callLine;
        if (files != nullptr && chain[i]->callFile < fileCount) place.file = dwarf_filesrc(files, chain[i]->callFile, nullptr, nullptr);
    }
    nameAt(function->offset);
    frames.push_back(place);
}

bool DwarfIndex::resolve(uint64_t address, std::vector<Frame>& frames)
{
    if (!m_hasUnits) findUnits();
    const Range* range = find(m_ranges, address);
    if (range == nullptr) return false;
    Unit& unit = m_units[range->owner];
    addFrames(unit, functionAt(unit, address), address, frames);
    return true;
}

} // namespace stepscope::recording
