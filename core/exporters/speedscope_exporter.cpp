#include "core/exporters/speedscope_exporter.h"

#include "core/exporters/output_file.h"
#include "core/exporters/stack_weights.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

namespace stepscope::exporters {

namespace {

class SpeedscopeWriter {
public:
    SpeedscopeWriter(const session::Session& session, OutputFile& file) : m_session(session), m_file(file) {}

    base::Status write(const std::stop_token& stop)
    {
        m_file.write(
            "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\",\n\"exporter\":\"stepscope\",\n");
        writeFrames();
        m_file.write("\"profiles\":[");
        for (size_t s = 0; s < m_session.series().size(); ++s)
            if (!writeSeries(s, stop)) return cancelled();
        const session::SpanTable& spans = m_session.spans();
        for (size_t t = 0; t + 1 < spans.trackBegin.size(); ++t)
            if (spans.trackBegin[t] < spans.trackBegin[t + 1] && !writeSpans(t, stop)) return cancelled();
        m_file.write(fmt::format("],\n\"activeProfileIndex\":{}}}\n", std::max(0, m_active)));
        return {};
    }

private:
    // Frames first, then one per label.
    void writeFrames()
    {
        m_file.write("\"shared\":{\"frames\":[");
        bool first = true;
        const auto put = [&](const std::string& text) {
            m_file.write(first ? "\n" : ",\n");
            m_file.write(text);
            first = false;
        };
        for (const session::FrameRow& frame : m_session.frames()) {
            std::string text = "{\"name\":" + jsonString(m_session.string(frame.function));
            const std::string_view file = m_session.string(frame.file);
            if (!file.empty()) text += ",\"file\":" + jsonString(file);
            if (frame.line > 0) text += fmt::format(",\"line\":{}", frame.line);
            put(text + "}");
        }
        m_firstLabel = m_session.frames().size();
        for (const session::Label& label : m_session.labels())
            put("{\"name\":" + jsonString(m_session.string(label.name)) + "}");
        m_file.write("]},\n");
    }

    void beginProfile(std::string_view type, const std::string& name, std::string_view unit, int64_t start, int64_t end)
    {
        m_file.write(fmt::format("{}{{\"type\":\"{}\",\"name\":{},\"unit\":\"{}\",\"startValue\":{},\"endValue\":{}",
                                 m_profiles == 0 ? "\n" : ",\n", type, jsonString(name), unit, start, end));
        ++m_profiles;
    }

    bool writeSeries(size_t index, const std::stop_token& stop)
    {
        const session::SeriesRow& series = m_session.series()[index];
        const session::SampleTable& samples = m_session.samples(session::SeriesId(index));
        std::map<uint32_t, std::vector<size_t>> rows; // by track
        for (size_t i = 0; i < samples.size(); ++i)
            rows[samples.track[i]].push_back(i);
        for (const auto& [track, list] : rows) {
            if (stop.stop_requested()) return false;
            if (series.isDefault && m_active < 0) m_active = m_profiles;
            std::string name = track < m_session.tracks().size() ? session::trackTitle(m_session.tracks()[track]) : std::string();
            if (m_session.series().size() > 1 || name.empty()) name += (name.empty() ? "" : ", ") + series.name;
            int64_t total = 0;
            for (const size_t row : list)
                total += samples.weight[row];
            const int64_t start = series.timed ? samples.time[list[0]] : 0;
            beginProfile("sampled", name,
                         series.unit == "ns"          ? "nanoseconds"
                             : series.unit == "bytes" ? "bytes"
                                                      : "none",
                         start, start + total);
            // Ours alone: tells which profiles hold the same kind of weight. Other readers pass over it.
            m_file.write(",\"stepscope:series\":" + jsonString(series.name) + ",\n\"samples\":[");
            for (size_t i = 0; i < list.size(); ++i) {
                m_file.write(i == 0 ? "" : ",");
                writeStack(samples.stack[list[i]]);
            }
            m_file.write("],\n\"weights\":[");
            for (size_t i = 0; i < list.size(); ++i)
                m_file.write(fmt::format("{}{}", i == 0 ? "" : ",", samples.weight[list[i]]));
            m_file.write("]}");
        }
        return true;
    }

    void writeStack(uint32_t stack)
    {
        m_path.clear();
        for (session::StackId at(stack); at.valid() && at.index() < m_session.stacks().size();
             at = m_session.stacks()[at.index()].parent)
            if (const session::FrameId frame = m_session.stacks()[at.index()].frame; frame.valid())
                m_path.push_back(frame.value);
        m_text = "[";
        for (size_t i = m_path.size(); i-- > 0;)
            m_text += fmt::format("{}{}", m_text.size() == 1 ? "" : ",", m_path[i]);
        m_file.write(m_text + "]");
    }

    void writeEvent(bool open, uint32_t label, int64_t at, bool& first)
    {
        m_file.write(fmt::format("{}{{\"type\":\"{}\",\"frame\":{},\"at\":{}}}", first ? "\n" : ",\n", open ? 'O' : 'C',
                                 m_firstLabel + label, at));
        first = false;
    }

    bool writeSpans(size_t track, const std::stop_token& stop)
    {
        const session::SpanTable& spans = m_session.spans();
        const size_t begin = spans.trackBegin[track], end = spans.trackBegin[track + 1];
        int64_t last = spans.start[begin];
        for (size_t row = begin; row < end; ++row)
            last = std::max(last, spans.end(row));
        const session::Track& row = m_session.tracks()[track];
        beginProfile("evented", row.lane > 0 ? fmt::format("{} (lane {})", session::trackTitle(row), row.lane) : session::trackTitle(row),
                     "nanoseconds", spans.start[begin], last);
        m_file.write(",\"events\":[");
        bool first = true;
        std::vector<size_t> open;
        for (size_t at = begin; at < end; ++at) {
            if (at % 65536 == 0 && stop.stop_requested()) return false;
            while (!open.empty() && spans.parent[at] != open.back()) {
                writeEvent(false, spans.label[open.back()], spans.end(open.back()), first);
                open.pop_back();
            }
            writeEvent(true, spans.label[at], spans.start[at], first);
            open.push_back(at);
        }
        for (; !open.empty(); open.pop_back())
            writeEvent(false, spans.label[open.back()], spans.end(open.back()), first);
        m_file.write("]}");
        if (m_active < 0) m_active = m_profiles - 1;
        return true;
    }

    const session::Session& m_session;
    OutputFile& m_file;
    size_t m_firstLabel = 0;
    int m_profiles = 0, m_active = -1;
    std::vector<uint32_t> m_path;
    std::string m_text;
};

} // namespace

base::Status exportSpeedscope(const session::Session& session, const std::filesystem::path& path, bool replace,
                              std::stop_token stop, const base::Progress&)
{
    return writeOutput(path, replace, [&](OutputFile& file) { return SpeedscopeWriter(session, file).write(stop); });
}

} // namespace stepscope::exporters
