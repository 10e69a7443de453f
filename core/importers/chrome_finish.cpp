// The second half of ChromeTrace: everything that needs the whole file.
#include "core/importers/chrome_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <set>

namespace stepscope::importers {

namespace {

using session::Event;
using session::SpanKind;
using session::SpanTable;
using session::TimeNs;
using session::TrackId;

constexpr TimeNs kFarFromZero = TimeNs{1000000000000} * 1000; // 1e12 us: no clock that starts with the machine is there

} // namespace

// CUPTI writes 0 for what it could not time. In a trace of epoch times that is no time; where the clock starts near 0 it is.
void ChromeTrace::dropUntimed()
{
    const bool zeroIsNoTime = m_first && *m_first > kFarFromZero;
    if (!zeroIsNoTime) {
        if (!m_zeroLast) return;
        m_first = std::min<TimeNs>(m_first.value_or(0), 0);
        m_last = std::max(m_last.value_or(*m_zeroLast), *m_zeroLast);
        return;
    }
    std::vector<std::pair<uint64_t, Event*>> dropped;
    for (const AtZero& at : m_atZero)
        dropped.emplace_back(at.place, at.event);
    for (const FlowMark& mark : m_flows)
        if (mark.time == 0) dropped.emplace_back(mark.place, nullptr);
    std::sort(dropped.begin(), dropped.end());
    for (const auto& [place, event] : dropped) {
        if (event != nullptr) event->withdraw();
        m_problems.add(TraceProblem::noTiming, place);
    }
    std::erase_if(m_flows, [](const FlowMark& mark) { return mark.time == 0; });
    std::erase_if(m_steps, [](const Step& step) { return step.start == 0; });
}

void ChromeTrace::closeOpenSpans()
{
    m_threadPairs.match(TraceProblem::endWithoutBegin, m_problems, m_open);
    m_asyncPairs.match(TraceProblem::asyncEndWithoutBegin, m_problems, m_open);
    for (Event* event : m_open) {
        event->duration = std::max<TimeNs>(0, m_last.value_or(event->start) - event->start);
        m_details.setUnfinished(event->detail);
    }
}

void ChromeTrace::addTracks()
{
    std::vector<session::Track> tracks = m_tracks.finish(m_options.group);
    for (session::Track& track : tracks)
        m_session.addTrack(track);
}

// The steps that the trace marks, else the spans that the user named, else marks like "Iteration 3".
void ChromeTrace::addSteps(SpanTable& spans, const session::DetailTable& details)
{
    session::SessionTables& tables = m_session.tables();
    std::vector<Step> steps = m_steps;
    if (!m_options.stepName.empty()) {
        steps.clear();
        std::vector<bool> chosen(tables.labels.size());
        for (size_t i = 0; i < tables.labels.size(); ++i) {
            chosen[i] = tables.labels[i].name.valid() && tables.strings[tables.labels[i].name.index()] == m_options.stepName;
            if (chosen[i]) tables.labels[i].kind = SpanKind::step;
        }
        for (size_t row = 0; row < spans.size(); ++row)
            if (chosen[spans.label[row]])
                steps.push_back({static_cast<int64_t>(steps.size()), spans.start[row] + m_origin, spans.duration[row]});
    } else if (steps.empty()) {
        steps = m_iterations;
    }
    std::stable_sort(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.start < b.start; });
    // The same step on a second thread, or a step inside another one.
    size_t kept = 0;
    for (const Step& step : steps)
        if (kept == 0 || step.start >= steps[kept - 1].start + steps[kept - 1].duration) steps[kept++] = step;
    steps.resize(kept);
    const bool ascending = std::is_sorted(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.number <= b.number; });
    if (!ascending)
        for (size_t i = 0; i < steps.size(); ++i)
            steps[i].number = static_cast<int64_t>(i);
    if (steps.empty()) return;
    for (const Step& step : steps) {
        session::StepRow row;
        row.index = step.number;
        row.start = step.start - m_origin;
        row.duration = step.duration;
        row.loss = std::numeric_limits<double>::quiet_NaN();
        m_session.addStep(row);
    }
    m_session.addEnvironment({"import.steps", ascending ? "numbers of the file" : "numbered in the order of time"});

    // By time on the host; device work belongs to the step that launched it, whenever it ran.
    auto stepAt = [&, last = size_t{0}](TimeNs time) mutable -> int32_t {
        time += m_origin;
        const auto holds = [&](size_t i) { return time >= steps[i].start && time < steps[i].start + steps[i].duration; };
        if (holds(last)) return static_cast<int32_t>(steps[last].number);
        const auto after = std::upper_bound(steps.begin(), steps.end(), time, [](TimeNs t, const Step& s) { return t < s.start; });
        if (after == steps.begin()) return -1;
        const auto at = static_cast<size_t>(after - steps.begin() - 1);
        if (!holds(at)) return -1;
        last = at;
        return static_cast<int32_t>(steps[at].number);
    };
    for (size_t row = 0; row < spans.size(); ++row)
        spans.step[row] = stepAt(spans.start[row]);
    for (size_t row = 0; row < spans.size(); ++row) {
        const session::DeviceWork* work = details.deviceWork(spans.detailOf(row));
        if (work != nullptr && work->launch != SpanTable::kNoParent) spans.step[row] = spans.step[work->launch];
    }
}

