#include "core/analysis/sample_shapes.h"

#include "core/analysis/child_map.h"
#include "core/analysis/sample_places.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace stepscope::analysis {

namespace {

constexpr uint32_t kNone = FlameNode::kNone;
constexpr size_t kMostNodes = size_t{1} << 22; // of a tree of callers: 400 MB

// Builds a new tree from pieces of another one; the groups above the frames are copied first.
class Reshaper {
public:
    Reshaper(FlameTree& tree, const SampleFilter& filter, std::stop_token stop)
        : m_tree(tree), m_filter(filter), m_stop(std::move(stop))
    {
    }

    void run()
    {
        m_old.swap(m_tree.nodes);
        m_groupOf.assign(m_old.size(), 0);
        for (uint32_t id = 0; id < m_old.size(); ++id) {
            if (m_old[id].kind == FlameNodeKind::frame) m_groupOf[id] = m_groupOf[m_old[id].parent];
            else copyGroup(id);
        }
        switch (m_filter.shape) {
        case SampleShape::topDown: m_tree.nodes.swap(m_old); return;
        case SampleShape::bottomUp: bottomUp(); break;
        case SampleShape::callers: callers(); break;
        case SampleShape::callees: callees(); break;
        }
        finish();
    }

private:
    void copyGroup(uint32_t id)
    {
        FlameNode node = m_old[id];
        if (id != 0) node.parent = m_groupOf[node.parent];
        node.total = node.slow = node.seen = node.count = 0;
        node.height = 0;
        node.firstChild = node.nextSibling = kNone;
        if (m_filter.shape == SampleShape::callers || m_filter.shape == SampleShape::callees) node.self = node.selfCount = 0;
        m_groupOf[id] = static_cast<uint32_t>(m_tree.nodes.size());
        m_tree.nodes.push_back(node);
    }

    uint32_t child(uint32_t parent, uint32_t place)
    {
        uint32_t& slot = m_children.slot(parent, place);
        if (slot == kNone) {
            slot = static_cast<uint32_t>(m_tree.nodes.size());
            FlameNode node;
            node.parent = parent;
            node.depth = m_tree.nodes[parent].depth + 1;
            node.phase = m_tree.nodes[parent].phase;
            node.kind = FlameNodeKind::frame;
            node.place = place;
            m_tree.nodes.push_back(node);
        }
        return slot;
    }

    // Puts weight at the end of the path from `from` up to its group; `first` is where the path begins.
    void addCallers(uint32_t first, uint32_t from, int64_t weight, int64_t count)
    {
        uint32_t at = first;
        for (uint32_t up = from; m_old[up].kind == FlameNodeKind::frame; up = m_old[up].parent) {
            if (m_tree.nodes.size() >= kMostNodes) {
                m_tree.cut = true;
                break;
            }
            at = child(at, m_old[up].place);
            m_tree.nodes[at].flags |= m_old[up].flags;
            // What ends in a frame has the status of its own and of hidden frames; a caller's own status is that of most of it.
            const FlameNode& old = m_old[up];
            const bool ends = up == from && m_tree.nodes[first].kind != FlameNodeKind::frame;
            const auto own = [&](int64_t status) { return ends ? std::min(status, weight) : status >= old.total - status ? weight : 0; };
            m_tree.nodes[at].ownSlow += own(old.ownSlow);
            m_tree.nodes[at].ownAllocation += own(old.ownAllocation);
            m_tree.nodes[at].ownWaiting += own(old.ownWaiting);
        }
        m_tree.nodes[at].self += weight;
        m_tree.nodes[at].selfCount += count;
    }

    void bottomUp()
    {
        for (uint32_t id = 0; id < m_old.size() && !m_stop.stop_requested(); ++id)
            if (m_old[id].kind == FlameNodeKind::frame && m_old[id].selfCount != 0)
                addCallers(m_groupOf[id], id, m_old[id].self, m_old[id].selfCount);
    }

    bool isFunction(uint32_t id) const
    {
        return m_old[id].kind == FlameNodeKind::frame && m_tree.places[m_old[id].place].function == m_filter.function;
    }

