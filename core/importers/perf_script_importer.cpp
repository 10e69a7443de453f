#include "core/importers/perf_script_importer.h"

#include "core/importers/line_cache.h"
#include "core/importers/line_reader.h"
#include "core/importers/perf_script_lines.h"
#include "core/importers/profile_builder.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace stepscope::importers {

namespace {

constexpr std::string_view kFormat = "perf-script";
constexpr size_t kMaxPayloads = 100'000; // different texts of tracepoints that are kept

bool isBlank(std::string_view line) { return line.find_first_not_of(" \t\r") == std::string_view::npos; }

// Lines of the file's head that tell where it was recorded.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kHeadLines{{
    {"# hostname :", "perf.hostname"},
    {"# os release :", "perf.os-release"},
    {"# perf version :", "perf.version"},
    {"# cpudesc :", "cpu.model"},
    {"# cmdline :", "perf.command"},
    {"# captured on:", "perf.captured-on"},
}};

session::SeriesRow seriesOf(const perf::Header& header)
{
    const std::string_view event = header.event;
    const std::string_view name = event.substr(0, event.find(':'));
    session::SeriesRow row;
    row.name = event.empty() ? "samples" : std::string(event);
    row.timed = header.timed;
    if (!header.period) row.kind = session::SeriesKind::hits;
    else if (name == "cpu-clock" || name == "task-clock")
        row = {row.name, "ns", session::SeriesKind::cpuTime, row.timed, false};
    return row;
}

class PerfScriptReader {
public:
    explicit PerfScriptReader(ProfileBuilder& out) : m_out(out) {}

    void take(int64_t number, std::string_view line)
    {
        if (m_open) {
            // Nearly every line is a frame that was seen before.
            const uint32_t known = m_frameLines.find(line);
            if (known != LineCache::kMissing) {
                m_frames.push_back(known);
                return;
            }
        }
        if (isBlank(line)) {
            endSample();
            return;
        }
        if (line[0] == '#') takeComment(line);
        else takeNewLine(number, line);
    }

    void finish()
    {
        endSample();
        if (!m_out.tables().series.empty()) m_out.tables().series[0].isDefault = true;
    }

private:
    // A frame as it is on the line; an inlined one gets its module from the next real frame.
    struct FrameEntry {
        session::FrameId frame;
        session::StringId function;
        bool inlined = false;
    };

    void takeComment(std::string_view line)
    {
        for (const auto& [start, key] : kHeadLines)
            if (line.starts_with(start)) {
                std::string_view value = line.substr(start.size());
                value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
                m_out.addEnvironment(key, value);
            }
    }

    void takeNewLine(int64_t number, std::string_view line)
    {
        if (const std::optional<perf::Header> header = perf::parseHeader(line)) {
            endSample();
            begin(*header);
            return;
        }
        const bool indented = line[0] == ' ' || line[0] == '\t';
        if (m_open && indented) {
            if (const std::optional<perf::Frame> frame = perf::parseFrame(line)) {
                m_frames.push_back(entryOf(*frame));
                m_frameLines.put(line, m_frames.back());
                return;
            }
            const std::optional<perf::Place> place = m_frames.empty() ? std::nullopt : perf::parsePlace(line);
            if (place) {
                addPlace(line, *place);
                return;
            }
        }
        m_out.note("ignored-line", "lines that are neither samples nor frames were left out", linePlace(number, line));
    }

    uint32_t entryOf(const perf::Frame& frame)
    {
        FrameEntry entry;
        entry.inlined = frame.inlined;
        if (frame.inlined) entry.function = m_out.text(frame.function);
        else entry.frame = m_out.frame(frame.function, frame.module, {}, 0, perf::frameFlags(frame));
        m_entries.push_back(entry);
        return static_cast<uint32_t>(m_entries.size() - 1);
    }

    // The line tells the source line of the frame before it.
    void addPlace(std::string_view line, const perf::Place& place)
    {
        const uint32_t salt = m_frames.back() + 1;
        uint32_t known = m_placeLines.find(line, salt);
        if (known == LineCache::kMissing) {
            FrameEntry entry = m_entries[m_frames.back()];
            if (!entry.inlined) {
                session::FrameRow row = m_out.tables().frames[entry.frame.index()];
                row.file = m_out.text(place.file);
                row.line = place.line;
                entry.frame = m_out.builder().internFrame(row);
            }
            m_entries.push_back(entry);
            known = static_cast<uint32_t>(m_entries.size() - 1);
            m_placeLines.put(line, known, salt);
        }
        m_frames.back() = known;
    }

    void begin(const perf::Header& header)
    {
        if (header.event.starts_with("PERF_RECORD_")) {
            m_out.note("perf-records", "records that are no samples (PERF_RECORD_...) were left out");
            return;
        }
        m_open = true;
        m_sample = {};
        m_sample.time = header.time;
        m_sample.weight = header.period.value_or(1);
        m_sample.track = trackOf(header);
        m_series = seriesId(header);
        if (header.rest.empty()) return;
        if (const std::optional<perf::Frame> frame = perf::parseFrame(header.rest)) m_frames.push_back(entryOf(*frame));
        else m_sample.label = payloadLabel(header);
    }

    session::SeriesId seriesId(const perf::Header& header)
    {
        const auto [at, added] = m_seriesIds.try_emplace(std::string(header.event));
        if (added) at->second = m_out.addSeries(seriesOf(header));
        if (!header.timed) m_out.tables().series[at->second.index()].timed = false;
        return at->second;
    }

