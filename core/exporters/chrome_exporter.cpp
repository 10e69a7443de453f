#include "core/exporters/chrome_exporter.h"

#include "core/exporters/output_file.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

namespace stepscope::exporters {

namespace {

constexpr std::string_view kNoStackFrame = "none";
constexpr std::string_view kUnfinishedArgument = "stepscope:unfinished"; // lasts at least as long as it is drawn

struct Ids {
    int64_t process = 0, thread = 0;
};

// Every track needs a thread of its own: a lane must not nest into the others.
std::vector<Ids> idsOf(const session::Session& session)
{
    std::vector<Ids> ids;
    std::set<std::pair<int64_t, int64_t>> used;
    std::map<std::string, int64_t> groups; // files that were opened together may use the same numbers
    for (size_t i = 0; i < session.tracks().size(); ++i) {
        const session::Track& track = session.tracks()[i];
        const int64_t offset = groups.try_emplace(track.group, static_cast<int64_t>(groups.size())).first->second;
        Ids id{track.processId > 0 ? track.processId : 1, track.threadId > 0 && track.lane == 0 ? track.threadId : 0};
        if (id.process < (int64_t{1} << 32)) id.process += offset << 32;
        if (id.thread == 0 || used.count({id.process, id.thread}) != 0) {
            id.thread = 1'000'000 + static_cast<int64_t>(i);
            while (used.count({id.process, id.thread}) != 0)
                ++id.thread;
        }
        used.insert({id.process, id.thread});
        ids.push_back(id);
    }
    return ids;
}

class ChromeWriter {
public:
    ChromeWriter(const session::Session& session, OutputFile& file)
        : m_session(session),
          m_file(file),
          m_ids(idsOf(session))
    {
    }

    base::Status write(const std::stop_token& stop, const base::Progress& progress)
    {
        m_file.write("{\"displayTimeUnit\":\"ns\",\n\"traceEvents\":[\n");
        writeNames();
        writeSteps();
        if (!writeSpans(stop, progress)) return cancelled();
        writeCounters();
        m_file.write("\n]");
        if (!writeSamples(stop)) return cancelled();
        m_file.write(",\n\"otherData\":{\"writer\":\"stepscope\"");
        if (!m_described.empty()) m_file.write(",\"series\":[" + m_described + "]");
        if (m_valuesLeftOut > 0) m_file.write(fmt::format(",\"counter_values_left_out\":{}", m_valuesLeftOut));
        m_file.write("}}\n");
        return {};
    }

private:
    void event(std::string_view text)
    {
        m_file.write(m_first ? "" : ",\n");
        m_first = false;
        m_file.write(text);
    }

    void writeNames()
    {
        std::set<int64_t> named;
        for (size_t i = 0; i < m_ids.size(); ++i) {
            const session::Track& track = m_session.tracks()[i];
            const std::string process =
                track.group.empty() ? track.process : track.group + (track.process.empty() ? "" : " " + track.process);
            if (!process.empty() && named.insert(m_ids[i].process).second)
                event(fmt::format(R"({{"ph":"M","name":"process_name","pid":{},"tid":0,"args":{{"name":{}}}}})",
                                  m_ids[i].process, jsonString(process)));
            const std::string name = track.lane > 0 ? fmt::format("{} (lane {})", track.name, track.lane) : track.name;
            event(fmt::format(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":{}}}}})",
                              m_ids[i].process, m_ids[i].thread, jsonString(name)));
            event(fmt::format(R"({{"ph":"M","name":"thread_sort_index","pid":{},"tid":{},"args":{{"sort_index":{}}}}})",
                              m_ids[i].process, m_ids[i].thread, i));
        }
    }

    // Steps have the name that PyTorch's profiler gives them, which readers know; spans of a foreign trace keep theirs.
    std::string nameOf(const session::Label& label, int32_t step) const
    {
        const bool own = label.kind == session::SpanKind::step && step >= 0 && m_session.environmentValue("import.format").empty();
        return own && !m_session.steps().empty() ? fmt::format("ProfilerStep#{}", step - stepShift(step)) : std::string(m_session.string(label.name));
    }

    // What StepRow::index has above the step's own number.
    int64_t stepShift(int64_t index) const
    {
        const std::vector<session::StepRow>& steps = m_session.steps();
        const auto at = std::lower_bound(steps.begin(), steps.end(), index, [](const session::StepRow& row, int64_t i) { return row.index < i; });
        return at != steps.end() && at->index == index ? at->indexShift : 0;
    }

