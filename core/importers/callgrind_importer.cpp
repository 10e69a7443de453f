#include "core/importers/callgrind_importer.h"

#include "core/importers/callgrind_graph.h"
#include "core/importers/decimal_text.h"
#include "core/importers/line_reader.h"
#include "core/importers/profile_builder.h"

#include <algorithm>

#include <fmt/format.h>

namespace stepscope::importers {

namespace {

constexpr std::string_view kFormat = "callgrind";
constexpr size_t kMaxEvents = 64; // every function holds a sum of each

std::vector<std::string_view> words(std::string_view text)
{
    std::vector<std::string_view> result;
    for (size_t at = 0; (at = text.find_first_not_of(" \t", at)) != std::string_view::npos;) {
        const size_t end = std::min(text.find_first_of(" \t", at), text.size());
        result.push_back(text.substr(at, end - at));
        at = end;
    }
    return result;
}

std::optional<int64_t> number(std::string_view word)
{
    const bool hex = word.starts_with("0x") || word.starts_with("0X");
    const std::optional<uint64_t> value = wholeNumber(hex ? word.substr(2) : word, hex ? 16 : 10);
    return value ? std::optional<int64_t>(static_cast<int64_t>(*value)) : std::nullopt;
}

// "+3", "-3" and "*" are relative to the same column of the line before.
std::optional<int64_t> number(std::string_view word, int64_t before)
{
    if (word == "*") return before;
    if (!word.starts_with('+') && !word.starts_with('-')) return number(word);
    const std::optional<int64_t> offset = number(word.substr(1));
    int64_t result = 0;
    if (!offset
        || (word[0] == '+' ? __builtin_add_overflow(before, *offset, &result)
                           : __builtin_sub_overflow(before, *offset, &result)))
        return std::nullopt;
    return result;
}

// Names are written once with a number in front, "(2) work", and then as "(2)".
class NameTable {
public:
    struct Name {
        std::string key; // equal for equal things: the number when there is one
        std::string text;
        bool numbered = false;
    };
    Name take(std::string_view value)
    {
        const size_t close = value.starts_with('(') ? value.find(')') : std::string_view::npos;
        if (close == std::string_view::npos || !wholeNumber(value.substr(1, close - 1)))
            return {std::string(value), std::string(value), false};
        const std::string id(value.substr(0, close + 1));
        std::string_view rest = value.substr(close + 1);
        rest.remove_prefix(std::min(rest.find_first_not_of(' '), rest.size()));
        std::string& text = m_texts[id];
        if (!rest.empty()) text = rest;
        return {id, text.empty() ? id : text, true};
    }

private:
    std::unordered_map<std::string, std::string> m_texts;
};

class CallgrindReader {
public:
    explicit CallgrindReader(ProfileBuilder& out) : m_out(out) {}

    void take(int64_t lineNumber, std::string_view line)
    {
        line.remove_suffix(line.size() - std::min(line.find_last_not_of(" \t") + 1, line.size()));
        if (line.empty() || line[0] == '#') return;
        const bool cost = (line[0] >= '0' && line[0] <= '9') || line[0] == '+' || line[0] == '-' || line[0] == '*';
        const size_t mark = cost ? std::string_view::npos : line.find_first_of("=:");
        bool good = false;
        if (cost) good = takeCost(line);
        else if (mark != std::string_view::npos && line[mark] == '=')
            good = takeName(line.substr(0, mark), line.substr(mark + 1));
        else if (mark != std::string_view::npos) good = takeHeader(line.substr(0, mark), line.substr(mark + 1));
        if (!good)
            m_out.note("ignored-line", "lines that are not part of the format were left out",
                       linePlace(lineNumber, line));
    }

