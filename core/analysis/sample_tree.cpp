#include "core/analysis/sample_tree.h"

#include "core/analysis/sample_shapes.h"
#include "core/analysis/stack_tree.h"
#include "core/analysis/track_names.h"

#include <algorithm>
#include <vector>

namespace stepscope::analysis {

namespace {

FlameUnit unitOf(const session::SeriesRow& series)
{
    switch (series.kind) {
    case session::SeriesKind::cpuTime:
    case session::SeriesKind::wallTime: return FlameUnit::time;
    case session::SeriesKind::allocatedBytes: return FlameUnit::bytes;
    default: break;
    }
    if (series.unit == "ns") return FlameUnit::time;
    return series.unit == "bytes" ? FlameUnit::bytes : FlameUnit::count;
}

// Of a clock or a hardware counter the number of samples is what statistics are about; of allocations, of what was
// counted, and of files that only have sums, the weight itself.
bool weightsAreCounts(const session::SeriesRow& series)
{
    return series.kind == session::SeriesKind::allocatedBytes || series.kind == session::SeriesKind::allocations
        || series.kind == session::SeriesKind::other || !session::hasStacks(series.kind);
}

// The median weight; 0 where all are equal.
int64_t usualWeight(const session::SampleTable& samples)
{
    if (samples.size() == 0) return 0;
    std::vector<int64_t> weights(samples.weight.begin(), samples.weight.end());
    if (std::all_of(weights.begin(), weights.end(), [&](int64_t weight) { return weight == weights[0]; })) return 0;
    const auto middle = weights.begin() + static_cast<std::ptrdiff_t>((weights.size() - 1) / 2);
    std::nth_element(weights.begin(), middle, weights.end());
    return std::max<int64_t>(*middle, 0);
}

} // namespace

base::SeriesId seriesOf(const session::Session& session, const SampleFilter& filter)
{
    const std::vector<session::SeriesRow>& series = session.series();
    if (filter.series.index() < series.size()) return filter.series;
    // Of several the newest: samples taken after the others were cleared.
    for (size_t i = series.size(); i-- > 0;)
        if (series[i].isDefault) return base::SeriesId(i);
    return series.empty() ? base::SeriesId() : base::SeriesId(0u);
}

std::string_view sampleGroupName(SampleGroup group)
{
    switch (group) {
    case SampleGroup::thread: return "thread";
    case SampleGroup::phase: return "phase";
    case SampleGroup::layer: return "layer";
    }
    return "";
}

std::optional<SampleGroup> sampleGroupByName(std::string_view name)
{
    for (const SampleGroup group : {SampleGroup::thread, SampleGroup::phase, SampleGroup::layer})
        if (sampleGroupName(group) == name) return group;
    return std::nullopt;
}

int64_t reportCount(const FlameTree& tree, int64_t weight, int64_t samples)
{
    if (tree.weightPerCount <= 0) return tree.countsAreWeights ? weight : samples;
    return weight / tree.weightPerCount + (weight % tree.weightPerCount * 2 >= tree.weightPerCount ? 1 : 0);
}

int64_t reportCount(const FlameTree& tree, const FlameNode& node)
{
    return reportCount(tree, node.seen, node.count);
}

int64_t reportSelfCount(const FlameTree& tree, const FlameNode& node)
{
    return reportCount(tree, node.self, node.selfCount);
}

SampleProfile sampleProfile(session::SessionPtr session, const SampleFilter& filter, std::stop_token stop,
                            const base::Progress& progress)
{
    SampleProfile profile;
    profile.filter = filter;
    profile.series = seriesOf(*session, filter);
    FlameTree& tree = profile.tree;
    tree.session = session;
    tree.trackNames = distinctTrackNames(*session);
    tree.filter = filter.spans;
    tree.ofSamples = true;
    tree.nodes.emplace_back();
    if (!profile.series.valid()) return profile;
    const session::SeriesRow& series = session->series()[profile.series.index()];
    tree.unit = unitOf(series);
    tree.countsAreWeights = weightsAreCounts(series);
    if (tree.unit == FlameUnit::time && !tree.countsAreWeights) tree.weightPerCount = usualWeight(session->samples(profile.series));
    tree.weightName = series.name.empty() ? std::string(session::seriesKindName(series.kind)) : series.name;

    // The flat table is about whole stacks: its tree never has its recursion flattened.
    const bool flattened = filter.recursion == SampleRecursion::flat;
    StackTreeBuilder builder(*session, filter, profile.series);
    builder.select(stop, progress);
    FlameTree whole = tree;
    builder.build(whole, false, stop);
    if (progress) progress(0.6, "merging stacks");
    if (flattened) builder.build(tree, true, stop);
    if (stop.stop_requested()) {
        profile.tree.nodes.assign(1, {});
        return profile;
    }
    profile.total = whole.nodes[0].total;
    profile.samples = whole.nodes[0].count;
    profile.unknownStacks = builder.unknownStacks();
    profile.flat = flatRows(whole, filter, profile.groups);
    if (!flattened) tree = std::move(whole);
    reshape(tree, filter, stop);
    if (stop.stop_requested()) {
        tree.nodes.assign(1, {});
        profile.flat.clear();
        profile.groups.clear();
        profile.total = profile.samples = profile.unknownStacks = 0;
        return profile;
    }
    arrange(tree, filter);
    if (progress) progress(1, "merging stacks");
    return profile;
}

} // namespace stepscope::analysis
