#include "core/analysis/span_filter.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace stepscope::analysis {

namespace {

bool isContiguous(const std::vector<session::StepRow>& steps)
{
    for (size_t i = 1; i < steps.size(); ++i)
        if (steps[i].index != steps[0].index + static_cast<int64_t>(i)) return false;
    return true;
}

} // namespace

StepSelection::StepSelection(const session::Session& session, const SpanFilter& filter)
    : m_session(&session)
{
    const std::vector<session::StepRow>& steps = session.steps();
    m_selected.assign(steps.size(), 0);
    m_contiguous = isContiguous(steps);
    m_first = steps.empty() ? 0 : steps.front().index;

    std::vector<int64_t> wanted = filter.steps; // a brush can select many steps: look them up by bisection
    std::sort(wanted.begin(), wanted.end());
    int64_t warmup = 0, measured = 0;
    for (size_t i = 0; i < steps.size(); ++i) {
        const int64_t index = steps[i].index, number = steps[i].number();
        if (number < filter.firstStep || number > filter.lastStep) continue;
        if (!wanted.empty() && !std::binary_search(wanted.begin(), wanted.end(), index)) continue;
        m_selected[i] = steps[i].warmup ? 2 : 1;
        ++(steps[i].warmup ? warmup : measured);
    }
    m_warmupOnly = measured == 0 && warmup > 0;
    const bool withWarmup = filter.includeWarmup || m_warmupOnly;
    m_count = measured + (withWarmup ? warmup : 0);
    m_warmupLeftOut = withWarmup ? 0 : warmup;
    for (size_t i = 0; i < steps.size(); ++i) {
        if (m_selected[i] == 2 && !withWarmup) m_selected[i] = 0;
        if (m_selected[i] != 0) m_total += std::max<base::TimeNs>(0, steps[i].duration);
    }
}

int64_t StepSelection::rowOf(int64_t stepIndex) const
{
    const std::vector<session::StepRow>& steps = m_session->steps();
    if (steps.empty() || stepIndex < m_first) return -1;
    if (m_contiguous) {
        const auto row = static_cast<uint64_t>(stepIndex) - static_cast<uint64_t>(m_first);
        return row < steps.size() ? static_cast<int64_t>(row) : -1;
    }
    const auto found = std::lower_bound(steps.begin(), steps.end(), stepIndex,
        [](const session::StepRow& row, int64_t index) { return row.index < index; });
    return found != steps.end() && found->index == stepIndex ? found - steps.begin() : -1;
}

StepRows::StepRows(const session::Session& session)
    : m_all(0, session.steps().size())
{
    std::map<std::string_view, std::pair<size_t, size_t>> groups; // the steps of a group stand together
    for (size_t row = 0; row < session.steps().size(); ++row) {
        auto& [first, second] = groups.try_emplace(session.string(session.steps()[row].group), row, row).first->second;
        second = row + 1;
    }
    for (const session::Track& track : session.tracks()) {
        const auto own = groups.find(track.group);
        m_rows.push_back(own != groups.end() ? own->second : std::pair<size_t, size_t>());
    }
}

bool runsSteps(const session::Session& session, base::TrackId track)
{
    const session::SpanTable& spans = session.spans();
    const std::vector<session::Label>& labels = session.labels();
    if (track.index() + 1 >= spans.trackBegin.size()) return false;
    for (size_t row = spans.trackBegin[track.index()]; row < spans.trackBegin[track.index() + 1]; ++row) {
        const uint32_t label = spans.label[row];
        if (label < labels.size() && labels[label].kind == session::SpanKind::step) return true;
    }
    return false;
}

} // namespace stepscope::analysis
