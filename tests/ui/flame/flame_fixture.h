// Flame trees from collapsed stacks, for the tests of the flame graph.
#pragma once

#include "core/analysis/flame_tree.h"
#include "core/session/session_builder.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace stepscope::test {

using Stacks = std::vector<std::pair<std::vector<std::string>, int64_t>>;

// Each stack takes its weight in ns, one after the other, on one track; equal prefixes that touch become one span.
inline session::SessionPtr sessionOf(const Stacks& stacks)
{
    session::SessionBuilder builder;
    builder.addTrack({"track", 1});
    std::vector<session::SpanRecord> spans;
    struct Open {
        std::string name;
        int64_t start;
    };
    std::vector<Open> open;
    int64_t now = 0;
    const auto closeTo = [&](size_t depth) {
        while (open.size() > depth) {
            session::Label label;
            label.name = builder.intern(open.back().name);
            spans.push_back({open.back().start, now - open.back().start, builder.internLabel(label).value, -1});
            open.pop_back();
        }
    };
    for (const auto& [stack, weight] : stacks) {
        size_t common = 0;
        while (common < std::min(open.size(), stack.size()) && open[common].name == stack[common]) ++common;
        closeTo(common);
        for (size_t i = common; i < stack.size(); ++i) open.push_back({stack[i], now});
        now += weight;
    }
    closeTo(0);
    builder.addSpans(base::TrackId(0u), spans);
    return builder.build();
}

inline std::shared_ptr<const analysis::FlameTree> treeOf(const session::SessionPtr& session)
{
    analysis::SpanFilter filter;
    filter.includeWarmup = true;
    return std::make_shared<const analysis::FlameTree>(analysis::buildFlameTree(session, filter));
}

inline std::shared_ptr<const analysis::FlameTree> treeOf(const Stacks& stacks) { return treeOf(sessionOf(stacks)); }

inline uint32_t nodeNamed(const analysis::FlameTree& tree, std::string_view name)
{
    for (uint32_t node = 1; node < tree.nodes.size(); ++node)
        if (tree.name(node) == name) return node;
    return analysis::FlameNode::kNone;
}

} // namespace stepscope::test
