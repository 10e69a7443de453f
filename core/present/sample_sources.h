// Stack samples as tables: the flat table, and the tree with its rows indented.
// Owner: core/present. Thread: immutable after construction, any.
#pragma once

#include "core/analysis/sample_tree.h"
#include "core/present/table_source.h"

#include <memory>
#include <string>

namespace stepscope::present {

// Row i is SampleProfile::flat[i].
std::unique_ptr<TableSource> makeFlatSampleTable(const analysis::SampleProfile& profile);
// Pre-order in the tree's own order; indent() is the depth.
std::unique_ptr<TableSource> makeSampleTreeTable(const analysis::SampleProfile& profile);

// A weight in the unit of the tree: "1.234 ms", "173.5 KiB", "1_234".
std::string formatWeight(const analysis::FlameTree& tree, double weight);
// "slow path, allocates": what the flags of a frame say, for hover texts and tables; "" for nothing special.
std::string frameFlagText(uint32_t flags);

} // namespace stepscope::present
