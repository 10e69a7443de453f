#include "core/importers/profile_builder.h"

#include "core/importers/text_encoding.h"

#include <algorithm>
#include <cctype>
#include <limits>

#include <fmt/format.h>

namespace stepscope::importers {

using session::TimeNs;

namespace {

constexpr size_t kPlaces = 5;
constexpr size_t kPlaceText = 80;

uint64_t stackHash(uint32_t parent, uint32_t frame)
{
    uint64_t h = (static_cast<uint64_t>(parent) << 32 | frame) * 0x9e3779b97f4a7c15u;
    return h ^ h >> 32;
}

bool overlaps(TimeNs start, TimeNs duration, const std::optional<TimeNs>& begin, const std::optional<TimeNs>& end)
{
    return (!begin || start + duration > *begin || (duration == 0 && start == *begin)) && (!end || start < *end);
}

} // namespace

session::StringId ProfileBuilder::text(std::string_view bytes)
{
    if (isUtf8(bytes)) return m_builder.intern(bytes);
    note("invalid-utf8", "names with bytes that are not UTF-8 were repaired with U+FFFD");
    return m_builder.intern(repairUtf8(bytes));
}

session::FrameId ProfileBuilder::frame(std::string_view function, std::string_view module, std::string_view file,
                                       int32_t line, uint32_t flags, uint64_t address)
{
    session::FrameRow row;
    row.function = text(function);
    row.module = text(module);
    if (!file.empty()) row.file = text(file);
    row.line = line;
    row.flags = flags;
    row.address = address;
    return m_builder.internFrame(row);
}

void ProfileBuilder::growStackTable()
{
    const std::vector<session::StackRow>& rows = m_builder.tables().stacks;
    std::vector<uint32_t> slots(std::max<size_t>(1024, m_stacks.slots.size() * 2), session::StackId::kNone);
    for (size_t i = 0; i < rows.size(); ++i) {
        size_t at = stackHash(rows[i].parent.value, rows[i].frame.value) & (slots.size() - 1);
        while (slots[at] != session::StackId::kNone)
            at = (at + 1) & (slots.size() - 1);
        slots[at] = static_cast<uint32_t>(i);
    }
    m_stacks.slots = std::move(slots);
}

session::StackId ProfileBuilder::stack(session::StackId parent, session::FrameId frame)
{
    std::vector<session::StackRow>& rows = m_builder.tables().stacks;
    if (rows.size() * 2 >= m_stacks.slots.size()) growStackTable();
    const size_t mask = m_stacks.slots.size() - 1;
    for (size_t at = stackHash(parent.value, frame.value) & mask;; at = (at + 1) & mask) {
        const uint32_t found = m_stacks.slots[at];
        if (found == session::StackId::kNone) {
            m_stacks.slots[at] = static_cast<uint32_t>(rows.size());
            rows.push_back({parent, frame});
            return session::StackId(rows.size() - 1);
        }
        if (rows[found].parent == parent && rows[found].frame == frame) return session::StackId(found);
    }
}

session::LabelId ProfileBuilder::label(std::string_view name, session::SpanKind kind, std::string_view category)
{
    session::Label row;
    row.name = text(name);
    row.kind = kind;
    if (!category.empty()) row.category = text(category);
    return m_builder.internLabel(row);
}

session::TrackId ProfileBuilder::addTrack(session::Track track)
{
    track.name = isUtf8(track.name) ? track.name : repairUtf8(track.name);
    track.process = isUtf8(track.process) ? track.process : repairUtf8(track.process);
    track.group = m_options.group;
    m_builder.addTrack(track);
    return session::TrackId(m_builder.tables().tracks.size() - 1);
}

session::SeriesId ProfileBuilder::addSeries(const session::SeriesRow& series)
{
    session::SeriesRow row = series;
    row.name = isUtf8(row.name) ? row.name : repairUtf8(row.name);
    row.unit = isUtf8(row.unit) ? row.unit : repairUtf8(row.unit);
    m_builder.addSeries(row);
    return session::SeriesId(m_builder.tables().series.size() - 1);
}

void ProfileBuilder::addSample(session::SeriesId series, const session::SampleRecord& sample)
{
    if (sample.time >= kTimeLimit || sample.time <= -kTimeLimit || sample.weight >= kWeightLimit
        || sample.weight <= -kWeightLimit) {
        note("absurd-sample", "samples with an impossible time or weight were left out");
        return;
    }
    if (m_samples.size() <= series.index()) m_samples.resize(series.index() + 1);
    m_samples[series.index()].push_back(sample);
    ++m_sampleCount;
}

void ProfileBuilder::addSpan(session::TrackId track, const session::SpanRecord& span)
{
    if (span.start >= kTimeLimit || span.start <= -kTimeLimit || span.duration < 0 || span.duration >= kTimeLimit) {
        note("absurd-span", "spans with an impossible start or duration were left out");
        return;
    }
    m_events.add(track, {span.start, span.duration, span.label, span.step});
}

void ProfileBuilder::addEnvironment(std::string_view key, std::string_view value)
{
    if (!value.empty())
        m_builder.addEnvironment({std::string(key), isUtf8(value) ? std::string(value) : repairUtf8(value)});
}

void ProfileBuilder::note(std::string_view code, std::string_view message, std::string place, int64_t count)
{
    auto found = m_notes.find(code);
    if (found == m_notes.end()) {
        found = m_notes.emplace(std::string(code), Note{std::string(message), 0, {}}).first;
        m_noteOrder.emplace_back(code);
    }
    found->second.count += count;
    if (!place.empty() && found->second.places.size() < kPlaces) found->second.places.push_back(std::move(place));
}

int64_t ProfileBuilder::noted(std::string_view code) const
{
    const auto found = m_notes.find(code);
    return found == m_notes.end() ? 0 : found->second.count;
}

TimeNs ProfileBuilder::findOrigin()
{
    constexpr TimeNs kNothing = std::numeric_limits<TimeNs>::max();
    TimeNs first = kNothing;
    m_events.forEach([&](session::TrackId, const session::Event& event) { first = std::min(first, event.start); });
    const std::vector<session::SeriesRow>& series = tables().series;
    for (size_t i = 0; i < m_samples.size(); ++i)
        if (i < series.size() && series[i].timed)
            for (const session::SampleRecord& sample : m_samples[i])
                first = std::min(first, sample.time);
    return first == kNothing ? 0 : first;
}

void ProfileBuilder::applyRange(TimeNs origin)
{
    if (!m_options.rangeBegin && !m_options.rangeEnd) return;
    const auto outside = [&](TimeNs start, TimeNs duration) {
        return !overlaps(start - origin, duration, m_options.rangeBegin, m_options.rangeEnd);
    };
    int64_t left = 0;
    session::EventBuilder inside;
    m_events.forEach([&](session::TrackId track, const session::Event& event) {
        if (outside(event.start, event.duration)) ++left;
        else inside.add(track, event);
    });
    m_events = std::move(inside);
    for (size_t i = 0; i < m_samples.size(); ++i) {
        if (!tables().series[i].timed) continue;
        left += static_cast<int64_t>(
            std::erase_if(m_samples[i], [&](const session::SampleRecord& sample) { return outside(sample.time, 0); }));
    }
    if (left > 0) note("outside-range", "spans and samples outside the chosen range were not loaded", {}, left);
}

void ProfileBuilder::emitSamples(TimeNs shift)
{
    for (size_t i = 0; i < m_samples.size(); ++i) {
        const bool timed = tables().series[i].timed;
        for (session::SampleRecord& sample : m_samples[i])
            sample.time = timed ? sample.time + shift : 0;
        m_builder.addSamples(session::SeriesId(i), m_samples[i]);
        base::HugeVector<session::SampleRecord>().swap(m_samples[i]);
    }
}

void ProfileBuilder::emitNotes()
{
    for (const std::string& code : m_noteOrder) {
        const Note& note = m_notes.find(code)->second;
        session::QualityRow row{code, note.count, fmt::format("{}: {}.", note.message, note.count), {}};
        if (!row.message.empty())
            row.message[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(row.message[0])));
        for (const std::string& place : note.places)
            row.places += (row.places.empty() ? "" : "; ") + place;
        m_builder.addQuality(row);
    }
}

