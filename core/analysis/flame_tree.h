// FlameTree: what happened in a session, merged by its path: the spans by their labels (step -> phase -> layer ->
// primitive), or stack samples by their frames (core/analysis/sample_tree.h).
// Owner: core/analysis. Thread: any, immutable once built; build in a job (it loads the columns).
// Units: of spans ns; of samples the unit of their series (FlameTree::unit).
#pragma once

#include "core/analysis/span_filter.h"
#include "core/base/progress.h"

#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::analysis {

enum class FlameNodeKind : uint8_t {
    span,  // the root, labels and tracks
    frame, // one place in the code
    phase, // groups of samples; the phase none: samples without one
    layer, // none: samples outside of layers
};

struct FlameNode {
    static constexpr uint32_t kNone = 0xffffffffu;
    uint32_t parent = kNone;
    uint32_t firstChild = kNone;
    uint32_t nextSibling = kNone;
    int32_t depth = 0;     // the root has 0
    int32_t height = 0;    // levels below this node
    base::LabelId label;   // none for the root and for track nodes
    base::TrackId track;   // set for track nodes only
    base::LayerId layer;   // of a group of samples by layer
    uint32_t place = kNone; // row of FlameTree::places, of frames
    uint32_t flags = 0;    // session::FrameFlag of the frame and of the frames hidden below it
    FlameNodeKind kind = FlameNodeKind::span;
    session::Phase phase = session::Phase::none; // the label's, or that of the nearest node above with one
    int64_t total = 0;
    int64_t self = 0;      // total - sum of the children; of spans never negative
    int64_t slow = 0;      // in reference code, reorders and creation, here and below
    int64_t ownSlow = 0;   // of frames: weight that has the flag kSlowPath here or in frames hidden below, at most total
    int64_t ownAllocation = 0; // the same of kAllocation
    int64_t ownWaiting = 0;    // and of kWaiting
    int64_t count = 0;     // spans merged into this node; samples that are in it or below
    int64_t selfCount = 0; // samples that end in it
    int64_t seen = 0;      // weight of the samples whose stack touches a frame; more than total only where recursion
                           // was flattened and the stack went on elsewhere
};

// What the frames of a tree have in common that were merged into one node.
struct FlamePlace {
    base::StringId function; // whole; none when unknown
    base::StringId module;
    base::StringId file;
    int32_t line = 0;        // 0: unknown or merged
    uint64_t address = 0;    // 0: unknown or merged
    uint32_t flags = 0;      // session::FrameFlag of all frames here
    base::FrameId frame;     // the first of them
    std::string shown;       // short name: "conv2d:42"
};

enum class FlameUnit : uint8_t { time, bytes, count };

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
    std::vector<std::string> trackNames; // of all tracks of the session, told apart
    // Of a tree of samples:
    bool ofSamples = false;
    FlameUnit unit = FlameUnit::time;
    bool countsAreWeights = false; // the weight is a number of things (bytes, allocations), not an estimate by sampling
    int64_t weightPerCount = 0;   // > 0: samples stand for different times; counts are multiples of this usual one
    std::string weightName;       // name of the series: "cpu time"
    std::vector<FlamePlace> places;
    int64_t samples = 0;          // that went into the tree
    bool cut = false;             // too many callers: the deepest were left out

    const FlameNode& node(uint32_t id) const { return nodes[id]; }
    std::string_view name(uint32_t id) const; // "" for the root
    std::string_view fullName(uint32_t id) const; // of a frame the whole function, otherwise as name()
    const FlamePlace* place(uint32_t id) const;   // null for what is no frame
    std::string_view layerName(base::LayerId layer) const;
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
