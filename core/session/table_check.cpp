#include "core/session/table_check.h"

#include <algorithm>

#include <fmt/format.h>

namespace stepscope::session {

namespace {

template <class Id>
void keepBelow(Id& id, size_t limit, int64_t& repaired)
{
    if (!id.valid() || id.index() < limit) return;
    id = Id{};
    ++repaired;
}

template <class Enum>
void keepKnown(Enum& value, int count, int64_t& repaired)
{
    if (static_cast<int>(value) < count) return;
    value = Enum{};
    ++repaired;
}

} // namespace

void repairTables(SessionTables& tables)
{
    int64_t repaired = 0;
    for (Label& label : tables.labels) {
        keepBelow(label.name, tables.strings.size(), repaired);
        keepBelow(label.layer, tables.layers.size(), repaired);
        keepBelow(label.primitive, tables.primitives.size(), repaired);
        keepBelow(label.category, tables.strings.size(), repaired);
        keepKnown(label.kind, kSpanKindCount, repaired);
        keepKnown(label.phase, kPhaseCount, repaired);
    }
    // A parent stands before its children; anything else could be a cycle.
    for (size_t i = 0; i < tables.layers.size(); ++i)
        keepBelow(tables.layers[i].parent, i, repaired);
    for (PrimitiveRow& primitive : tables.primitives) {
        keepBelow(primitive.layer, tables.layers.size(), repaired);
        keepKnown(primitive.phase, kPhaseCount, repaired);
    }
    for (StepRow& step : tables.steps)
        keepBelow(step.group, tables.strings.size(), repaired);
    for (Track& track : tables.tracks)
        keepKnown(track.kind, kTrackKindCount, repaired);
    for (SeriesRow& series : tables.series)
        keepKnown(series.kind, kSeriesKindCount, repaired);
    for (FrameRow& frame : tables.frames) {
        keepBelow(frame.function, tables.strings.size(), repaired);
        keepBelow(frame.module, tables.strings.size(), repaired);
        keepBelow(frame.file, tables.strings.size(), repaired);
        keepBelow(frame.primitive, tables.primitives.size(), repaired);
    }
    for (size_t i = 0; i < tables.stacks.size(); ++i) {
        keepBelow(tables.stacks[i].parent, i, repaired);
        keepBelow(tables.stacks[i].frame, tables.frames.size(), repaired);
    }
    const auto byIndex = [](const StepRow& a, const StepRow& b) { return a.index < b.index; };
    if (!std::is_sorted(tables.steps.begin(), tables.steps.end(), byIndex))
        std::stable_sort(tables.steps.begin(), tables.steps.end(), byIndex);
    if (repaired > 0)
        tables.quality.push_back(
            {"broken-reference", repaired,
             fmt::format("{} references between tables pointed nowhere and were cleared.", repaired)});
}

} // namespace stepscope::session
