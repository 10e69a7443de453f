#include "core/analysis/stack_tree.h"

#include "core/analysis/sample_shapes.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <unordered_map>

namespace stepscope::analysis {

namespace {

constexpr uint32_t kNone = FlameNode::kNone;

// Keys of children: places as they are, groups beyond them.
constexpr uint32_t kTrackKey = 0x80000000u, kLayerKey = 0xa0000000u, kPhaseKey = 0xc0000000u;
constexpr uint32_t kGroupMask = 0x1fffffffu; // also the value of "no thread" and "no layer"

bool slowLabel(const session::Session& session, const session::Label& label)
{
    if (label.kind == session::SpanKind::creation) return label.phase != session::Phase::setup;
    if (label.primitive.index() >= session.primitives().size()) return false;
    return (session.primitives()[label.primitive.index()].flags & (session::kReference | session::kReorder)) != 0;
}

// Per layer, whether it is one of the wanted ones or inside of one.
std::vector<uint8_t> wantedLayers(const session::Session& session, const std::vector<base::LayerId>& layers)
{
    std::vector<uint8_t> wanted(session.layers().size(), 0);
    for (const base::LayerId layer : layers)
        if (layer.index() < wanted.size()) wanted[layer.index()] = 1;
    for (size_t i = 0; i < wanted.size(); ++i)
        if (const base::LayerId parent = session.layers()[i].parent; parent.index() < i && wanted[parent.index()] != 0) wanted[i] = 1;
    return wanted;
}

// Tells of a sample whether the filter takes it.
class Selector {
public:
    Selector(const session::Session& session, const SampleFilter& filter, const session::SampleTable& samples, const StepSelection& steps)
        : m_session(session), m_filter(filter), m_samples(samples), m_steps(steps), m_layers(wantedLayers(session, filter.layers)), m_stepRows(session)
    {
        m_allPhases = (filter.spans.phases & kAllPhases) == kAllPhases;
        m_tracks.assign(session.tracks().size() + 1, filter.spans.tracks.empty() ? 1 : 0);
        for (const base::TrackId track : filter.spans.tracks)
            if (track.index() < m_tracks.size()) m_tracks[track.index()] = 1;
        m_training.assign(session.tracks().size() + 1, 0);
        for (size_t t = 0; t < session.tracks().size(); ++t)
            m_training[t] = runsSteps(session, base::TrackId(t)) ? 1 : 0;
    }

    bool takes(size_t row)
    {
        const size_t track = std::min<size_t>(m_samples.track[row], m_tracks.size() - 1);
        if (m_tracks[track] == 0 || !takesStep(row, m_training[track] != 0)) return false;
        if (m_allPhases && m_filter.layers.empty()) return true;
        const uint32_t label = m_samples.label[row];
        const session::Label* known = label < m_session.labels().size() ? &m_session.labels()[label] : nullptr;
        if (!m_allPhases && (m_filter.spans.phases & phaseBit(known != nullptr ? known->phase : session::Phase::none)) == 0) return false;
        if (m_filter.layers.empty()) return true;
        return known != nullptr && known->layer.index() < m_layers.size() && m_layers[known->layer.index()] != 0;
    }

private:
    bool takesStep(size_t row, bool training)
    {
        if (m_session.steps().empty()) return true;
        if (m_samples.step[row] >= 0) return m_steps.hasStep(m_samples.step[row]);
        if (training) return m_filter.spans.outsideSteps;
        // A helper's sample belongs to the step that runs meanwhile; samples ascend by time.
        const std::vector<session::StepRow>& steps = m_session.steps();
        const auto [first, end] = m_stepRows.of(base::TrackId(m_samples.track[row]));
        size_t& cursor = m_cursors.try_emplace(first, first).first->second;
        while (cursor < end && steps[cursor].start <= m_samples.time[row])
            ++cursor;
        return cursor == first ? m_filter.spans.outsideSteps : m_steps.hasRow(static_cast<int64_t>(cursor) - 1);
    }

