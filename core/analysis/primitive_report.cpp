#include "core/analysis/step_pass.h"

namespace stepscope::analysis {

namespace {

using session::Phase;

// Keys: the primitives, then creation by phase, then the rest by phase.
struct Keys {
    uint32_t primitives = 0;
    static constexpr uint32_t kPhases = session::kPhaseCount;

    uint32_t creation(uint32_t phase) const { return primitives + phase; }
    uint32_t rest(uint32_t phase) const { return primitives + kPhases + phase; }
    size_t size() const { return size_t{primitives} + 2 * kPhases; }
    bool isCreation(uint32_t key) const { return key >= primitives && key < primitives + kPhases; }
    uint32_t phase(uint32_t key) const { return key < primitives ? 0 : (key - primitives) % kPhases; }

    uint32_t of(const LabelInfo& info, uint32_t parent) const
    {
        const bool nested = parent != StepPass::kNoKey;
        if (nested && isCreation(parent)) return parent; // trial runs while tuning belong to the creation
        if (info.primitive != base::PrimitiveId::kNone) return info.primitive;
        if (nested && parent < primitives) return parent;
        const uint32_t phase = info.phase == Phase::none && nested ? this->phase(parent) : static_cast<uint32_t>(info.phase);
        return info.kind == session::SpanKind::creation ? creation(phase) : rest(phase);
    }
};

PrimitiveReportRow primitiveRow(const session::PrimitiveRow& source, base::PrimitiveId id, RowTime time, int64_t count,
                                int64_t steps)
{
    PrimitiveReportRow row;
    row.primitive = id;
    row.layer = source.layer;
    row.phase = source.phase;
    row.name = source.name;
    row.kind = source.kind;
    row.implementation = source.implementation;
    row.formats = source.formats;
    row.flags = source.flags;
    row.threads = source.threads;
    row.time = time;
    row.count = count;
    row.flopPerSecond = ratePerSecond(static_cast<double>(source.flop) * static_cast<double>(count), time, steps);
    row.bytesPerSecond = ratePerSecond(static_cast<double>(source.bytes) * static_cast<double>(count), time, steps);
    return row;
}

void appendNamed(PrimitiveReport& report, Phase phase, std::string name, RowTime time, int64_t count, bool remainder)
{
    PrimitiveReportRow row;
    row.phase = phase;
    row.name = std::move(name);
    row.time = time;
    row.count = count;
    row.remainder = remainder;
    report.rows.push_back(std::move(row));
}

} // namespace

PrimitiveReport primitiveReport(const session::Session& session, const SpanFilter& filter, std::stop_token stop, const base::Progress& progress)
{
    const Keys keys{static_cast<uint32_t>(session.primitives().size())};
    std::vector<Series> series(keys.size());
    std::vector<int64_t> count(keys.size(), 0);
    std::array<bool, session::kPhaseCount> hasPrimitives{};
    Series unrecorded;
    StepPass pass(session, filter);
    const std::vector<LabelInfo>& labels = pass.labels();
    const bool finished = pass.run(
        keys.size(), [&](uint32_t label, uint32_t parent) { return keys.of(labels[label], parent); },
        [&](uint32_t label, uint32_t key) {
            const LabelInfo& info = labels[label];
            if (key < keys.primitives ? info.primitive == key : keys.isCreation(key) && info.kind == session::SpanKind::creation)
                ++count[key];
        },
        [&](const StepPass::Step& step) {
            for (const uint32_t key : step.touched)
                series[key].add(step.sums[key]);
            unrecorded.add(step.unrecorded);
        },
        stop, progress);
    PrimitiveReport report;
    if (!finished) return report;

    report.steps = stepStatistics(session, filter);
    const auto finish = [&](Series& times) { return times.finish(pass.steps(), pass.all()); };
    for (uint32_t key = 0; key < keys.primitives; ++key) {
        if (count[key] == 0 && series[key].total() == 0) continue;
        report.rows.push_back(primitiveRow(session.primitives()[key], base::PrimitiveId(key), finish(series[key]), count[key],
                                           report.steps.count));
        const auto phase = static_cast<size_t>(session.primitives()[key].phase);
        if (phase < hasPrimitives.size()) hasPrimitives[phase] = true;
    }
    for (uint32_t phase = 0; phase < Keys::kPhases; ++phase) {
        const uint32_t key = keys.creation(phase);
        if (series[key].total() == 0) continue;
        std::string name = "creation of primitives";
        if (phase != 0) name += ", " + std::string(session::phaseName(static_cast<Phase>(phase)));
        appendNamed(report, static_cast<Phase>(phase), std::move(name), finish(series[key]), count[key], false);
    }
    for (uint32_t phase = 1; phase < Keys::kPhases; ++phase) {
        const uint32_t key = keys.rest(phase);
        if (series[key].total() == 0) continue;
        const std::string name(session::phaseName(static_cast<Phase>(phase)));
        appendNamed(report, static_cast<Phase>(phase), hasPrimitives[phase] ? name + ", between primitives" : name,
                    finish(series[key]), 0, hasPrimitives[phase]);
    }
    Series& between = series[keys.rest(0)];
    if (between.total() > 0) appendNamed(report, Phase::none, "between phases", finish(between), 0, true);
    if (unrecorded.total() > 0) appendNamed(report, Phase::none, "without spans", finish(unrecorded), 0, true);
    std::stable_sort(report.rows.begin(), report.rows.end(), [](const PrimitiveReportRow& a, const PrimitiveReportRow& b) {
        if (a.remainder != b.remainder) return !a.remainder;
        return a.time.total > b.time.total;
    });
    return report;
}

} // namespace stepscope::analysis
