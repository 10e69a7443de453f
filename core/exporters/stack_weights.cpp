#include "core/exporters/stack_weights.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

namespace stepscope::exporters {

namespace {

struct Key {
    uint32_t parent = 0;
    std::string_view name;
    friend bool operator==(const Key&, const Key&) = default;
};
struct KeyHash {
    size_t operator()(const Key& key) const noexcept
    {
        return std::hash<std::string_view>{}(key.name) ^ (size_t{key.parent} * 0x9e3779b97f4a7c15u);
    }
};

StackWeights sampleWeights(const session::Session& session)
{
    StackWeights result;
    const size_t series = shownSeries(session);
    result.name = session.series()[series].name;
    result.unit = session.series()[series].unit;
    for (const session::StackRow& stack : session.stacks()) {
        const bool known = stack.frame.valid();
        result.nodes.push_back(
            {stack.parent.value,
             known ? session.string(session.frames()[stack.frame.index()].function) : std::string_view("[unknown]"),
             stack.frame});
    }
    result.self.assign(result.nodes.size(), 0);
    const session::SampleTable& samples = session.samples(session::SeriesId(series));
    for (size_t i = 0; i < samples.size(); ++i) {
        if (samples.stack[i] < result.self.size()) result.self[samples.stack[i]] += samples.weight[i];
        else result.withoutStack += samples.weight[i];
    }
    return result;
}

StackWeights spanWeights(const session::Session& session)
{
    StackWeights result;
    result.name = "time";
    result.unit = "ns";
    const session::SpanTable& spans = session.spans();
    size_t used = 0;
    for (size_t t = 0; t + 1 < spans.trackBegin.size(); ++t)
        used += spans.trackBegin[t] < spans.trackBegin[t + 1] ? 1 : 0;
    std::unordered_map<Key, uint32_t, KeyHash> known;
    const auto node = [&](uint32_t parent, std::string_view name) {
        const auto [at, added] = known.try_emplace(Key{parent, name}, static_cast<uint32_t>(result.nodes.size()));
        if (added) {
            result.nodes.push_back({parent, name, {}});
            result.self.push_back(0);
        }
        return at->second;
    };
    std::vector<uint32_t> nodeOf(spans.size());
    for (size_t t = 0; t + 1 < spans.trackBegin.size(); ++t) {
        // Tracks are told apart by their name where there are several, and by the file they came from.
        const session::Track& track = session.tracks()[t];
        const bool named = used > 1 && spans.trackBegin[t] < spans.trackBegin[t + 1];
        const uint32_t group = named && !track.group.empty() ? node(StackWeights::kNone, track.group) : StackWeights::kNone;
        const uint32_t root = named ? node(group, track.name) : StackWeights::kNone;
        for (size_t row = spans.trackBegin[t]; row < spans.trackBegin[t + 1]; ++row) {
            const uint32_t parent = spans.parent[row];
            nodeOf[row] = node(parent == session::SpanTable::kNoParent ? root : nodeOf[parent],
                               session.string(session.labels()[spans.label[row]].name));
            result.self[nodeOf[row]] += spans.duration[row];
            if (parent != session::SpanTable::kNoParent) result.self[nodeOf[parent]] -= spans.duration[row];
        }
    }
    return result;
}

} // namespace

int64_t StackWeights::total() const { return std::accumulate(self.begin(), self.end(), withoutStack); }

std::vector<uint32_t> StackWeights::path(uint32_t node) const
{
    std::vector<uint32_t> result;
    for (uint32_t at = node; at != kNone; at = nodes[at].parent)
        result.push_back(at);
    std::reverse(result.begin(), result.end());
    return result;
}

bool hasSamples(const session::Session& session) { return !session.series().empty() && session.sampleCount() > 0; }

size_t shownSeries(const session::Session& session)
{
    for (size_t i = 0; i < session.series().size(); ++i)
        if (session.series()[i].isDefault) return i;
    return 0;
}

StackWeights stackWeights(const session::Session& session)
{
    return hasSamples(session) ? sampleWeights(session) : spanWeights(session);
}

MergedStacks mergeByName(const StackWeights& stacks)
{
    MergedStacks merged;
    std::unordered_map<Key, uint32_t, KeyHash> known;
    std::vector<uint32_t> mergedOf(stacks.nodes.size());
    for (size_t i = 0; i < stacks.nodes.size(); ++i) {
        const StackWeights::Node& node = stacks.nodes[i];
        const uint32_t parent = node.parent == StackWeights::kNone ? StackWeights::kNone : mergedOf[node.parent];
        const auto [at, added] = known.try_emplace(Key{parent, node.name}, static_cast<uint32_t>(merged.nodes.size()));
        if (added) {
            MergedStacks::Node next;
            next.parent = parent;
            next.name = node.name;
            next.depth = parent == StackWeights::kNone ? 1 : merged.nodes[parent].depth + 1;
            merged.nodes.push_back(next);
        }
        mergedOf[i] = at->second;
        merged.nodes[at->second].self += stacks.self[i];
    }
    merged.total = std::max<int64_t>(0, stacks.withoutStack);
    for (size_t i = merged.nodes.size(); i-- > 0;) {
        MergedStacks::Node& node = merged.nodes[i];
        if (node.self < 0) {
            merged.negative -= node.self;
            node.self = 0;
        }
        node.total += node.self;
        merged.total += node.self;
        if (node.total > 0) merged.depth = std::max(merged.depth, node.depth);
        if (node.parent != StackWeights::kNone) merged.nodes[node.parent].total += node.total;
    }
    std::vector<uint32_t> order(merged.nodes.size());
    std::iota(order.begin(), order.end(), 0u);
    // Taken from the last name to the first, each becomes the first of its siblings.
    std::sort(order.begin(), order.end(),
              [&](uint32_t a, uint32_t b) { return merged.nodes[a].name > merged.nodes[b].name; });
    for (const uint32_t i : order) {
        MergedStacks::Node& node = merged.nodes[i];
        uint32_t& first = node.parent == StackWeights::kNone ? merged.firstRoot : merged.nodes[node.parent].firstChild;
        node.nextSibling = first;
        first = i;
    }
    return merged;
}

} // namespace stepscope::exporters
