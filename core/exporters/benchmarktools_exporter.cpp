#include "core/exporters/benchmarktools_exporter.h"

#include "core/exporters/output_file.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace stepscope::exporters {

namespace {

// Those of BenchmarkTools 1.x, with one evaluation per sample.
constexpr std::string_view kParameters =
    R"(["Parameters",{"seconds":5.0,"samples":10000,"evals":1,"evals_set":false,"overhead":0.0,"gctrial":true,"gcsample":false,"time_tolerance":0.05,"memory_tolerance":0.01}])";

struct Trial {
    std::vector<double> times, gcTimes;
    std::string memory = "0", allocs = "0", params{kParameters};
};

// By path: the keys of the groups and of the trial, with '/' between them.
using Trials = std::map<std::string, Trial, std::less<>>;
constexpr size_t kMaxKeys = 256; // of a path; what follows is one key

std::string number(double value)
{
    if (!std::isfinite(value)) return "null";
    const std::string text = fmt::format("{}", value); // the shortest that reads back equal
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

std::string numbers(const std::vector<double>& values)
{
    std::string text = "[";
    for (const double value : values)
        text += (text.size() == 1 ? "" : ",") + number(value);
    return text + "]";
}

void writeTrial(const Trial& trial, OutputFile& file)
{
    file.write("[\"Trial\",{\"params\":" + trial.params + ",\"times\":" + numbers(trial.times) + ",\"gctimes\":"
               + numbers(trial.gcTimes) + ",\"memory\":" + trial.memory + ",\"allocs\":" + trial.allocs + "}]");
}

// A name cannot be both a trial and a group: what lies below a trial gets a key with a '/' in it, beside the trial.
std::vector<std::string_view> keysOf(std::string_view path, const Trials& trials)
{
    std::vector<std::string_view> keys;
    size_t begin = 0;
    for (size_t end = path.find('/'); end != std::string_view::npos && keys.size() + 1 < kMaxKeys;
         end = path.find('/', end + 1)) {
        if (trials.contains(path.substr(0, end))) continue;
        keys.push_back(path.substr(begin, end - begin));
        begin = end + 1;
    }
    keys.push_back(path.substr(begin));
    return keys;
}

// In the order of their paths all trials of a group stand together.
void writeTrials(const Trials& trials, OutputFile& file)
{
    constexpr std::string_view kBegin = "[\"BenchmarkGroup\",{\"tags\":[],\"data\":{", kEnd = "}}]";
    std::vector<std::string_view> open; // groups below the outermost one
    bool first = true;                  // in the innermost group
    const auto writeKey = [&](std::string_view key) { file.write((first ? "\n" : ",\n") + jsonString(key) + ":"); };
    file.write(kBegin);
    for (const auto& [path, trial] : trials) {
        const std::vector<std::string_view> keys = keysOf(path, trials);
        const size_t groups = keys.size() - 1;
        size_t common = 0;
        while (common < std::min(open.size(), groups) && open[common] == keys[common])
            ++common;
        for (; open.size() > common; open.pop_back(), first = false)
            file.write(kEnd);
        for (; open.size() < groups; open.push_back(keys[open.size()]), first = true) {
            writeKey(keys[open.size()]);
            file.write(kBegin);
        }
        writeKey(keys.back());
        writeTrial(trial, file);
        first = false;
    }
    for (size_t i = 0; i <= open.size(); ++i)
        file.write(kEnd);
}

// What core/importers kept of a file of BenchmarkTools. Names that occur again get a number.
Trials importedTrials(const session::Session& session)
{
    Trials trials;
    std::map<std::string, std::vector<const session::CounterSamples*>, std::less<>> counters;
    for (size_t i = 0; i < session.counters().size(); ++i)
        counters[session.counters()[i].name].push_back(&session.counterSamples(session::CounterId(i)));
    std::map<std::string_view, size_t> seen;
    for (const session::Track& track : session.tracks()) {
        const size_t nth = seen[track.name]++;
        const auto times = counters.find("time: " + track.name), gc = counters.find("gc time: " + track.name);
        if (times == counters.end() || nth >= times->second.size()) continue;
        std::string path = track.name;
        for (size_t i = nth + 1; trials.contains(path); ++i)
            path = fmt::format("{} ({})", track.name, i);
        Trial& trial = trials[path];
        const auto& values = times->second[nth]->value;
        trial.times.assign(values.begin(), values.end());
        if (gc != counters.end() && nth < gc->second.size())
            trial.gcTimes.assign(gc->second[nth]->value.begin(), gc->second[nth]->value.end());
        const auto keep = [&](const char* key, std::string& into) {
            const std::string_view value = session.environmentValue(std::string("benchmark.") + key + " " + track.name);
            if (!value.empty()) into = value;
        };
        keep("memory", trial.memory);
        keep("allocs", trial.allocs);
        keep("params", trial.params);
    }
    return trials;
}

Trials recordedTrials(const session::Session& session)
{
    Trials trials;
    std::map<int64_t, size_t> place; // of a step among those that count
    const auto trialAt = [&](const std::string& path) -> Trial& {
        const auto [at, added] = trials.try_emplace(path);
        if (added) {
            at->second.times.assign(place.size(), 0);
            at->second.gcTimes.assign(place.size(), 0);
        }
        return at->second;
    };
    for (const session::StepRow& step : session.steps())
        if (!step.warmup) place.try_emplace(step.index, place.size());
    for (const session::StepRow& step : session.steps())
        if (!step.warmup) trialAt("step").times[place[step.index]] = static_cast<double>(step.duration);
    const session::SpanTable& spans = session.spans();
    for (size_t row = 0; row < spans.size(); ++row) {
        const session::Label& label = session.labels()[spans.label[row]];
        const auto at = label.kind == session::SpanKind::phase ? place.find(spans.step[row]) : place.end();
        if (at != place.end())
            trialAt("phases/" + std::string(session::phaseName(label.phase))).times[at->second] +=
                static_cast<double>(spans.duration[row]);
    }
    return trials;
}

} // namespace

base::Status exportBenchmarkTools(const session::Session& session, const std::filesystem::path& path, bool replace,
                                  std::stop_token stop, const base::Progress&)
{
    const bool imported = session.environmentValue("import.format") == "benchmarktools";
    if (!imported && session.steps().empty())
        return base::fail(
            base::ErrorCode::unsupported, "the session has no steps, so there is nothing to write for BenchmarkTools",
            {.file = path.string()}, "choose another format, or give the name of the spans that are steps");
    const Trials trials = imported ? importedTrials(session) : recordedTrials(session);
    // A file of one trial that is in no group.
    const bool single = imported && session.tracks().size() == 1 && trials.size() == 1 && trials.contains("trial");
    if (stop.stop_requested()) return cancelled();
    return writeOutput(path, replace, [&](OutputFile& file) -> base::Status {
        const auto version = [&](const char* key, const char* otherwise) {
            const std::string_view value = session.environmentValue(std::string("benchmark.") + key);
            return jsonString(value.empty() ? std::string_view(otherwise) : value);
        };
        file.write("[{\"Julia\":" + version("Julia", "1.11.0")
                   + ",\"BenchmarkTools\":" + version("BenchmarkTools", "1.8.0") + "},[");
        if (single) writeTrial(trials.begin()->second, file);
        else writeTrials(trials, file);
        file.write("]]\n");
        return {};
    });
}

} // namespace stepscope::exporters
