#include "core/session/session_builder.h"

#include "core/session/sample_rows.h"
#include "core/session/span_runs.h"
#include "core/session/table_check.h"

#include <algorithm>

#include <fmt/format.h>

namespace stepscope::session {

namespace {

constexpr size_t kRunSpans = size_t{1} << 16; // small enough for the cache while it is sorted

template <class Records>
LoadedColumns nest(std::vector<Records> records, std::vector<CounterSamples> counters)
{
    size_t count = 0;
    for (const Records& track : records)
        count += track.size();
    SpanRuns runs(count);
    for (Records& track : records) {
        runs.beginTrack();
        const std::span<const SpanRecord> all(track);
        for (size_t at = 0; at < all.size(); at += kRunSpans)
            runs.addRun(all.subspan(at, std::min(kRunSpans, all.size() - at)));
        Records().swap(track); // peak memory is time
    }
    LoadedColumns columns;
    columns.spans = runs.finish();
    columns.counters = std::move(counters);
    if (runs.overlapping() > 0) columns.quality.push_back(overlapQuality(runs.overlapping()));
    return columns;
}

template <class... Parts>
size_t hashOf(Parts... parts)
{
    uint64_t h = 0;
    ((h = (h ^ static_cast<uint64_t>(parts)) * 0x9e3779b97f4a7c15u, h ^= h >> 29), ...);
    return h;
}

} // namespace

QualityRow overlapQuality(int64_t count)
{
    return {"overlapping-spans", count,
            fmt::format("{} spans overlapped another without nesting and were cut at its end.", count)};
}

LoadedColumns nestSpans(std::vector<std::vector<SpanRecord>> records, std::vector<CounterSamples> counters)
{
    return nest(std::move(records), std::move(counters));
}

LoadedColumns nestSpans(std::vector<base::HugeVector<SpanRecord>> records, std::vector<CounterSamples> counters)
{
    return nest(std::move(records), std::move(counters));
}

size_t SessionBuilder::LabelHash::operator()(const Label& label) const noexcept
{
    return hashOf(label.name.value, label.layer.value, label.primitive.value, label.category.value, label.kind,
                  label.phase);
}

size_t SessionBuilder::FrameHash::operator()(const FrameRow& frame) const noexcept
{
    return hashOf(frame.function.value, frame.module.value, frame.file.value, frame.line, frame.address, frame.flags,
                  frame.primitive.value);
}

size_t SessionBuilder::StackHash::operator()(const StackRow& stack) const noexcept
{
    return hashOf(stack.parent.value, stack.frame.value);
}

StringId SessionBuilder::intern(std::string_view text)
{
    const auto found = m_stringIds.find(text);
    if (found != m_stringIds.end()) return StringId(found->second);
    addString(text);
    return StringId(m_tables.strings.size() - 1);
}

LabelId SessionBuilder::internLabel(const Label& label)
{
    const auto [at, added] = m_labelIds.try_emplace(label, static_cast<uint32_t>(m_tables.labels.size()));
    if (added) m_tables.labels.push_back(label);
    return LabelId(at->second);
}

FrameId SessionBuilder::internFrame(const FrameRow& frame)
{
    const auto [at, added] = m_frameIds.try_emplace(frame, static_cast<uint32_t>(m_tables.frames.size()));
    if (added) m_tables.frames.push_back(frame);
    return FrameId(at->second);
}

StackId SessionBuilder::internStack(const StackRow& stack)
{
    const auto [at, added] = m_stackIds.try_emplace(stack, static_cast<uint32_t>(m_tables.stacks.size()));
    if (added) m_tables.stacks.push_back(stack);
    return StackId(at->second);
}

void SessionBuilder::addString(std::string_view text)
{
    m_stringIds.try_emplace(std::string(text), static_cast<uint32_t>(m_tables.strings.size()));
    m_tables.strings.emplace_back(text);
}

void SessionBuilder::addTrack(const Track& track) { m_tables.tracks.push_back(track); }

void SessionBuilder::addLabel(const Label& label)
{
    m_labelIds.try_emplace(label, static_cast<uint32_t>(m_tables.labels.size()));
    m_tables.labels.push_back(label);
}

void SessionBuilder::addLayer(const LayerRow& layer) { m_tables.layers.push_back(layer); }
void SessionBuilder::addPrimitive(const PrimitiveRow& primitive) { m_tables.primitives.push_back(primitive); }
void SessionBuilder::addCounter(const CounterRow& counter) { m_tables.counters.push_back(counter); }
void SessionBuilder::addEnvironment(const EnvironmentRow& row) { m_tables.environment.push_back(row); }
void SessionBuilder::addQuality(const QualityRow& row) { m_tables.quality.push_back(row); }
void SessionBuilder::setModelText(std::string_view text) { m_tables.modelText = text; }
void SessionBuilder::addStep(const StepRow& step) { m_tables.steps.push_back(step); }

void SessionBuilder::addFrame(const FrameRow& frame)
{
    m_frameIds.try_emplace(frame, static_cast<uint32_t>(m_tables.frames.size()));
    m_tables.frames.push_back(frame);
}

void SessionBuilder::addStack(const StackRow& stack)
{
    m_stackIds.try_emplace(stack, static_cast<uint32_t>(m_tables.stacks.size()));
    m_tables.stacks.push_back(stack);
}

void SessionBuilder::addSeries(const SeriesRow& series) { m_tables.series.push_back(series); }

void SessionBuilder::addSamples(SeriesId series, std::span<const SampleRecord> samples)
{
    if (!series.valid()) return;
    if (m_samples.size() <= series.index()) m_samples.resize(series.index() + 1);
    appendSamples(m_samples[series.index()], samples);
}

void SessionBuilder::addSpans(TrackId track, std::span<const SpanRecord> spans)
{
    if (!track.valid()) {
        m_lostSpans += static_cast<int64_t>(spans.size());
        return;
    }
    if (m_spans.size() <= track.index()) m_spans.resize(track.index() + 1);
    auto& mine = m_spans[track.index()];
    mine.insert(mine.end(), spans.begin(), spans.end());
}

void SessionBuilder::addCounterSamples(CounterId counter, std::span<const CounterRecord> samples)
{
    if (!counter.valid()) return;
    if (m_counters.size() <= counter.index()) m_counters.resize(counter.index() + 1);
    CounterSamples& mine = m_counters[counter.index()];
    for (const CounterRecord& sample : samples) {
        mine.time.push_back(sample.time);
        mine.value.push_back(sample.value);
    }
}

void SessionBuilder::dropUnusableSpans()
{
    for (auto& track : m_spans) {
        const auto keep = [&](const SpanRecord& span) { return usable(span, m_tables.labels.size()); };
        if (std::all_of(track.begin(), track.end(), keep)) continue;
        const auto end = std::stable_partition(track.begin(), track.end(), keep);
        m_lostSpans += track.end() - end;
        track.erase(end, track.end());
    }
    if (m_lostSpans > 0)
        m_tables.quality.push_back(
            {"unusable-spans", m_lostSpans,
             fmt::format("{} spans had no known track or label or an impossible duration and were left out.",
                         m_lostSpans)});
}

SessionPtr SessionBuilder::build()
{
    while (m_tables.tracks.size() < m_spans.size())
        m_tables.tracks.push_back({fmt::format("track {}", m_tables.tracks.size()), 0});
    m_spans.resize(m_tables.tracks.size());
    repairTables(m_tables);
    dropUnusableSpans();
    return finish(nestSpans(std::move(m_spans)));
}

SessionPtr SessionBuilder::build(SpanTable spans, DetailTable details)
{
    repairTables(m_tables);
    LoadedColumns columns;
    columns.spans = std::move(spans);
    columns.details = std::move(details);
    return finish(std::move(columns));
}

SessionPtr SessionBuilder::finish(LoadedColumns columns)
{
    m_counters.resize(m_tables.counters.size());
    m_samples.resize(m_tables.series.size());
    columns.counters = std::move(m_counters);
    columns.samples = std::move(m_samples);
    for (SampleTable& samples : columns.samples)
        sortSamples(samples);
    repairSamples(columns, m_tables);
    auto session = std::make_shared<const Session>(std::move(m_tables), std::move(columns));
    *this = SessionBuilder();
    return session;
}

} // namespace stepscope::session
