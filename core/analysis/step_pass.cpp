#include "core/analysis/step_pass.h"

#include <set>
#include <string_view>

namespace stepscope::analysis {

std::vector<base::TrackId> stepTracks(const session::Session& session, const SpanFilter& filter)
{
    std::vector<base::TrackId> found;
    std::set<std::string_view> groups;
    const size_t tracks = session.spans().trackBegin.empty() ? 0 : session.spans().trackBegin.size() - 1;
    for (size_t t = 0; t < tracks; ++t) {
        const base::TrackId track(t);
        const bool allowed = filter.tracks.empty() || std::find(filter.tracks.begin(), filter.tracks.end(), track) != filter.tracks.end();
        if (!allowed || groups.count(session.tracks()[t].group) != 0 || !runsSteps(session, track)) continue;
        groups.insert(session.tracks()[t].group);
        found.push_back(track);
    }
    return found;
}

RowTime Series::finish(int64_t steps, base::TimeNs all)
{
    RowTime time;
    time.total = m_total;
    if (steps <= 0) return time;
    time.median = stats::medianWithZeros(m_values, std::max<int64_t>(0, steps - static_cast<int64_t>(m_values.size())));
    time.mean = static_cast<double>(m_total) / static_cast<double>(steps);
    time.share = all > 0 ? static_cast<double>(m_total) / static_cast<double>(all) : 0;
    return time;
}

// Hands on the step m_nextStep - 1, whose spans have been summed.
void StepPass::flush(const std::function<void(const Step&)>& step)
{
    const size_t row = m_nextStep - 1;
    const base::TimeNs duration = std::max<base::TimeNs>(0, m_session.steps()[row].duration);
    base::TimeNs unrecorded = std::max<base::TimeNs>(0, duration - m_stepSpans);
    m_all += m_stepSpans + unrecorded;
    // The step row is measured just outside of the step's span: so little is time between phases, not a loss.
    if (m_stepSpans > 0 && unrecorded * 100 < duration) {
        m_sums[m_stepKey] += unrecorded;
        unrecorded = 0;
    }
    step(Step{row, m_sums, m_touched, unrecorded});
    for (const uint32_t key : m_touched) {
        m_sums[key] = 0;
        m_isTouched[key] = 0;
    }
    m_touched.clear();
    m_stepSpans = 0;
}

// Ends every selected step before `stepRow` and makes stepRow the current one.
void StepPass::flushUpTo(size_t stepRow, const std::function<void(const Step&)>& step)
{
    while (m_nextStep <= stepRow) {
        if (m_nextStep > 0 && m_selection.hasRow(static_cast<int64_t>(m_nextStep) - 1)) flush(step);
        ++m_nextStep;
    }
}

} // namespace stepscope::analysis