    bool finish(const std::stop_token& stop)
    {
        if (!m_graph) return true;
        checkTotals();
        if (m_graph->overflows() > 0)
            m_out.note("sum-overflow", "costs that make a sum too large to hold were left out", {},
                       m_graph->overflows());
        std::vector<session::SeriesId> series;
        for (size_t i = 0; i < m_events.size(); ++i)
            series.push_back(m_out.addSeries(seriesOf(m_events[i], i == 0)));
        session::Track track;
        track.name = "program";
        const session::TrackId trackId = m_out.addTrack(track);
        std::vector<session::StackId> stacks;
        const auto enter = [&](size_t, size_t parent, size_t function) {
            const session::StackId above = parent == CallGraph::kNoParent ? session::StackId{} : stacks[parent];
            stacks.push_back(m_out.stack(above, frameOf(function)));
        };
        const auto visit = [&](size_t place, const std::vector<int64_t>& costs) {
            session::SampleRecord sample;
            sample.track = trackId;
            sample.stack = stacks[place];
            for (size_t i = 0; i < costs.size(); ++i) {
                const bool overflow = __builtin_mul_overflow(costs[i], m_factors[i], &sample.weight);
                if (overflow) m_out.note("absurd-sample", "samples with an impossible time or weight were left out");
                else if (costs[i] != 0) m_out.addSample(series[i], sample);
            }
        };
        const int64_t leftOut = m_graph->divide(enter, visit, stop);
        if (leftOut > 0)
            m_out.note("small-calls",
                       "calls too small to be shown apart; their cost is counted with other calls of the same function",
                       {}, leftOut);
        return leftOut >= 0;
    }

private:
    struct FunctionName {
        std::string name, file, object;
        bool defined = false; // by fn=, which knows the file better than a call does
    };

    session::SeriesRow seriesOf(const std::string& event, bool first)
    {
        session::SeriesRow row{event, "", session::SeriesKind::other, false, first};
        m_factors.push_back(1);
        if (event == "Time_(10ns)") { // Xdebug
            row = {"Time", "ns", session::SeriesKind::wallTime, false, first};
            m_factors.back() = 10;
        } else if (event == "Memory_(bytes)") {
            row = {"Memory", "bytes", session::SeriesKind::allocatedBytes, false, first};
        }
        return row;
    }

    session::FrameId frameOf(size_t function)
    {
        const FunctionName& name = m_names[function];
        const bool library = name.object.find(".so") != std::string::npos;
        return m_out.frame(name.name, name.object, name.file, 0, library ? uint32_t{session::kLibraryCode} : 0u);
    }

    bool takeHeader(std::string_view key, std::string_view value)
    {
        value.remove_prefix(std::min(value.find_first_not_of(' '), value.size()));
        if (key == "positions") {
            m_positions.assign(std::max<size_t>(1, words(value).size()), 0);
        } else if (key == "events") {
            if (m_graph) return true; // of a further part of the same run
            for (const std::string_view event : words(value)) {
                if (m_events.size() < kMaxEvents) m_events.emplace_back(event);
                else m_out.note("many-events", fmt::format("events after the first {} were left out", kMaxEvents));
            }
            m_graph.emplace(m_events.size());
            m_lastCost.assign(m_events.size(), 0);
        } else if (key == "totals" || key == "summary") {
            std::vector<int64_t> totals;
            for (const std::string_view word : words(value))
                totals.push_back(number(word).value_or(0));
            if (key == "totals" || m_totals.empty()) m_totals = std::move(totals);
            ++m_totalLines;
        } else if (key == "cmd" || key == "creator" || key == "pid") {
            m_out.addEnvironment("callgrind." + std::string(key), value);
        }
        return true;
    }

    bool takeName(std::string_view key, std::string_view value)
    {
        if (key == "fl" || key == "fi" || key == "fe") {
            m_file = m_files.take(value).text;
            if (key == "fl") m_functionFile = m_file;
        } else if (key == "ob") m_object = m_objects.take(value).text;
        else if (key == "cfl" || key == "cfi") m_calledFile = m_files.take(value).text;
        else if (key == "cob") m_calledObject = m_objects.take(value).text;
        else if (key == "fn")
            m_current = functionOf(value, m_functionFile.empty() ? m_file : m_functionFile, m_object, true);
        else if (key == "cfn")
            m_called = functionOf(value, m_calledFile.value_or(m_file), m_calledObject.value_or(m_object), false);
        else if (key == "calls") {
            const std::vector<std::string_view> parts = words(value);
            const std::optional<int64_t> calls = parts.empty() ? std::nullopt : number(parts[0]);
            if (!calls || !m_called || !m_current) return false;
            m_calls = *calls;
        } else
            return key == "jump" || key == "jcnd" || key == "jfi" || key == "jfn" || key == "rcalls" || key == "frfn";
        return true;
    }

