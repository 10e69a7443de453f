#include "core/importers/onednn_importer.h"

#include "core/importers/line_reader.h"
#include "core/importers/onednn_lines.h"
#include "core/importers/profile_builder.h"
#include "core/importers/text_encoding.h"

#include <algorithm>

#include <fmt/format.h>

namespace stepscope::importers {

namespace {

using onednn::Line;
using onednn::LineKind;

constexpr std::string_view kFormat = "onednn-log";
constexpr int kMaxInfo = 50;

session::Phase phaseOf(std::string_view propagation)
{
    if (propagation.starts_with("forward")) return session::Phase::forward;
    return propagation.starts_with("backward") ? session::Phase::backward : session::Phase::none;
}

uint32_t flagsOf(const Line& line)
{
    const std::string_view name = line.implementation;
    uint32_t flags = line.primitive == "reorder" ? uint32_t{session::kReorder} : 0u;
    if (session::isReferenceImplementation(name)) flags |= session::kReference;
    if (name.find("jit") != std::string_view::npos || name.find("brg") != std::string_view::npos)
        flags |= session::kJit;
    return flags;
}

class OneDnnReader {
public:
    explicit OneDnnReader(ProfileBuilder& out) : m_out(out) {}

    void take(int64_t number, std::string_view text)
    {
        const Line line = onednn::parseLine(text);
        switch (line.kind) {
        case LineKind::other: return;
        case LineKind::bad:
            m_out.note("torn-line", "lines of the library that are torn or cut were left out", linePlace(number, text));
            return;
        case LineKind::info:
            if (m_info++ < kMaxInfo)
                m_out.addEnvironment(line.text.starts_with("oneDNN v") || line.text.starts_with("DNNL v")
                                         ? "library.onednn"
                                         : "onednn.info",
                                     line.text);
            return;
        case LineKind::message:
            m_out.note("library-message", "checks and errors that the library reported", linePlace(number, line.text));
            return;
        case LineKind::nested:
            // Without a stamp its place is within the creation that is told next.
            if (!line.start) {
                m_nested.push_back({0, line.duration, labelOf(line, session::SpanKind::creation).value, -1});
                return;
            }
            [[fallthrough]];
        case LineKind::creation:
        case LineKind::execution: add(line); return;
        }
    }

    // Those without a stamp begin with the first that has one.
    void finish()
    {
        for (const auto& [track, span] : m_unplaced) {
            session::SpanRecord placed = span;
            placed.start += m_first.value_or(0);
            m_out.addSpan(track, placed);
        }
        if (!m_nested.empty())
            m_out.note("nested-creation", "creations within another one that the log does not show were left out", {},
                       static_cast<int64_t>(m_nested.size()));
    }

private:
    void add(const Line& line)
    {
        const session::SpanKind kind =
            line.kind == LineKind::execution ? session::SpanKind::primitive : session::SpanKind::creation;
        session::SpanRecord span;
        span.label = labelOf(line, kind).value;
        span.duration = line.duration;
        if (line.start) {
            span.start = *line.start;
            const bool usable = span.start < kTimeLimit && span.start > -kTimeLimit;
            if (usable && (!m_first || span.start < *m_first)) m_first = span.start;
            m_out.addSpan(trackOf(line.engine, true), span);
            return;
        }
        const session::TrackId track = trackOf(line.engine, false);
        session::TimeNs& now = m_next[track.value];
        span.start = now;
        if (!place(track, span)) return;
        if (kind == session::SpanKind::creation) {
            session::TimeNs at = now;
            for (session::SpanRecord inner : m_nested) {
                inner.start = at;
                if (place(track, inner)) at += inner.duration;
            }
            m_nested.clear();
        }
        now += span.duration;
    }

    // False when it would end further on than times go.
    bool place(session::TrackId track, const session::SpanRecord& span)
    {
        if (span.duration >= kTimeLimit - span.start) {
            m_out.note("absurd-span", "spans with an impossible start or duration were left out");
            return false;
        }
        m_unplaced.emplace_back(track, span);
        return true;
    }

