#include "core/session/session_merger.h"

#include "core/session/sample_rows.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

namespace stepscope::session {

namespace {

constexpr uint32_t kNone = SpanTable::kNoParent;

template <class T>
void append(base::HugeVector<T>& to, const base::HugeVector<T>& from)
{
    to.insert(to.end(), from.begin(), from.end());
}

template <class Id>
Id moved(Id id, uint32_t by)
{
    return id.valid() ? Id(id.value + by) : id;
}

std::string grouped(const std::string& group, const std::string& inner)
{
    return inner.empty() ? group : group + " " + inner;
}

} // namespace

std::string SessionMerger::keyOf(std::string_view key, std::string_view group) { return fmt::format("{} [{}]", key, group); }

int32_t SessionMerger::Maps::step(int32_t index, size_t& last) const
{
    if (index < 0 || steps.empty()) return -1;
    if (steps[last].first != index) {
        const auto at = std::lower_bound(steps.begin(), steps.end(), index, [](const auto& step, int64_t i) { return step.first < i; });
        if (at == steps.end() || at->first != index) return -1;
        last = static_cast<size_t>(at - steps.begin());
    }
    return static_cast<int32_t>(steps[last].second);
}

void SessionMerger::add(const Session& part, const std::string& group)
{
    part.spans(); // loads the columns, whose quality is known only then
    SessionTables& tables = m_tables.tables();
    m_parts.push_back({group, tables.tracks.size(), tables.steps.size(), tables.counters.size(), m_spans.size(), part.environment()});
    const size_t tracks = tables.tracks.size();
    for (Track track : part.tracks()) {
        track.group = grouped(group, track.group);
        tables.tracks.push_back(std::move(track));
    }
    Maps maps;
    addNames(part, maps);
    addFrames(part, maps);
    addSteps(part, group, maps);
    addSpans(part, maps);
    addCounters(part, group);
    addSamples(part, group, maps, tracks);
    addQualityOf(part, group);
    if (tables.modelText.empty()) tables.modelText = part.modelText();
}

void SessionMerger::addNames(const Session& part, Maps& maps)
{
    maps.strings.reserve(part.tables().strings.size());
    for (const std::string& text : part.tables().strings)
        maps.strings.push_back(m_tables.intern(text));
    addModel(part, maps);
    const auto string = [&](StringId id) { return id.index() < maps.strings.size() ? maps.strings[id.index()] : StringId(); };
    for (Label label : part.labels()) {
        label.name = string(label.name);
        label.category = string(label.category);
        label.layer = moved(label.layer, maps.layers);
        label.primitive = moved(label.primitive, maps.primitives);
        maps.labels.push_back(m_tables.internLabel(label).value);
    }
}

// Ranks mostly train the same model: then its layers are the same rows.
void SessionMerger::addModel(const Session& part, Maps& maps)
{
    SessionTables& tables = m_tables.tables();
    for (const Model& known : m_models)
        if (known.layers == part.layers() && known.primitives == part.primitives()) {
            maps.layers = known.firstLayer;
            maps.primitives = known.firstPrimitive;
            return;
        }
    maps.layers = static_cast<uint32_t>(tables.layers.size());
    maps.primitives = static_cast<uint32_t>(tables.primitives.size());
    m_models.push_back({part.layers(), part.primitives(), maps.layers, maps.primitives});
    for (LayerRow row : part.layers()) {
        row.parent = moved(row.parent, maps.layers);
        tables.layers.push_back(std::move(row));
    }
    for (PrimitiveRow row : part.primitives()) {
        row.layer = moved(row.layer, maps.layers);
        tables.primitives.push_back(std::move(row));
    }
}

void SessionMerger::addFrames(const Session& part, Maps& maps)
{
    const auto string = [&](StringId id) { return id.index() < maps.strings.size() ? maps.strings[id.index()] : StringId(); };
    for (FrameRow frame : part.frames()) {
        frame.function = string(frame.function);
        frame.module = string(frame.module);
        frame.file = string(frame.file);
        frame.primitive = moved(frame.primitive, maps.primitives);
        maps.frames.push_back(m_tables.internFrame(frame));
    }
    for (StackRow stack : part.stacks()) { // parents come first
        if (stack.parent.valid()) stack.parent = stack.parent.index() < maps.stacks.size() ? StackId(maps.stacks[stack.parent.index()]) : StackId();
        stack.frame = stack.frame.index() < maps.frames.size() ? maps.frames[stack.frame.index()] : FrameId();
        maps.stacks.push_back(m_tables.internStack(stack).value);
    }
}

// Steps of a rank follow those of the rank before, each with an index of its own.
void SessionMerger::addSteps(const Session& part, const std::string& group, Maps& maps)
{
    std::vector<StepRow>& steps = m_tables.tables().steps;
    int64_t next = steps.empty() ? 0 : steps.back().index + 1;
    for (const StepRow& step : part.steps()) {
        if (maps.steps.empty() || maps.steps.back().first != step.index) maps.steps.emplace_back(step.index, next++);
        StepRow row = step;
        row.index = maps.steps.back().second;
        row.indexShift = row.index - step.number();
        row.group = m_tables.intern(grouped(group, std::string(part.string(step.group))));
        steps.push_back(std::move(row));
    }
}

void SessionMerger::addSpans(const Session& part, const Maps& maps)
{
    const SpanTable& from = part.spans();
    const size_t first = m_spans.size();
    const auto offset = static_cast<uint32_t>(first);
    for (size_t t = 0; t < part.tracks().size(); ++t)
        m_spans.trackBegin.push_back(first + (t < from.trackBegin.size() ? from.trackBegin[t] : from.size()));
    append(m_spans.start, from.start);
    append(m_spans.duration, from.duration);
    const size_t end = first + from.size();
    m_spans.label.resize(end);
    m_spans.parent.resize(end);
    m_spans.step.resize(end);
    m_spans.detail.resize(end);
    size_t lastStep = 0;
    for (size_t row = 0; row < from.size(); ++row) {
        const uint32_t label = from.label[row], parent = from.parent[row];
        m_spans.label[first + row] = label < maps.labels.size() ? maps.labels[label] : LabelId::kNone;
        m_spans.parent[first + row] = parent == kNone ? kNone : parent + offset;
        m_spans.step[first + row] = maps.step(from.step[row], lastStep);
        m_spans.detail[first + row] = SpanTable::kNoDetail;
    }
    addDetails(part, first);
}

// Ids of one part as they are, those of the next above them.
int64_t SessionMerger::correlation(int64_t id)
{
    if (id == DetailTable::kNoCorrelation) return id;
    if (m_correlationsFit) return id + m_correlationShift;
    return m_correlations.at(id);
}

void SessionMerger::addDetails(const Session& part, size_t firstRow)
{
    const DetailTable& from = part.details();
    if (from.empty()) return;
    m_hasDetails = true;
    constexpr int64_t kMost = int64_t{1} << 62;
    int64_t least = kMost, most = -kMost;
    for (const int64_t id : from.correlation)
        if (id != DetailTable::kNoCorrelation) {
            least = std::min(least, id);
            most = std::max(most, id);
        }
    const bool any = least <= most && least < kMost;
    m_correlationShift = m_parts.size() == 1 ? 0 : m_nextCorrelation;
    m_correlationsFit = !any || (least >= 0 && most < kMost && most < kMost - m_correlationShift);
    m_correlations.clear();
    if (!m_correlationsFit) {
        for (const int64_t id : from.correlation)
            if (id != DetailTable::kNoCorrelation) m_correlations.try_emplace(id, 0);
        for (auto& [id, given] : m_correlations)
            given = m_nextCorrelation++;
    } else if (any) {
        m_nextCorrelation = std::max(m_nextCorrelation, most + m_correlationShift + 1);
    }

    std::vector<uint32_t> ids(from.size());
    const auto offset = static_cast<uint32_t>(firstRow);
    for (uint32_t row = 0; row < from.size(); ++row) {
        const uint64_t place = from.placeOf(row);
        if (const DeviceWork* work = from.deviceWork(row)) {
            DeviceWork copy = *work;
            if (copy.launch != kNone) copy.launch += offset;
            ids[row] = m_details.addDevice(copy, correlation(from.correlationOf(row)), place);
        } else if (row < from.linkedRows()) {
            ids[row] = m_details.addLinked(correlation(from.correlationOf(row)), place);
        } else {
            ids[row] = m_details.addPlain(place);
        }
    }
    for (const uint32_t row : from.unfinished)
        if (row < ids.size()) m_details.setUnfinished(ids[row]);
    for (size_t row = 0; row < part.spans().size(); ++row) {
        const uint32_t detail = part.spans().detailOf(row);
        if (detail < ids.size()) m_spans.detail[firstRow + row] = ids[detail];
    }
    for (FlowRow flow : from.flows) {
        if (flow.from != kNone) flow.from += offset;
        if (flow.to != kNone) flow.to += offset;
        flow.name = flow.name.index() < part.tables().strings.size() ? m_tables.intern(part.string(flow.name)) : StringId();
        m_flows.push_back(flow);
    }
}

void SessionMerger::addCounters(const Session& part, const std::string& group)
{
    for (size_t i = 0; i < part.counters().size(); ++i) {
        CounterRow row = part.counters()[i];
        row.name += fmt::format(" ({})", group);
        m_tables.tables().counters.push_back(std::move(row));
        m_counters.push_back(part.counterSamples(CounterId(i)));
    }
}

size_t SessionMerger::seriesOf(const SeriesRow& row)
{
    std::vector<SeriesRow>& all = m_tables.tables().series;
    const auto same = std::find_if(all.begin(), all.end(), [&](const SeriesRow& other) {
        return other.name == row.name && other.unit == row.unit && other.kind == row.kind && other.timed == row.timed;
    });
    if (same != all.end()) return static_cast<size_t>(same - all.begin());
    const bool first = std::none_of(all.begin(), all.end(), [](const SeriesRow& other) { return other.isDefault; });
    all.push_back(row);
    all.back().isDefault = row.isDefault && first;
    m_samples.emplace_back();
    return all.size() - 1;
}

// Samples that name no thread get a track of their part: the files must stay apart.
void SessionMerger::addSamples(const Session& part, const std::string& group, const Maps& maps, size_t tracks)
{
    uint32_t own = TrackId::kNone;
    for (size_t s = 0; s < part.series().size(); ++s) {
        const SampleTable& from = part.samples(SeriesId(s));
        const size_t series = seriesOf(part.series()[s]);
        SampleTable& to = m_samples[series];
        const size_t first = to.size();
        to.resize(first + from.size());
        size_t lastStep = 0;
        for (size_t row = 0; row < from.size(); ++row) {
            const uint32_t stack = from.stack[row], label = from.label[row], track = from.track[row];
            if (track >= part.tracks().size() && own == TrackId::kNone) {
                own = static_cast<uint32_t>(m_tables.tables().tracks.size());
                Track made;
                made.name = made.group = group;
                m_tables.tables().tracks.push_back(std::move(made));
                m_spans.trackBegin.push_back(m_spans.size());
            }
            to.time[first + row] = from.time[row];
            to.weight[first + row] = from.weight[row];
            to.stack[first + row] = stack < maps.stacks.size() ? maps.stacks[stack] : StackId::kNone;
            to.label[first + row] = label < maps.labels.size() ? maps.labels[label] : LabelId::kNone;
            to.track[first + row] = track < part.tracks().size() ? static_cast<uint32_t>(tracks) + track : own;
            to.step[first + row] = maps.step(from.step[row], lastStep);
        }
        m_sampleRuns.push_back({series, m_parts.size() - 1, first, first + from.size()});
    }
}

void SessionMerger::addQualityOf(const Session& part, const std::string& group)
{
    for (QualityRow row : part.quality()) {
        row.message = group + ": " + row.message;
        m_tables.tables().quality.push_back(std::move(row));
    }
}

// What all parts agree on is a fact about the whole; the rest says whose it is, as do all facts about single files.
void SessionMerger::mergeEnvironment()
{
    std::vector<EnvironmentRow>& rows = m_tables.tables().environment;
    std::vector<std::string_view> keys;
    std::map<std::string_view, std::vector<std::pair<size_t, std::string_view>>> values;
    for (size_t p = 0; p < m_parts.size(); ++p)
        for (const EnvironmentRow& row : m_parts[p].environment) {
            auto& of = values[row.key];
            if (of.empty()) keys.push_back(row.key);
            if (of.empty() || of.back().first != p) of.emplace_back(p, row.value); // Session shows the first of equal keys
        }
    for (const std::string_view key : keys) {
        const auto& of = values[key];
        const bool shared = of.size() == m_parts.size() && !key.starts_with("import.")
            && std::all_of(of.begin(), of.end(), [&](const auto& value) { return value.second == of.front().second; });
        if (shared) {
            rows.push_back({std::string(key), std::string(of.front().second)});
            continue;
        }
        for (const auto& [part, value] : of)
            rows.push_back({keyOf(key, m_parts[part].group), std::string(value)});
    }
    rows.insert(rows.end(), m_ownEnvironment.begin(), m_ownEnvironment.end());
}

void SessionMerger::shift(std::span<const TimeNs> shifts)
{
    SessionTables& tables = m_tables.tables();
    for (size_t p = 0; p < m_parts.size(); ++p) {
        const TimeNs by = p < shifts.size() ? shifts[p] : 0;
        if (by == 0) continue;
        const bool last = p + 1 == m_parts.size();
        const size_t rows = last ? m_spans.size() : m_parts[p + 1].rows;
        for (size_t row = m_parts[p].rows; row < rows; ++row)
            m_spans.start[row] += by;
        const size_t steps = last ? tables.steps.size() : m_parts[p + 1].steps;
        for (size_t i = m_parts[p].steps; i < steps; ++i)
            tables.steps[i].start += by;
        const size_t counters = last ? m_counters.size() : m_parts[p + 1].counters;
        for (size_t i = m_parts[p].counters; i < counters; ++i)
            for (TimeNs& time : m_counters[i].time)
                time += by;
        for (const SampleRun& run : m_sampleRuns)
            if (run.part == p && tables.series[run.series].timed)
                for (size_t row = run.begin; row < run.end; ++row)
                    m_samples[run.series].time[row] += by;
    }
}

SessionPtr SessionMerger::finish(std::span<const TimeNs> shifts)
{
    shift(shifts);
    mergeEnvironment();
    LoadedColumns columns;
    m_spans.trackBegin.push_back(m_spans.size());
    if (m_hasDetails) {
        columns.details = m_details.finish();
        columns.details.flows = std::move(m_flows);
        for (uint32_t& detail : m_spans.detail)
            detail = m_details.row(detail);
    } else {
        m_spans.detail = {};
    }
    columns.spans = std::move(m_spans);
    columns.counters = std::move(m_counters);
    columns.samples = std::move(m_samples);
    for (SampleTable& samples : columns.samples)
        sortSamples(samples);
    auto session = std::make_shared<const Session>(std::move(m_tables.tables()), std::move(columns));
    *this = SessionMerger();
    return session;
}

} // namespace stepscope::session
