#include "core/importers/chrome_trace.h"

#include <fmt/format.h>

#include <algorithm>

namespace stepscope::importers {

namespace {

using session::Event;
using session::SpanKind;
using session::TimeNs;
using session::TrackId;

constexpr TimeNs kLongest = TimeNs{366} * 24 * 3600 * 1000000000; // a year; anything longer is damage
constexpr TimeNs kUnfinishedMark = -1000; // Kineto writes "dur": -1 for what it did not see end

bool isMissing(std::string_view token)
{
    return token.empty() || token == "null";
}

// As our exporter marks a span that lasts at least as long as it is drawn.
bool isMarkedUnfinished(std::string_view args)
{
    constexpr std::string_view kArgument = "stepscope:unfinished";
    return args.find(kArgument) != std::string_view::npos && memberOf(args, kArgument) == "true";
}

bool isTime(const MicroTime& time)
{
    return time.state == NumberState::good && time.ns < kTimeLimit && time.ns > -kTimeLimit;
}

} // namespace

// ---- what every event has ------------------------------------------------------------------------------------------------

void ChromeTrace::event(const RawEvent& event)
{
    const std::string_view phase = unquoted(event.phase);
    if (phase.size() != 1) return m_problems.add(TraceProblem::unknownPhase, event.place);
    if (m_onlyLook) return look(event, phase[0]);
    switch (phase[0]) {
    case 'X': return complete(event);
    case 'B': return begin(event);
    case 'E': return end(event);
    case 'b':
    case 'n':
    case 'e':
    case 'S':
    case 'T':
    case 'p':
    case 'F': return asynchronous(event, phase[0]);
    case 'i':
    case 'I':
    case 'R': return instant(event);
    case 's':
    case 't':
    case 'f': return flow(event, phase[0]);
    case 'C': return counter(event);
    case 'P': return sample(event);
    case 'M':
        if (!m_tracks.metadata(unquoted(event.name), event.process, event.thread, event.args)) return; // of the browser
        return;
    case 'N':
    case 'O':
    case 'D':
    case 'v':
    case 'V':
    case 'c':
    case '(':
    case ')': return m_problems.add(TraceProblem::unreadPhase, event.place);
    default: return m_problems.add(TraceProblem::unknownPhase, event.place);
    }
}

void ChromeTrace::look(const RawEvent& event, char phase)
{
    if (phase == 'M') return;
    const MicroTime start = microTime(event.time);
    if (!isTime(start)) return;
    seen(start.ns, start.ns);
    if (phase != 'X') return;
    const MicroTime duration = microTime(event.duration);
    if (duration.state != NumberState::good || duration.ns < 0 || duration.ns > kLongest) return;
    const std::string_view name = unquoted(event.name);
    if (unquoted(event.category) == "gpu_user_annotation") return;
    if (const std::optional<int64_t> step = profilerStep(name)) m_steps.push_back({*step, start.ns, duration.ns});
    else if (const std::optional<int64_t> mark = iterationMark(name)) m_iterations.push_back({*mark, start.ns, duration.ns});
}

bool ChromeTrace::timeOf(const RawEvent& event, MicroTime& time)
{
    time = microTime(event.time);
    if (isTime(time)) return true;
    m_problems.add(TraceProblem::badTime, event.place);
    return false;
}

void ChromeTrace::seen(TimeNs start, TimeNs end)
{
    if (start == 0) {
        m_zeroLast = std::max(m_zeroLast.value_or(end), end);
        return;
    }
    m_first = std::min(m_first.value_or(start), start);
    m_last = std::max(m_last.value_or(end), end);
}

Event* ChromeTrace::add(TrackId track, const Event& event, uint64_t place)
{
    seen(event.start, event.start + std::max<TimeNs>(event.duration, 0));
    Event* const added = m_events.add(track, event);
    if (event.start == 0) m_atZero.push_back({added, place});
    return added;
}

ChromeTrace::Meaning& ChromeTrace::meaning(const RawEvent& event)
{
    return m_meanings.find(event.category, event.name, [&] {
        Meaning made;
        std::string name = isMissing(event.name) ? std::string() : decoded(event.name);
        const std::string category = isMissing(event.category) ? std::string() : decoded(event.category);
        made.meaning = meaningOf(category, name);
        made.iteration = iterationMark(name);
        session::Label label;
        label.kind = made.meaning.kind;
        // One row for all steps: their numbers stand in the table of steps.
        if (profilerStep(name)) name.resize(name.find('#'));
        if (made.meaning.step) label.kind = SpanKind::step;
        label.name = m_session.intern(name);
        if (!category.empty()) label.category = m_session.intern(category);
        made.label = m_session.internLabel(label).value;
        return made;
    });
}

uint32_t ChromeTrace::nameId(std::string_view token)
{
    if (isMissing(token)) return TracePairs::kNoName;
    return m_names.find(token, {}, [&] { return static_cast<uint32_t>(m_names.size() + 1); });
}

uint32_t ChromeTrace::detail(const RawEvent& event, const EventMeaning& meaning)
{
    if (meaning.onDevice) {
        session::DeviceWork work;
        int64_t correlation = session::DetailTable::kNoCorrelation;
        readDeviceArguments(event.args, work, correlation);
        if (work.device < 0) work.device = static_cast<int32_t>(std::clamp<int64_t>(wholeNumber(event.process).value_or(-1), -1, INT32_MAX));
        if (work.stream < 0) work.stream = wholeNumber(event.thread).value_or(-1);
        work.copy = meaning.copy;
        work.source = meaning.source;
        work.destination = meaning.destination;
        return m_details.addDevice(work, correlation, event.place);
    }
    if (meaning.linked && !event.args.empty()) return m_details.addLinked(correlationOf(event.args), event.place);
    return m_details.addPlain(event.place);
}

// ---- spans ---------------------------------------------------------------------------------------------------------------

void ChromeTrace::complete(const RawEvent& event)
{
    MicroTime start;
    if (!timeOf(event, start)) return;
    const MicroTime duration = microTime(event.duration);
    if (duration.state == NumberState::bad) return m_problems.add(TraceProblem::badDuration, event.place);
    const bool unfinished = duration.state != NumberState::good || (duration.ns == kUnfinishedMark && duration.below == 0);
    if (!unfinished && duration.ns < 0) return m_problems.add(TraceProblem::negativeDuration, event.place);
    TimeNs length = unfinished ? 0 : duration.ns;
    TimeNs end = 0;
    // Both ends are rounded down to ns, so that neighbours stay neighbours and children stay inside.
    if (!unfinished && start.below + duration.below >= 1000000000) ++length;
    if (length > kLongest || __builtin_add_overflow(start.ns, length, &end)) return m_problems.add(TraceProblem::hugeDuration, event.place);
    if (!wanted(start.ns, end)) return;

    Meaning& known = meaning(event);
    const EventMeaning& means = known.meaning;
    const Purpose purpose = means.kind == SpanKind::deviceAnnotation ? Purpose::deviceAnnotations : Purpose::events;
    const TrackId track = m_tracks.find(purpose, event.process, event.thread, means.onDevice);
    const uint32_t row = detail(event, means);
    Event* const added = add(track, {start.ns, unfinished ? -1 : length, known.label, -1, row}, event.place);
    if (means.step) m_steps.push_back({*means.step, start.ns, length});
    else if (known.iteration && means.kind != SpanKind::deviceAnnotation) m_iterations.push_back({*known.iteration, start.ns, length});
    if (!unfinished) {
        if (isMarkedUnfinished(event.args)) markUnfinished(row, event.place);
        return;
    }
    m_problems.add(TraceProblem::unfinished, event.place);
    m_open.push_back(added);
}

// The length is known, as far as it goes.
void ChromeTrace::markUnfinished(uint32_t detail, uint64_t place)
{
    m_problems.add(TraceProblem::unfinished, place);
    m_details.setUnfinished(detail);
}

void ChromeTrace::begin(const RawEvent& event)
{
    MicroTime time;
    if (!timeOf(event, time) || !wanted(time.ns, time.ns)) return;
    const Meaning& known = meaning(event);
    const TrackId track = m_tracks.find(Purpose::events, event.process, event.thread, known.meaning.onDevice);
    Event* const added = add(track, {time.ns, -1, known.label, -1, detail(event, known.meaning)}, event.place);
    m_threadPairs.add(track.index(), {time.ns, added, event.place, nameId(event.name)});
}

void ChromeTrace::end(const RawEvent& event)
{
    MicroTime time;
    if (!timeOf(event, time) || !wanted(time.ns, time.ns)) return;
    seen(time.ns, time.ns);
    const TrackId track = m_tracks.find(Purpose::events, event.process, event.thread);
    m_threadPairs.add(track.index(), {time.ns, nullptr, event.place, nameId(event.name)});
}

// Joined by category and id, and by process for local ids; the thread says nothing.
void ChromeTrace::asynchronous(const RawEvent& event, char phase)
{
    MicroTime time;
    if (!timeOf(event, time) || !wanted(time.ns, time.ns)) return;
    m_scratch.assign("i").append(normalId(event.id));
    if (event.id2.size() > 1 && event.id2.front() == '{') {
        if (const std::string_view local = memberOf(event.id2, "local"); !local.empty())
            m_scratch.assign("l").append(normalId(event.process)).append("\n").append(normalId(local));
        else m_scratch.assign("g").append(normalId(memberOf(event.id2, "global")));
    } else if (!isMissing(event.scope)) {
        m_scratch.append("\n").append(event.scope);
    }
    const uint32_t list = m_asyncIds.find(event.category, m_scratch, [&] { return static_cast<uint32_t>(m_asyncIds.size()); });
    if (phase == 'e' || phase == 'F') {
        seen(time.ns, time.ns);
        m_asyncPairs.add(list, {time.ns, nullptr, event.place, nameId(event.name)});
        return;
    }
    const TrackId track = m_tracks.find(Purpose::asynchronous, event.process, event.category);
    if (phase == 'b' || phase == 'S') {
        const uint32_t row = m_details.addPlain(event.place);
        Event* const added = add(track, {time.ns, -1, meaning(event).label, -1, row}, event.place);
        if (isMarkedUnfinished(event.args)) markUnfinished(row, event.place);
        m_asyncPairs.add(list, {time.ns, added, event.place, nameId(event.name)});
        return;
    }
    session::Label label{m_session.intern(decoded(event.name)), SpanKind::instant};
    if (!isMissing(event.category)) label.category = m_session.intern(decoded(event.category));
    add(track, {time.ns, 0, m_session.internLabel(label).value, -1, m_details.addPlain(event.place)}, event.place);
}

void ChromeTrace::instant(const RawEvent& event)
{
    MicroTime time;
    if (!timeOf(event, time) || profile(event, time.ns) || !wanted(time.ns, time.ns)) return;
    // The same name may be a span elsewhere, so its label is made apart.
    session::Label label{m_session.intern(decoded(event.name)), SpanKind::instant};
    if (!isMissing(event.category)) label.category = m_session.intern(decoded(event.category));
    const TrackId track = m_tracks.find(Purpose::events, event.process, event.thread);
    add(track, {time.ns, 0, m_session.internLabel(label).value, -1, m_details.addPlain(event.place)}, event.place);
    if (unquoted(event.name) == "[memory]") memory(event, time.ns);
}

// ---- arrows, counters, samples -------------------------------------------------------------------------------------------

void ChromeTrace::flow(const RawEvent& event, char phase)
{
    MicroTime time;
    if (!timeOf(event, time) || !wanted(time.ns, time.ns)) return;
    const Meaning& known = meaning(event);
    if (known.meaning.isLaunchFlow) {
        // Says again what the correlation ids say; compared with them at the end.
        const int64_t id = wholeNumber(event.id).value_or(-1);
        if (phase == 's') m_launchFlowStarts.push_back(id);
        else if (phase == 'f') m_launchFlowEnds.push_back(id);
        return;
    }
    m_scratch.assign(event.name).append("\n").append(normalId(event.id));
    if (event.id2.size() > 1) m_scratch.append(event.id2);
    FlowMark mark;
    mark.time = time.ns;
    mark.place = event.place;
    mark.flow = m_flowIds.find(event.category, m_scratch, [&] { return static_cast<uint32_t>(m_flowIds.size()); });
    mark.track = m_tracks.find(Purpose::events, event.process, event.thread);
    mark.name = m_session.tables().labels[known.label].name;
    mark.phase = phase;
    mark.enclosing = phase != 'f' || unquoted(event.bind) == "e";
    m_flows.push_back(mark);
}

void ChromeTrace::addCounterPoint(std::string_view process, std::string_view name, std::string_view key, TimeNs time, std::string_view value, uint64_t place)
{
    double number = 0;
    const NumberState state = realNumber(value, number);
    const bool text = isString(value) && state == NumberState::nonFinite;
    if (state == NumberState::bad || text) m_problems.add(TraceProblem::badCounter, place);
    if (state != NumberState::good) return; // non-finite ones are counted where the text is checked
    m_scratch.assign(name);
    if (!key.empty()) m_scratch.append(".").append(key);
    const uint32_t id = m_counterIds.find(process, m_scratch, [&] {
        m_counters.push_back({decoded("\"" + m_scratch + "\""), normalId(process), {}});
        return static_cast<uint32_t>(m_counters.size() - 1);
    });
    m_counters[id].samples.time.push_back(time);
    m_counters[id].samples.value.push_back(number);
}

void ChromeTrace::counter(const RawEvent& event)
{
    MicroTime time;
    if (!timeOf(event, time) || !wanted(time.ns, time.ns)) return;
    seen(time.ns, time.ns);
    std::string name(unquoted(event.name));
    if (!isMissing(event.id)) name.append("[").append(unquoted(event.id)).append("]");
    if (event.args.empty() || event.args.front() != '{') return m_problems.add(TraceProblem::badCounter, event.place);
    JsonCursor cursor(event.args);
    std::string_view key, value;
    while (cursor.nextMember(key, value))
        addCounterPoint(event.process, name, key, time.ns, value, event.place);
}

// PyTorch's allocator: what is allocated and reserved after the event.
void ChromeTrace::memory(const RawEvent& event, TimeNs time)
{
    const std::string_view type = memberOf(event.args, "Device Type"), id = memberOf(event.args, "Device Id");
    const bool onHost = wholeNumber(type).value_or(0) == 0;
    const std::string device = onHost ? "host memory" : fmt::format("memory of device {}", wholeNumber(id).value_or(0));
    addCounterPoint("", device, "allocated", time, memberOf(event.args, "Total Allocated"), event.place);
    addCounterPoint("", device, "reserved", time, memberOf(event.args, "Total Reserved"), event.place);
}

void ChromeTrace::sample(const RawEvent& event)
{
    MicroTime time;
    if (!timeOf(event, time) || profile(event, time.ns) || !wanted(time.ns, time.ns)) return;
    if (isMissing(event.stackFrame)) return m_problems.add(TraceProblem::badSample, event.place);
    const int64_t weight = wholeNumber(event.weight).value_or(1);
    if (weight >= kWeightLimit || weight <= -kWeightLimit) return m_problems.add(TraceProblem::badSample, event.place);
    seen(time.ns, time.ns);
    const uint32_t frame = m_frameIds.find(unquoted(event.stackFrame), {}, [&] { return static_cast<uint32_t>(m_frameIds.size()); });
    const uint32_t name = m_sampleNames.find(event.name, {}, [&] { return static_cast<uint32_t>(m_sampleNames.size()); });
    m_samples.push_back({time.ns, weight, frame, name, m_tracks.find(Purpose::events, event.process, event.thread)});
}

// The samples lie within the arguments, and a profile may begin long before what is wanted.
bool ChromeTrace::profile(const RawEvent& event, TimeNs time)
{
    const std::string_view name = unquoted(event.name);
    if (!ChromeProfiles::isProfileEvent(name) || event.args.empty()) return false;
    m_profiles.add(name, event.process, event.thread, event.id, time, event.args);
    return true;
}

void ChromeTrace::member(std::string_view key, std::string_view value)
{
    constexpr size_t kShown = 2000; // of one value in the list of what is known about the run
    if (key == "stackFrames") {
        m_stackFrames = value;
    } else if (key == "samples") {
        m_sampleList = value;
    } else if (key == "otherData" && unquoted(memberOf(value, "writer")) == "stepscope") {
        m_ownSeries = memberOf(value, "series");
        if (m_ownSeries.empty()) m_ownSeries = "[]";
    } else if (key == "deviceProperties") {
        JsonCursor devices(value);
        std::string_view device;
        while (devices.nextElement(device)) {
            const int64_t id = wholeNumber(memberOf(device, "id")).value_or(0);
            JsonCursor properties(device);
            std::string_view name, property;
            while (properties.nextMember(name, property))
                if (name != "id") m_session.addEnvironment({fmt::format("trace.device.{}.{}", id, name), decoded(property)});
        }
    } else if (key == "distributedInfo") {
        JsonCursor members(value);
        std::string_view name, member;
        while (members.nextMember(name, member))
            if (member.size() <= kShown) m_session.addEnvironment({fmt::format("trace.distributed.{}", name), decoded(member)});
    } else if (value.size() <= kShown && !value.empty()) {
        m_session.addEnvironment({fmt::format("trace.{}", key), decoded(value)});
    }
}

} // namespace stepscope::importers