    const session::Session& m_session;
    const SampleFilter& m_filter;
    const session::SampleTable& m_samples;
    const StepSelection& m_steps;
    std::vector<uint8_t> m_layers, m_tracks, m_training;
    bool m_allPhases = true;
    StepRows m_stepRows;
    std::map<size_t, size_t> m_cursors; // by the first row of a group's steps
};

uint32_t groupKey(const session::Session& session, const session::SampleTable& samples, size_t row, SampleGroup group)
{
    const uint32_t id = samples.label[row];
    const session::Label* label = id < session.labels().size() ? &session.labels()[id] : nullptr;
    switch (group) {
    case SampleGroup::thread: return kTrackKey | (samples.track[row] & kGroupMask);
    case SampleGroup::phase: return kPhaseKey | static_cast<uint32_t>(label != nullptr ? label->phase : session::Phase::none);
    case SampleGroup::layer: return kLayerKey | ((label != nullptr ? label->layer.value : kNone) & kGroupMask);
    }
    return kNone;
}

} // namespace

StackTreeBuilder::StackTreeBuilder(const session::Session& session, const SampleFilter& filter, base::SeriesId series)
    : m_session(session), m_filter(filter), m_samples(session.samples(series)), m_steps(session, filter.spans), m_places(session, filter)
{
    m_slowLabel.reserve(session.labels().size());
    for (const session::Label& label : session.labels())
        m_slowLabel.push_back(slowLabel(session, label) ? 1 : 0);
}

void StackTreeBuilder::select(const std::stop_token& stop, const base::Progress& progress)
{
    Selector selector(m_session, m_filter, m_samples, m_steps);
    base::HugeVector<uint32_t> taken, group;
    taken.reserve(m_samples.size());
    std::map<GroupKeys, uint32_t> known;
    std::unordered_map<uint64_t, uint32_t> byTags; // a sample's label and thread say all about its group
    const auto groupOf = [&](size_t row) {
        const auto [at, added] = byTags.try_emplace(uint64_t{m_samples.label[row]} << 32 | m_samples.track[row]);
        if (!added) return at->second;
        GroupKeys keys;
        for (const SampleGroup by : m_filter.groups)
            keys.push_back(groupKey(m_session, m_samples, row, by));
        const auto [place, isNew] = known.try_emplace(keys, static_cast<uint32_t>(m_groups.size()));
        if (isNew) m_groups.push_back(keys);
        return at->second = place->second;
    };
    for (size_t row = 0; row < m_samples.size(); ++row) {
        if ((row & 0xffff) == 0) {
            if (stop.stop_requested()) return;
            if (progress) progress(0.3 * static_cast<double>(row) / static_cast<double>(m_samples.size()), "selecting samples");
        }
        if (!selector.takes(row)) continue;
        taken.push_back(static_cast<uint32_t>(row));
        group.push_back(m_filter.groups.empty() ? 0 : groupOf(row));
        if (m_samples.stack[row] >= m_session.stacks().size()) ++m_unknownStacks;
    }
    if (m_filter.groups.empty()) m_groups.assign(1, {});
    m_groupBegin.assign(m_groups.size() + 1, 0);
    for (const uint32_t g : group)
        ++m_groupBegin[g + 1];
    std::partial_sum(m_groupBegin.begin(), m_groupBegin.end(), m_groupBegin.begin());
    if (m_groups.size() <= 1) {
        m_rows = std::move(taken);
        return;
    }
    std::vector<size_t> next = m_groupBegin;
    m_rows.resize(taken.size());
    for (size_t i = 0; i < taken.size(); ++i)
        m_rows[next[group[i]]++] = taken[i];
}

uint32_t StackTreeBuilder::child(FlameTree& tree, uint32_t parent, uint32_t key)
{
    uint32_t& slot = m_children.slot(parent, key);
    if (slot != kNone) return slot;
    slot = static_cast<uint32_t>(tree.nodes.size());
    FlameNode node;
    node.parent = parent;
    node.depth = tree.nodes[parent].depth + 1;
    node.phase = tree.nodes[parent].phase;
    if (key < kTrackKey) {
        node.kind = FlameNodeKind::frame;
        node.place = key;
    } else if (key < kLayerKey) {
        const uint32_t track = key & kGroupMask;
        if (track != kGroupMask) node.track = base::TrackId(track);
    } else if (key < kPhaseKey) {
        const uint32_t layer = key & kGroupMask;
        node.kind = FlameNodeKind::layer;
        if (layer != kGroupMask) node.layer = base::LayerId(layer);
    } else {
        node.kind = FlameNodeKind::phase;
        node.phase = static_cast<session::Phase>(key & kGroupMask);
    }
    tree.nodes.push_back(node);
    return slot;
}

uint32_t StackTreeBuilder::groupNode(FlameTree& tree, size_t group)
{
    uint32_t node = 0;
    for (const uint32_t key : m_groups[group])
        node = child(tree, node, key);
    return node;
}

// For every stack the nearest one below it that is at the same place, by one walk through the tree of all stacks.
void StackTreeBuilder::findRecursion()
{
    const std::vector<session::StackRow>& stacks = m_session.stacks();
    const auto count = static_cast<uint32_t>(stacks.size());
    m_samePlace.assign(count, kNone);
    std::vector<uint32_t> first(count, kNone), next(count, kNone), roots;
    for (uint32_t s = count; s-- > 0;) {
        const base::StackId parent = stacks[s].parent;
        if (!parent.valid()) {
            roots.push_back(s);
            continue;
        }
        next[s] = first[parent.index()];
        first[parent.index()] = s;
    }
    std::vector<uint32_t> lastAt(m_places.places.size(), kNone), path;
    const auto hidden = [&](uint32_t s) { return m_places.hidden[m_places.frameIndex(stacks[s].frame)] != 0; };
    const auto place = [&](uint32_t s) { return m_places.ofFrame[m_places.frameIndex(stacks[s].frame)]; };
    const auto enter = [&](uint32_t s) {
        path.push_back(s);
        if (hidden(s)) return;
        m_samePlace[s] = lastAt[place(s)];
        lastAt[place(s)] = s;
    };
    for (const uint32_t root : roots) {
        enter(root);
        while (!path.empty()) {
            const uint32_t s = path.back();
            if (const uint32_t below = first[s]; below != kNone) {
                first[s] = next[below]; // used up
                enter(below);
                continue;
            }
            if (!hidden(s)) lastAt[place(s)] = m_samePlace[s];
            path.pop_back();
        }
    }
}

void StackTreeBuilder::mapStack(FlameTree& tree, uint32_t root, uint32_t stack, bool flatten)
{
    const std::vector<session::StackRow>& stacks = m_session.stacks();
    m_chain.clear();
    uint32_t at = stack;
    while (at != kNone && m_nodeOf[at] == kNone) {
        m_chain.push_back(at);
        at = stacks[at].parent.value;
    }
    uint32_t node = at == kNone ? root : m_nodeOf[at];
    for (size_t i = m_chain.size(); i-- > 0;) {
        const uint32_t s = m_chain[i];
        const uint32_t frame = m_places.frameIndex(stacks[s].frame);
        const uint32_t flags = stacks[s].frame.valid() ? m_session.frames()[stacks[s].frame.index()].flags : 0;
        if (m_places.hidden[frame] != 0) {
            if (node != root) tree.nodes[node].flags |= flags & kStatusFlags;
        } else {
            const uint32_t same = flatten ? m_samePlace[s] : kNone;
            node = same != kNone ? m_nodeOf[same] : child(tree, node, m_places.ofFrame[frame]);
            tree.nodes[node].flags |= flags;
        }
        m_nodeOf[s] = node;
        m_met.push_back(s);
    }
}

// How much of a node has a status of its own: a caller of one slow call in twenty is not slow itself. Hidden frames
// belong to the frame that called them; on one path the weight counts once.
void StackTreeBuilder::weighStatus(FlameTree& tree)
{
    const std::vector<session::StackRow>& stacks = m_session.stacks();
    for (size_t i = m_met.size(); i-- > 0;) {
        const uint32_t s = m_met[i];
        m_below[s] += m_sums[s].weight;
        if (const uint32_t parent = stacks[s].parent.value; parent != kNone) m_below[parent] += m_below[s];
    }
    const auto add = [&](uint32_t node, uint32_t flags, int64_t weight) {
        FlameNode& to = tree.nodes[node];
        if (to.kind != FlameNodeKind::frame) return;
        if ((flags & session::kSlowPath) != 0) to.ownSlow += weight;
        if ((flags & session::kAllocation) != 0) to.ownAllocation += weight;
        if ((flags & session::kWaiting) != 0) to.ownWaiting += weight;
    };
    for (const uint32_t s : m_met) { // parents first
        const uint32_t node = m_nodeOf[s], parent = stacks[s].parent.value;
        const uint32_t counted = parent != kNone && m_nodeOf[parent] == node ? m_status[parent] : 0;
        const uint32_t flags = stacks[s].frame.valid() ? m_session.frames()[stacks[s].frame.index()].flags & kStatusFlags : 0;
        m_status[s] = counted | flags;
        add(node, flags & ~counted, m_below[s]);
        add(node, m_sums[s].flags & ~m_status[s], m_sums[s].slow);
    }
    for (const uint32_t s : m_met) m_below[s] = 0;
}

// Every sample counts once in each node that its stack touches, even where flattening left that node again.
void StackTreeBuilder::countSeen(FlameTree& tree)
{
    const std::vector<session::StackRow>& stacks = m_session.stacks();
    for (size_t i = m_met.size(); i-- > 0;) {
        const uint32_t s = m_met[i];
        const bool visible = m_places.hidden[m_places.frameIndex(stacks[s].frame)] == 0;
        if (visible && m_samePlace[s] == kNone) {
            FlameNode& node = tree.nodes[m_nodeOf[s]];
            node.seen += m_sums[s].weight;
            node.count += m_sums[s].count;
        }
        const uint32_t parent = stacks[s].parent.value;
        if (parent == kNone) continue;
        m_sums[parent].weight += m_sums[s].weight;
        m_sums[parent].count += m_sums[s].count;
    }
}

void StackTreeBuilder::addGroup(FlameTree& tree, uint32_t root, std::span<const uint32_t> rows, bool flatten)
{
    std::vector<uint32_t> touched;
    const auto stackCount = static_cast<uint32_t>(m_session.stacks().size());
    for (const uint32_t row : rows) {
        const uint32_t stack = m_samples.stack[row];
        const int64_t weight = m_samples.weight[row];
        const uint32_t label = m_samples.label[row];
        if (stack >= stackCount) {
            FlameNode& node = tree.nodes[root];
            node.self += weight;
            ++node.selfCount;
            continue;
        }
        Sum& sum = m_sums[stack];
        if (sum.count++ == 0) touched.push_back(stack);
        sum.weight += weight;
        if (label >= m_slowLabel.size() || m_slowLabel[label] == 0) continue;
        // A thread that waits while a slow primitive runs is not itself on a slow path.
        const base::FrameId leaf = m_session.stacks()[stack].frame;
        if (leaf.valid() && (m_session.frames()[leaf.index()].flags & session::kWaiting) != 0) continue;
        sum.flags |= session::kSlowPath;
        sum.slow += weight;
    }
    for (const uint32_t stack : touched) {
        mapStack(tree, root, stack, flatten);
        FlameNode& node = tree.nodes[m_nodeOf[stack]];
        node.self += m_sums[stack].weight;
        node.selfCount += m_sums[stack].count;
        if (node.kind == FlameNodeKind::frame) node.flags |= m_sums[stack].flags;
    }
    weighStatus(tree);
    if (flatten) countSeen(tree);
    for (const uint32_t stack : m_met) {
        m_nodeOf[stack] = kNone;
        m_sums[stack] = {};
    }
    m_met.clear();
}

// Totals from self values; children stand behind their parents.
void StackTreeBuilder::sumUp(FlameTree& tree, bool flattened)
{
    for (FlameNode& node : tree.nodes) {
        node.total = node.self;
        if (flattened && node.kind == FlameNodeKind::frame) continue;
        node.count = node.selfCount;
        node.seen = 0;
    }
    for (size_t i = tree.nodes.size(); i-- > 0;) {
        FlameNode& node = tree.nodes[i];
        const bool whole = !flattened || node.kind != FlameNodeKind::frame;
        if (whole) node.seen = node.total;
        sumStatus(node);
        if (node.parent == kNone) continue;
        FlameNode& parent = tree.nodes[node.parent];
        parent.total += node.total;
        parent.slow += node.slow;
        if (!flattened) parent.count += node.count;
    }
    if (!flattened) return;
    // Counts of frames are known; those of the groups above come from where samples end.
    std::vector<int64_t> ends(tree.nodes.size(), 0);
    for (size_t i = tree.nodes.size(); i-- > 0;) {
        FlameNode& node = tree.nodes[i];
        ends[i] += node.selfCount;
        if (node.kind != FlameNodeKind::frame) node.count = ends[i];
        if (node.parent != kNone) ends[node.parent] += ends[i];
    }
}

void StackTreeBuilder::build(FlameTree& tree, bool flattenRecursion, const std::stop_token& stop)
{
    tree.steps = m_steps.count();
    tree.warmupLeftOut = m_steps.warmupLeftOut();
    tree.warmupOnly = m_steps.warmupOnly();
    tree.places = m_places.places;
    m_sums.assign(m_session.stacks().size(), {});
    m_nodeOf.assign(m_session.stacks().size(), kNone);
    m_below.assign(m_session.stacks().size(), 0);
    m_status.assign(m_session.stacks().size(), 0);
    m_children = ChildMap();
    if (flattenRecursion) findRecursion();
    for (size_t group = 0; group < m_groups.size() && !stop.stop_requested(); ++group) {
        const std::span<const uint32_t> all(m_rows);
        addGroup(tree, groupNode(tree, group), all.subspan(m_groupBegin[group], m_groupBegin[group + 1] - m_groupBegin[group]),
                 flattenRecursion);
    }
    sumUp(tree, flattenRecursion);
    tree.samples = tree.nodes[0].count;
}

} // namespace stepscope::analysis
