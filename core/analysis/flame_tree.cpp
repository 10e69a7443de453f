#include "core/analysis/flame_tree.h"

#include "core/analysis/child_map.h"
#include "core/analysis/label_info.h"
#include "core/analysis/track_names.h"

#include <algorithm>
#include <numeric>

namespace stepscope::analysis {

namespace {

constexpr uint32_t kNone = FlameNode::kNone;

class Builder {
public:
    Builder(session::SessionPtr session, const SpanFilter& filter)
        : m_selection(*session, filter)
        , m_labels(labelInfos(*session))
    {
        m_tree.trackNames = distinctTrackNames(*session);
        m_tree.session = std::move(session);
        m_tree.filter = filter;
        m_tree.steps = m_selection.count();
        m_tree.warmupLeftOut = m_selection.warmupLeftOut();
        m_tree.warmupOnly = m_selection.warmupOnly();
        m_tree.nodes.emplace_back();
        m_allPhases = (filter.phases & kAllPhases) == kAllPhases;
    }

    FlameTree build(ChildOrder order, const std::stop_token& stop, const base::Progress& progress);

private:
    void addTrack(base::TrackId track, const std::stop_token& stop, const base::Progress& progress);
    bool takesTopLevel(size_t row, bool training);
    uint32_t child(uint32_t parent, uint32_t key);
    void addNode(uint32_t parent, uint32_t key);
    void finish(ChildOrder order);
    void link(ChildOrder order);
    size_t helperStepRow(base::TimeNs start);