    const Ids& firstOf(std::string_view group) const
    {
        for (size_t i = 0; i < m_ids.size(); ++i)
            if (m_session.tracks()[i].group == group) return m_ids[i];
        return m_ids[0];
    }

    // Where no span stands for a step.
    void writeSteps()
    {
        for (const session::Label& label : m_session.labels())
            if (label.kind == session::SpanKind::step) return;
        if (m_ids.empty()) return;
        for (const session::StepRow& step : m_session.steps())
            event(fmt::format(R"({{"ph":"X","name":"ProfilerStep#{}","cat":"user_annotation","pid":{},"tid":{},"ts":{},"dur":{}}})",
                              step.number(), firstOf(m_session.string(step.group)).process,
                              firstOf(m_session.string(step.group)).thread, microseconds(step.start),
                              microseconds(step.duration)));
    }

    std::string_view category(const session::Label& label) const
    {
        const std::string_view own = label.category.valid() ? m_session.string(label.category) : std::string_view();
        return own.empty() ? session::spanKindName(label.kind) : own;
    }

    bool writeSpans(const std::stop_token& stop, const base::Progress& progress)
    {
        const session::SpanTable& spans = m_session.spans();
        for (size_t t = 0; t + 1 < spans.trackBegin.size(); ++t) {
            const bool asynchronous = m_session.tracks()[t].kind == session::TrackKind::asynchronous;
            for (size_t row = spans.trackBegin[t]; row < spans.trackBegin[t + 1]; ++row) {
                if (row % 65536 == 0 && stop.stop_requested()) return false;
                if (row % 65536 == 0 && progress)
                    progress(static_cast<double>(row) / static_cast<double>(spans.size()), "writing spans");
                if (asynchronous) {
                    writeAsynchronous(t, row);
                    continue;
                }
                const session::Label& label = m_session.labels()[spans.label[row]];
                const bool instant = label.kind == session::SpanKind::instant;
                std::string text =
                    fmt::format(R"({{"ph":"{}","name":{},"cat":{},"pid":{},"tid":{},"ts":{})", instant ? "i" : "X",
                                jsonString(nameOf(label, spans.step[row])), jsonString(category(label)), m_ids[t].process,
                                m_ids[t].thread, microseconds(spans.start[row]));
                if (instant) text += R"(,"s":"t")";
                else text += ",\"dur\":" + microseconds(spans.duration[row]);
                appendArguments(row, text);
                text += '}';
                event(text);
            }
        }
        return true;
    }

    // On no thread: begin and end are joined by an id of their own.
    void writeAsynchronous(size_t track, size_t row)
    {
        const session::SpanTable& spans = m_session.spans();
        const session::Label& label = m_session.labels()[spans.label[row]];
        // The category names the track when it is read back.
        const std::string_view own = m_session.string(label.category), name = m_session.tracks()[track].name;
        const std::string_view category = !own.empty() || name == "asynchronous" ? own : name;
        const auto mark = [&](char phase, session::TimeNs time) {
            return fmt::format(R"({{"ph":"{}","name":{},"cat":{},"id":"{}","pid":{},"tid":{},"ts":{})", phase,
                               jsonString(m_session.string(label.name)), jsonString(category), row + 1,
                               m_ids[track].process, m_ids[track].thread, microseconds(time));
        };
        const bool instant = label.kind == session::SpanKind::instant;
        std::string text = mark(instant ? 'n' : 'b', spans.start[row]);
        appendArguments(row, text);
        event(text + "}");
        if (!instant) event(mark('e', spans.end(row)) + "}");
    }

    void appendArguments(size_t row, std::string& text) const
    {
        const session::Label& label = m_session.labels()[m_session.spans().label[row]];
        const int32_t step = m_session.spans().step[row];
        std::string args;
        const auto add = [&](std::string_view key, const std::string& value) {
            args += fmt::format("{}\"{}\":{}", args.empty() ? "" : ",", key, value);
        };
        if (step >= 0) add("step", std::to_string(step));
        if (label.phase != session::Phase::none) add("phase", jsonString(session::phaseName(label.phase)));
        if (label.layer.valid()) add("layer", jsonString(m_session.layers()[label.layer.index()].path));
        if (label.primitive.valid())
            add("implementation", jsonString(m_session.tables().primitives[label.primitive.index()].implementation));
        if (m_session.details().isUnfinished(m_session.spans().detailOf(row))) add(kUnfinishedArgument, "true");
        if (!args.empty()) text += ",\"args\":{" + args + "}";
    }

