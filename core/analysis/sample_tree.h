// Trees and tables of stack samples.
// Owner: core/analysis. Thread: any; build in a job (it loads the sample columns).
// Units: weights in the unit of the series, counts in samples.
//
// Every sample is counted once per node and once per row of the flat table, however often its stack enters a function.
// Deep stacks cost no machine stack: everything here is loops.
#pragma once

#include "core/analysis/flame_tree.h"
#include "core/analysis/sample_filter.h"

namespace stepscope::analysis {

struct FlatRow {
    uint32_t place = FlameNode::kNone; // row of FlameTree::places; kNone: samples whose stack is not known
    uint32_t group = 0;                // of SampleProfile::groups
    uint32_t flags = 0;                // session::FrameFlag
    int64_t total = 0;                 // weight of the samples in which the place occurs
    int64_t self = 0;                  // of those that end in it
    int64_t count = 0, selfCount = 0;  // the same as numbers of samples
};

struct SampleGroupInfo {
    std::vector<std::string> names; // "training", then "forward", in the order of SampleFilter::groups
    int64_t total = 0;              // weight
    int64_t samples = 0;
};

struct SampleProfile {
    FlameTree tree;            // top-down, or the shape that the filter asks for; its children are in the filter's order
    std::vector<FlatRow> flat; // always over whole stacks; per group in the filter's order, largest last as in Julia
    std::vector<SampleGroupInfo> groups; // one without names when the filter groups by nothing
    SampleFilter filter;
    base::SeriesId series;
    int64_t total = 0;         // weight of all selected samples
    int64_t samples = 0;
    int64_t unknownStacks = 0; // selected samples without a stack
};

// What Julia's report counts: samples, or the weights of series whose weights are counts already. Where samples stand for
// different times, as those of waiting threads do, it is the time in samples of the usual length, rounded.
int64_t reportCount(const FlameTree& tree, int64_t weight, int64_t samples);
int64_t reportCount(const FlameTree& tree, const FlameNode& node);     // in the node and below
int64_t reportSelfCount(const FlameTree& tree, const FlameNode& node); // that end in it

// A stop gives the profile of nothing. No series at all gives an empty tree.
SampleProfile sampleProfile(session::SessionPtr session, const SampleFilter& filter, std::stop_token stop = {},
                            const base::Progress& progress = {});

// "dnnl::impl::gemm_driver" from "void dnnl::impl::gemm_driver<float, (int)3>(float const*, int) [clone .omp_fn.0]":
// without return type, arguments, template arguments and clone marks. Lambdas keep their place.
std::string shortFunctionName(std::string_view whole);

} // namespace stepscope::analysis
