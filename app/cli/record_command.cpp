#include "app/cli/command.h"
#include "app/cli/console.h"
#include "app/cli/deferred_writer.h"
#include "app/cli/exit_code.h"
#include "app/cli/interrupt_watch.h"
#include "app/cli/progress_line.h"
#include "core/analysis/reports.h"
#include "core/engine/trainer.h"
#include "core/model/parser.h"
#include "core/model/shapes.h"
#include "core/onednn/onednn_backend.h"
#include "core/present/format.h"
#include "core/present/report_sources.h"
#include "core/recording/environment.h"
#include "core/storage/file_place.h"
#include "core/storage/session_file.h"
#include "gpu/device/devices.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <memory>

#include <unistd.h>

namespace stepscope::cli {

namespace {

constexpr const char* kFooter = R"(The session is written while the run goes on. Ctrl-C stops at the next step boundary and saves (exit code 0);
a second Ctrl-C, a second later or more, quits at once; what was saved until then can still be opened.
A session of the same name is kept as NAME~.

Examples:
  stepscope record lenet.jl --steps 500
  stepscope record lenet.jl --epochs 3 --threads 1 -o one-thread.stepscope
  stepscope record lenet.jl --batch 256 --workers 2 --seed 7 --data ~/fashion-mnist
  stepscope record lenet.jl --sample wall --rate 100      stacks also where threads wait)";

constexpr int64_t kMaxSteps = std::numeric_limits<int32_t>::max();
// One request often arrives as several signals: timeout(1) signals the process and its group, a closed terminal too.
constexpr std::chrono::seconds kSameRequest{1};

struct RecordOptions {
    std::string model, output;
    engine::TrainOptions train;
    int workers = 0;
    uint64_t seed = 0;
    std::string sample = "cpu";
    bool noProfile = false, noAllocations = false, freshTuning = false, quiet = false;
};

std::string defaultOutput(const std::string& model)
{
    const std::string name = std::filesystem::path(model).stem().string();
    return (name.empty() ? "run" : name) + ".stepscope";
}

base::Result<model::ModelFile> readModel(const std::string& path)
{
    base::Result<model::ModelFile> file = model::readModelFile(path);
    if (!file) return file;
    // Mistakes in the shapes are told before any data is read; where the data decides the shape, the run finds them.
    const model::Dims input = model::knownInput(*file);
    if (!input.empty()) {
        model::ModelFile shaped = *file;
        if (const base::Status status = model::inferShapes(shaped, input); !status) return base::fail(status.error());
    }
    return file;
}

// Waits for the end of the run, draws the progress and passes Ctrl-C on.
base::Result<engine::TrainResult> watch(engine::Trainer& trainer, InterruptWatch& interrupts, ProgressLine& progress)
{
    using Clock = std::chrono::steady_clock;
    bool stopping = false;
    Clock::time_point asked;
    while (!trainer.finished()) {
        progress.draw();
        if (!interrupts.wait(100)) continue;
        if (stopping && Clock::now() - asked < kSameRequest) continue;
        progress.clear();
        if (stopping) {
            std::fputs("stepscope: stopped at once\n", stderr);
            ::_exit(kInterrupted);
        }
        stopping = true;
        asked = Clock::now();
        trainer.requestStop();
        printNote("stopping at the next step boundary; Ctrl-C again quits at once");
    }
    progress.draw();
    progress.clear();
    return trainer.wait();
}

std::string resultText(const engine::TrainResult& result)
{
    std::string text = fmt::format("{} {}{}", present::formatCount(result.steps), result.steps == 1 ? "step" : "steps",
        result.stoppedByUser ? " (stopped)" : "");
    text += fmt::format(", last loss {}", present::formatNumber(result.finalLoss));
    if (result.testAccuracy) text += fmt::format(", test accuracy {}", present::formatShare(*result.testAccuracy));
    const engine::BuildInfo& build = result.build;
    text += fmt::format("; {} {}", build.threads, build.threads == 1 ? "thread" : "threads");
    if (build.referencePrimitives > 0) text += fmt::format(", {} reference primitives", build.referencePrimitives);
    if (build.reorders > 0) text += fmt::format(", {} reorders per step", build.reorders);
    return text + '\n';
}

std::string samplesText(const session::Session& session)
{
    const std::string_view samples = session.environmentValue("sampler.samples");
    if (samples.empty()) return {};
    return fmt::format("{} stack samples at {} ({}; costs {})\n", samples, session.environmentValue("sampler.rate"),
        session.environmentValue("sampler.method"), session.environmentValue("sampler.cost"));
}

// Above it times are not those of the program alone.
void warnOfCost(const session::Session& session)
{
    constexpr double kMuch = 5; // %
    const std::string cost(session.environmentValue("sampler.cost"));
    if (std::atof(cost.c_str()) < kMuch) return;
    printNote(fmt::format("warning: taking samples costs {}, so times are longer than they would be; use a lower --rate", cost));
}

// Reads the file back: what is told about it is what is in it.
int tellSession(const engine::TrainResult& result, const std::string& path, bool madeData)
{
    std::string text = "recorded " + resultText(result);
    if (madeData) text += "the model names no data, so it was trained on made-up data of its shape\n";
    const base::Result<session::SessionPtr> session = storage::openSession(path);
    if (!session) {
        printError(session.error());
        return kFailed;
    }
    text += present::stepSummaryText(analysis::stepStatistics(**session)) + '\n';
    text += samplesText(**session);
    for (const session::QualityRow& row : (*session)->quality())
        printNote(printable(row.message));
    warnOfCost(**session);
    std::error_code ignored;
    const auto bytes = std::filesystem::file_size(path, ignored);
    text += fmt::format("wrote {} ({})\nlook at it with: stepscope report {}\n", path, present::formatBytes(static_cast<double>(ignored ? 0 : bytes)), path);
    if (const base::Status written = writeResult("", text); !written) {
        printError(written.error());
        return exitCodeOf(written.error(), Stage::writing);
    }
    return kOk;
}

int failedRun(const base::Error& error, const DeferredWriter& writer, const std::string& path)
{
    if (error.code == base::ErrorCode::cancelled && !writer.created()) {
        printNote("stopped before the first step; nothing was recorded");
        return kInterrupted;
    }
    printError(error);
    if (writer.created()) printNote(fmt::format("what was recorded until then is in {}", path));
    return exitCodeOf(error, Stage::running);
}

// CLI11 reads negative numbers and those beyond 64 bits into an unsigned one without complaint.
std::string checkSeed(const std::string& text)
{
    if (text.find('-') != std::string::npos) return "the number must not be negative";
    uint64_t value = 0;
    const bool beyond = std::from_chars(text.data(), text.data() + text.size(), value).ec == std::errc::result_out_of_range;
    return beyond ? "the number must be below 2^64" : "";
}

std::string checkName(const std::string& text) { return text.empty() ? "the name must not be empty" : ""; }

// The old file is renamed to NAME~, so neither name may be the model's.
base::Status checkModelStays(const std::string& model, const std::filesystem::path& session)
{
    for (const std::filesystem::path& place : {session, storage::backupName(session)}) {
        std::error_code ignored;
        if (std::filesystem::equivalent(model, place, ignored))
            return base::fail(base::ErrorCode::invalidArgument, "the session would replace the model text", {place.string()},
                "choose another name with -o FILE");
    }
    return {};
}

int run(const RecordOptions& options)
{
    const std::string path = options.output.empty() ? defaultOutput(options.model) : options.output;
    base::Result<model::ModelFile> file = readModel(options.model);
    if (!file) {
        printError(file.error());
        return exitCodeOf(file.error(), Stage::reading);
    }
    if (!options.noProfile) {
        if (const base::Status stays = checkModelStays(options.model, path); !stays) {
            printError(stays.error());
            return kUsage;
        }
        if (const base::Status possible = DeferredWriter::check(path); !possible) {
            printError(possible.error());
            return exitCodeOf(possible.error(), Stage::writing);
        }
    }
    InterruptWatch interrupts; // before the first thread
    onednn::BackendSettings settings;
    settings.tuningFile = onednn::defaultTuningFile();
    settings.freshTuning = options.freshTuning;
    const std::unique_ptr<engine::Backend> backend = onednn::createBackend(settings);
    DeferredWriter writer(path);
    ProgressLine progress(options.quiet);
    std::vector<session::EnvironmentRow> environment = recording::collectEnvironment();
    for (auto& [key, value] : gpu::environment())
        environment.push_back({std::move(key), std::move(value)});
    const bool madeData = !file->dataGiven;
    engine::Trainer trainer;
    const base::Status started = trainer.start(std::move(*file), options.train, *backend, options.noProfile ? nullptr : &writer,
        std::move(environment), [&](const engine::TrainStatus& status) { progress.update(status); });
    if (!started) {
        printError(started.error());
        return exitCodeOf(started.error(), Stage::running);
    }
    const base::Result<engine::TrainResult> result = watch(trainer, interrupts, progress);
    if (!result) return failedRun(result.error(), writer, path);
    if (options.noProfile) {
        const engine::TrainStatus last = progress.last();
        const std::string text = "trained without recording: " + resultText(*result)
            + fmt::format("median of the last steps {}\n", present::formatTime(last.medianStepNs));
        if (const base::Status written = writeResult("", text); !written) {
            printError(written.error());
            return exitCodeOf(written.error(), Stage::writing);
        }
        return kOk;
    }
    if (!writer.created()) {
        printNote("no step was run; nothing was recorded");
        return result->stoppedByUser ? kInterrupted : kOk;
    }
    return tellSession(*result, path, madeData);
}

} // namespace