    void writeCounters()
    {
        for (size_t c = 0; c < m_session.counters().size(); ++c) {
            const session::CounterSamples& samples = m_session.counterSamples(session::CounterId(c));
            const std::string name = jsonString(m_session.counters()[c].name);
            for (size_t i = 0; i < samples.time.size(); ++i)
                if (!std::isfinite(samples.value[i])) ++m_valuesLeftOut; // JSON has no such numbers; told at the end
                else
                    event(fmt::format(R"({{"ph":"C","name":{},"pid":{},"tid":0,"ts":{},"args":{{"value":{}}}}})", name,
                                      m_ids.empty() ? 1 : m_ids[0].process, microseconds(samples.time[i]),
                                      samples.value[i]));
        }
    }

    // What the list of samples cannot say of itself; our importer reads it. Other readers pass over it.
    void describeSeries(const session::SeriesRow& series)
    {
        m_described += fmt::format(R"({}{{"name":{},"unit":{},"kind":{},"timed":{},"default":{}}})", m_described.empty() ? "" : ",",
                                   jsonString(series.name), jsonString(series.unit), jsonString(session::seriesKindName(series.kind)),
                                   series.timed, series.isDefault);
    }

    void writeFrames()
    {
        m_file.write(fmt::format(",\n\"stackFrames\":{{\"{}\":{{\"name\":\"(no stack)\"}}", kNoStackFrame));
        for (size_t i = 0; i < m_session.stacks().size(); ++i) {
            const session::StackRow& stack = m_session.stacks()[i];
            const session::FrameRow frame =
                stack.frame.valid() ? m_session.frames()[stack.frame.index()] : session::FrameRow{};
            m_file.write(fmt::format(",\n\"{}\":{{\"name\":{}", i, jsonString(m_session.string(frame.function))));
            const std::string_view module = m_session.string(frame.module);
            if (!module.empty()) m_file.write(",\"category\":" + jsonString(module));
            if (stack.parent.valid()) m_file.write(fmt::format(",\"parent\":\"{}\"", stack.parent.value));
            m_file.write("}");
        }
        m_file.write("},\n\"samples\":[");
    }

    // The format wants a time: samples that have none lie one after another, a microsecond each.
    bool writeSamples(const std::stop_token& stop)
    {
        bool first = true;
        for (size_t s = 0; s < m_session.series().size(); ++s) {
            const session::SeriesRow& series = m_session.series()[s];
            const session::SampleTable& samples = m_session.samples(session::SeriesId(s));
            if (!session::hasStacks(series.kind) || samples.size() == 0) continue;
            if (first) writeFrames();
            describeSeries(series);
            for (size_t i = 0; i < samples.size(); ++i) {
                if (i % 65536 == 0 && stop.stop_requested()) return false;
                const Ids ids = samples.track[i] < m_ids.size() ? m_ids[samples.track[i]] : Ids{1, 1};
                const session::TimeNs time = series.timed ? samples.time[i] : static_cast<session::TimeNs>(i) * 1000;
                const std::string frame = samples.stack[i] < m_session.stacks().size() ? std::to_string(samples.stack[i])
                                                                                       : std::string(kNoStackFrame);
                m_file.write(fmt::format("{}{{\"cpu\":0,\"pid\":{},\"tid\":{},\"ts\":{},\"name\":{},\"weight\":{},\"sf\":\"{}\"}}",
                                         first ? "\n" : ",\n", ids.process, ids.thread, microseconds(time),
                                         jsonString(series.name), samples.weight[i], frame));
                first = false;
            }
        }
        if (!first) m_file.write("]");
        return true;
    }

    const session::Session& m_session;
    OutputFile& m_file;
    std::vector<Ids> m_ids;
    bool m_first = true;
    int64_t m_valuesLeftOut = 0; // of counters
    std::string m_described;     // series, as JSON
};

} // namespace

base::Status exportChrome(const session::Session& session, const std::filesystem::path& path, bool replace,
                          std::stop_token stop, const base::Progress& progress)
{
    return writeOutput(path, replace,
                       [&](OutputFile& file) { return ChromeWriter(session, file).write(stop, progress); });
}

} // namespace stepscope::exporters
