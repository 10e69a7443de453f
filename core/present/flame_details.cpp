#include "core/present/flame_layout.h"

#include "core/present/format.h"
#include "core/present/profile_text.h"
#include "core/present/sample_sources.h"

#include <fmt/format.h>

#include <algorithm>

namespace stepscope::present {

namespace {

using analysis::FlameNode;
using analysis::FlameTree;

double ratio(base::TimeNs part, base::TimeNs whole)
{
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

bool withinStep(const FlameTree& tree, uint32_t node)
{
    for (uint32_t at = node; at != kNoNode; at = tree.node(at).parent) {
        const session::Label* label = tree.label(at);
        if (label != nullptr && label->kind == session::SpanKind::step) return true;
    }
    return false;
}

void addTimes(const FlameTree& tree, uint32_t node, base::TimeNs time, FlameDetails& details)
{
    if (withinStep(tree, node) && tree.stepTotal > 0)
        details.fields.push_back({"share of step", formatShare(ratio(time, tree.stepTotal))});
    const uint32_t parent = tree.node(node).parent;
    if (parent != kNoNode && tree.node(parent).total > 0) {
        const std::string_view name = tree.name(parent);
        const std::string title = name.empty() ? "share of everything" : fmt::format("share of {}", name);
        if (title != "share of step") details.fields.push_back({title, formatShare(ratio(tree.node(node).total, tree.node(parent).total))});
    }
    if (tree.steps > 0)
        details.fields.push_back({"per step", formatTime(static_cast<double>(time) / static_cast<double>(tree.steps)) + " (mean)"});
}

void addLayer(const session::Session& session, const session::Label& label, const FlameNode& node, int64_t steps, FlameDetails& details)
{
    if (label.layer.index() >= session.layers().size()) return;
    const session::LayerRow& layer = session.layers()[label.layer.index()];
    if (!layer.text.empty()) details.fields.push_back({"layer", layer.text});
    if (label.kind != session::SpanKind::layer) return;
    if (!layer.output.empty()) details.fields.push_back({"output", layer.output});
    const bool forward = label.phase == session::Phase::forward, backward = label.phase == session::Phase::backward;
    if ((!forward && !backward) || steps <= 0 || node.total <= 0) return;
    const double perStep = static_cast<double>(node.total) / static_cast<double>(steps) * 1e-9;
    const auto add = [&](const char* title, std::string value) {
        if (!value.empty()) details.fields.push_back({title, std::move(value) + " (mean)"});
    };
    add("rate", formatFlopRate(static_cast<double>(forward ? layer.forwardFlop : layer.backwardFlop) / perStep));
    add("least traffic", formatByteRate(static_cast<double>(forward ? layer.forwardBytes : layer.backwardBytes) / perStep));
}

void addPrimitive(const session::Session& session, const session::Label& label, const FlameNode& node, FlameDetails& details)
{
    if (label.primitive.index() >= session.primitives().size()) return;
    const session::PrimitiveRow& primitive = session.primitives()[label.primitive.index()];
    const auto add = [&](const char* title, std::string value) {
        if (!value.empty()) details.fields.push_back({title, std::move(value)});
    };
    add("kind", primitive.kind);
    add("implementation", primitive.implementation);
    add("memory formats", primitive.formats);
    if (node.total > 0) {
        const double perSecond = static_cast<double>(node.count) * 1e9 / static_cast<double>(node.total);
        const auto addMean = [&](const char* title, const std::string& value) { add(title, value.empty() ? value : value + " (mean)"); };
        addMean("rate", formatFlopRate(static_cast<double>(primitive.flop) * perSecond));
        addMean("traffic", formatByteRate(static_cast<double>(primitive.bytes) * perSecond));
    }
    if (primitive.threads > 1) add("threads", formatCount(primitive.threads));
    if ((primitive.flags & session::kReference) != 0) add("slow path", "the library's reference implementation");
    if ((primitive.flags & session::kReorder) != 0) add("slow path", "converts a memory layout");
    if ((primitive.flags & session::kNaive) != 0) add("note", "deliberately naive code");
}

// Samples: what they weigh, how many they are, and where the code is.
FlameDetails sampleDetails(const FlameTree& tree, uint32_t id)
{
    FlameDetails details;
    const FlameNode& node = tree.node(id);
    const int64_t all = tree.node(0).total;
    details.name = id == 0 ? "everything" : std::string(tree.fullName(id));
    details.path = tree.path(id);
    const auto weight = [&](int64_t value) { return formatWeight(tree, static_cast<double>(value)) + " (" + formatShare(ratio(value, all)) + ")"; };
    details.fields.push_back({"total", weight(node.total)});
    details.fields.push_back({"self", weight(node.self)});
    if (const uint32_t parent = node.parent; parent != kNoNode && parent != 0 && tree.node(parent).total > 0)
        details.fields.push_back({fmt::format("share of {}", tree.name(parent)), formatShare(ratio(node.total, tree.node(parent).total))});
    details.fields.push_back({"samples", formatCount(node.count) + ", self " + formatCount(node.selfCount)});
    if (tree.steps > 0)
        details.fields.push_back({"per step", formatWeight(tree, static_cast<double>(node.total) / static_cast<double>(tree.steps)) + " (mean)"});
    if (node.slow > 0) details.fields.push_back({"on slow paths", weight(node.slow)});
    if (const analysis::FlamePlace* place = tree.place(id)) {
        std::string file = placeFile(*tree.session, *place);
        if (place->line > 0) file += fmt::format(":{}", place->line);
        if (!file.empty()) details.fields.push_back({"code", file});
        if (place->file.valid() && place->module.valid()) details.fields.push_back({"in", std::string(tree.session->string(place->module))});
        if (const std::string note = frameFlagText(node.flags); !note.empty()) details.fields.push_back({"kind", note});
    }
    return details;
}

} // namespace

FlameDetails flameDetails(const FlameTree& tree, uint32_t id)
{
    FlameDetails details;
    if (id >= tree.nodes.size()) return details;
    if (tree.ofSamples) return sampleDetails(tree, id);
    const FlameNode& node = tree.node(id);
    details.name = id == 0 ? "everything" : std::string(tree.name(id));
    details.path = tree.path(id);
    details.fields.push_back({"total", formatTime(static_cast<double>(node.total))});
    details.fields.push_back({"self", formatTime(static_cast<double>(node.self)) + " (" + formatShare(ratio(node.self, node.total)) + ")"});
    addTimes(tree, id, node.total, details);
    if (node.count > 0) details.fields.push_back({"count", formatCount(node.count)});
    if (node.slow > 0 && tree.label(id) != nullptr) details.fields.push_back({"on slow paths", formatTime(static_cast<double>(node.slow))});
    if (const session::Label* label = tree.label(id)) {
        addLayer(*tree.session, *label, node, tree.steps, details);
        addPrimitive(*tree.session, *label, node, details);
    }
    return details;
}

FlameDetails flameDetails(const FlameTree& tree, const FlameRect& rect)
{
    if (rect.node >= tree.nodes.size()) return {};
    if (rect.kind == FlameRectKind::frame || rect.kind == FlameRectKind::ancestor) return flameDetails(tree, rect.node);
    FlameDetails details;
    const bool rest = rect.kind == FlameRectKind::remainder;
    const uint32_t parent = rest ? rect.node : tree.node(rect.node).parent;
    details.name = rest ? std::string(tree.remainderName(rect.node)) : fmt::format("{} small frames", rect.mergedCount);
    details.path = tree.path(parent);
    details.fields.push_back({"total", formatWeight(tree, static_cast<double>(rect.time))});
    if (tree.ofSamples) {
        details.fields.push_back({"share of everything", formatShare(ratio(rect.time, tree.node(0).total))});
        if (!rest) details.fields.push_back({"largest", std::string(tree.name(rect.node))});
        return details;
    }
    if (withinStep(tree, parent) && tree.stepTotal > 0)
        details.fields.push_back({"share of step", formatShare(ratio(rect.time, tree.stepTotal))});
    if (tree.steps > 0)
        details.fields.push_back({"per step", formatTime(static_cast<double>(rect.time) / static_cast<double>(tree.steps)) + " (mean)"});
    if (!rest) details.fields.push_back({"largest", std::string(tree.name(rect.node))});
    return details;
}

} // namespace stepscope::present
