// LabelInfo: what the passes over all spans need of a label, side by side in memory.
// Owner: core/analysis, internal. Thread: plain values.
#pragma once

#include "core/session/session.h"

#include <vector>

namespace stepscope::analysis {

struct LabelInfo {
    session::Phase phase = session::Phase::none;
    session::SpanKind kind = session::SpanKind::other;
    bool slow = false;  // creation, reference code or a reorder
    uint32_t layer = base::LayerId::kNone;
    uint32_t primitive = base::PrimitiveId::kNone;
};

inline bool isSlow(const session::Session& session, const session::Label& label)
{
    if (label.kind == session::SpanKind::creation) return true;
    if (label.primitive.index() >= session.primitives().size()) return false;
    return (session.primitives()[label.primitive.index()].flags & (session::kReference | session::kReorder)) != 0;
}

// One per label and a last one for label ids that a damaged file may hold. Ids of unknown layers and primitives
// become "none".
inline std::vector<LabelInfo> labelInfos(const session::Session& session)
{
    std::vector<LabelInfo> infos;
    infos.reserve(session.labels().size() + 1);
    for (const session::Label& label : session.labels()) {
        LabelInfo info{label.phase, label.kind, isSlow(session, label)};
        if (static_cast<int>(info.phase) >= session::kPhaseCount) info.phase = session::Phase::none;
        if (label.layer.index() < session.layers().size()) info.layer = label.layer.value;
        if (label.primitive.index() < session.primitives().size()) info.primitive = label.primitive.value;
        infos.push_back(info);
    }
    infos.emplace_back();
    return infos;
}

} // namespace stepscope::analysis
