#include "core/importers/benchmarktools_importer.h"

#include "core/importers/json_pull.h"
#include "core/importers/profile_builder.h"
#include "core/importers/text_encoding.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <deque>
#include <limits>

#include <fmt/format.h>

namespace stepscope::importers {

namespace {

constexpr std::string_view kFormat = "benchmarktools";
constexpr double kLongest = 1e18; // ns
constexpr size_t kMaxLevels = 256; // of groups; the text of each level is read once more

struct Trial {
    std::string path;                   // keys of the groups and of the trial, with '/' between them
    std::vector<double> times, gcTimes; // ns
    std::string memory, allocs, params; // numbers, and the parameters' JSON
};

double doubleOf(std::string_view text)
{
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool good = !text.empty() && error == std::errc() && end == text.data() + text.size();
    return good ? value : std::numeric_limits<double>::quiet_NaN();
}

std::string_view withoutPrefix(std::string_view type)
{
    constexpr std::string_view kPrefix = "BenchmarkTools.";
    return type.starts_with(kPrefix) ? type.substr(kPrefix.size()) : type;
}

class BenchmarkReader {
public:
    BenchmarkReader(ProfileBuilder& out, std::string_view text) : m_out(out), m_text(text) {}

    // [{"Julia": ..., "BenchmarkTools": ...}, [object, ...]]
    std::optional<JsonProblem> read(const std::stop_token& stop)
    {
        JsonPull json(m_text);
        std::string_view key;
        for (bool in = json.enterArray(); in && json.nextElement();) {
            if (json.kind() == JsonPull::Kind::object) {
                for (bool versions = json.enterObject(); versions && json.nextKey(key);) {
                    const std::string name = "benchmark." + std::string(key);
                    m_out.addEnvironment(name, json.scalar());
                }
                continue;
            }
            size_t index = 0;
            for (bool list = json.enterArray(); list && json.nextElement(); ++index)
                m_open.push_back({index == 0 ? std::string() : fmt::format("{}", index + 1), json.raw(), 0});
        }
        while (!m_open.empty() && !stop.stop_requested()) {
            const Open next = m_open.front();
            m_open.pop_front();
            readObject(next);
        }
        return json.problem();
    }

    bool emit(const ImportOptions& options, const std::stop_token& stop)
    {
        const std::string_view wanted = options.stepName.empty() ? std::string_view("step") : options.stepName; // as our export names it
        size_t shown = 0;
        for (size_t i = 0; i < m_trials.size(); ++i)
            if (m_trials[i].path == wanted) shown = i;
        for (size_t i = 0; i < m_trials.size() && !stop.stop_requested(); ++i)
            emitTrial(m_trials[i], i == shown);
        return !stop.stop_requested();
    }
    size_t trials() const { return m_trials.size(); }

private:
    struct Open { // a value that is still to be read
        std::string path;
        std::string_view text;
        size_t level = 0;
    };

    // ["Trial", {...}] or ["BenchmarkGroup", {...}]. Groups are put aside, so nesting of any depth is no recursion.
    void readObject(const Open& open)
    {
        JsonPull json(m_text, open.text);
        if (!json.enterArray() || !json.nextElement()) return;
        const std::string type(withoutPrefix(json.string()));
        if (!json.nextElement()) return;
        if (type == "Trial") {
            readTrial(json, open.path);
        } else if (type == "BenchmarkGroup" && open.level >= kMaxLevels) {
            m_out.note("deep-group", fmt::format("groups more than {} levels deep were left out", kMaxLevels));
        } else if (type == "BenchmarkGroup") {
            std::string_view key;
            std::deque<Open> children;
            for (bool in = json.enterObject(); in && json.nextKey(key);) {
                if (key != "data") {
                    json.skip();
                    continue;
                }
                for (bool data = json.enterObject(); data && json.nextKey(key);) {
                    const bool outermost = open.level == 0 && open.path.empty(); // a group may be called ""
                    const std::string path = outermost ? std::string(key) : open.path + "/" + std::string(key);
                    children.push_back({path, json.raw(), open.level + 1});
                }
            }
            m_open.insert(m_open.begin(), children.begin(), children.end()); // depth first, in the order of the file
        } else {
            m_out.note("not-a-trial", "objects that are neither trials nor groups of them were left out",
                       fmt::format("{}: {}", open.path, type));
        }
    }

    static std::vector<double> numbers(JsonPull& json)
    {
        std::vector<double> values;
        for (bool in = json.enterArray(); in && json.nextElement();) {
            const double value = doubleOf(json.scalar());
            if (json.problem()) break;
            values.push_back(value);
        }
        return values;
    }

