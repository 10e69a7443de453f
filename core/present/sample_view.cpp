#include "core/present/sample_view.h"

#include "core/present/format.h"
#include "core/present/sample_sources.h"

#include <fmt/format.h>

namespace stepscope::present {

TreeRows treeRows(const analysis::FlameTree& tree)
{
    TreeRows rows;
    rows.begin.reserve(tree.nodes.size() + 1);
    rows.children.reserve(tree.nodes.size());
    rows.row.assign(tree.nodes.size(), 0);
    for (uint32_t id = 0; id < tree.nodes.size(); ++id) {
        rows.begin.push_back(static_cast<uint32_t>(rows.children.size()));
        uint32_t place = 0;
        for (uint32_t child = tree.node(id).firstChild; child != analysis::FlameNode::kNone; child = tree.node(child).nextSibling) {
            rows.children.push_back(child);
            rows.row[child] = place++;
        }
    }
    rows.begin.push_back(static_cast<uint32_t>(rows.children.size()));
    return rows;
}

SampleView::SampleView(analysis::SampleProfile made)
    : profile(std::move(made)), rows(treeRows(profile.tree)), flat(makeFlatSampleTable(profile))
{
}

std::string sampleSummary(const analysis::SampleProfile& profile)
{
    const analysis::FlameTree& tree = profile.tree;
    std::string text = fmt::format("{} {}", formatCount(profile.samples), profile.samples == 1 ? "sample" : "samples");
    const std::string name = tree.weightName.starts_with("cpu ") ? "CPU" + tree.weightName.substr(3) : tree.weightName;
    const bool things = tree.weightName == "allocations"; // "3 allocations", but "3 s of CPU time"
    text += fmt::format(", {}{}{}", formatWeight(tree, static_cast<double>(profile.total)), things ? " " : " of ", name);
    if (tree.steps > 0) text += fmt::format(", {} {}", formatCount(tree.steps), tree.steps == 1 ? "step" : "steps");
    if (tree.warmupOnly) text += ", all of them warm-up";
    else if (tree.warmupLeftOut > 0) text += fmt::format(", {} warm-up left out", formatCount(tree.warmupLeftOut));
    if (profile.unknownStacks > 0) text += fmt::format(", {} without a stack", formatCount(profile.unknownStacks));
    if (tree.cut) text += ", outermost callers cut";
    return text;
}

std::string noFramesText(const analysis::SampleProfile& profile)
{
    if (profile.tree.nodes.size() > 1) return {};
    if (profile.samples == 0 || profile.samples != profile.unknownStacks) return "There were no samples collected that the filters select.";
    return fmt::format("\"{}\" has no stacks: its {} are known per thread, phase and layer.\nGroup the samples by one of these, or choose "
                       "another series.",
                       profile.tree.weightName, formatWeight(profile.tree, static_cast<double>(profile.total)));
}

int64_t lostSamples(const std::vector<session::QualityRow>& quality)
{
    int64_t lost = 0;
    for (const session::QualityRow& row : quality)
        if (row.code == "lost-stack-samples") lost += row.count;
    return lost;
}

} // namespace stepscope::present
