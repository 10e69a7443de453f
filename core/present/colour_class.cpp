#include "core/present/colour_class.h"

namespace stepscope::present {

std::string_view colourClassName(ColourClass colour)
{
    switch (colour) {
    case ColourClass::root: return "everything";
    case ColourClass::step: return "step";
    case ColourClass::setup: return "setup";
    case ColourClass::dataWait: return "data wait";
    case ColourClass::hostToDevice: return "host to device";
    case ColourClass::forward: return "forward";
    case ColourClass::loss: return "loss";
    case ColourClass::backward: return "backward";
    case ColourClass::optimiser: return "optimiser";
    case ColourClass::deviceToHost: return "device to host";
    case ColourClass::loading: return "loading";
    case ColourClass::evaluation: return "evaluation";
    case ColourClass::naive: return "naive code";
    case ColourClass::slow: return "slow path";
    case ColourClass::creation: return "creation of primitives";
    case ColourClass::allocation: return "allocation, page faults";
    case ColourClass::waiting: return "waiting";
    case ColourClass::generated: return "generated code";
    case ColourClass::library: return "library";
    case ColourClass::kernelMode: return "operating system";
    case ColourClass::ownCode: return "own code";
    case ColourClass::operation: return "operator";
    case ColourClass::call: return "call, waiting for a device";
    case ColourClass::kernel: return "kernel";
    case ColourClass::copy: return "copy, fill";
    case ColourClass::annotation: return "annotation";
    case ColourClass::remainder: return "not covered";
    case ColourClass::other: break;
    }
    return "other";
}

ColourClass phaseColour(session::Phase phase)
{
    using session::Phase;
    switch (phase) {
    case Phase::setup: return ColourClass::setup;
    case Phase::dataWait: return ColourClass::dataWait;
    case Phase::hostToDevice: return ColourClass::hostToDevice;
    case Phase::forward: return ColourClass::forward;
    case Phase::loss: return ColourClass::loss;
    case Phase::backward: return ColourClass::backward;
    case Phase::optimiser: return ColourClass::optimiser;
    case Phase::deviceToHost: return ColourClass::deviceToHost;
    case Phase::loading: return ColourClass::loading;
    case Phase::evaluation: return ColourClass::evaluation;
    case Phase::none: break;
    }
    return ColourClass::other;
}

ColourClass kindColour(session::SpanKind kind)
{
    using session::SpanKind;
    switch (kind) {
    case SpanKind::operation: return ColourClass::operation;
    case SpanKind::call:
    case SpanKind::synchronisation: return ColourClass::call;
    case SpanKind::kernel:
    case SpanKind::communication: return ColourClass::kernel;
    case SpanKind::copy:
    case SpanKind::fill: return ColourClass::copy;
    case SpanKind::annotation:
    case SpanKind::deviceAnnotation: return ColourClass::annotation;
    default: return ColourClass::other;
    }
}

ColourClass frameColour(uint32_t flags)
{
    if ((flags & session::kSlowPath) != 0) return ColourClass::slow;
    if ((flags & session::kAllocation) != 0) return ColourClass::allocation;
    if ((flags & session::kWaiting) != 0) return ColourClass::waiting;
    if ((flags & session::kGenerated) != 0) return ColourClass::generated;
    if ((flags & session::kKernelMode) != 0) return ColourClass::kernelMode;
    if ((flags & session::kOwnCode) != 0) return ColourClass::ownCode;
    if ((flags & session::kLibraryCode) != 0) return ColourClass::library;
    return ColourClass::other;
}

namespace {

bool mostOf(int64_t part, int64_t total) { return part >= total - part; }

// Without the status that only a smaller part of the frame has.
uint32_t mainFlags(const analysis::FlameNode& node)
{
    uint32_t flags = node.flags;
    if (!mostOf(node.ownSlow, node.total)) flags &= ~uint32_t{session::kSlowPath};
    if (!mostOf(node.ownAllocation, node.total)) flags &= ~uint32_t{session::kAllocation};
    if (!mostOf(node.ownWaiting, node.total)) flags &= ~uint32_t{session::kWaiting};
    return flags;
}

} // namespace

StatusMark statusMark(const analysis::FlameTree& tree, uint32_t node)
{
    const analysis::FlameNode& known = tree.node(node);
    if (known.kind != analysis::FlameNodeKind::frame || known.total <= 0) return {};
    const uint32_t hidden = known.flags & ~mainFlags(known);
    const auto mark = [&](ColourClass colour, int64_t part) {
        return StatusMark{colour, static_cast<double>(part) / static_cast<double>(known.total)};
    };
    if ((hidden & session::kSlowPath) != 0 && known.ownSlow > 0) return mark(ColourClass::slow, known.ownSlow);
    if ((hidden & session::kAllocation) != 0 && known.ownAllocation > 0) return mark(ColourClass::allocation, known.ownAllocation);
    if ((hidden & session::kWaiting) != 0 && known.ownWaiting > 0) return mark(ColourClass::waiting, known.ownWaiting);
    return {};
}

ColourClass colourOf(const analysis::FlameTree& tree, uint32_t node)
{
    const analysis::FlameNode& known = tree.node(node);
    if (known.kind == analysis::FlameNodeKind::frame) return frameColour(mainFlags(known));
    if (known.kind == analysis::FlameNodeKind::phase) return phaseColour(known.phase);
    const session::Label* label = tree.label(node);
    if (label == nullptr) return ColourClass::root;
    if (label->kind == session::SpanKind::step) return ColourClass::step;
    if (label->kind == session::SpanKind::creation)
        return label->phase == session::Phase::setup ? ColourClass::setup : ColourClass::creation;
    const auto& primitives = tree.session->primitives();
    if (label->primitive.index() < primitives.size()) {
        const uint32_t flags = primitives[label->primitive.index()].flags;
        if ((flags & (session::kReference | session::kReorder)) != 0) return ColourClass::slow;
        if ((flags & session::kNaive) != 0) return ColourClass::naive;
    }
    const ColourClass byPhase = phaseColour(tree.node(node).phase);
    return byPhase == ColourClass::other ? kindColour(label->kind) : byPhase;
}

std::string_view colourFamily(const analysis::FlameTree& tree, uint32_t node)
{
    const session::Label* label = tree.label(node);
    return label != nullptr ? tree.session->string(label->category) : std::string_view();
}

uint32_t nameHash(std::string_view name)
{
    uint32_t hash = 2166136261u;
    for (const char c : name)
        hash = (hash ^ static_cast<uint8_t>(c)) * 16777619u;
    return hash;
}

} // namespace stepscope::present