    void readTrial(JsonPull& json, const std::string& path)
    {
        Trial trial;
        trial.path = path.empty() ? "trial" : path;
        if (!isUtf8(trial.path)) trial.path = repairUtf8(trial.path);
        std::string_view key;
        for (bool in = json.enterObject(); in && json.nextKey(key);) {
            if (key == "times") trial.times = numbers(json);
            else if (key == "gctimes") trial.gcTimes = numbers(json);
            else if (key == "memory") trial.memory = json.scalar();
            else if (key == "allocs") trial.allocs = json.scalar();
            else if (key == "params") trial.params = json.raw();
            else json.skip();
        }
        m_trials.push_back(std::move(trial));
    }

    base::CounterId addCounter(const std::string& name, const char* unit)
    {
        m_out.builder().addCounter({name, unit});
        return base::CounterId(m_out.tables().counters.size() - 1);
    }

    void emitTrial(const Trial& trial, bool steps)
    {
        session::Track track;
        track.name = trial.path;
        const session::TrackId trackId = m_out.addTrack(track);
        const session::LabelId label =
            m_out.label(trial.path, steps ? session::SpanKind::step : session::SpanKind::task);
        const base::CounterId time = addCounter("time: " + trial.path, "ns"),
                              gc = addCounter("gc time: " + trial.path, "ns");
        session::TimeNs now = 0;
        int64_t index = 0, rounded = 0;
        for (size_t i = 0; i < trial.times.size(); ++i) {
            const double value = trial.times[i], gcValue = i < trial.gcTimes.size() ? trial.gcTimes[i] : 0;
            if (!std::isfinite(value) || value < 0 || value > kLongest
                || now > static_cast<session::TimeNs>(kLongest)) {
                m_out.note("bad-time", "samples without a usable time were left out",
                           fmt::format("{}: sample {}", trial.path, i));
                continue;
            }
            const auto duration = static_cast<session::TimeNs>(std::llround(value));
            rounded += static_cast<double>(duration) != value ? 1 : 0;
            const session::CounterRecord timeRecord{now, value}, gcRecord{now, gcValue};
            m_out.builder().addCounterSamples(time, std::span(&timeRecord, 1));
            m_out.builder().addCounterSamples(gc, std::span(&gcRecord, 1));
            m_out.addSpan(
                trackId,
                {now, duration, label.value, steps ? static_cast<int32_t>(std::min<int64_t>(index, 0x7fffffff)) : -1});
            if (steps) {
                session::StepRow row;
                row.index = index;
                row.start = now;
                row.duration = duration;
                row.loss = std::numeric_limits<double>::quiet_NaN();
                m_out.builder().addStep(row);
            }
            ++index;
            now += duration;
        }
        if (rounded > 0)
            m_out.note("rounded-time", "times with a fraction of a nanosecond are shown rounded", trial.path, rounded);
        m_out.addEnvironment("benchmark.memory " + trial.path, trial.memory);
        m_out.addEnvironment("benchmark.allocs " + trial.path, trial.allocs);
        m_out.addEnvironment("benchmark.params " + trial.path, trial.params);
    }

    ProfileBuilder& m_out;
    std::string_view m_text;
    std::deque<Open> m_open;
    std::vector<Trial> m_trials;
};

} // namespace

Detection detectBenchmarkTools(const Input& input)
{
    const std::string head = headText(input.head);
    JsonPull json(head);
    std::string_view key;
    bool versions = false;
    if (json.enterArray() && json.nextElement())
        for (bool in = json.enterObject(); in && json.nextKey(key); json.skip())
            versions |= key == "BenchmarkTools";
    if (versions) return {Confidence::certain, "array that begins with the version of BenchmarkTools"};
    return {};
}

base::Result<Imported> importBenchmarkTools(Input& input, const ImportOptions& options, std::stop_token stop,
                                            const base::Progress& progress)
{
    base::Result<WholeText> whole = readText(input, stop, progress);
    if (!whole) return base::fail(whole.error());
    ProfileBuilder out(options);
    BenchmarkReader reader(out, whole->text);
    const std::optional<JsonProblem> json = reader.read(stop);
    if (stop.stop_requested()) return base::fail(cancelledError());
    std::optional<ImportProblem> problem = whole->problem;
    if (!problem && json) problem = problemOf(*json, whole->text);
    if (reader.trials() == 0 && out.noted("deep-group") > 0)
        return base::fail(
            unusable(input, fmt::format("all its trials are in groups more than {} levels deep", kMaxLevels), problem));
    if (reader.trials() == 0) return base::fail(unusable(input, "there is no trial in it", problem));
    if (!reader.emit(options, stop)) return base::fail(cancelledError());
    return out.finish(input, kFormat, problem);
}

} // namespace stepscope::importers
