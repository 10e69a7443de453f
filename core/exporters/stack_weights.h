// StackWeights: a session as stacks with weights, for formats that know nothing else. Of sampled sessions the series
// that is shown first; of sessions with spans alone the self time of every path of spans. Owner: core/exporters.
// Thread: any; immutable.
#pragma once

#include "core/session/session.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::exporters {

struct StackWeights {
    static constexpr uint32_t kNone = 0xffffffffu;

    struct Node { // one frame called from `parent`; parents stand before their children
        uint32_t parent = kNone;
        std::string_view name;
        base::FrameId frame; // of sampled sessions
    };
    std::vector<Node> nodes;
    std::vector<int64_t> self; // per node, may be negative
    int64_t withoutStack = 0;
    std::string name, unit; // of the series: "cycles", ""; "time", "ns" for spans

    int64_t total() const;
    // Names from the outermost to the node.
    std::vector<uint32_t> path(uint32_t node) const;
};

// The views point into the session.
StackWeights stackWeights(const session::Session& session);
bool hasSamples(const session::Session& session);
// Index of the series that is shown first.
size_t shownSeries(const session::Session& session);

// Nodes of equal name and parent made one, siblings in order of their names.
struct MergedStacks {
    struct Node {
        uint32_t parent = StackWeights::kNone;
        std::string_view name;
        int64_t self = 0, total = 0; // what is negative counts as 0
        uint32_t depth = 0;
        uint32_t firstChild = StackWeights::kNone, nextSibling = StackWeights::kNone;
    };
    std::vector<Node> nodes; // parents before their children
    uint32_t firstRoot = StackWeights::kNone;
    int64_t total = 0;    // with what has no stack
    int64_t negative = 0; // left out
    uint32_t depth = 0;   // of the deepest node, from 1
};
MergedStacks mergeByName(const StackWeights& stacks);

} // namespace stepscope::exporters
