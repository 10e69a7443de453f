#include "core/analysis/device_trace.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace stepscope::analysis {

using base::TimeNs;
using base::TimeRange;
using session::SpanKind;
using session::SpanTable;

namespace {

bool runsOnDevice(SpanKind kind)
{
    return kind == SpanKind::kernel || kind == SpanKind::copy || kind == SpanKind::fill || kind == SpanKind::communication
        || kind == SpanKind::synchronisation;
}

bool knownStep(const session::StepRow& step) { return step.duration >= 0; }

// Time of the session's origin in the clock of the file.
TimeNs fileOffset(const session::Session& session)
{
    const std::string_view text = session.environmentValue("import.origin_ns");
    TimeNs origin = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), origin);
    return parsed.ec == std::errc() ? origin : 0;
}

} // namespace

std::string_view deviceClassName(DeviceClass deviceClass)
{
    switch (deviceClass) {
    case DeviceClass::compute: return "compute";
    case DeviceClass::communication: return "communication";
    case DeviceClass::memory: return "memory";
    case DeviceClass::wait: return "wait";
    }
    return "";
}

DeviceClass kernelClass(std::string_view name)
{
    for (const std::string_view prefix : {"nccl", "hccl", "hip"})
        if (name.starts_with(prefix)) return DeviceClass::communication;
    if (name.find("ncclKernel") != std::string_view::npos) return DeviceClass::communication;
    for (const std::string_view prefix : {"Memcpy", "Memset", "dma"})
        if (name.starts_with(prefix)) return DeviceClass::memory;
    return DeviceClass::compute;
}

DeviceTrace::DeviceTrace(const session::Session& session, const DeviceOptions& options, std::stop_token stop)
    : m_session(&session)
    , m_options(options)
{
    for (const session::Track& track : session.tracks())
        m_deviceTrack.push_back(track.kind == session::TrackKind::stream ? 1 : 0);
    for (const session::Label& label : session.labels()) {
        m_kinds.push_back(label.kind);
        DeviceClass deviceClass = DeviceClass::compute;
        if (label.kind == SpanKind::copy || label.kind == SpanKind::fill) deviceClass = DeviceClass::memory;
        else if (label.kind == SpanKind::communication) deviceClass = DeviceClass::communication;
        else if (label.kind == SpanKind::synchronisation) deviceClass = DeviceClass::wait;
        else if (label.kind == SpanKind::kernel) deviceClass = kernelClass(session.string(label.name));
        m_classes.push_back(deviceClass);
    }
    const SpanTable& spans = session.spans();
    if (options.holistic) {
        m_fileOffset = fileOffset(session);
        m_rounds = std::any_of(spans.start.begin(), spans.start.end(), [&](TimeNs time) { return (time + m_fileOffset) % 1000 != 0; });
    }
    findGroups();
    chooseSteps();
    collect(stop);
}

bool DeviceTrace::present(const session::Session& session)
{
    const auto& tracks = session.tracks();
    return std::any_of(tracks.begin(), tracks.end(), [](const session::Track& t) { return t.kind == session::TrackKind::stream; });
}

void DeviceTrace::findGroups()
{
    std::map<std::string_view, uint32_t> known;
    for (const session::Track& track : m_session->tracks()) {
        const auto [at, added] = known.try_emplace(track.group, static_cast<uint32_t>(m_groups.size()));
        if (added) m_groups.push_back({track.group, {}});
        m_groupOfTrack.push_back(at->second);
    }
    if (m_groups.empty()) m_groups.emplace_back();
}

size_t DeviceTrace::groupOf(size_t row) const
{
    if (m_groups.size() == 1) return 0;
    const std::vector<size_t>& begins = m_session->spans().trackBegin;
    return m_groupOfTrack[static_cast<size_t>(std::upper_bound(begins.begin(), begins.end(), row) - begins.begin()) - 1];
}

size_t DeviceTrace::groupOfStep(const session::StepRow& step) const
{
    if (m_groups.size() == 1) return 0;
    const auto at = std::find_if(m_groups.begin(), m_groups.end(), [&](const Group& group) { return group.name == m_session->string(step.group); });
    return static_cast<size_t>(at - m_groups.begin());
}

void DeviceTrace::chooseSteps()
{
    const std::vector<session::StepRow>& all = m_session->steps();
    const StepSelection selection(*m_session, m_options.filter);
    for (size_t i = 0; i < all.size(); ++i)
        if (selection.hasRow(static_cast<int64_t>(i)) && knownStep(all[i])) m_steps.push_back(all[i]);
    if (m_options.holistic) return leaveOutLastSteps();
    m_allSteps = m_steps.size() == all.size(); // nothing was chosen: work outside of steps counts, too
    if (m_allSteps) return;
    for (const session::StepRow& step : m_steps)
        if (const size_t group = groupOfStep(step); group < m_groups.size())
            m_groups[group].chosen.push_back({step.start, step.start + step.duration});
    for (Group& group : m_groups)
        std::sort(group.chosen.begin(), group.chosen.end(), [](const TimeRange& a, const TimeRange& b) { return a.begin < b.begin; });
}

// Of every file with several steps.
void DeviceTrace::leaveOutLastSteps()
{
    for (size_t g = 0; g < m_groups.size(); ++g) {
        size_t last = m_steps.size(), count = 0;
        for (size_t i = 0; i < m_steps.size(); ++i) {
            if (groupOfStep(m_steps[i]) != g) continue;
            ++count;
            if (last == m_steps.size() || m_steps[i].start > m_steps[last].start) last = i;
        }
        if (count < 2) continue;
        const TimeNs start = m_steps[last].start;
        m_groups[g].hostEnd = m_rounds ? static_cast<TimeNs>(std::ceil(fileMicroseconds(start))) * 1000 - m_fileOffset : start;
        m_steps.erase(m_steps.begin() + static_cast<std::ptrdiff_t>(last));
    }
}

