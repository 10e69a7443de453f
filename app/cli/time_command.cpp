#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/exit_code.h"
#include "app/cli/interrupt_watch.h"
#include "app/cli/progress_line.h"
#include "core/engine/trainer.h"
#include "core/model/parser.h"
#include "core/onednn/onednn_backend.h"
#include "core/present/julia_time.h"
#include "core/session/session_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <memory>

namespace stepscope::cli {

namespace {

constexpr const char* kFooter = R"(Prints the line that Julia's @time prints: time in the allocator stands in the place of gc time, creation of primitives in
the place of compilation. "cold" is the first time, "warm" the step with the median time of those that follow the steps
which warm up: the first five and the first half.
With --phase or --layer cold is the first step alone: primitives are created for the whole network before it.

Examples:
  stepscope time lenet.jl
  stepscope time lenet.jl --phase backward
  stepscope time lenet.jl --layer conv1 --phase forward)";

constexpr int64_t kWarmup = 5; // steps at least
constexpr double kTooShort = 1e6; // ns; below it one timing says little

struct TimeOptions {
    std::string model, phase, layer;
    engine::TrainOptions train;
    bool freshTuning = false, quiet = false;
};

// What is timed, as ids of the session.
struct Scope {
    session::Phase phase = session::Phase::none; // none: all
    std::vector<bool> layers;                    // by layer: it and those within; empty: all
    base::LayerId layer;
    std::string name;

    bool whole() const { return phase == session::Phase::none && layers.empty(); }
    bool holds(const session::Label& label) const
    {
        if (phase != session::Phase::none && label.phase != phase) return false;
        return layers.empty() || (label.layer.index() < layers.size() && layers[label.layer.index()]);
    }
};

base::Result<Scope> findScope(const session::Session& session, const TimeOptions& options)
{
    Scope scope;
    for (int i = 1; i < session::kPhaseCount; ++i)
        if (session::phaseKey(static_cast<session::Phase>(i)) == options.phase) scope.phase = static_cast<session::Phase>(i);
    if (!options.layer.empty()) {
        std::string known;
        for (size_t i = 0; i < session.layers().size(); ++i) {
            const std::string& path = session.layers()[i].path;
            if (path == options.layer) scope.layer = base::LayerId(i);
            if (!path.empty()) known += (known.empty() ? "" : ", ") + path;
        }
        if (!scope.layer.valid())
            return base::fail(base::ErrorCode::invalidArgument, fmt::format("the model has no layer '{}'", printable(options.layer)), {options.model},
                "its layers are " + known);
        scope.layers.assign(session.layers().size(), false);
        for (size_t i = scope.layer.index(); i < scope.layers.size(); ++i) // children come after their parents
            scope.layers[i] = i == scope.layer.index() || (session.layers()[i].parent.index() < i && scope.layers[session.layers()[i].parent.index()]);
        scope.name = "layer " + options.layer;
    }
    if (scope.phase != session::Phase::none) scope.name += (scope.name.empty() ? "" : ", ") + std::string(session::phaseName(scope.phase));
    if (scope.name.empty()) scope.name = "one step";
    return scope;
}

using Matches = std::function<bool(const session::Label&, int32_t step)>;

// Allocations and creation of what matches.
present::JuliaTime sumOf(const session::Session& session, const Matches& matches)
{
    using session::SeriesKind;
    present::JuliaTime sum;
    for (size_t i = 0; i < session.series().size(); ++i) {
        const SeriesKind kind = session.series()[i].kind;
        if (session::hasStacks(kind)) continue;
        const session::SampleTable& samples = session.samples(base::SeriesId(i));
        for (size_t row = 0; row < samples.size(); ++row) {
            const session::Label label = samples.label[row] < session.labels().size() ? session.labels()[samples.label[row]] : session::Label{};
            if (!matches(label, samples.step[row])) continue;
            if (kind == SeriesKind::countedAllocations) sum.allocations += samples.weight[row];
            if (kind == SeriesKind::countedBytes) sum.bytes += samples.weight[row];
            if (kind == SeriesKind::countedTime) sum.collection += static_cast<double>(samples.weight[row]);
        }
    }
    const session::SpanTable& spans = session.spans();
    for (size_t row = 0; row < spans.size(); ++row) {
        const session::Label& label = session.labels()[spans.label[row]];
        if (label.kind == session::SpanKind::creation && matches(label, spans.step[row])) sum.compilation += static_cast<double>(spans.duration[row]);
    }
    return sum;
}

double elapsedIn(const session::Session& session, const Scope& scope, const session::StepRow& step)
{
    if (scope.whole()) return static_cast<double>(step.duration);
    const session::SpanTable& spans = session.spans();
    double elapsed = 0;
    for (size_t row = 0; row < spans.size(); ++row) {
        if (spans.step[row] != step.index) continue;
        const session::Label& label = session.labels()[spans.label[row]];
        const bool counts = scope.layers.empty() ? label.kind == session::SpanKind::phase
                                                 : label.kind == session::SpanKind::layer && label.layer == scope.layer;
        if (counts && scope.holds(label)) elapsed += static_cast<double>(spans.duration[row]);
    }
    return elapsed;
}

present::JuliaTime timeOf(const session::Session& session, const Scope& scope, const session::StepRow& step)
{
    present::JuliaTime time = sumOf(session, [&](const session::Label& label, int32_t at) { return at == step.index && scope.holds(label); });
    time.elapsed = elapsedIn(session, scope, step);
    return time;
}

// The first step; of a whole step also what had to be made for it.
present::JuliaTime coldTime(const session::Session& session, const Scope& scope)
{
    present::JuliaTime time = timeOf(session, scope, session.steps().front());
    if (!scope.whole()) return time;
    const present::JuliaTime before = sumOf(session, [&](const session::Label& label, int32_t step) {
        return step < 0 && label.phase == session::Phase::setup && session.string(label.name) == "creating primitives";
    });
    time.elapsed += before.compilation;
    time.compilation += before.compilation;
    time.allocations += before.allocations;
    time.bytes += before.bytes;
    time.collection += before.collection;
    return time;
}

present::JuliaTime warmTime(const session::Session& session, const Scope& scope)
{
    std::vector<std::pair<double, size_t>> times;
    const size_t count = session.steps().size(), first = std::min(std::max<size_t>(kWarmup, count / 2), count - 1);
    for (size_t row = first; row < session.steps().size(); ++row)
        times.emplace_back(elapsedIn(session, scope, session.steps()[row]), row);
    std::sort(times.begin(), times.end());
    return timeOf(session, scope, session.steps()[times[(times.size() - 1) / 2].second]);
}

int tell(const session::Session& session, const TimeOptions& options)
{
    const base::Result<Scope> scope = findScope(session, options);
    if (!scope) {
        printError(scope.error());
        return kUsage;
    }
    const present::JuliaTimeWords words{"allocator time", "creation time"};
    const present::JuliaTime cold = coldTime(session, *scope), warm = warmTime(session, *scope);
    if (cold.elapsed == 0 && warm.elapsed == 0)
        printNote(fmt::format("{} takes no time of its own: it is fused into another layer, or not run", scope->name));
    const std::string text = fmt::format("{}\n{}\n{}\n", scope->name, present::juliaTimeText(cold, "cold", words), present::juliaTimeText(warm, "warm", words));
    if (const base::Status written = writeResult("", text); !written) {
        printError(written.error());
        return exitCodeOf(written.error(), Stage::writing);
    }
    if (const std::string_view counted = session.environmentValue("allocations"); counted != "counted")
        printNote("allocations were " + printable(std::string(counted)));
    if (warm.elapsed > 0 && warm.elapsed < kTooShort)
        printNote(fmt::format("below 1 ms a single timing says little: benchmark it over many steps, with stepscope record {} --steps 500 and stepscope report",
            printable(options.model)));
    return kOk;
}

int run(const TimeOptions& options)
{
    if (!options.layer.empty() && (options.phase == "data-wait" || options.phase == "host-to-device" || options.phase == "loss")) {
        printError({base::ErrorCode::invalidArgument, fmt::format("no layer works in the phase {}", options.phase), {},
            "with --layer the phases are forward, backward and optimiser"});
        return kUsage;
    }
    base::Result<model::ModelFile> file = model::readModelFile(options.model);
    if (!file) {
        printError(file.error());
        return exitCodeOf(file.error(), Stage::reading);
    }
    InterruptWatch interrupts; // before the first thread
    onednn::BackendSettings settings;
    if (!options.freshTuning) settings.tuningFile = onednn::defaultTuningFile();
    const std::unique_ptr<engine::Backend> backend = onednn::createBackend(settings);
    ProgressLine progress(options.quiet);
    session::SessionBuilder builder;
    engine::TrainOptions train = options.train;
    train.steps += kWarmup;
    train.evaluate = false;
    train.shortenWarmup = true; // a short run has its first steps alone
    train.allocations = {.count = true, .time = true};
    engine::Trainer trainer;
    const base::Status started = trainer.start(std::move(*file), train, *backend, &builder, {}, [&](const engine::TrainStatus& status) { progress.update(status); });
    if (!started) {
        printError(started.error());
        return exitCodeOf(started.error(), Stage::running);
    }
    while (!trainer.finished()) {
        progress.draw();
        if (interrupts.wait(100)) trainer.requestStop();
    }
    progress.clear();
    const base::Result<engine::TrainResult> result = trainer.wait();
    if (!result) {
        printError(result.error());
        return exitCodeOf(result.error(), Stage::running);
    }
    const session::SessionPtr session = builder.build();
    if (result->stoppedByUser || session->steps().empty()) {
        printNote("stopped before anything was timed");
        return kInterrupted;
    }
    return tell(*session, options);
}

} // namespace

