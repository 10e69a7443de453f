#include "core/analysis/span_nodes.h"

#include <algorithm>

namespace stepscope::analysis {

namespace {

constexpr uint32_t kNone = FlameNode::kNone;

// Whether the spans around a row are those of the node's path.
class PathTest {
public:
    PathTest(const FlameTree& tree, uint32_t node)
        : m_spans(tree.session->spans())
    {
        for (; node != kNone && tree.node(node).label.valid(); node = tree.node(node).parent) m_labels.push_back(tree.node(node).label.value);
    }
    bool operator()(uint32_t row) const
    {
        for (const uint32_t label : m_labels) {
            if (row == session::SpanTable::kNoParent || m_spans.label[row] != label) return false;
            row = m_spans.parent[row];
        }
        return row == session::SpanTable::kNoParent;
    }
    uint32_t outermost(uint32_t row) const
    {
        for (size_t i = 1; i < m_labels.size(); ++i) row = m_spans.parent[row];
        return row;
    }
    bool empty() const { return m_labels.empty(); }
    uint32_t label() const { return m_labels.front(); }

private:
    const session::SpanTable& m_spans;
    std::vector<uint32_t> m_labels; // from the node outwards
};

// As FlameTree chooses the outermost spans.
bool takesTopLevel(const FlameTree& tree, const StepSelection& selection, uint32_t row, bool training)
{
    const session::Session& session = *tree.session;
    const session::SpanTable& spans = session.spans();
    const auto& steps = session.steps();
    if (steps.empty()) return true;
    const bool isStep = spans.label[row] < session.labels().size() && session.labels()[spans.label[row]].kind == session::SpanKind::step;
    if (isStep) return selection.hasStep(spans.step[row]);
    if (training) return tree.filter.outsideSteps;
    if (spans.step[row] >= 0) return selection.hasStep(spans.step[row]);
    const auto after = std::upper_bound(steps.begin(), steps.end(), spans.start[row],
                                        [](base::TimeNs time, const session::StepRow& step) { return time < step.start; });
    return after == steps.begin() ? tree.filter.outsideSteps : selection.hasRow(after - steps.begin() - 1);
}

base::TrackId trackNodeOf(const FlameTree& tree, uint32_t node)
{
    for (; node != kNone; node = tree.node(node).parent)
        if (tree.node(node).track.valid()) return tree.node(node).track;
    return {};
}

uint32_t childOf(const FlameTree& tree, uint32_t parent, base::LabelId label, base::TrackId track)
{
    for (uint32_t child = tree.node(parent).firstChild; child != kNone; child = tree.node(child).nextSibling)
        if (tree.node(child).label == label && tree.node(child).track == track) return child;
    return kNone;
}

} // namespace

std::vector<uint32_t> spansOfNode(const FlameTree& tree, uint32_t node, std::stop_token stop)
{
    std::vector<uint32_t> rows;
    if (tree.ofSamples || node >= tree.nodes.size() || !tree.node(node).label.valid()) return rows;
    const session::SpanTable& spans = tree.session->spans();
    const PathTest onPath(tree, node);
    const StepSelection selection(*tree.session, tree.filter);
    const base::TrackId own = trackNodeOf(tree, node);
    const auto& wanted = tree.filter.tracks;
    for (size_t t = 0; t + 1 < spans.trackBegin.size(); ++t) {
        const base::TrackId track(t);
        if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), track) == wanted.end()) continue;
        const bool training = runsSteps(*tree.session, track);
        if (own.valid() ? own != track : !training) continue;
        for (size_t row = spans.trackBegin[t]; row < spans.trackBegin[t + 1]; ++row) {
            if ((row & 0xfffff) == 0 && stop.stop_requested()) return {};
            const auto at = static_cast<uint32_t>(row);
            if (spans.label[row] != onPath.label() || !onPath(at)) continue;
            if (takesTopLevel(tree, selection, onPath.outermost(at), training)) rows.push_back(at);
        }
    }
    std::stable_sort(rows.begin(), rows.end(), [&](uint32_t a, uint32_t b) { return spans.duration[a] > spans.duration[b]; });
    return rows;
}

uint32_t nodeOfSpan(const FlameTree& tree, uint32_t row)
{
    const session::SpanTable& spans = tree.session->spans();
    if (tree.ofSamples || row >= spans.size()) return kNone;
    const auto after = std::upper_bound(spans.trackBegin.begin(), spans.trackBegin.end(), size_t{row});
    const base::TrackId track(static_cast<uint32_t>(after - spans.trackBegin.begin() - 1));
    std::vector<uint32_t> path;
    for (uint32_t at = row; at != session::SpanTable::kNoParent; at = spans.parent[at]) path.push_back(at);
    uint32_t node = runsSteps(*tree.session, track) ? 0 : childOf(tree, 0, {}, track);
    while (node != kNone && !path.empty()) {
        node = childOf(tree, node, base::LabelId(spans.label[path.back()]), {});
        path.pop_back();
    }
    return node;
}

uint32_t endOfSubtree(const session::SpanTable& spans, uint32_t row)
{
    const auto after = std::upper_bound(spans.trackBegin.begin(), spans.trackBegin.end(), size_t{row});
    const auto end = static_cast<uint32_t>(*after);
    // Rows of a track stand in the order of a walk through the tree, so what is nested is contiguous.
    uint32_t at = row + 1;
    while (at < end && spans.parent[at] != session::SpanTable::kNoParent && spans.parent[at] >= row) ++at;
    return at;
}

} // namespace stepscope::analysis
