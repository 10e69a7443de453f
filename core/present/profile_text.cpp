#include "core/present/profile_text.h"

#include "core/present/format.h"
#include "core/present/utf8.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace stepscope::present {

namespace {

using analysis::FlameNode;
using analysis::FlameNodeKind;
using analysis::FlamePlace;
using analysis::FlameTree;
using analysis::SampleProfile;

constexpr uint32_t kNone = FlameNode::kNone;
constexpr const char* kTreeHeader = "Overhead ╎ [+additional indent] Count File:Line; Function\n"
                                    "=========================================================\n";

int digits(int64_t value)
{
    int n = 1;
    for (; value >= 10; value /= 10)
        ++n;
    return n;
}

std::string padLeft(std::string text, int width)
{
    const auto length = static_cast<int>(characters(text));
    return length < width ? std::string(static_cast<size_t>(width - length), ' ') + text : text;
}

std::string padRight(std::string text, int width)
{
    const auto length = static_cast<int>(characters(text));
    if (length < width) text.append(static_cast<size_t>(width - length), ' ');
    return text;
}

// Files lose their beginning, functions their end: what is left tells most.
std::string cutLeft(const std::string& text, int width)
{
    const auto length = static_cast<int>(characters(text));
    if (length <= width) return text;
    return "..." + std::string(fromCharacter(text, static_cast<size_t>(length - (width - 3))));
}

std::string cutRight(const std::string& text, int width)
{
    if (static_cast<int>(characters(text)) <= width) return text;
    return std::string(firstCharacters(text, static_cast<size_t>(width - 3))) + "...";
}

// One column per level; every fifth shows a line.
std::string indentation(int columns)
{
    std::string out;
    for (int i = 1; i <= columns; ++i)
        out += i % 5 == 0 ? "╎" : " ";
    return out;
}

std::string totalText(const FlameTree& tree, int64_t total)
{
    const char* what = "snapshots";
    if (tree.countsAreWeights && tree.unit == analysis::FlameUnit::bytes) what = "bytes";
    else if (tree.countsAreWeights && tree.unit == analysis::FlameUnit::time) what = "nanoseconds";
    else if (tree.countsAreWeights && tree.weightName == "allocations") what = "allocations";
    const std::string length = tree.weightPerCount > 0
        ? fmt::format(" of {} each, the usual time of a sample", formatTime(static_cast<double>(tree.weightPerCount)))
        : std::string();
    return fmt::format("Total {}: {}{}\n", what, total, length);
}

class TreeText {
public:
    TreeText(const SampleProfile& profile, int width) : m_tree(profile.tree), m_filter(profile.filter), m_width(width) {}

    std::string text()
    {
        std::string out = kTreeHeader;
        if (m_filter.groups.empty()) {
            addTree(0, out);
            return out + totalText(m_tree, analysis::reportCount(m_tree, m_tree.nodes[0]));
        }
        bool empty = false;
        for (uint32_t outer = m_tree.nodes[0].firstChild; outer != kNone; outer = m_tree.node(outer).nextSibling)
            addGroups(outer, out, empty);
        if (empty) out += noSamplesText(true);
        return out;
    }

private:
    bool isGroup(uint32_t id) const { return id != kNone && m_tree.node(id).kind != FlameNodeKind::frame; }

    std::string title(uint32_t group) const
    {
        const auto level = static_cast<size_t>(m_tree.node(group).depth - 1);
        std::string word(analysis::sampleGroupName(m_filter.groups[level]));
        word[0] = static_cast<char>(word[0] - 'a' + 'A');
        return word + " " + clean(m_tree.name(group));
    }

    // Groups nest two or three deep at most. One inner group stays on the line of the outer one.
    void addGroups(uint32_t group, std::string& out, bool& empty)
    {
        out += title(group);
        const uint32_t inner = m_tree.node(group).firstChild;
        if (isGroup(inner)) {
            if (m_tree.node(inner).nextSibling != kNone) out += '\n';
            for (uint32_t id = inner; id != kNone; id = m_tree.node(id).nextSibling) {
                out += ' ';
                addGroups(id, out, empty);
            }
            return;
        }
        out += '\n';
        if (inner == kNone) empty = true;
        else addTree(group, out);
        out += totalText(m_tree, analysis::reportCount(m_tree, m_tree.node(group))) + '\n';
    }

