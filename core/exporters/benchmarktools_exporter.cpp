#include "core/exporters/benchmarktools_exporter.h"

#include "core/exporters/output_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>

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

// A trial, or a group of further ones.
struct Node {
    std::unique_ptr<Trial> trial;
    std::map<std::string, Node> children;
};

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

// Groups nest as deep as the keys of a file did, so the walk keeps its own stack.
void writeTree(const Node& root, OutputFile& file)
{
    struct Open {
        const Node* node;
        std::map<std::string, Node>::const_iterator next;
    };
    std::vector<Open> open;
    const auto begin = [&](const Node& node) {
        file.write("[\"BenchmarkGroup\",{\"tags\":[],\"data\":{");
        open.push_back({&node, node.children.begin()});
    };
    if (root.trial) {
        writeTrial(*root.trial, file);
        return;
    }
    begin(root);
    while (!open.empty()) {
        Open& top = open.back();
        if (top.next == top.node->children.end()) {
            file.write("}}]");
            open.pop_back();
            continue;
        }
        if (top.next != top.node->children.begin()) file.write(",");
        file.write("\n" + jsonString(top.next->first) + ":");
        const Node& child = (top.next++)->second;
        if (child.trial) writeTrial(*child.trial, file);
        else begin(child);
    }
}

Node& childAt(Node& root, std::string_view path)
{
    Node* node = &root;
    for (size_t at = 0; at <= path.size();) {
        const size_t end = std::min(path.find('/', at), path.size());
        node = &node->children[std::string(path.substr(at, end - at))];
        at = end + 1;
    }
    return *node;
}

// What core/importers kept of a file of BenchmarkTools.
Node importedTrials(const session::Session& session)
{
    Node root;
    std::map<std::string, const session::CounterSamples*, std::less<>> counters;
    for (size_t i = 0; i < session.counters().size(); ++i)
        counters[session.counters()[i].name] = &session.counterSamples(session::CounterId(i));
    for (const session::Track& track : session.tracks()) {
        const auto times = counters.find("time: " + track.name), gc = counters.find("gc time: " + track.name);
        if (times == counters.end()) continue;
        Node& node = session.tracks().size() == 1 && track.name == "trial" ? root : childAt(root, track.name);
        node.trial = std::make_unique<Trial>();
        node.trial->times.assign(times->second->value.begin(), times->second->value.end());
        if (gc != counters.end()) node.trial->gcTimes.assign(gc->second->value.begin(), gc->second->value.end());
        const auto keep = [&](const char* key, std::string& into) {
            const std::string_view value = session.environmentValue(std::string("benchmark.") + key + " " + track.name);
            if (!value.empty()) into = value;
        };
        keep("memory", node.trial->memory);
        keep("allocs", node.trial->allocs);
        keep("params", node.trial->params);
    }
    return root;
}

Node recordedTrials(const session::Session& session)
{
    Node root;
    std::map<int64_t, size_t> place; // of a step among those that count
    const auto trial = [&](std::string_view path) -> Trial& {
        Node& node = childAt(root, path);
        if (!node.trial) {
            node.trial = std::make_unique<Trial>();
            node.trial->times.assign(place.size(), 0);
            node.trial->gcTimes.assign(place.size(), 0);
        }
        return *node.trial;
    };
    for (const session::StepRow& step : session.steps())
        if (!step.warmup) place.try_emplace(step.index, place.size());
    for (const session::StepRow& step : session.steps())
        if (!step.warmup) trial("step").times[place[step.index]] = static_cast<double>(step.duration);
    const session::SpanTable& spans = session.spans();
    for (size_t row = 0; row < spans.size(); ++row) {
        const session::Label& label = session.labels()[spans.label[row]];
        const auto at = label.kind == session::SpanKind::phase ? place.find(spans.step[row]) : place.end();
        if (at != place.end())
            trial("phases/" + std::string(session::phaseName(label.phase))).times[at->second] +=
                static_cast<double>(spans.duration[row]);
    }
    return root;
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
    const Node root = imported ? importedTrials(session) : recordedTrials(session);
    if (stop.stop_requested()) return cancelled();
    return writeOutput(path, replace, [&](OutputFile& file) -> base::Status {
        const auto version = [&](const char* key, const char* otherwise) {
            const std::string_view value = session.environmentValue(std::string("benchmark.") + key);
            return jsonString(value.empty() ? std::string_view(otherwise) : value);
        };
        file.write("[{\"Julia\":" + version("Julia", "1.11.0")
                   + ",\"BenchmarkTools\":" + version("BenchmarkTools", "1.8.0") + "},[");
        writeTree(root, file);
        file.write("]]\n");
        return {};
    });
}

} // namespace stepscope::exporters