void ChromeTrace::addCounters()
{
    std::map<std::string, int> sameName;
    for (const Counter& counter : m_counters)
        ++sameName[counter.name];
    std::vector<session::CounterRecord> records;
    for (Counter& counter : m_counters) {
        std::string name = counter.name;
        if (sameName[name] > 1) name += fmt::format(" (process {})", counter.process.empty() ? "unknown" : counter.process);
        m_session.addCounter({std::move(name), name.ends_with("allocated") || name.ends_with("reserved") ? "bytes" : ""});
        records.clear();
        for (size_t i = 0; i < counter.samples.time.size(); ++i)
            records.push_back({counter.samples.time[i] - m_origin, counter.samples.value[i]});
        std::stable_sort(records.begin(), records.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
        m_session.addCounterSamples(session::CounterId(m_session.tables().counters.size() - 1), records);
        counter.samples = {};
    }
}

// By the names of the samples. Our own exporter tells more about them.
void ChromeTrace::addSampleSeries(size_t kinds)
{
    using session::SeriesKind;
    const auto kindNamed = [](const std::string& name) {
        for (int kind = 0; kind < session::kSeriesKindCount; ++kind)
            if (session::seriesKindName(static_cast<SeriesKind>(kind)) == name) return static_cast<SeriesKind>(kind);
        return SeriesKind::other;
    };
    std::map<std::string, session::SeriesRow> described;
    JsonCursor cursor(m_ownSeries.empty() ? std::string_view("[]") : std::string_view(m_ownSeries));
    std::string_view element;
    while (cursor.nextElement(element)) {
        session::SeriesRow row{decoded(memberOf(element, "name")), decoded(memberOf(element, "unit"))};
        row.kind = kindNamed(decoded(memberOf(element, "kind")));
        row.timed = memberOf(element, "timed") != "false";
        row.isDefault = memberOf(element, "default") == "true";
        described.emplace(row.name, row);
    }
    for (size_t i = 0; i < kinds; ++i) {
        const std::string name = decoded(m_sampleNames.firstKey(i));
        const auto known = described.find(name);
        if (known != described.end()) m_session.addSeries(known->second);
        else m_session.addSeries({kinds == 1 ? std::string("samples") : name, "", SeriesKind::other, true, i == 0});
    }
}

// Samples of the trace-event format: phase P or the list "samples", with stacks from "stackFrames".
void ChromeTrace::addSamples()
{
    if (!m_sampleList.empty() && m_sampleList.front() == '[') {
        JsonCursor cursor(m_sampleList);
        std::string_view element;
        while (cursor.nextElement(element)) {
            RawEvent event;
            event.time = memberOf(element, "ts");
            event.thread = memberOf(element, "tid");
            event.process = memberOf(element, "pid");
            event.stackFrame = memberOf(element, "sf");
            event.weight = memberOf(element, "weight");
            event.name = memberOf(element, "name");
            sample(event);
        }
    }
    if (m_samples.empty()) return;
    struct Frame {
        std::string_view name, category, parent;
        session::StackId stack;
        bool visiting = false;
    };
    std::map<std::string_view, Frame> frames;
    if (!m_stackFrames.empty() && m_stackFrames.front() == '{') {
        JsonCursor cursor(m_stackFrames);
        std::string_view id, value;
        while (cursor.nextMember(id, value))
            frames[id] = {memberOf(value, "name"), memberOf(value, "category"), memberOf(value, "parent"), {}, false};
    }
    if (!m_ownSeries.empty()) frames.erase("none"); // how our exporter says that there is no stack
    // From the frame outwards until one whose stack is known; a loop of parents ends it.
    const auto stackOf = [&](std::string_view id) -> session::StackId {
        std::vector<Frame*> chain;
        session::StackId stack;
        for (auto at = frames.find(id); at != frames.end(); at = frames.find(unquoted(at->second.parent))) {
            if (at->second.stack.valid()) {
                stack = at->second.stack;
                break;
            }
            if (at->second.visiting) break;
            at->second.visiting = true;
            chain.push_back(&at->second);
        }
        for (auto frame = chain.rbegin(); frame != chain.rend(); ++frame) {
            session::FrameRow row;
            row.function = m_session.intern(decoded((*frame)->name));
            row.module = m_session.intern(decoded((*frame)->category));
            stack = m_session.internStack({stack, m_session.internFrame(row)});
            (*frame)->stack = stack;
        }
        return stack;
    };
    // Samples of several names, such as events of a counter, have weights that do not add up.
    constexpr size_t kMostKinds = 64; // more are names of something else
    const size_t kinds = m_sampleNames.size() > kMostKinds ? 1 : std::max<size_t>(m_sampleNames.size(), 1);
    addSampleSeries(kinds);
    std::vector<std::vector<session::SampleRecord>> records(kinds);
    for (const SampleMark& mark : m_samples) {
        session::SampleRecord record;
        const size_t series = kinds == 1 ? 0 : mark.name;
        record.time = m_session.tables().series[series].timed ? mark.time - m_origin : 0;
        record.weight = mark.weight;
        record.stack = stackOf(m_frameIds.firstKey(mark.frame));
        record.track = mark.track;
        const bool saidSo = !m_ownSeries.empty() && m_frameIds.firstKey(mark.frame) == "none";
        if (!record.stack.valid() && !saidSo) m_problems.addUnplaced(TraceProblem::badSample, 1);
        records[series].push_back(record);
    }
    for (size_t i = 0; i < kinds; ++i)
        m_session.addSamples(session::SeriesId(i), records[i]);
}

// Before the origin is known: the first sample may be the first event.
void ChromeTrace::takeProfiles()
{
    m_takenProfiles = m_profiles.finish();
    for (ChromeProfiles::Profile& profile : m_takenProfiles) {
        const size_t absurd = std::erase_if(profile.samples, [](const session::SampleRecord& sample) {
            return sample.time >= kTimeLimit || sample.time <= -kTimeLimit || sample.weight >= kWeightLimit;
        });
        m_problems.addUnplaced(TraceProblem::badSample, static_cast<int64_t>(absurd));
        std::erase_if(profile.samples, [&](const session::SampleRecord& sample) { return !wanted(sample.time, sample.time); });
        const TrackId track = m_tracks.find(Purpose::events, profile.pid, profile.tid);
        for (session::SampleRecord& sample : profile.samples) {
            sample.track = track;
            seen(sample.time, sample.time);
        }
    }
}

void ChromeTrace::addProfiles()
{
    int64_t leads = 0, unsorted = 0, unknownNodes = 0, badNumbers = 0, broken = 0;
    std::vector<session::SampleRecord> records;
    for (const ChromeProfiles::Profile& profile : m_takenProfiles) {
        leads += profile.hasLead ? 1 : 0;
        unsorted += profile.unsorted;
        unknownNodes += profile.unknownNodes;
        badNumbers += profile.badNumbers;
        broken += profile.broken ? 1 : 0;
        for (session::SampleRecord sample : profile.samples)
            if (!__builtin_sub_overflow(sample.time, m_origin, &sample.time)) records.push_back(sample);
    }
    const auto note = [&](const char* code, int64_t count, const char* message) {
        if (count > 0) m_session.addQuality({code, count, fmt::format("{}: {}.", message, count), {}});
    };
    note("time-backwards", unsorted, "Samples recorded out of order were sorted by their time");
    note("unknown-node", unknownNodes, "Samples of a node that is not in the file have no stack");
    note("bad-number", badNumbers, "Nodes, times and children that are no numbers were taken as 0");
    note("broken-profile", broken, "Profiles of which only a part can be read");
    if (records.empty()) return;
    // The time before the first sample of a profile is a row too, without a stack.
    if (leads > 0) m_session.addEnvironment({"import.lead-samples", fmt::format("{}", leads)});
    const size_t index = m_session.tables().series.size();
    m_session.addSeries({"JavaScript time", "ns", session::SeriesKind::other, true, index == 0});
    m_session.addSamples(session::SeriesId(index), records);
    m_takenProfiles.clear();
}

// Launch arrows say again which call started what: every one whose work and call are both there must agree.
void ChromeTrace::checkLaunches(SpanTable& spans, session::DetailTable& details)
{
    const session::LaunchCheck check = session::linkLaunches(spans, m_session.tables().labels, details);
    m_problems.addUnplaced(TraceProblem::repeatedCall, check.repeatedCalls);
    if (check.withoutCall > 0) m_session.addEnvironment({"import.device_work_without_call", fmt::format("{}", check.withoutCall)});
    if (m_launchFlowStarts.empty() || m_launchFlowEnds.empty()) return;
    std::vector<int64_t> launched;
    for (size_t i = 0; i < details.deviceRows(); ++i)
        if (details.device[i].launch != SpanTable::kNoParent) launched.push_back(details.correlation[i]);
    for (std::vector<int64_t>* ids : {&launched, &m_launchFlowStarts, &m_launchFlowEnds}) {
        std::sort(ids->begin(), ids->end());
        ids->erase(std::unique(ids->begin(), ids->end()), ids->end());
    }
    // Ends without a start are normal: newer versions write one for every call.
    std::vector<int64_t> both, missing;
    std::set_intersection(m_launchFlowStarts.begin(), m_launchFlowStarts.end(), m_launchFlowEnds.begin(), m_launchFlowEnds.end(), std::back_inserter(both));
    std::set_difference(both.begin(), both.end(), launched.begin(), launched.end(), std::back_inserter(missing));
    m_session.addEnvironment({"import.launch_arrows", fmt::format("{} of the file, {} of them without device work of that correlation id", both.size(), missing.size())});
}

void ChromeTrace::addProblems(const Input& input, const TraceText& text)
{
    m_problems.set(TraceProblem::malformed, text.malformed);
    m_problems.set(TraceProblem::notAnEvent, text.notEvents);
    m_problems.set(TraceProblem::nonFinite, text.repairs[static_cast<size_t>(JsonRepair::invalidToken)]);
    m_problems.set(TraceProblem::invalidEscape, text.repairs[static_cast<size_t>(JsonRepair::invalidEscape)]);
    m_problems.set(TraceProblem::controlCharacter, text.repairs[static_cast<size_t>(JsonRepair::controlCharacter)]);
    m_problems.set(TraceProblem::invalidUtf8, text.repairs[static_cast<size_t>(JsonRepair::invalidUtf8)]);
    for (session::QualityRow& row : m_problems.rows(input))
        m_session.addQuality(row);
}

Imported ChromeTrace::finish(const Input& input, std::string_view format, TraceText text)
{
    dropUntimed();
    closeOpenSpans();
    takeProfiles();
    m_origin = m_first.value_or(0);
    if (m_options.clockOffset < kTimeLimit && m_options.clockOffset > -kTimeLimit) m_origin -= m_options.clockOffset; // both are within the limit
    addSamples();
    addProfiles();
    addTracks();
    session::SessionTables& tables = m_session.tables();
    const size_t trackCount = tables.tracks.size();
    session::EventBuilder::Finished columns = m_events.finish(tables.tracks, tables.labels.size(), m_origin, std::move(m_details));
    std::vector<std::vector<TrackId>> lanes(trackCount);
    for (size_t i = 0; i < columns.laneOf.size(); ++i)
        lanes[columns.laneOf[i].index()].push_back(TrackId(trackCount + i));
    checkLaunches(columns.spans, columns.details);
    bindFlows(m_flows, m_origin, columns.spans, lanes, columns.details, m_problems);
    addSteps(columns.spans, columns.details);
    addCounters();

    Imported imported;
    imported.complete = text.complete;
    imported.problem = text.problem;
    if (imported.problem && imported.problem->byteOffset >= 0 && !imported.problem->kind.ends_with("-truncated") && !imported.problem->kind.ends_with("-damaged")) {
        const std::vector<LinePlace> place = linesOf(input, {static_cast<uint64_t>(imported.problem->byteOffset)});
        imported.problem->line = place[0].line;
        imported.problem->column = place[0].column;
    }
    addProblems(input, text);
    for (session::QualityRow& row : session::eventQuality(columns))
        m_session.addQuality(row);
    if (!imported.complete && imported.problem) addProblemRow(tables, *imported.problem);
    addImportRows(tables, input, format);
    m_session.addEnvironment({"import.origin_ns", fmt::format("{}", m_origin)});
    if (m_last) m_session.addEnvironment({"import.end_ns", fmt::format("{}", *m_last)});
    m_session.addEnvironment({"import.unpacked_bytes", fmt::format("{}", text.bytes)});
    if (text.emptyObjects > 0) m_session.addEnvironment({"import.skipped_objects", fmt::format("{}", text.emptyObjects)});
    imported.session = m_session.build(std::move(columns.spans), std::move(columns.details));
    return imported;
}

} // namespace stepscope::importers