    void addTree(uint32_t root, std::string& out)
    {
        findWidths(root);
        // Largest last, as in Julia; only the order of files goes forwards.
        const bool backwards = m_filter.order != analysis::SampleOrder::fileLine;
        std::vector<std::pair<uint32_t, int>> open;
        const auto pushChildren = [&](uint32_t parent, int level) {
            const size_t before = open.size();
            for (uint32_t id = m_tree.node(parent).firstChild; id != kNone; id = m_tree.node(id).nextSibling)
                open.emplace_back(id, level);
            if (!backwards) std::reverse(open.begin() + static_cast<std::ptrdiff_t>(before), open.end());
        };
        pushChildren(root, 0);
        while (!open.empty()) {
            const auto [id, level] = open.back();
            open.pop_back();
            out += row(id, level);
            pushChildren(id, level + 1);
        }
    }

    void findWidths(uint32_t root)
    {
        int64_t overhead = 0;
        std::vector<uint8_t> inside(m_tree.nodes.size(), 0);
        inside[root] = 1;
        for (uint32_t id = root + 1; id < m_tree.nodes.size(); ++id) {
            inside[id] = inside[m_tree.node(id).parent];
            if (inside[id] != 0) overhead = std::max(overhead, analysis::reportSelfCount(m_tree, m_tree.node(id)));
        }
        m_overheadDigits = digits(overhead);
        m_countDigits = digits(analysis::reportCount(m_tree, m_tree.node(root)));
        m_lineDigits.assign(m_tree.nodes.size(), 1);
        for (uint32_t id = 1; id < m_tree.nodes.size(); ++id)
            if (const FlamePlace* place = m_tree.place(id)) {
                int& widest = m_lineDigits[m_tree.node(id).parent];
                widest = std::max(widest, digits(place->line));
            }
    }

    std::string row(uint32_t id, int level) const
    {
        const FlameNode& node = m_tree.node(id);
        const FlamePlace& place = *m_tree.place(id);
        int indent = std::min(m_width / 2, level);
        const int lineWidth = m_lineDigits[node.parent] + 6;
        const int room = std::max(30, m_width - m_overheadDigits - indent - m_countDigits - lineWidth - 6);
        std::string further;
        if (level > indent) {
            further = fmt::format("+{} ", level - indent);
            indent -= digits(level - indent) + 2;
        }
        const int64_t overhead = analysis::reportSelfCount(m_tree, node);
        std::string out = padLeft(overhead > 0 ? std::to_string(overhead) : std::string(), m_overheadDigits) + "╎";
        if (indent > 0) out += indentation(indent - 1) + " ";
        out += further + padRight(std::to_string(analysis::reportCount(m_tree, node)), m_countDigits) + " ";
        return out + describe(place, room) + "\n";
    }

    std::string describe(const FlamePlace& place, int room) const
    {
        const std::string file = clean(placeFile(*m_tree.session, place));
        std::string function = clean(m_tree.session->string(place.function));
        if (function.empty() && place.address != 0)
            return fmt::format("[unknown function] (pointer: 0x{:016x}){}", place.address, file.empty() ? "" : " in " + file);
        if (function.empty() && file.empty()) return "[unknown stackframe]";
        if (function.empty()) function = "[unknown function]";
        if (m_filter.merge == analysis::SampleMerge::address) function = fmt::format("0x{:016x} {}", place.address, function);
        return fmt::format("{}:{}; {}", cutLeft(file, 2 * room / 5), place.line > 0 ? std::to_string(place.line) : "?",
                           cutRight(function, 3 * room / 5));
    }

    const FlameTree& m_tree;
    const analysis::SampleFilter& m_filter;
    int m_width;
    int m_overheadDigits = 1, m_countDigits = 1;
    std::vector<int> m_lineDigits; // per node: of the largest line among its children
};

class FlatText {
public:
    FlatText(const SampleProfile& profile, int width) : m_profile(profile), m_tree(profile.tree), m_width(width) {}

    std::string text() const
    {
        std::string out;
        for (size_t group = 0; group < m_profile.groups.size(); ++group) {
            addTitle(group, out);
            addTable(static_cast<uint32_t>(group), out);
            const analysis::SampleGroupInfo& info = m_profile.groups[group];
            out += totalText(m_tree, analysis::reportCount(m_tree, info.total, info.samples));
            if (!m_profile.filter.groups.empty()) out += '\n';
        }
        return out;
    }

private:
    void addTitle(size_t group, std::string& out) const
    {
        const std::vector<std::string>& names = m_profile.groups[group].names;
        for (size_t i = 0; i < names.size(); ++i) {
            std::string word(analysis::sampleGroupName(m_profile.filter.groups[i]));
            word[0] = static_cast<char>(word[0] - 'a' + 'A');
            out += (i == 0 ? "" : " ") + word + " " + clean(names[i]);
        }
        if (!names.empty()) out += '\n';
    }

