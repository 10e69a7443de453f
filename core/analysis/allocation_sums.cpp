#include "core/analysis/allocation_sums.h"

#include <algorithm>

namespace stepscope::analysis {

namespace {

void addSeries(const session::SampleTable& samples, int64_t AllocationSum::*member, const StepSelection& selection, AllocationSums& sums)
{
    const size_t none = sums.byLabel.size() - 1;
    for (size_t i = 0; i < samples.size(); ++i) {
        if (samples.step[i] < 0) continue;
        const int64_t row = selection.rowOf(samples.step[i]);
        if (!selection.hasRow(row)) continue;
        sums.byLabel[std::min<size_t>(samples.label[i], none)].*member += samples.weight[i];
        sums.byStep[static_cast<size_t>(row)].*member += samples.weight[i];
    }
}

} // namespace

AllocationSums allocationSums(const session::Session& session, const SpanFilter& filter)
{
    AllocationSums sums;
    sums.byLabel.resize(session.labels().size() + 1);
    sums.byStep.resize(session.steps().size());
    const StepSelection selection(session, filter);
    for (size_t i = 0; i < session.series().size(); ++i) {
        const session::SeriesKind kind = session.series()[i].kind;
        if (session::hasStacks(kind)) continue;
        sums.counted = true;
        const session::SampleTable& samples = session.samples(base::SeriesId(i));
        if (kind == session::SeriesKind::countedAllocations) addSeries(samples, &AllocationSum::allocations, selection, sums);
        if (kind == session::SeriesKind::countedBytes) addSeries(samples, &AllocationSum::bytes, selection, sums);
        if (kind != session::SeriesKind::countedTime) continue;
        sums.timed = true;
        addSeries(samples, &AllocationSum::time, selection, sums);
    }
    return sums;
}

} // namespace stepscope::analysis
