// StackTreeBuilder: selected samples -> the top-down tree of their stacks.
// Owner: core/analysis, internal. Thread: one at a time.
//
// The stacks of a session are a tree already, so each is visited once per group, whatever the number of samples.
#pragma once

#include "core/analysis/child_map.h"
#include "core/analysis/sample_places.h"
#include "core/base/huge_vector.h"

#include <stop_token>
#include <vector>

namespace stepscope::analysis {

class StackTreeBuilder {
public:
    StackTreeBuilder(const session::Session& session, const SampleFilter& filter, base::SeriesId series);

    // Finds the samples that the filter selects.
    void select(const std::stop_token& stop, const base::Progress& progress);
    // Fills nodes and places of a tree with a root; children are not linked yet and nothing is left out but hidden
    // frames. A stop leaves the tree unfinished.
    void build(FlameTree& tree, bool flattenRecursion, const std::stop_token& stop);

    int64_t unknownStacks() const { return m_unknownStacks; }

private:
    struct Sum {
        int64_t weight = 0, count = 0, slow = 0; // slow: weight on slow paths by the label
        uint32_t flags = 0;
    };
    using GroupKeys = std::vector<uint32_t>; // one per SampleFilter::groups

    void addGroup(FlameTree& tree, uint32_t root, std::span<const uint32_t> rows, bool flatten);
    void mapStack(FlameTree& tree, uint32_t root, uint32_t stack, bool flatten);
    void countSeen(FlameTree& tree);
    void weighStatus(FlameTree& tree);
    void findRecursion();
    uint32_t groupNode(FlameTree& tree, size_t group);
    uint32_t child(FlameTree& tree, uint32_t parent, uint32_t key);
    static void sumUp(FlameTree& tree, bool flattened);

    const session::Session& m_session;
    const SampleFilter& m_filter;
    const session::SampleTable& m_samples;
    StepSelection m_steps;
    SamplePlaces m_places;
    std::vector<uint8_t> m_slowLabel;      // per label
    std::vector<GroupKeys> m_groups;       // in order of occurrence
    base::HugeVector<uint32_t> m_rows;     // selected samples, by group
    std::vector<size_t> m_groupBegin;      // group g owns rows [m_groupBegin[g], m_groupBegin[g + 1])
    int64_t m_unknownStacks = 0;

    // Per stack, for the group that is being added.
    std::vector<Sum> m_sums;
    std::vector<uint32_t> m_nodeOf;        // kNone: not met yet
    std::vector<uint32_t> m_met;           // stacks with a node, parents before children
    std::vector<uint32_t> m_chain;
    std::vector<int64_t> m_below;          // weight of the samples that end in a stack or above it
    std::vector<uint32_t> m_status;        // flags that are counted already for the node of a stack
    std::vector<uint32_t> m_samePlace;     // nearest stack below with the same place; kNone
    ChildMap m_children;
};

} // namespace stepscope::analysis