    // The outermost calls of the function on every path.
    std::vector<uint32_t> outermostCalls()
    {
        std::vector<uint8_t> inside(m_old.size(), 0);
        std::vector<uint32_t> calls;
        for (uint32_t id = 1; id < m_old.size(); ++id) {
            const bool below = inside[m_old[id].parent] != 0;
            const bool matches = isFunction(id);
            inside[id] = below || matches ? 1 : 0;
            if (matches && !below) calls.push_back(id);
        }
        return calls;
    }

    // One place for the function whatever the lines of its calls.
    uint32_t functionPlace()
    {
        FlamePlace whole;
        whole.function = m_filter.function;
        whole.shown = shortFunctionName(m_tree.session->string(m_filter.function));
        if (whole.shown.empty()) whole.shown = "[unknown function]";
        for (const FlamePlace& place : m_tree.places) {
            if (place.function != m_filter.function) continue;
            if (!whole.frame.valid()) {
                whole.frame = place.frame;
                whole.file = place.file;
                whole.module = place.module;
            }
            whole.flags |= place.flags;
        }
        m_tree.places.push_back(std::move(whole));
        return static_cast<uint32_t>(m_tree.places.size() - 1);
    }

    void callers()
    {
        const uint32_t place = functionPlace();
        for (const uint32_t call : outermostCalls()) {
            if (m_stop.stop_requested()) return;
            const uint32_t first = child(m_groupOf[call], place);
            m_tree.nodes[first].flags |= m_old[call].flags;
            m_tree.nodes[first].ownSlow += m_old[call].ownSlow;
            m_tree.nodes[first].ownAllocation += m_old[call].ownAllocation;
            m_tree.nodes[first].ownWaiting += m_old[call].ownWaiting;
            addCallers(first, m_old[call].parent, m_old[call].total, m_old[call].count);
        }
    }

    void callees()
    {
        const uint32_t place = functionPlace();
        std::vector<uint32_t> made(m_old.size(), kNone);
        for (const uint32_t call : outermostCalls())
            made[call] = child(m_groupOf[call], place);
        for (uint32_t id = 1; id < m_old.size(); ++id) {
            if (made[id] == kNone && m_old[id].kind == FlameNodeKind::frame && made[m_old[id].parent] != kNone)
                made[id] = child(made[m_old[id].parent], m_old[id].place);
            if (made[id] == kNone) continue;
            FlameNode& node = m_tree.nodes[made[id]];
            node.flags |= m_old[id].flags;
            node.ownSlow += m_old[id].ownSlow;
            node.ownAllocation += m_old[id].ownAllocation;
            node.ownWaiting += m_old[id].ownWaiting;
            node.self += m_old[id].self;
            node.selfCount += m_old[id].selfCount;
        }
    }

    void finish()
    {
        std::vector<FlameNode>& nodes = m_tree.nodes;
        for (FlameNode& node : nodes) {
            node.total = node.self;
            node.count = node.selfCount;
        }
        for (size_t i = nodes.size(); i-- > 0;) {
            FlameNode& node = nodes[i];
            node.seen = node.total;
            sumStatus(node);
            if (node.parent == kNone) continue;
            nodes[node.parent].total += node.total;
            nodes[node.parent].count += node.count;
            nodes[node.parent].slow += node.slow;
        }
    }

