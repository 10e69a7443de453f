#include "core/present/flame_layout.h"

#include <algorithm>

namespace stepscope::present {

using analysis::FlameNode;
using analysis::FlameTree;

namespace {

uint32_t largestChild(const FlameTree& tree, uint32_t from)
{
    uint32_t found = kNoNode;
    for (uint32_t child = tree.node(from).firstChild; child != kNoNode; child = tree.node(child).nextSibling)
        if (found == kNoNode || tree.node(child).total > tree.node(found).total) found = child;
    return found;
}

uint32_t sibling(const FlameTree& tree, uint32_t from, bool after)
{
    if (after) return tree.node(from).nextSibling;
    const uint32_t parent = tree.node(from).parent;
    if (parent == kNoNode) return kNoNode;
    uint32_t before = kNoNode;
    for (uint32_t at = tree.node(parent).firstChild; at != from && at != kNoNode; at = tree.node(at).nextSibling)
        before = at;
    return before;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

} // namespace

uint32_t move(const FlameTree& tree, uint32_t from, FlameMove direction)
{
    if (from >= tree.nodes.size()) return kNoNode;
    switch (direction) {
    case FlameMove::parent: return tree.node(from).parent;
    case FlameMove::child: return largestChild(tree, from);
    case FlameMove::previous: return sibling(tree, from, false);
    case FlameMove::next: return sibling(tree, from, true);
    }
    return kNoNode;
}

uint32_t widestLeaf(const FlameTree& tree, uint32_t from)
{
    if (from >= tree.nodes.size()) return kNoNode;
    for (uint32_t child = largestChild(tree, from); child != kNoNode; child = largestChild(tree, from))
        from = child;
    return from;
}

std::vector<uint32_t> nodesOfLayer(const FlameTree& tree, base::LayerId layer)
{
    std::vector<uint32_t> found;
    if (!layer.valid()) return found;
    std::vector<uint8_t> inside(tree.nodes.size(), 0);
    for (uint32_t id = 1; id < tree.nodes.size(); ++id) {
        const session::Label* label = tree.label(id);
        const bool below = inside[tree.node(id).parent] != 0;
        const bool matches = label != nullptr && label->layer == layer;
        inside[id] = below || matches;
        if (matches && !below) found.push_back(id);
    }
    return found;
}

NameMatcher containsText(std::string_view text)
{
    std::string wanted(text);
    std::transform(wanted.begin(), wanted.end(), wanted.begin(), lower);
    return [wanted = std::move(wanted)](std::string_view name) {
        const auto found = std::search(name.begin(), name.end(), wanted.begin(), wanted.end(),
            [](char a, char b) { return lower(a) == b; });
        return found != name.end() || wanted.empty();
    };
}

FlameMatches searchFlame(const FlameTree& tree, uint32_t zoomed, const NameMatcher& matches)
{
    FlameMatches result;
    result.matched.assign(tree.nodes.size(), 0);
    if (zoomed >= tree.nodes.size()) return result;
    result.visible = tree.node(zoomed).total;

    // Many nodes share few labels and places: ask once per each.
    std::vector<int8_t> byLabel(tree.session->labels().size() + 1, -1), byPlace(tree.places.size(), -1);
    const auto ask = [&](uint32_t id) {
        if (tree.place(id) != nullptr) {
            int8_t& known = byPlace[tree.node(id).place];
            if (known < 0) known = matches(tree.fullName(id)) || matches(tree.name(id)) ? 1 : 0;
            return known == 1;
        }
        const base::LabelId label = tree.node(id).label;
        if (!label.valid()) return id != 0 && matches(tree.name(id));
        int8_t& known = byLabel[std::min(label.index(), byLabel.size() - 1)];
        if (known < 0) known = matches(tree.name(id)) ? 1 : 0;
        return known == 1;
    };
    for (uint32_t id = 1; id < tree.nodes.size(); ++id)
        result.matched[id] = ask(id);

    // An ancestor of the zoomed node is drawn over everything that is visible.
    for (uint32_t at = zoomed; at != kNoNode; at = tree.node(at).parent) {
        if (result.matched[at] == 0) continue;
        result.nodes.push_back(at);
        result.time = result.visible;
    }
    std::reverse(result.nodes.begin(), result.nodes.end());

    // Below: parents come before children, so one pass tells what is visible and what is covered already.
    enum : uint8_t { kHidden, kVisible, kCovered };
    std::vector<uint8_t> state(tree.nodes.size(), kHidden);
    state[zoomed] = result.time > 0 ? kCovered : kVisible;
    for (uint32_t id = 1; id < zoomed; ++id)
        result.elsewhere += result.matched[id];
    result.elsewhere -= std::count_if(result.nodes.begin(), result.nodes.end(), [zoomed](uint32_t id) { return id < zoomed; });
    for (uint32_t id = zoomed + 1; id < tree.nodes.size(); ++id) {
        const uint8_t above = state[tree.node(id).parent];
        if (above == kHidden) {
            result.elsewhere += result.matched[id];
            continue;
        }
        state[id] = above;
        if (result.matched[id] == 0) continue;
        result.nodes.push_back(id);
        if (above == kVisible) result.time += tree.node(id).total;
        state[id] = kCovered;
    }
    return result;
}

} // namespace stepscope::present