Command addRecordCommand(CLI::App& app)
{
    CLI::App* parser = app.add_subcommand("record", "Train a model and record every step");
    auto options = std::make_shared<RecordOptions>();
    engine::TrainOptions& train = options->train;
    parser->add_option("MODEL", options->model, "Model text (see resources/help/model-text.md)")->required();
    CLI::Option* steps = parser->add_option("--steps", train.steps, "Stop after so many steps, warm-up included")->check(CLI::Range(int64_t{1}, kMaxSteps));
    parser->add_option("--epochs", train.epochs, "Stop after so many epochs")->check(CLI::Range(int64_t{1}, kMaxSteps))->excludes(steps);
    CLI::Option* warmup = parser->add_option("--warmup", train.warmup, "First steps that reports leave out; fewer in a shorter run")->capture_default_str()->check(CLI::Range(int64_t{0}, kMaxSteps));
    parser->add_option("--batch", train.batchSize, "Batch size; default: the model file's")->check(CLI::Range(int64_t{1}, kMaxSteps));
    parser->add_option("--threads", train.threads, "Threads for computing; default: chosen by timing")->check(CLI::Range(1, 1024));
    CLI::Option* workers = parser->add_option("--workers", options->workers, "Threads that prepare batches; default: the model file's")->check(CLI::Range(0, 256));
    CLI::Option* seed = parser->add_option("--seed", options->seed, "Seed of initial values, shuffling and dropout")->check(checkSeed);
    parser->add_option("--data", train.dataDirectory, "Folder with the data files, instead of the usual place");
    CLI::Option* output = parser->add_option("-o,--output", options->output, "Session file; default: NAME.stepscope in this folder")->check(checkName);
    CLI::Option* sample = parser->add_option("--sample", options->sample, "Stacks of all threads: of those that run (cpu), also where they wait (wall), or none (off)")->capture_default_str()->check(CLI::IsMember({"cpu", "wall", "off"}));
    CLI::Option* rate = parser->add_option("--rate", train.sampling.rateHz, "Stack samples per second of a thread's CPU time; default: the most that costs 1 %")->check(CLI::Range(1, 20000));
    parser->add_flag("--no-profile", options->noProfile, "Train without probes and write no session, to see what recording costs")
        ->excludes(output)->excludes(sample)->excludes(rate);
    parser->add_flag("--no-allocations", options->noAllocations, "Do not count allocations");
    parser->add_flag("--fresh-tuning", options->freshTuning, "Time all implementations again instead of using earlier choices");
    parser->add_flag("-q,--quiet", options->quiet, "No progress");
    parser->footer(kFooter);
    return {parser, [options, warmup, workers, seed, rate] {
                if (options->sample == "off" && rate->count() > 0) {
                    printError({base::ErrorCode::invalidArgument, "--rate says how often samples are taken, but --sample off takes none", {},
                        "leave one of the two away"});
                    return static_cast<int>(kUsage);
                }
                options->train.shortenWarmup = warmup->count() == 0;
                using recording::SampleMode;
                options->train.sampling.mode = options->sample == "cpu" ? SampleMode::cpu : options->sample == "wall" ? SampleMode::wall : SampleMode::off;
                options->train.allocations.count = !options->noAllocations;
                if (workers->count() > 0) options->train.workers = options->workers;
                if (seed->count() > 0) options->train.seed = options->seed;
                return run(*options);
            }};
}

} // namespace stepscope::cli