    std::optional<size_t> functionOf(std::string_view value, const std::string& file, const std::string& object,
                                     bool defined)
    {
        if (!m_graph) return std::nullopt;
        const NameTable::Name name = m_functions.take(value);
        const std::string key = name.numbered ? name.key : fmt::format("{}\n{}\n{}", object, file, name.text);
        const auto [at, added] = m_byKey.try_emplace(key, 0);
        if (added) {
            at->second = m_graph->addFunction();
            m_names.push_back({name.text, file, object, defined});
        } else if (defined && !m_names[at->second].defined) {
            m_names[at->second] = {name.text, file, object, true};
        }
        return at->second;
    }

    // Positions, then one cost per event; what is missing is 0.
    bool takeCost(std::string_view line)
    {
        if (!m_graph || !m_current) return false;
        const std::vector<std::string_view> columns = words(line);
        if (columns.size() < m_positions.size()) return false;
        for (size_t i = 0; i < m_positions.size(); ++i) {
            const std::optional<int64_t> value = number(columns[i], m_positions[i]);
            if (!value) return false;
            m_positions[i] = *value;
        }
        std::vector<int64_t> costs(m_events.size(), 0);
        for (size_t i = 0; i < costs.size() && m_positions.size() + i < columns.size(); ++i) {
            const std::optional<int64_t> value = number(columns[m_positions.size() + i], m_lastCost[i]);
            if (!value) return false;
            costs[i] = m_lastCost[i] = *value;
        }
        if (m_calls)
            m_graph->addCall(*m_current, *m_called, *m_calls, costs); // the cost of a call, all that it called included
        else m_graph->addSelf(*m_current, costs);
        if (m_calls) {
            m_calls.reset();
            m_called.reset();
            m_calledFile.reset();
            m_calledObject.reset();
        }
        return true;
    }

    void checkTotals()
    {
        if (m_totalLines != 1) return; // several parts have totals of their own
        for (size_t i = 0; i < m_events.size() && i < m_totals.size(); ++i) {
            int64_t sum = 0;
            for (size_t f = 0; f < m_graph->functions(); ++f)
                if (__builtin_add_overflow(sum, m_graph->self(f, i), &sum)) break; // then it differs, too
            if (sum != m_totals[i])
                m_out.note("totals-differ", "events whose costs do not add up to the total that the file states",
                           fmt::format("{}: {}, stated {}", m_events[i], sum, m_totals[i]));
        }
    }

    ProfileBuilder& m_out;
    std::optional<CallGraph> m_graph;
    std::vector<std::string> m_events;
    std::vector<int64_t> m_factors, m_lastCost, m_totals;
    std::vector<int64_t> m_positions{0}; // of the last cost line
    int m_totalLines = 0;
    NameTable m_files, m_functions, m_objects;
    std::unordered_map<std::string, size_t> m_byKey;
    std::vector<FunctionName> m_names; // by function of the graph
    std::string m_file, m_functionFile, m_object;
    std::optional<std::string> m_calledFile, m_calledObject;
    std::optional<size_t> m_current, m_called;
    std::optional<int64_t> m_calls;
};

} // namespace

Detection detectCallgrind(const Input& input)
{
    const std::string head = headText(input.head);
    if (head.find('\0') != std::string::npos) return {};
    const auto hasLine = [&](std::string_view start) {
        return std::string_view(head).starts_with(start) || head.find("\n" + std::string(start)) != std::string::npos;
    };
    if (head.starts_with("# callgrind format")) return {Confidence::certain, "first line \"# callgrind format\""};
    if (hasLine("events:") && hasLine("fn=")) return {Confidence::likely, "lines \"events:\" and \"fn=\""};
    return {};
}

base::Result<Imported> importCallgrind(Input& input, const ImportOptions& options, std::stop_token stop,
                                       const base::Progress& progress)
{
    ProfileBuilder out(options);
    CallgrindReader reader(out);
    LineReader lines(*input.bytes);
    std::string_view line;
    while (lines.next(line)) {
        reader.take(lines.number(), line);
        if (lines.number() % 65536 != 0) continue;
        if (stop.stop_requested()) return base::fail(cancelledError());
        if (progress) progress(lines.fraction(), "reading costs");
    }
    if (!reader.finish(stop)) return base::fail(cancelledError());
    std::optional<ImportProblem> problem;
    if (lines.error()) problem = problemOf(*lines.error());
    if (out.sampleCount() == 0) return base::fail(unusable(input, "no function has a cost in it", problem));
    return out.finish(input, kFormat, problem);
}

} // namespace stepscope::importers
