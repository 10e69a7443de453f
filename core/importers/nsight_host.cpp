// Ranges of the user (NVTX), calls and overheads of host threads.
#include "core/importers/nsight_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <tuple>

namespace stepscope::importers {

using base::TimeNs;
using session::SpanKind;

namespace {

// Event types of NVTX_EVENTS.
constexpr int64_t kMark = 34, kPushPop = 59, kStartEnd = 60, kDomain = 75;

const std::vector<std::string_view> kRangeColumns = {"rowid", "start", "end", "eventType", "text", "textId", "globalTid", "domainId"};

// "ProfilerStep#12", "iteration 12", "step_12": the number, and how the name begins.
std::optional<std::pair<std::string_view, int64_t>> stepNumber(std::string_view name)
{
    for (const std::string_view word : {"ProfilerStep", "Iteration", "iteration", "Step", "step", "Iter", "iter", "Batch", "batch", "train_step", "training_step"}) {
        if (!name.starts_with(word)) continue;
        size_t at = word.size();
        while (at < name.size() && std::string_view(" #_:=").find(name[at]) != std::string_view::npos)
            ++at;
        int64_t number = 0;
        const auto parsed = std::from_chars(name.data() + at, name.data() + name.size(), number);
        if (at == word.size() || parsed.ec != std::errc() || parsed.ptr != name.data() + name.size() || number < 0) continue;
        return std::pair{name.substr(0, at), number};
    }
    return std::nullopt;
}

// PyTorch's emit_nvtx() marks operators: "aten::mm, op_id = 12", "aten::mm, seq = 12".
bool namesOperator(std::string_view name)
{
    return name.find(", op_id = ") != std::string_view::npos || name.find(", seq = ") != std::string_view::npos;
}

} // namespace

void NsightReader::findSteps()
{
    std::map<std::pair<int64_t, std::string>, std::vector<StepRange>> candidates; // by thread and beginning of the name
    if (const auto rows = m_source.read("NVTX_EVENTS", kRangeColumns))
        while (rows->next()) {
            const int64_t type = rows->integerOr(3, kPushPop);
            if ((type != kPushPop && type != kStartEnd) || rows->isNull(1) || rows->isNull(2) || rows->integer(2) < rows->integer(1)) continue;
            const std::string_view name = rows->isNull(4) ? stringOf(rows->integer(5)) : rows->text(4);
            StepRange step{0, rows->integer(1) + m_options.clockOffset, rows->integer(2) + m_options.clockOffset, rows->integer(6)};
            if (!m_options.stepName.empty()) {
                if (name == m_options.stepName) candidates[{step.globalTid, ""}].push_back(step);
            } else if (const auto number = stepNumber(name)) {
                step.index = number->second;
                candidates[{step.globalTid, std::string(number->first)}].push_back(step);
            }
        }
    const auto most = std::max_element(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    if (most == candidates.end()) return;
    m_steps = std::move(most->second);
    std::sort(m_steps.begin(), m_steps.end(), [](const StepRange& a, const StepRange& b) { return std::tie(a.begin, a.end) < std::tie(b.begin, b.end); });
    const bool numbered = m_options.stepName.empty()
        && std::adjacent_find(m_steps.begin(), m_steps.end(), [](const StepRange& a, const StepRange& b) { return a.index >= b.index; }) == m_steps.end();
    if (!numbered)
        for (size_t i = 0; i < m_steps.size(); ++i)
            m_steps[i].index = static_cast<int64_t>(i);
    if (m_steps.back().index > std::numeric_limits<int32_t>::max()) m_steps.clear();
}

int32_t NsightReader::stepAt(TimeNs time) const
{
    const auto after = std::upper_bound(m_steps.begin(), m_steps.end(), time, [](TimeNs t, const StepRange& step) { return t < step.begin; });
    if (after == m_steps.begin() || std::prev(after)->end <= time) return -1;
    return static_cast<int32_t>(std::prev(after)->index);
}

void NsightReader::addSteps()
{
    for (const StepRange& step : m_steps) {
        if (!wanted(step.begin, step.end)) continue;
        session::StepRow row;
        row.index = step.index;
        row.start = step.begin - m_first;
        row.duration = step.end - step.begin;
        row.loss = std::numeric_limits<double>::quiet_NaN();
        m_builder.addStep(row);
    }
}

void NsightReader::readRanges()
{
    std::map<int64_t, std::string> domains;
    if (const auto rows = m_source.read("NVTX_EVENTS", kRangeColumns))
        while (rows->next())
            if (rows->integer(3) == kDomain) domains[rows->integer(7)] = rows->isNull(4) ? stringOf(rows->integer(5)) : rows->text(4);
    const auto rows = m_source.read("NVTX_EVENTS", kRangeColumns);
    while (rows && rows->next()) {
        const int64_t type = rows->integerOr(3, kPushPop);
        if (type != kPushPop && type != kStartEnd && type != kMark) continue; // names of categories, threads and domains
        std::string name(rows->isNull(4) ? stringOf(rows->integer(5)) : rows->text(4));
        if (name.empty()) name = rows->isNull(4) && rows->isNull(5) ? "(no name)" : fmt::format("range {}", rows->integer(5));
        std::optional<Times> time;
        if (type == kMark && rows->isNull(2)) {
            time = times(*rows, 1, 1, false, "NVTX_EVENTS");
            if (time) time->duration = 0;
        } else {
            time = times(*rows, 1, 2, false, "NVTX_EVENTS");
        }
        if (!time) continue;
        const auto domain = domains.find(rows->integer(7));
        const std::string category = domain != domains.end() && !domain->second.empty() ? "NVTX, " + domain->second : "NVTX";
        const int64_t thread = rows->integer(6);
        SpanKind kind = namesOperator(name) ? SpanKind::operation : SpanKind::annotation;
        auto step = std::lower_bound(m_steps.begin(), m_steps.end(), time->start, [](const StepRange& s, TimeNs t) { return s.begin < t; });
        if (step != m_steps.end() && step->begin == time->start && step->end == time->start + time->duration && step->globalTid == thread) kind = SpanKind::step;
        session::Event event{time->start, time->duration, label(name, kind, category).value, stepAt(time->start)};
        if (time->unfinished) {
            event.detail = m_details.addPlain(session::DetailTable::kNoPlace);
            m_details.setUnfinished(event.detail);
        }
        session::Event* kept = m_events.add(type == kStartEnd ? rangeTrack(thread) : threadTrack(thread), event);
        if (time->unfinished) m_open.push_back(kept);
    }
}

void NsightReader::readCalls(std::string_view table, SpanKind kind, std::string_view category)
{
    const auto rows = m_source.read(table, {"rowid", "start", "end", "nameId", "globalTid", "correlationId", "eventClass"});
    while (rows && rows->next()) {
        const std::optional<Times> time = times(*rows, 1, 2, false, table);
        if (!time) continue;
        const std::string name = nameOf(rows->integer(3), "call");
        const bool waits = kind == SpanKind::call && name.find("Synchronize") != std::string::npos;
        const int64_t thread = rows->integer(4);
        session::Event event{time->start, time->duration, label(name, waits ? SpanKind::synchronisation : kind, category).value, stepAt(time->start)};
        const int64_t correlation = rows->isNull(5) ? session::DetailTable::kNoCorrelation : correlationOf(thread, rows->integer(5));
        if (time->unfinished) {
            event.detail = correlation >= 0 ? m_details.addLinked(correlation) : m_details.addPlain(session::DetailTable::kNoPlace);
            m_details.setUnfinished(event.detail);
        } else if (correlation >= 0) {
            event.detail = m_details.addLinked(correlation);
        }
        if (correlation >= 0 && event.step >= 0) m_stepOfCall.try_emplace(correlation, event.step);
        session::Event* kept = m_events.add(threadTrack(thread), event);
        if (time->unfinished) m_open.push_back(kept);
    }
}

void NsightReader::readOverheads(std::string_view table)
{
    const std::map<int64_t, std::string> kinds = enumeration("ENUM_CUPTI_OVERHEAD_TYPE", "label");
    const auto rows = m_source.read(table, {"rowid", "start", "end", "nameId", "globalTid", "overheadType"});
    while (rows && rows->next()) {
        const std::optional<Times> time = times(*rows, 1, 2, false, table);
        if (!time) continue;
        std::string name(stringOf(rows->integer(3)));
        if (const auto kind = kinds.find(rows->integer(5)); name.empty() && kind != kinds.end()) name = kind->second;
        if (name.empty()) name = fmt::format("overhead {}", rows->integer(5));
        m_events.add(threadTrack(rows->integer(4)), {time->start, time->duration, label(name, SpanKind::overhead, "overhead").value, stepAt(time->start)});
    }
}

} // namespace stepscope::importers