    session::LabelId payloadLabel(const perf::Header& header)
    {
        if (m_payloads < kMaxPayloads) {
            const size_t before = m_out.tables().labels.size();
            const session::LabelId label = m_out.label(header.rest, session::SpanKind::other, header.event);
            m_payloads += m_out.tables().labels.size() - before;
            return label;
        }
        m_out.note("tracepoint-fields",
                   "tracepoints whose fields were left out because there are too many different ones");
        return {};
    }

    session::TrackId trackOf(const perf::Header& header)
    {
        const std::string key = fmt::format("{}/{}/{}", header.pid, header.tid, header.comm);
        const auto [at, added] = m_tracks.try_emplace(key);
        if (added) {
            session::Track track;
            track.name = header.comm;
            track.threadId = header.tid;
            track.processId = header.pid;
            at->second = m_out.addTrack(track);
        }
        return at->second;
    }

    void endSample()
    {
        if (!m_open) return;
        m_open = false;
        m_sample.stack = stackOf();
        m_frames.clear();
        m_out.addSample(m_series, m_sample);
    }

    // The frames are innermost first. What is equal to the sample before, from the outermost on, is not looked up
    // again.
    session::StackId stackOf()
    {
        resolveInlined();
        const size_t depth = m_resolved.size();
        size_t same = 0;
        while (same < depth && same < m_lastFrames.size() && m_lastFrames[same] == m_resolved[depth - 1 - same])
            ++same;
        m_lastFrames.resize(same);
        m_lastStacks.resize(same);
        session::StackId stack = same > 0 ? m_lastStacks.back() : session::StackId{};
        for (size_t i = same; i < depth; ++i) {
            const session::FrameId frame = m_resolved[depth - 1 - i];
            stack = m_out.stack(stack, frame);
            m_lastFrames.push_back(frame);
            m_lastStacks.push_back(stack);
        }
        return stack;
    }

    void resolveInlined()
    {
        m_resolved.resize(m_frames.size());
        session::FrameRow around; // of the frame that the inlined ones before it belong to
        for (size_t i = m_frames.size(); i-- > 0;) {
            const FrameEntry& entry = m_entries[m_frames[i]];
            if (entry.inlined) {
                session::FrameRow row;
                row.function = entry.function;
                row.module = around.module;
                row.flags = around.flags | session::kInlined;
                m_resolved[i] = m_out.builder().internFrame(row);
            } else {
                m_resolved[i] = entry.frame;
                around = m_out.tables().frames[entry.frame.index()];
            }
        }
    }

    ProfileBuilder& m_out;
    LineCache m_frameLines, m_placeLines;
    std::vector<FrameEntry> m_entries;
    std::vector<uint32_t> m_frames; // of the open sample: indexes of m_entries, innermost first
    std::vector<session::FrameId> m_resolved, m_lastFrames;
    std::vector<session::StackId> m_lastStacks;
    std::unordered_map<std::string, session::SeriesId> m_seriesIds;
    std::unordered_map<std::string, session::TrackId> m_tracks;
    session::SampleRecord m_sample;
    session::SeriesId m_series;
    size_t m_payloads = 0;
    bool m_open = false;
};

} // namespace

Detection detectPerfScript(const Input& input)
{
    const std::string head = headText(input.head);
    if (head.find('\0') != std::string::npos) return {};
    int lines = 0, fitting = 0, headers = 0;
    for (size_t at = 0; at < head.size() && lines < 50;) {
        const size_t end = std::min(head.find('\n', at), head.size());
        const std::string_view line = std::string_view(head).substr(at, end - at);
        at = end + 1;
        if (isBlank(line) || line[0] == '#') continue;
        ++lines;
        const bool header = perf::parseHeader(line).has_value();
        headers += header ? 1 : 0;
        const bool inSample = headers > 0 && (line[0] == ' ' || line[0] == '\t');
        if (header || (inSample && (perf::parseFrame(line) || perf::parsePlace(line)))) ++fitting;
    }
    if (headers == 0 || fitting * 5 < lines * 4) return {};
    return {Confidence::likely,
            fmt::format("{} of the first {} lines are headers and frames of perf script", fitting, lines)};
}

base::Result<Imported> importPerfScript(Input& input, const ImportOptions& options, std::stop_token stop,
                                        const base::Progress& progress)
{
    ProfileBuilder out(options);
    PerfScriptReader reader(out);
    LineReader lines(*input.bytes);
    std::string_view line;
    while (lines.next(line)) {
        reader.take(lines.number(), line);
        if (lines.number() % 65536 != 0) continue;
        if (stop.stop_requested()) return base::fail(cancelledError());
        if (progress) progress(lines.fraction(), "reading samples");
    }
    reader.finish();
    if (lines.cutLines() > 0) out.note("long-line", "lines of more than 64 MB were cut", {}, lines.cutLines());
    std::optional<ImportProblem> problem;
    if (lines.error() && lines.error()->code == base::ErrorCode::cancelled) return base::fail(cancelledError());
    if (lines.error()) problem = problemOf(*lines.error());
    if (out.sampleCount() == 0) return base::fail(unusable(input, "there is no sample in it", problem));
    return out.finish(input, kFormat, problem);
}

} // namespace stepscope::importers
