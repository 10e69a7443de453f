// What the builders of flame trees share.
// Owner: core/analysis, internal. Thread: one at a time.
#pragma once

#include "core/analysis/flame_tree.h"

#include <vector>

namespace stepscope::analysis {

// (parent node, label) -> child node. Open addressing: the few hundred live entries stay in the first-level cache.
class ChildMap {
public:
    ChildMap() : m_slots(1024) {}

    // The slot's node, FlameNode::kNone for a new pair; the caller stores the new node in it at once.
    uint32_t& slot(uint32_t parent, uint32_t key)
    {
        if ((m_used + 1) * 2 > m_slots.size()) grow();
        Slot& found = place(m_slots, parent, key);
        if (found.node == FlameNode::kNone) ++m_used;
        return found.node;
    }

private:
    struct Slot {
        uint32_t parent = 0, key = 0, node = FlameNode::kNone;
    };

    static Slot& place(std::vector<Slot>& slots, uint32_t parent, uint32_t key)
    {
        const size_t mask = slots.size() - 1;
        uint64_t hash = (uint64_t{parent} << 32 | key) * 0x9e3779b97f4a7c15u;
        for (size_t i = (hash >> 32) & mask;; i = (i + 1) & mask) {
            Slot& slot = slots[i];
            if (slot.node == FlameNode::kNone || (slot.parent == parent && slot.key == key)) {
                slot.parent = parent;
                slot.key = key;
                return slot;
            }
        }
    }

    void grow()
    {
        std::vector<Slot> larger(m_slots.size() * 2);
        for (const Slot& slot : m_slots)
            if (slot.node != FlameNode::kNone) place(larger, slot.parent, slot.key).node = slot.node;
        m_slots.swap(larger);
    }

    std::vector<Slot> m_slots;
    size_t m_used = 0;
};

// Makes the nodes `ids` the children of their parents, in this order; other nodes stay out of sight.
inline void linkChildren(std::vector<FlameNode>& nodes, const std::vector<uint32_t>& ids)
{
    std::vector<uint32_t> last(nodes.size(), FlameNode::kNone);
    for (const uint32_t id : ids) {
        const uint32_t parent = nodes[id].parent;
        (last[parent] == FlameNode::kNone ? nodes[parent].firstChild : nodes[last[parent]].nextSibling) = id;
        last[parent] = id;
    }
}

} // namespace stepscope::analysis