Imported ProfileBuilder::finish(const Input& input, std::string_view format, std::optional<ImportProblem> problem)
{
    const TimeNs origin = findOrigin();
    applyRange(origin);
    emitSamples(m_options.clockOffset - origin);
    emitNotes();
    addImportRows(tables(), input, format);
    addEnvironment("import.origin_ns", std::to_string(origin));
    if (problem) addProblemRow(tables(), *problem);
    session::EventBuilder::Finished spans =
        m_events.finish(tables().tracks, tables().labels.size(), origin - m_options.clockOffset, {});
    for (const session::QualityRow& row : session::eventQuality(spans))
        m_builder.addQuality(row);

    Imported imported;
    imported.format = format;
    imported.why = input.why;
    imported.complete = !problem;
    imported.problem = std::move(problem);
    imported.session = m_builder.build(std::move(spans.spans), std::move(spans.details));
    return imported;
}

std::string linePlace(int64_t line, std::string_view text)
{
    const bool cut = text.size() > kPlaceText;
    return fmt::format("line {}: {}{}", line, repairUtf8(text.substr(0, kPlaceText)), cut ? "..." : "");
}

base::Result<WholeText> readBytes(Input& input, std::stop_token stop, const base::Progress& progress, uint64_t limit)
{
    constexpr size_t kWindow = size_t{1} << 20;
    WholeText whole;
    for (;;) {
        if (stop.stop_requested()) return base::fail(cancelledError());
        const size_t held = whole.text.size();
        if (held >= limit)
            return base::fail(base::ErrorCode::unsupported,
                              fmt::format("the file holds more than {} bytes, too much for this format", limit),
                              {.file = input.path.string()}, "cut it into smaller files, or record for a shorter time");
        if (whole.text.capacity() < held + kWindow) whole.text.reserve(std::max(held * 2, held + 2 * kWindow));
        whole.text.resize(held + kWindow);
        const base::Result<size_t> got = input.bytes->read(std::span(whole.text).subspan(held));
        whole.text.resize(held + (got ? *got : 0));
        if (!got) whole.problem = problemOf(got.error());
        if (!got || *got == 0) return whole;
        if (progress) progress(input.bytes->fraction() * 0.5, "reading");
    }
}