Command addTimeCommand(CLI::App& app)
{
    CLI::App* parser = app.add_subcommand("time", "Time a step, a phase or a layer once, cold and warm");
    auto options = std::make_shared<TimeOptions>();
    engine::TrainOptions& train = options->train;
    train.steps = 20;
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max() - kWarmup;
    parser->add_option("MODEL", options->model, "Model text (see resources/help/model-text.md)")->required();
    parser->add_option("--phase", options->phase, "data-wait, host-to-device, forward, loss, backward or optimiser")
        ->check(CLI::IsMember({"data-wait", "host-to-device", "forward", "loss", "backward", "optimiser"}));
    parser->add_option("--layer", options->layer, "Path of a layer, with the layers in it");
    parser->add_option("--steps", train.steps, "Steps to run after the first five")->capture_default_str()->check(CLI::Range(int64_t{1}, kMost));
    parser->add_option("--batch", train.batchSize, "Batch size; default: the model file's")->check(CLI::Range(int64_t{1}, kMost));
    parser->add_option("--threads", train.threads, "Threads for computing; default: chosen by timing")->check(CLI::Range(1, 1024));
    parser->add_option("--data", train.dataDirectory, "Folder with the data files, instead of the usual place");
    parser->add_flag("--fresh-tuning", options->freshTuning, "Time all implementations again instead of using earlier choices");
    parser->add_flag("-q,--quiet", options->quiet, "No progress");
    parser->footer(kFooter);
    return {parser, [options] { return run(*options); }};
}

} // namespace stepscope::cli