double DeviceTrace::fileMicroseconds(TimeNs time) const
{
    return static_cast<double>(static_cast<long double>(time + m_fileOffset) / 1000.0L);
}

TimeNs DeviceTrace::begin(size_t row) const
{
    const TimeNs time = m_session->spans().start[row];
    return m_rounds ? static_cast<TimeNs>(std::ceil(fileMicroseconds(time))) * 1000 - m_fileOffset : time;
}

TimeNs DeviceTrace::end(size_t row) const
{
    const SpanTable& spans = m_session->spans();
    if (!m_rounds) return spans.end(row);
    const double duration = static_cast<double>(static_cast<long double>(spans.duration[row]) / 1000.0L);
    return static_cast<TimeNs>(std::floor(fileMicroseconds(spans.start[row]) + duration)) * 1000 - m_fileOffset;
}

SpanKind DeviceTrace::kind(size_t row) const
{
    const uint32_t label = m_session->spans().label[row];
    return label < m_kinds.size() ? m_kinds[label] : SpanKind::other;
}

std::string_view DeviceTrace::name(size_t row) const
{
    const uint32_t label = m_session->spans().label[row];
    return label < m_kinds.size() ? m_session->string(m_session->labels()[label].name) : std::string_view();
}

uint32_t DeviceTrace::queueOf(const session::Track& track, const session::DeviceWork* work)
{
    DeviceQueue queue{track.group, track.device, track.threadId};
    if (work != nullptr && work->device >= 0) queue.device = work->device;
    if (work != nullptr && work->stream >= 0) queue.stream = work->stream;
    if (m_lastQueue < m_queues.size()) { // mostly the same again
        const DeviceQueue& last = m_queues[m_lastQueue];
        if (last.stream == queue.stream && last.device == queue.device && last.group == queue.group) return m_lastQueue;
    }
    const auto [at, added] = m_queueIds.try_emplace({queue.stream, queue.device, queue.group}, static_cast<uint32_t>(m_queues.size()));
    if (added) m_queues.push_back(std::move(queue));
    m_lastQueue = at->second;
    return m_lastQueue;
}

bool DeviceTrace::chosen(const DeviceActivity& activity) const
{
    if (m_options.holistic)
        return activity.launched() ? hostCounts(activity.launch)
                                   : m_groups[groupOf(activity.row)].hostEnd == std::numeric_limits<TimeNs>::max();
    return inChosenSteps(activity.launched() ? activity.launch : activity.row);
}

bool DeviceTrace::inChosenSteps(size_t row) const
{
    if (m_allSteps) return true;
    const std::vector<TimeRange>& ranges = m_groups[groupOf(row)].chosen;
    const TimeNs time = begin(row);
    const auto after = std::partition_point(ranges.begin(), ranges.end(), [&](const TimeRange& r) { return r.begin <= time; });
    return after != ranges.begin() && time < std::prev(after)->end;
}

void DeviceTrace::addActivity(size_t row, uint32_t queue, const session::DeviceWork* work)
{
    DeviceActivity activity;
    activity.begin = begin(row);
    activity.end = end(row);
    activity.row = static_cast<uint32_t>(row);
    activity.label = m_session->spans().label[row];
    activity.queue = queue;
    activity.work = work;
    if (work != nullptr && work->launch < m_session->spans().size()) activity.launch = work->launch;
    activity.deviceClass = m_classes[activity.label];
    activity.kind = m_kinds[activity.label];
    if (!chosen(activity)) return;
    m_activities.push_back(activity);
    ++m_rows;
}

void DeviceTrace::collect(const std::stop_token& stop)
{
    const SpanTable& spans = m_session->spans();
    const session::DetailTable& details = m_session->details();
    std::vector<uint8_t> leftOut(m_kinds.size(), 0); // marks, and the profiler's own frame around everything
    for (size_t i = 0; i < leftOut.size(); ++i)
        leftOut[i] = m_kinds[i] == SpanKind::instant || m_session->string(m_session->labels()[i].category) == "Trace" ? 1 : 0;
    for (size_t track = 0; track + 1 < spans.trackBegin.size(); ++track) {
        for (size_t row = spans.trackBegin[track]; row < spans.trackBegin[track + 1]; ++row) {
            if ((row & 0xfffff) == 0 && stop.stop_requested()) return;
            const uint32_t label = spans.label[row];
            if (label >= m_kinds.size() || leftOut[label] != 0) continue;
            const uint32_t detail = spans.detailOf(row);
            const session::DeviceWork* work = details.deviceWork(detail);
            bool onDevice = runsOnDevice(m_kinds[label]) && (work != nullptr || m_deviceTrack[track] != 0);
            if (m_options.holistic) onDevice = onDevice && work != nullptr && work->stream >= 0 && details.correlationOf(detail) >= 0;
            if (onDevice) addActivity(row, queueOf(m_session->tracks()[track], work), work);
            else if (hostCounts(row)) ++m_rows;
        }
    }
    std::stable_sort(m_activities.begin(), m_activities.end(),
        [](const DeviceActivity& a, const DeviceActivity& b) { return a.begin < b.begin; });
}

} // namespace stepscope::analysis
