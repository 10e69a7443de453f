// FlameTree: the spans of a session merged by their path of labels: step -> phase -> layer -> primitive.
// Owner: core/analysis. Thread: any, immutable once built; build in a job (it loads the span columns). Units: ns.
#pragma once

#include "core/analysis/span_filter.h"
#include "core/base/progress.h"

#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::analysis {

struct FlameNode {
    static constexpr uint32_t kNone = 0xffffffffu;
    uint32_t parent = kNone;
    uint32_t firstChild = kNone;
    uint32_t nextSibling = kNone;
    int32_t depth = 0;     // the root has 0
    int32_t height = 0;    // levels below this node
    base::LabelId label;   // none for the root and for track nodes
    base::TrackId track;   // set for track nodes only
    session::Phase phase = session::Phase::none; // the label's, or that of the nearest node above with one
    base::TimeNs total = 0;
    base::TimeNs self = 0; // total - sum of the children, never negative
    base::TimeNs slow = 0; // time in reference code, reorders and creation, here and below
    int64_t count = 0;     // spans merged into this node
};

enum class ChildOrder { firstOccurrence, weight }; // weight: largest total first, the name breaks ties

struct FlameTree {
    session::SessionPtr session;
    SpanFilter filter;
    // Node 0 is an unnamed root over everything; parents come before children. Its children are the merged step and
    // what else the training thread did, then one node per other track (named after the track) with its spans.
    // A session without any step has one node per track.
    std::vector<FlameNode> nodes;
    int64_t steps = 0;            // selected steps
    base::TimeNs stepTotal = 0;   // total of the step nodes: what a share of the step refers to
    int64_t warmupLeftOut = 0;
    bool warmupOnly = false;      // there were only warm-up steps, so they are shown
    int64_t spans = 0;            // spans that went into the tree

    const FlameNode& node(uint32_t id) const { return nodes[id]; }
    std::string_view name(uint32_t id) const; // "" for the root
    // Names from below the root down to the node, joined by " › ".
    std::string path(uint32_t id) const;
    const session::Label* label(uint32_t id) const; // null for the root and track nodes
    // What the uncovered rest of a node is called: "between phases", "between layers", "between primitives", "self".
    std::string_view remainderName(uint32_t id) const;
    // The step node; kNone without one.
    uint32_t stepNode() const;
};

// One linear pass over the spans. A stop gives the tree of nothing (root only).
FlameTree buildFlameTree(session::SessionPtr session, const SpanFilter& filter, ChildOrder order = ChildOrder::firstOccurrence,
                         std::stop_token stop = {}, const base::Progress& progress = {});

} // namespace stepscope::analysis
