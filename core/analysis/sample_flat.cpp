#include "core/analysis/child_map.h"
#include "core/analysis/sample_places.h"
#include "core/analysis/sample_shapes.h"

#include <algorithm>
#include <numeric>

namespace stepscope::analysis {

namespace {

constexpr uint32_t kNone = FlameNode::kNone;

// Walks the tree with the places that are on the current path, so that a place counts once per stack.
class FlatBuilder {
public:
    explicit FlatBuilder(FlameTree& tree) : m_tree(tree)
    {
        std::vector<uint32_t> ids(tree.nodes.size() - 1);
        std::iota(ids.begin(), ids.end(), 1u);
        linkChildren(tree.nodes, ids);
        m_onPath.assign(tree.places.size(), 0);
        m_rowOf.assign(tree.places.size(), kNone);
    }

    void addGroup(uint32_t root, uint32_t group)
    {
        m_group = group;
        m_begin = rows.size();
        uint32_t at = root;
        bool down = true;
        for (;;) {
            const FlameNode& node = m_tree.nodes[at];
            if (down && at != root) enter(node);
            if (down && node.firstChild != kNone && m_tree.nodes[node.firstChild].kind == FlameNodeKind::frame) {
                at = node.firstChild;
                continue;
            }
            if (at == root) break;
            --m_onPath[node.place];
            down = node.nextSibling != kNone;
            at = down ? node.nextSibling : node.parent;
        }
        for (size_t i = m_begin; i < rows.size(); ++i)
            m_rowOf[rows[i].place] = kNone;
        const FlameNode& top = m_tree.nodes[root];
        if (top.selfCount > 0) {
            FlatRow unknown;
            unknown.group = group;
            unknown.total = unknown.self = top.self;
            unknown.count = unknown.selfCount = top.selfCount;
            rows.push_back(unknown);
        }
    }

    std::vector<FlatRow> rows;

private:
    void enter(const FlameNode& node)
    {
        uint32_t& at = m_rowOf[node.place];
        if (at == kNone) {
            at = static_cast<uint32_t>(rows.size());
            FlatRow row;
            row.place = node.place;
            row.group = m_group;
            rows.push_back(row);
        }
        FlatRow& row = rows[at];
        if (m_onPath[node.place]++ == 0) {
            row.total += node.total;
            row.count += node.count;
        }
        row.self += node.self;
        row.selfCount += node.selfCount;
        row.flags |= node.flags;
    }

    FlameTree& m_tree;
    std::vector<uint32_t> m_onPath, m_rowOf;
    uint32_t m_group = 0;
    size_t m_begin = 0;
};

std::vector<std::string> groupNames(const FlameTree& tree, uint32_t id)
{
    std::vector<std::string> names;
    for (uint32_t at = id; at != 0; at = tree.nodes[at].parent)
        names.emplace_back(tree.name(at));
    std::reverse(names.begin(), names.end());
    return names;
}

// The innermost groups in the order that arrange() gives them.
std::vector<uint32_t> groupNodes(const FlameTree& tree, size_t levels)
{
    std::vector<uint32_t> found;
    for (uint32_t id = 0; id < tree.nodes.size(); ++id)
        if (tree.nodes[id].kind != FlameNodeKind::frame && static_cast<size_t>(tree.nodes[id].depth) == levels
            && (id == 0) == (levels == 0))
            found.push_back(id);
    const auto before = [&](uint32_t x, uint32_t y) {
        const FlameNode &a = tree.nodes[x], &b = tree.nodes[y];
        if (a.track.value != b.track.value) return a.track.value < b.track.value;
        if (a.phase != b.phase) return a.phase < b.phase;
        return a.layer.value < b.layer.value;
    };
    std::stable_sort(found.begin(), found.end(), [&](uint32_t x, uint32_t y) {
        const uint32_t up = tree.nodes[x].parent, other = tree.nodes[y].parent;
        if (up != other && up != kNone && other != kNone) {
            if (before(up, other)) return true;
            if (before(other, up)) return false;
        }
        return before(x, y);
    });
    return found;
}

} // namespace

std::vector<FlatRow> flatRows(FlameTree& whole, const SampleFilter& filter, std::vector<SampleGroupInfo>& groups)
{
    FlatBuilder builder(whole);
    for (const uint32_t id : groupNodes(whole, filter.groups.size())) {
        builder.addGroup(id, static_cast<uint32_t>(groups.size()));
        groups.push_back({groupNames(whole, id), whole.nodes[id].total, whole.nodes[id].count});
    }
    std::vector<FlatRow>& rows = builder.rows;
    const auto count = [&](const FlatRow& row) { return reportCount(whole, row.total, row.count); };
    const auto self = [&](const FlatRow& row) { return reportCount(whole, row.self, row.selfCount); };
    std::erase_if(rows, [&](const FlatRow& row) { return count(row) < filter.minCount; });
    const std::vector<uint32_t> ranks = placeRanks(*whole.session, whole.places);
    const auto rank = [&](const FlatRow& row) { return row.place == kNone ? kNone : ranks[row.place]; };
    std::stable_sort(rows.begin(), rows.end(), [&](const FlatRow& a, const FlatRow& b) {
        if (a.group != b.group) return a.group < b.group;
        if (filter.order == SampleOrder::count && count(a) != count(b)) return count(a) < count(b);
        if (filter.order == SampleOrder::overhead && self(a) != self(b)) return self(a) < self(b);
        return rank(a) < rank(b);
    });
    return rows;
}

} // namespace stepscope::analysis
