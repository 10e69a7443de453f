#include "core/analysis/step_pass.h"

namespace stepscope::analysis {

namespace {

constexpr size_t kPhases = session::kPhaseCount;

// Spans of a helper thread that lie in the time of the selected steps.
BesideRow besideRow(const session::Session& session, base::TrackId track, base::TimeRange range)
{
    const session::SpanTable& spans = session.spans();
    BesideRow row;
    row.track = track.index() < session.tracks().size() ? session::trackTitle(session.tracks()[track.index()]) : "unnamed track";
    for (size_t i = spans.trackBegin[track.index()]; i < spans.trackBegin[track.index() + 1]; ++i) {
        if (spans.parent[i] != session::SpanTable::kNoParent) continue;
        const base::TimeNs begin = std::max(spans.start[i], range.begin);
        const base::TimeNs end = std::min(spans.end(i), range.end);
        if (end <= begin) continue;
        row.busy += end - begin;
        ++row.count;
    }
    if (range.duration() > 0) row.share = static_cast<double>(row.busy) / static_cast<double>(range.duration());
    return row;
}

// Of the steps in [rows.first, rows.second).
base::TimeRange selectedRange(const session::Session& session, const StepSelection& selection, std::pair<size_t, size_t> rows)
{
    base::TimeRange range;
    bool first = true;
    for (size_t row = rows.first; row < rows.second; ++row) {
        if (!selection.hasRow(static_cast<int64_t>(row))) continue;
        const session::StepRow& step = session.steps()[row];
        range.begin = first ? step.start : std::min(range.begin, step.start);
        range.end = first ? step.start + step.duration : std::max(range.end, step.start + step.duration);
        first = false;
    }
    return range;
}

std::vector<BesideRow> besideRows(const session::Session& session, const SpanFilter& filter)
{
    std::vector<BesideRow> rows;
    const StepSelection selection(session, filter);
    const StepRows stepRows(session);
    const size_t tracks = session.spans().trackBegin.empty() ? 0 : session.spans().trackBegin.size() - 1;
    for (size_t t = 0; t < tracks; ++t) {
        const base::TrackId track(t);
        if (!filter.tracks.empty() && std::find(filter.tracks.begin(), filter.tracks.end(), track) == filter.tracks.end()) continue;
        if (runsSteps(session, track)) continue;
        BesideRow row = besideRow(session, track, selectedRange(session, selection, stepRows.of(track)));
        if (row.count > 0) rows.push_back(std::move(row));
    }
    return rows;
}

} // namespace

PhaseReport phaseReport(const session::Session& session, const SpanFilter& filter, std::stop_token stop, const base::Progress& progress)
{
    std::array<Series, kPhases> series;
    Series unrecorded;
    std::array<int64_t, kPhases> count{};
    std::array<double, kPhases> flop{}, bytes{};
    StepPass pass(session, filter);
    const std::vector<LabelInfo>& labels = pass.labels();
    const bool finished = pass.run(
        kPhases,
        [&](uint32_t label, uint32_t parent) {
            const auto phase = static_cast<uint32_t>(labels[label].phase);
            return phase == 0 && parent != StepPass::kNoKey ? parent : phase;
        },
        [&](uint32_t label, uint32_t key) {
            const LabelInfo& info = labels[label];
            if (info.kind == session::SpanKind::phase) ++count[key];
            if (info.primitive == base::PrimitiveId::kNone) return;
            flop[key] += static_cast<double>(session.primitives()[info.primitive].flop);
            bytes[key] += static_cast<double>(session.primitives()[info.primitive].bytes);
        },
        [&](const StepPass::Step& step) {
            for (const uint32_t key : step.touched)
                series[key].add(step.sums[key]);
            unrecorded.add(step.unrecorded);
        },
        stop, progress);
    if (!finished) return {};

    PhaseReport report;
    report.steps = stepStatistics(session, filter);
    const AllocationSums sums = allocationSums(session, filter);
    report.allocationsCounted = sums.counted;
    std::array<AllocationSum, kPhases> allocations{};
    for (size_t label = 0; label < sums.byLabel.size(); ++label)
        allocations[static_cast<size_t>(labels[label].phase)] += sums.byLabel[label];
    const auto append = [&](session::Phase phase, std::string name, Series& times, bool remainder) {
        const auto key = static_cast<size_t>(phase);
        PhaseRow row;
        row.phase = phase;
        row.name = std::move(name);
        row.time = times.finish(pass.steps(), pass.all());
        row.remainder = remainder;
        if (&times != &unrecorded) row.allocations = allocations[key];
        if (!remainder) {
            row.count = count[key];
            row.flopPerSecond = ratePerSecond(flop[key], row.time, report.steps.count);
            row.bytesPerSecond = ratePerSecond(bytes[key], row.time, report.steps.count);
        }
        report.rows.push_back(std::move(row));
    };
    for (size_t key = 1; key < kPhases; ++key) {
        const auto phase = static_cast<session::Phase>(key);
        if (series[key].total() > 0 || count[key] > 0) append(phase, std::string(session::phaseName(phase)), series[key], false);
    }
    if (series[0].total() > 0) append(session::Phase::none, "between phases", series[0], true);
    if (unrecorded.total() > 0) append(session::Phase::none, "without spans", unrecorded, true);
    report.beside = besideRows(session, filter);
    return report;
}

} // namespace stepscope::analysis
