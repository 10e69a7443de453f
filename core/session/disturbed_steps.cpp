#include "core/session/disturbed_steps.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace stepscope::session {

namespace {

constexpr size_t kEnoughCalm = 5;

bool interfered(const StepRow& step) { return step.disturbed(); }

std::vector<double> ascendingDurations(const std::vector<StepRow>& steps, bool warmup, bool calmOnly)
{
    std::vector<double> durations;
    for (const StepRow& step : steps)
        if (step.warmup == warmup && !(calmOnly && interfered(step))) durations.push_back(static_cast<double>(step.duration));
    std::sort(durations.begin(), durations.end());
    return durations;
}

// As stats::quantile(): linear between the order statistics.
double quantile(const std::vector<double>& ascending, double p)
{
    const double position = p * static_cast<double>(ascending.size() - 1);
    const auto below = static_cast<size_t>(position);
    const size_t above = std::min(below + 1, ascending.size() - 1);
    return ascending[below] + (position - std::floor(position)) * (ascending[above] - ascending[below]);
}

} // namespace

double longestCalmStep(const std::vector<StepRow>& steps)
{
    std::vector<double> all = ascendingDurations(steps, false, false);
    const bool warmup = all.empty(); // nothing else was recorded
    if (warmup) all = ascendingDurations(steps, true, false);
    if (all.empty()) return 0;
    std::vector<double> calm = ascendingDurations(steps, warmup, true);
    if (calm.size() < kEnoughCalm && 2 * calm.size() < all.size()) calm = std::move(all);
    const double lower = quantile(calm, 0.25), upper = quantile(calm, 0.75);
    return upper + 1.5 * (upper - lower);
}

std::vector<uint8_t> disturbedSteps(const std::vector<StepRow>& steps)
{
    std::map<uint32_t, std::vector<StepRow>> groups;
    for (const StepRow& step : steps)
        groups[step.group.value].push_back(step);
    std::map<uint32_t, double> limits;
    for (const auto& [group, own] : groups)
        limits[group] = longestCalmStep(own);
    std::vector<uint8_t> marks;
    marks.reserve(steps.size());
    for (const StepRow& step : steps)
        marks.push_back(interfered(step) && static_cast<double>(step.duration) > limits[step.group.value] ? 1 : 0);
    return marks;
}

} // namespace stepscope::session
