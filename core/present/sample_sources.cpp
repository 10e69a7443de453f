#include "core/present/sample_sources.h"

#include "core/present/memory_table.h"
#include "core/present/profile_text.h"
#include "core/present/utf8.h"

#include <vector>

namespace stepscope::present {

namespace {

using analysis::FlamePlace;
using analysis::FlameTree;
using analysis::FlameUnit;

CellFormat weightFormat(const FlameTree& tree)
{
    switch (tree.unit) {
    case FlameUnit::time: return CellFormat::time;
    case FlameUnit::bytes: return CellFormat::bytes;
    case FlameUnit::count: break;
    }
    return CellFormat::count;
}

std::string weightKey(const FlameTree& tree, const char* name)
{
    switch (tree.unit) {
    case FlameUnit::time: return std::string(name) + "_ns";
    case FlameUnit::bytes: return std::string(name) + "_bytes";
    case FlameUnit::count: break;
    }
    return name;
}

// Samples beside their weight say something only where the two differ.
void addColumns(MemoryTable& table, const FlameTree& tree, bool grouped)
{
    const CellFormat weight = weightFormat(tree);
    table.addColumn(CellFormat::text, "function", "Function", "What ran; the whole name is in the tip");
    table.addColumn(weight, weightKey(tree, "self"), "Self", "Of samples that end in it: itself, without what it calls");
    table.addColumn(CellFormat::share, "self_share", "Self share", "Part of all selected samples");
    table.addColumn(weight, weightKey(tree, "total"), "Total", "Of samples in whose stack it occurs, counted once each: with what it calls");
    table.addColumn(CellFormat::share, "total_share", "Total share", "Part of all selected samples; recursive calls count once");
    table.addColumn(CellFormat::count, "samples", "Samples", "Samples in whose stack it occurs");
    table.addColumn(CellFormat::count, "self_samples", "Self samples", "Samples that end in it");
    if (grouped) table.addColumn(CellFormat::text, "group", "Group", "What the samples are grouped by");
    table.addColumn(CellFormat::text, "file", "File", "Source file, or the library where it is not known");
    table.addColumn(CellFormat::number, "line", "Line", "In the source file");
    table.addColumn(CellFormat::text, "note", "Note", "What the colour says: slow paths, allocation, waiting, kind of code");
}

struct Numbers {
    int64_t self = 0, total = 0, count = 0, selfCount = 0;
};

TableRow makeRow(const FlameTree& tree, const FlamePlace* place, uint32_t flags, const Numbers& n, int64_t all)
{
    TableRow row;
    row.texts.push_back(place == nullptr ? "[no stack]" : clean(place->shown));
    const auto share = [&](int64_t part) { return all > 0 ? static_cast<double>(part) / static_cast<double>(all) : kEmptyCell; };
    row.numbers = {static_cast<double>(n.self), share(n.self), static_cast<double>(n.total), share(n.total), static_cast<double>(n.count),
                   static_cast<double>(n.selfCount), place != nullptr && place->line > 0 ? static_cast<double>(place->line) : kEmptyCell};
    row.colour = frameColour(flags);
    row.emphasised = (flags & session::kSlowPath) != 0;
    row.subdued = place == nullptr;
    if (place != nullptr) {
        const std::string_view whole = tree.session->string(place->function);
        row.tip = clean(whole.empty() ? std::string_view(place->shown) : whole);
        if (const std::string file = placeFile(*tree.session, *place); !file.empty())
            row.tip += "\n" + clean(file) + (place->line > 0 ? ":" + std::to_string(place->line) : "");
    }
    return row;
}

void addPlaceTexts(const FlameTree& tree, const FlamePlace* place, uint32_t flags, TableRow& row)
{
    row.texts.push_back(place == nullptr ? std::string() : clean(placeFile(*tree.session, *place)));
    row.texts.push_back(frameFlagText(flags));
}

std::string groupText(const analysis::SampleGroupInfo& group)
{
    std::string text;
    for (const std::string& name : group.names)
        text += (text.empty() ? "" : " › ") + clean(name);
    return text;
}

} // namespace

std::string formatWeight(const FlameTree& tree, double weight)
{
    switch (tree.unit) {
    case FlameUnit::time: return formatTime(weight);
    case FlameUnit::bytes: return formatBytes(weight);
    case FlameUnit::count: break;
    }
    return formatCount(static_cast<int64_t>(weight));
}

std::string frameFlagText(uint32_t flags)
{
    std::string text;
    const auto add = [&](session::FrameFlag flag, const char* name) {
        if ((flags & flag) == 0) return;
        if (!text.empty()) text += ", ";
        text += name;
    };
    add(session::kSlowPath, "slow path");
    add(session::kAllocation, "allocates");
    add(session::kWaiting, "waits");
    add(session::kGenerated, "generated code");
    add(session::kKernelMode, "operating system");
    add(session::kLibraryCode, "library");
    add(session::kInlined, "inlined");
    add(session::kApproximate, "stack found by searching");
    add(session::kTruncated, "callers missing");
    add(session::kFolded, "several frames");
    return text;
}

std::unique_ptr<TableSource> makeFlatSampleTable(const analysis::SampleProfile& profile)
{
    auto table = std::make_unique<MemoryTable>();
    const FlameTree& tree = profile.tree;
    const bool grouped = !profile.filter.groups.empty();
    addColumns(*table, tree, grouped);
    for (const analysis::FlatRow& row : profile.flat) {
        const FlamePlace* place = row.place < tree.places.size() ? &tree.places[row.place] : nullptr;
        TableRow made = makeRow(tree, place, row.flags, {row.self, row.total, row.count, row.selfCount}, profile.total);
        if (grouped) made.texts.push_back(groupText(profile.groups[row.group]));
        addPlaceTexts(tree, place, row.flags, made);
        table->addRow(std::move(made));
    }
    return table;
}

std::unique_ptr<TableSource> makeSampleTreeTable(const analysis::SampleProfile& profile)
{
    auto table = std::make_unique<MemoryTable>();
    const FlameTree& tree = profile.tree;
    addColumns(*table, tree, false);
    std::vector<uint32_t> open, siblings;
    const auto push = [&](uint32_t parent) {
        siblings.clear();
        for (uint32_t id = tree.node(parent).firstChild; id != analysis::FlameNode::kNone; id = tree.node(id).nextSibling)
            siblings.push_back(id);
        open.insert(open.end(), siblings.rbegin(), siblings.rend());
    };
    push(0);
    while (!open.empty()) {
        const uint32_t id = open.back();
        open.pop_back();
        const analysis::FlameNode& node = tree.node(id);
        const FlamePlace* place = tree.place(id);
        TableRow row = makeRow(tree, place, node.flags, {node.self, node.total, node.count, node.selfCount}, profile.total);
        if (place == nullptr) {
            row.texts[0] = clean(tree.name(id));
            row.subdued = false;
        }
        row.indent = node.depth - 1;
        addPlaceTexts(tree, place, node.flags, row);
        table->addRow(std::move(row));
        push(id);
    }
    return table;
}

} // namespace stepscope::present
