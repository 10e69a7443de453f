// SampleView: everything that the views of stack samples show, made in one job from one filter.
// Owner: core/present. Thread: immutable after construction, any.
#pragma once

#include "core/analysis/sample_tree.h"
#include "core/present/table_source.h"

#include <cstdint>
#include <memory>
#include <vector>

namespace stepscope::present {

// The children of a tree's nodes side by side, for models that ask for the n-th child.
struct TreeRows {
    std::vector<uint32_t> children; // node ids, in the tree's order
    std::vector<uint32_t> begin;    // node n has children[begin[n]] to children[begin[n + 1]]
    std::vector<uint32_t> row;      // of a node among its siblings

    uint32_t count(uint32_t node) const { return begin[node + 1] - begin[node]; }
    uint32_t child(uint32_t node, uint32_t at) const { return children[begin[node] + at]; }
};
TreeRows treeRows(const analysis::FlameTree& tree);

struct SampleView {
    explicit SampleView(analysis::SampleProfile made);
    analysis::SampleProfile profile;
    TreeRows rows;
    std::shared_ptr<const TableSource> flat;
};

// "12 345 samples, 12.35 s of cpu time, 500 steps".
std::string sampleSummary(const analysis::SampleProfile& profile);
// Why a profile has no frames, for the place where they would be: no samples, or samples without stacks and what to do
// about them; "" when it has some.
std::string noFramesText(const analysis::SampleProfile& profile);
// How many samples the session lost, by its quality record; 0 when none.
int64_t lostSamples(const std::vector<session::QualityRow>& quality);

} // namespace stepscope::present
