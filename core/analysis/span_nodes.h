// From the frames of a flame tree to the spans that were merged into them, and back.
// Owner: core/analysis. Thread: any; make it in a job (it looks at every span of the frame's track).
#pragma once

#include "core/analysis/flame_tree.h"

#include <cstdint>
#include <stop_token>
#include <vector>

namespace stepscope::analysis {

// Rows of the SpanTable, longest first, equal ones by time. Nothing for the root, for tracks and in trees of samples.
std::vector<uint32_t> spansOfNode(const FlameTree& tree, uint32_t node, std::stop_token stop = {});

// The node that a span was merged into by its path; FlameNode::kNone when the tree has no such path.
uint32_t nodeOfSpan(const FlameTree& tree, uint32_t row);

// First row behind the span and everything nested in it.
uint32_t endOfSubtree(const session::SpanTable& spans, uint32_t row);

} // namespace stepscope::analysis