    struct Cells {
        int64_t count = 0, overhead = 0;
        std::string file, function;
        int line = 0;
        bool unknown = false;
    };

    Cells cells(const analysis::FlatRow& row) const
    {
        Cells out;
        out.count = analysis::reportCount(m_tree, row.total, row.count);
        out.overhead = analysis::reportCount(m_tree, row.self, row.selfCount);
        out.unknown = row.place >= m_tree.places.size();
        if (out.unknown) return out;
        const FlamePlace& place = m_tree.places[row.place];
        out.file = clean(placeFile(*m_tree.session, place));
        out.function = clean(m_tree.session->string(place.function));
        out.line = place.line;
        out.unknown = out.file.empty() && out.function.empty() && place.address == 0;
        if (out.file.empty()) out.file = "[unknown file]";
        if (out.function.empty()) out.function = place.address != 0 ? fmt::format("@0x{:x}", place.address) : "[unknown function]";
        return out;
    }

    void addTable(uint32_t group, std::string& out) const
    {
        std::vector<Cells> rows;
        int64_t mostCount = 0, mostOverhead = 0;
        int line = 1, file = 6, function = 10;
        for (const analysis::FlatRow& row : m_profile.flat) {
            if (row.group != group) continue;
            rows.push_back(cells(row));
            mostCount = std::max(mostCount, rows.back().count);
            mostOverhead = std::max(mostOverhead, rows.back().overhead);
            line = std::max(line, rows.back().line);
            file = std::max(file, static_cast<int>(characters(rows.back().file)));
            function = std::max(function, static_cast<int>(characters(rows.back().function)));
        }
        const int countWidth = std::max(6, digits(mostCount)), overheadWidth = std::max(9, digits(mostOverhead));
        const int lineWidth = std::max(5, digits(line));
        const int room = std::max(20, m_width - countWidth - overheadWidth - lineWidth - 3);
        constexpr int kSpare = 25; // Julia keeps it for the types of arguments
        const bool fits = file + function + kSpare <= room;
        const int fileWidth = fits ? file : 2 * room / 5, functionWidth = fits ? room - file : 3 * room / 5;
        const auto head = [&](const char* a, const char* b, const char* c, const char* d, const char* e) {
            out += padLeft(a, countWidth) + " " + padLeft(b, overheadWidth) + " " + padRight(c, fileWidth) + " " + padLeft(d, lineWidth) + " "
                + e + "\n";
        };
        head("Count", "Overhead", "File", "Line", "Function");
        head("=====", "========", "====", "====", "========");
        for (const Cells& row : rows) {
            out += padLeft(std::to_string(row.count), countWidth) + " " + padLeft(std::to_string(row.overhead), overheadWidth) + " ";
            if (row.unknown) out += "[any unknown stackframes]";
            else
                out += padRight(cutLeft(row.file, fileWidth), fileWidth) + " "
                    + padLeft(row.line > 0 ? std::to_string(row.line) : "?", lineWidth) + " " + cutRight(row.function, functionWidth);
            out += '\n';
        }
    }

    const SampleProfile& m_profile;
    const FlameTree& m_tree;
    int m_width;
};

} // namespace

std::string placeFile(const session::Session& session, const FlamePlace& place)
{
    if (place.file.valid()) return std::string(session.string(place.file));
    if ((place.flags & session::kGenerated) != 0) return "[generated code]";
    if (place.module.valid()) return std::string(session.string(place.module));
    return (place.flags & session::kKernelMode) != 0 ? "[kernel]" : "";
}

std::string noSamplesText(bool inGroups)
{
    return fmt::format("There were no samples collected{}.\nRecord with sampling switched on, train for longer, or sample at a higher rate.\n",
                       inGroups ? " in one or more groups" : "");
}

std::string profileText(const SampleProfile& profile, ProfileFormat format, int width)
{
    const bool nothing = profile.samples == 0 || (profile.filter.groups.empty() && profile.samples == profile.unknownStacks);
    if (nothing) return noSamplesText();
    return format == ProfileFormat::flat ? FlatText(profile, width).text() : TreeText(profile, width).text();
}

} // namespace stepscope::present