base::Result<WholeText> readText(Input& input, std::stop_token stop, const base::Progress& progress, uint64_t limit)
{
    base::Result<WholeText> whole = readBytes(input, std::move(stop), progress, limit);
    if (!whole) return whole;
    size_t mark = 0;
    const TextEncoding encoding = detectEncoding(whole->text, mark);
    if (encoding == TextEncoding::utf8) {
        whole->text.erase(0, mark);
        return whole;
    }
    std::string text;
    appendUtf16(std::string_view(whole->text).substr(mark), encoding == TextEncoding::utf16BigEndian, true, text);
    whole->text = std::move(text);
    return whole;
}

ImportProblem problemOf(const JsonProblem& problem, std::string_view text)
{
    const TextPlace place = placeOf(text, problem.offset);
    const char* const message = problem.kind == "unexpected-end" ? "the file ends in the middle"
        : problem.kind == "unterminated-string"                  ? "the file ends within a string"
                                                                 : "this is not JSON";
    return {problem.kind, static_cast<int64_t>(problem.offset), place.line, place.column, message};
}

base::Error cancelledError() { return {base::ErrorCode::cancelled, "cancelled", {}, {}}; }

base::Error unusable(const Input& input, std::string message, const std::optional<ImportProblem>& problem)
{
    base::Error error{base::ErrorCode::wrongFormat,
                      std::move(message),
                      {.file = input.path.empty() ? input.name : input.path.string()},
                      {}};
    if (problem) {
        error.where.byte = problem->byteOffset;
        error.message += ": " + problem->message;
        error.where.line = static_cast<int>(std::max<int64_t>(0, problem->line));
        error.where.column = static_cast<int>(std::max<int64_t>(0, problem->column));
    }
    return error;
}

} // namespace stepscope::importers
