#include "core/analysis/step_pass.h"
#include "core/session/disturbed_steps.h"

#include <cmath>
#include <limits>

namespace stepscope::analysis {

double ratePerSecond(double amount, const RowTime& time, int64_t steps)
{
    if (time.median > 0 && steps > 0) return amount / static_cast<double>(steps) * 1e9 / time.median;
    return time.total > 0 ? amount * 1e9 / static_cast<double>(time.total) : 0;
}

StepStatistics stepStatistics(const session::Session& session, const SpanFilter& filter)
{
    const StepSelection selection(session, filter);
    StepStatistics result;
    result.count = selection.count();
    result.warmupLeftOut = selection.warmupLeftOut();
    result.warmupOnly = selection.warmupOnly();
    result.total = selection.total();
    result.lastLoss = std::numeric_limits<double>::quiet_NaN();

    const std::vector<uint8_t> disturbed = session::disturbedSteps(session.steps());
    std::vector<double> durations, calm;
    for (size_t row = 0; row < session.steps().size(); ++row) {
        if (!selection.hasRow(static_cast<int64_t>(row))) continue;
        const session::StepRow& step = session.steps()[row];
        durations.push_back(static_cast<double>(step.duration));
        if (disturbed[row] != 0) ++result.disturbed;
        else calm.push_back(static_cast<double>(step.duration));
        result.samples += step.samples;
        if (std::isfinite(step.loss)) result.lastLoss = step.loss;
    }
    result.duration = stats::summarise(std::move(durations));
    if (result.disturbed > 0 && !calm.empty()) result.undisturbed = stats::summarise(std::move(calm));
    if (result.total > 0) result.samplesPerSecond = static_cast<double>(result.samples) * 1e9 / static_cast<double>(result.total);
    return result;
}

std::vector<double> stepDurations(const session::Session& session, const SpanFilter& filter, std::vector<size_t>* rows)
{
    const StepSelection selection(session, filter);
    std::vector<double> durations;
    durations.reserve(static_cast<size_t>(selection.count()));
    if (rows != nullptr) rows->clear();
    for (size_t row = 0; row < session.steps().size(); ++row) {
        if (!selection.hasRow(static_cast<int64_t>(row))) continue;
        durations.push_back(static_cast<double>(session.steps()[row].duration));
        if (rows != nullptr) rows->push_back(row);
    }
    return durations;
}

StepReport stepReport(const session::Session& session, const SpanFilter& filter, std::stop_token stop, const base::Progress& progress)
{
    StepReport report;
    std::vector<size_t> rows; // in Session::steps()
    const std::vector<uint8_t> disturbed = session::disturbedSteps(session.steps());
    StepPass pass(session, filter);
    const std::vector<LabelInfo>& labels = pass.labels();
    const bool finished = pass.run(
        session::kPhaseCount,
        [&](uint32_t label, uint32_t parent) {
            const auto phase = static_cast<uint32_t>(labels[label].phase);
            return phase == 0 && parent != StepPass::kNoKey ? parent : phase;
        },
        [](uint32_t, uint32_t) {},
        [&](const StepPass::Step& step) {
            StepReportRow row;
            row.step = session.steps()[step.row];
            row.disturbed = disturbed[step.row] != 0;
            row.group = session.string(row.step.group);
            rows.push_back(step.row);
            for (const uint32_t key : step.touched)
                row.phases[key] = step.sums[key];
            row.phases[0] += step.unrecorded;
            report.rows.push_back(std::move(row));
        },
        stop, progress);
    if (!finished) return {};
    report.steps = stepStatistics(session, filter);
    const AllocationSums allocations = allocationSums(session, filter);
    report.allocationsCounted = allocations.counted;
    for (size_t i = 0; i < report.rows.size(); ++i) {
        StepReportRow& row = report.rows[i];
        row.allocations = allocations.byStep[rows[i]];
        base::TimeNs sum = 0;
        for (const base::TimeNs phase : row.phases)
            sum += phase;
        row.share = pass.all() > 0 ? static_cast<double>(sum) / static_cast<double>(pass.all()) : 0;
    }
    return report;
}

} // namespace stepscope::analysis