    FlameTree m_tree;
    StepSelection m_selection;
    std::vector<LabelInfo> m_labels;          // one more than labels: for damaged ids
    base::HugeVector<uint32_t> m_nodeOf;      // per row; kNone = left out
    ChildMap m_children;
    bool m_allPhases = true;
    std::pair<size_t, size_t> m_stepRows;     // of the current track
    size_t m_stepCursor = 0;                  // of helperStepRow()
};

// A track node's key: beyond all labels.
constexpr uint32_t kTrackKey = 0x80000000u;

void Builder::addNode(uint32_t parent, uint32_t key)
{
    FlameNode node;
    node.parent = parent;
    node.depth = m_tree.nodes[parent].depth + 1;
    node.phase = m_tree.nodes[parent].phase;
    if (key >= kTrackKey) {
        node.track = base::TrackId(key - kTrackKey);
    } else {
        node.label = base::LabelId(key);
        if (m_labels[key].phase != session::Phase::none) node.phase = m_labels[key].phase;
    }
    m_tree.nodes.push_back(node);
}

uint32_t Builder::child(uint32_t parent, uint32_t key)
{
    uint32_t& slot = m_children.slot(parent, key);
    if (slot == kNone) {
        slot = static_cast<uint32_t>(m_tree.nodes.size());
        addNode(parent, key);
    }
    return slot;
}

// Rows of a track ascend by start, so the step that runs at a helper's span is found by walking along.
size_t Builder::helperStepRow(base::TimeNs start)
{
    const std::vector<session::StepRow>& steps = m_tree.session->steps();
    while (m_stepCursor < m_stepRows.second && steps[m_stepCursor].start <= start)
        ++m_stepCursor;
    return m_stepCursor; // one past the row
}

bool Builder::takesTopLevel(size_t row, bool training)
{
    const session::SpanTable& spans = m_tree.session->spans();
    if (m_tree.session->steps().empty()) return true;
    const bool isStep = m_labels[std::min<size_t>(spans.label[row], m_labels.size() - 1)].kind == session::SpanKind::step;
    if (isStep) return m_selection.hasStep(spans.step[row]);
    if (training) return m_tree.filter.outsideSteps;
    if (spans.step[row] >= 0) return m_selection.hasStep(spans.step[row]);
    const size_t after = helperStepRow(spans.start[row]);
    return after == m_stepRows.first ? m_tree.filter.outsideSteps : m_selection.hasRow(static_cast<int64_t>(after) - 1);
}

void Builder::addTrack(base::TrackId track, const std::stop_token& stop, const base::Progress& progress)
{
    const session::SpanTable& spans = m_tree.session->spans();
    const size_t begin = spans.trackBegin[track.index()], end = spans.trackBegin[track.index() + 1];
    if (begin == end) return;
    const bool training = runsSteps(*m_tree.session, track);
    const uint32_t root = training ? 0 : child(0, kTrackKey + track.value);
    const auto unknown = static_cast<uint32_t>(m_labels.size() - 1);
    m_stepRows = StepRows(*m_tree.session).of(track);
    m_stepCursor = m_stepRows.first;

    for (size_t row = begin; row < end; ++row) {
        if ((row & 0xfffff) == 0) {
            if (stop.stop_requested()) return;
            if (progress) progress(static_cast<double>(row) / static_cast<double>(spans.size()), "merging spans");
        }
        const uint32_t label = std::min(spans.label[row], unknown);
        const uint32_t parentRow = spans.parent[row];
        uint32_t parent = root;
        if (parentRow != session::SpanTable::kNoParent) {
            parent = m_nodeOf[parentRow];
        } else if (!takesTopLevel(row, training)) {
            parent = kNone;
        }
        if (parent == kNone) {
            m_nodeOf[row] = kNone;
            continue;
        }
        const LabelInfo& info = m_labels[label];
        const base::TimeNs duration = std::max<base::TimeNs>(0, spans.duration[row]);
        if (info.kind == session::SpanKind::step) m_tree.stepTotal += duration;
        if (!m_allPhases && info.phase != session::Phase::none && (m_tree.filter.phases & phaseBit(info.phase)) == 0) {
            m_nodeOf[row] = kNone;
            continue;
        }
        const uint32_t id = child(parent, label);
        m_nodeOf[row] = id;
        m_tree.nodes[id].total += duration;
        ++m_tree.nodes[id].count;
        ++m_tree.spans;
    }
}

// Totals of nodes without own time, self, slow and height; children come after their parents, so backwards.
void Builder::finish(ChildOrder order)
{
    std::vector<FlameNode>& nodes = m_tree.nodes;
    std::vector<base::TimeNs> childTotal(nodes.size(), 0);
    for (size_t i = nodes.size(); i-- > 0;) {
        FlameNode& node = nodes[i];
        const bool transparent = !node.label.valid() || (!m_allPhases && node.phase == session::Phase::none);
        if (transparent) node.total = childTotal[i];
        node.self = std::max<base::TimeNs>(0, node.total - childTotal[i]);
        if (node.label.valid() && m_labels[node.label.index()].slow) node.slow = node.total;
        if (node.parent == kNone) continue;
        FlameNode& parent = nodes[node.parent];
        childTotal[node.parent] += node.total;
        parent.slow += node.slow;
        parent.height = std::max(parent.height, node.height + 1);
    }
    link(order);
}

void Builder::link(ChildOrder order)
{
    const std::vector<FlameNode>& nodes = m_tree.nodes;
    std::vector<uint32_t> ids(nodes.size() - 1);
    std::iota(ids.begin(), ids.end(), 1u);
    if (order == ChildOrder::weight) {
        std::stable_sort(ids.begin(), ids.end(), [&](uint32_t a, uint32_t b) {
            if (nodes[a].total != nodes[b].total) return nodes[a].total > nodes[b].total;
            return m_tree.name(a) < m_tree.name(b);
        });
    }
    linkChildren(m_tree.nodes, ids);
}

FlameTree Builder::build(ChildOrder order, const std::stop_token& stop, const base::Progress& progress)
{
    const session::SpanTable& spans = m_tree.session->spans();
    m_nodeOf.resize(spans.size());
    const size_t tracks = spans.trackBegin.empty() ? 0 : spans.trackBegin.size() - 1;
    const std::vector<base::TrackId>& wanted = m_tree.filter.tracks;
    for (size_t t = 0; t < tracks && !stop.stop_requested(); ++t) {
        const base::TrackId track(t);
        if (wanted.empty() || std::find(wanted.begin(), wanted.end(), track) != wanted.end()) addTrack(track, stop, progress);
    }
    if (stop.stop_requested()) {
        FlameTree nothing;
        nothing.session = m_tree.session;
        nothing.filter = m_tree.filter;
        nothing.nodes.emplace_back();
        return nothing;
    }
    finish(order);
    if (progress) progress(1, "merging spans");
    return std::move(m_tree);
}

} // namespace

const session::Label* FlameTree::label(uint32_t id) const
{
    const base::LabelId label = nodes[id].label;
    return label.valid() && label.index() < session->labels().size() ? &session->labels()[label.index()] : nullptr;
}

std::string_view FlameTree::name(uint32_t id) const
{
    if (const session::Label* known = label(id)) return session->string(known->name);
    const FlameNode& node = nodes[id];
    switch (node.kind) {
    case FlameNodeKind::frame: return node.place < places.size() ? std::string_view(places[node.place].shown) : "[unknown]";
    case FlameNodeKind::phase: return node.phase == session::Phase::none ? "no phase" : session::phaseName(node.phase);
    case FlameNodeKind::layer: return layerName(node.layer);
    case FlameNodeKind::span: break;
    }
    if (node.track.valid() && node.track.index() < trackNames.size()) return trackNames[node.track.index()];
    if (node.label.valid()) return "unknown label";
    return id == 0 ? std::string_view() : std::string_view("unknown thread");
}

std::string_view FlameTree::layerName(base::LayerId layer) const
{
    if (layer.index() >= session->layers().size()) return "no layer";
    const std::string& path = session->layers()[layer.index()].path;
    return path.empty() ? std::string_view("model") : std::string_view(path);
}

const FlamePlace* FlameTree::place(uint32_t id) const
{
    const FlameNode& node = nodes[id];
    return node.kind == FlameNodeKind::frame && node.place < places.size() ? &places[node.place] : nullptr;
}

std::string_view FlameTree::fullName(uint32_t id) const
{
    const FlamePlace* known = place(id);
    if (known == nullptr) return name(id);
    const std::string_view function = session->string(known->function);
    return function.empty() ? std::string_view(known->shown) : function;
}

std::string FlameTree::path(uint32_t id) const
{
    std::vector<uint32_t> ids;
    for (uint32_t at = id; at != kNone && nodes[at].parent != kNone; at = nodes[at].parent)
        ids.push_back(at);
    // Of very deep stacks the two ends tell enough.
    constexpr size_t kOuter = 8, kInner = 24;
    const bool shorten = ids.size() > kOuter + kInner + 1;
    std::string text;
    for (size_t i = ids.size(); i-- > 0;) {
        if (shorten && i == ids.size() - 1 - kOuter) {
            text += "… › ";
            i = kInner;
            continue;
        }
        text += name(ids[i]);
        if (i > 0) text += " › ";
    }
    return text;
}

std::string_view FlameTree::remainderName(uint32_t id) const
{
    const uint32_t child = nodes[id].firstChild;
    if (child == kNone) return "self";
    if (ofSamples) return nodes[id].kind == FlameNodeKind::frame ? "self" : "no stack";
    const session::Label* below = label(child);
    if (below == nullptr) return "self";
    switch (below->kind) {
    case session::SpanKind::step: return "between steps";
    case session::SpanKind::phase: return "between phases";
    case session::SpanKind::layer: return "between layers";
    case session::SpanKind::primitive: return "between primitives";
    default: return "self";
    }
}

uint32_t FlameTree::stepNode() const
{
    uint32_t found = kNone;
    for (uint32_t id = nodes[0].firstChild; id != kNone; id = nodes[id].nextSibling) {
        const session::Label* known = label(id);
        if (known != nullptr && known->kind == session::SpanKind::step && (found == kNone || nodes[id].total > nodes[found].total))
            found = id;
    }
    return found;
}

FlameTree buildFlameTree(session::SessionPtr session, const SpanFilter& filter, ChildOrder order, std::stop_token stop,
                         const base::Progress& progress)
{
    return Builder(std::move(session), filter).build(order, stop, progress);
}

} // namespace stepscope::analysis