    session::TrackId trackOf(std::string_view engine, bool stamped)
    {
        const std::string name = fmt::format("oneDNN {}{}", engine, stamped ? "" : ", in order (no time stamps)");
        const auto [at, added] = m_tracks.try_emplace(name);
        if (added) {
            session::Track track;
            track.name = name;
            at->second = m_out.addTrack(track);
        }
        return at->second;
    }

    session::LabelId labelOf(const Line& line, session::SpanKind kind)
    {
        const std::string key =
            fmt::format("{}\n{}\n{}\n{}\n{}\n{}\n{}", line.primitive, line.implementation, line.propagation,
                        line.memory, line.attributes, line.auxiliary, line.problem);
        const auto [at, added] = m_primitives.try_emplace(key);
        if (added) {
            session::PrimitiveRow row;
            const auto text = [&](std::string_view value) { return repair(value); };
            row.kind = text(line.primitive);
            row.name = row.kind + " " + text(line.problem);
            row.implementation = text(line.implementation);
            row.formats = text(line.memory);
            for (const std::string_view part : {line.attributes, line.auxiliary})
                if (!part.empty()) row.formats += " " + text(part);
            row.phase = phaseOf(line.propagation);
            row.flags = flagsOf(line);
            m_out.builder().addPrimitive(row);
            at->second = session::PrimitiveId(m_out.tables().primitives.size() - 1);
        }
        session::Label label;
        label.name = m_out.text(line.primitive);
        label.kind = kind;
        label.phase = phaseOf(line.propagation);
        if (kind == session::SpanKind::primitive) label.primitive = at->second;
        return m_out.builder().internLabel(label);
    }

    static std::string repair(std::string_view value) { return isUtf8(value) ? std::string(value) : repairUtf8(value); }

    ProfileBuilder& m_out;
    std::unordered_map<std::string, session::TrackId> m_tracks;
    std::unordered_map<std::string, session::PrimitiveId> m_primitives;
    std::unordered_map<uint32_t, session::TimeNs> m_next; // per track without stamps: where the next span begins
    std::vector<std::pair<session::TrackId, session::SpanRecord>> m_unplaced;
    std::vector<session::SpanRecord> m_nested;
    std::optional<session::TimeNs> m_first;
    int m_info = 0;
};

} // namespace

Detection detectOneDnn(const Input& input)
{
    const std::string head = headText(input.head);
    int lines = 0, good = 0;
    for (size_t at = 0; at < head.size();) {
        const size_t end = std::min(head.find('\n', at), head.size());
        const LineKind kind = onednn::parseLine(std::string_view(head).substr(at, end - at)).kind;
        at = end + 1;
        if (kind == LineKind::other) continue;
        ++lines;
        good += kind != LineKind::bad ? 1 : 0;
    }
    if (good == 0 || good * 2 < lines) return {};
    return {Confidence::certain, fmt::format("{} lines begin with onednn_verbose", good)};
}

base::Result<Imported> importOneDnn(Input& input, const ImportOptions& options, std::stop_token stop,
                                    const base::Progress& progress)
{
    ProfileBuilder out(options);
    OneDnnReader reader(out);
    LineReader lines(*input.bytes);
    std::string_view line;
    while (lines.next(line)) {
        reader.take(lines.number(), line);
        if (lines.number() % 65536 != 0) continue;
        if (stop.stop_requested()) return base::fail(cancelledError());
        if (progress) progress(lines.fraction(), "reading executions");
    }
    reader.finish();
    std::optional<ImportProblem> problem;
    if (lines.error()) problem = problemOf(*lines.error());
    if (out.spanCount() == 0)
        return base::fail(
            unusable(input, "no execution is logged in it; run the program with ONEDNN_VERBOSE=1", problem));
    return out.finish(input, kFormat, problem);
}

} // namespace stepscope::importers