    FlameTree& m_tree;
    const SampleFilter& m_filter;
    std::stop_token m_stop;
    std::vector<FlameNode> m_old;
    std::vector<uint32_t> m_groupOf; // per old node, the new node of its group
    ChildMap m_children;
};

// Removes the nodes that are not kept; parents of kept nodes are kept.
void compact(std::vector<FlameNode>& nodes, const std::vector<uint8_t>& kept)
{
    std::vector<uint32_t> newId(nodes.size(), kNone);
    uint32_t next = 0;
    for (uint32_t id = 0; id < nodes.size(); ++id) {
        if (kept[id] == 0) continue;
        newId[id] = next;
        FlameNode node = nodes[id];
        if (node.parent != kNone) node.parent = newId[node.parent];
        nodes[next++] = node;
    }
    nodes.resize(next);
}

std::vector<uint8_t> visibleNodes(const FlameTree& tree, const SampleFilter& filter)
{
    const std::vector<FlameNode>& nodes = tree.nodes;
    std::vector<uint8_t> kept(nodes.size(), 1);
    std::vector<int32_t> level(nodes.size(), -1); // frames: 0 for the first below the group
    for (uint32_t id = 1; id < nodes.size(); ++id) {
        const FlameNode& node = nodes[id];
        if (node.kind != FlameNodeKind::frame) continue;
        level[id] = level[node.parent] + 1;
        const int64_t count = reportCount(tree, node);
        bool shown = kept[node.parent] != 0 && level[id] <= filter.maxDepth && count >= filter.minCount;
        if (shown && filter.noiseFloor > 0 && level[id] > 0) {
            const double above = std::sqrt(static_cast<double>(std::max<int64_t>(0, reportCount(tree, nodes[node.parent]))));
            shown = static_cast<double>(count) > filter.noiseFloor * above;
        }
        kept[id] = shown ? 1 : 0;
    }
    return kept;
}

} // namespace

void reshape(FlameTree& tree, const SampleFilter& filter, std::stop_token stop)
{
    if (filter.shape != SampleShape::topDown) Reshaper(tree, filter, std::move(stop)).run();
}

void sumStatus(FlameNode& node)
{
    node.ownSlow = std::min(node.ownSlow, node.total); // flattened recursion may meet a node twice
    node.ownAllocation = std::min(node.ownAllocation, node.total);
    node.ownWaiting = std::min(node.ownWaiting, node.total);
    node.slow = std::min(node.total, node.slow + node.ownSlow);
}

void arrange(FlameTree& tree, const SampleFilter& filter)
{
    const std::vector<uint8_t> kept = visibleNodes(tree, filter);
    std::vector<FlameNode>& nodes = tree.nodes;
    for (size_t i = nodes.size(); i-- > 1;)
        if (FlameNode& parent = nodes[nodes[i].parent]; kept[i] == 0 && parent.kind == FlameNodeKind::frame) {
            parent.flags |= nodes[i].flags & kStatusFlags;
            parent.ownSlow = std::min(parent.total, parent.ownSlow + nodes[i].ownSlow);
            parent.ownAllocation = std::min(parent.total, parent.ownAllocation + nodes[i].ownAllocation);
            parent.ownWaiting = std::min(parent.total, parent.ownWaiting + nodes[i].ownWaiting);
        }
    compact(nodes, kept);

    for (FlameNode& node : nodes) {
        node.firstChild = node.nextSibling = kNone;
        node.height = 0;
    }
    for (size_t i = nodes.size(); i-- > 1;)
        nodes[nodes[i].parent].height = std::max(nodes[nodes[i].parent].height, nodes[i].height + 1);

    const std::vector<uint32_t> ranks = placeRanks(*tree.session, tree.places);
    std::vector<uint32_t> ids(nodes.size() - 1);
    std::iota(ids.begin(), ids.end(), 1u);
    std::sort(ids.begin(), ids.end(), [&](uint32_t x, uint32_t y) {
        const FlameNode &a = nodes[x], &b = nodes[y];
        const bool groupA = a.kind != FlameNodeKind::frame, groupB = b.kind != FlameNodeKind::frame;
        if (groupA != groupB) return groupA;
        if (groupA) { // in the order of the session's tables
            if (a.track.value != b.track.value) return a.track.value < b.track.value;
            if (a.phase != b.phase) return a.phase < b.phase;
            if (a.layer.value != b.layer.value) return a.layer.value < b.layer.value;
            return x < y;
        }
        if (filter.order == SampleOrder::count && reportCount(tree, a) != reportCount(tree, b))
            return reportCount(tree, a) > reportCount(tree, b);
        if (filter.order == SampleOrder::overhead && reportSelfCount(tree, a) != reportSelfCount(tree, b))
            return reportSelfCount(tree, a) > reportSelfCount(tree, b);
        if (ranks[a.place] != ranks[b.place]) return ranks[a.place] < ranks[b.place];
        return x < y;
    });
    linkChildren(nodes, ids);
}

} // namespace stepscope::analysis
