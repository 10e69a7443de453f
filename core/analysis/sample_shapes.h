// Other views of a top-down tree of samples, and what a view shows of it.
// Owner: core/analysis, internal. Thread: any, on the caller's tree.
#pragma once

#include "core/analysis/sample_tree.h"

namespace stepscope::analysis {

// Turns a top-down tree with totals into the shape of the filter. A tree of callers that would grow beyond all bounds
// loses its outermost frames, and tree.cut tells so. After a stop the tree is to be thrown away.
void reshape(FlameTree& tree, const SampleFilter& filter, std::stop_token stop = {});

// Leaves out what the filter hides, hands its status flags to the frame around it, and links the children in the
// filter's order.
void arrange(FlameTree& tree, const SampleFilter& filter);

// The flat table of a top-down tree, whose groups are named in `groups`. Links the tree's children.
std::vector<FlatRow> flatRows(FlameTree& whole, const SampleFilter& filter, std::vector<SampleGroupInfo>& groups);

// Own status within the total, and what is slow here or below; children have been added to `slow` before.
void sumStatus(FlameNode& node);

} // namespace stepscope::analysis
