// What the live view costs a run: step times with the workbench open on the run, its samples shown twice a second,
// against the same run without any window. Both record the same and sample at the same rate; they alternate, so that
// the machine's moods meet both. Needs a display (xvfb-run does).
#include "core/engine/trainer.h"
#include "core/model/parser.h"
#include "core/onednn/onednn_backend.h"
#include "core/recording/process_setup.h"
#include "core/session/session_builder.h"
#include "core/storage/session_file.h"
#include "core/storage/session_writer.h"
#include "tests/support/onednn_cache_sizes.h"
#include "ui/shell/main_window.h"

#include <CLI/CLI.hpp>
#include <QApplication>
#include <QElapsedTimer>
#include <QSettings>
#include <QTemporaryDir>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace {

using namespace stepscope;

constexpr const char* kLeNet = "model = Chain(conv1 = Conv((5, 5), 1 => 6, relu), pool1 = MaxPool((2, 2)), conv2 = Conv((5, 5), 6 => 16, relu),\n"
                               "    pool2 = MaxPool((2, 2)), flatten = Flux.flatten, fc1 = Dense(256 => 120, relu), fc2 = Dense(120 => 84, relu),\n"
                               "    fc3 = Dense(84 => 10))\nloss = logitcrossentropy\noptimiser = Adam(0.001)\n"
                               "data = Random((28, 28, 1); classes = 10, samples = 4096, batchsize = 64, shuffle = true)\nseed = 1\n";

[[noreturn]] void die(const std::string& problem)
{
    fmt::print(stderr, "bench_live_view: {}\n", problem);
    std::exit(1);
}

double quantile(std::vector<double> values, double share)
{
    if (values.empty()) return 0;
    const auto at = values.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
    std::nth_element(values.begin(), at, values.end());
    return *at;
}

std::vector<double> stepTimes(const session::Session& session)
{
    std::vector<double> times;
    for (const session::StepRow& step : session.steps())
        if (!step.warmup) times.push_back(static_cast<double>(step.duration));
    return times;
}

// As the workbench makes them.
state::Services services(const std::string& directory)
{
    state::Services made;
    made.openSession = [](const std::string& path, std::stop_token stop, const base::Progress& progress) { return storage::openSession(path, stop, progress); };
    made.createSink = [](const std::string& path) -> base::Result<std::unique_ptr<session::SessionSink>> {
        auto writer = storage::SessionWriter::create(path, storage::Existing::refuse);
        if (!writer) return base::fail(writer.error());
        return std::unique_ptr<session::SessionSink>(std::move(*writer));
    };
    made.createBackend = []() -> base::Result<std::unique_ptr<engine::Backend>> { return onednn::createBackend({}); };
    made.recordingsDirectory = directory;
    return made;
}

std::vector<double> without(const model::ModelFile& file, const engine::TrainOptions& options, const std::string& path)
{
    auto backend = onednn::createBackend({});
    auto writer = storage::SessionWriter::create(path, storage::Existing::refuse);
    if (!writer) die(base::toText(writer.error()));
    engine::Trainer trainer;
    if (const auto started = trainer.start(file, options, *backend, writer->get(), {}, {}); !started) die(base::toText(started.error()));
    if (const auto result = trainer.wait(); !result) die(base::toText(result.error()));
    writer->reset();
    const auto session = storage::openSession(path);
    if (!session) die(base::toText(session.error()));
    return stepTimes(**session);
}

std::vector<double> withWindow(const model::ModelFile& file, const engine::TrainOptions& options, const std::string& directory, int& updates)
{
    QSettings settings(QString::fromStdString(directory) + QStringLiteral("/settings.ini"), QSettings::IniFormat);
    theme::Theme theme;
    jobs::JobRunner jobs;
    state::RecentFiles recent(settings);
    state::Workbench workbench(services(directory), jobs, recent);
    state::RunController runs(workbench);
    shell::MainWindow window(workbench, runs, theme, settings);
    window.resize(1440, 900);
    window.show();
    QObject::connect(&workbench.samples(), &state::Samples::viewChanged, &window, [&] { updates += workbench.samples().live() ? 1 : 0; });
    runs.start(file, options);
    while (runs.active() || workbench.opening() || workbench.session() == nullptr) {
        QApplication::processEvents(QEventLoop::WaitForMoreEvents, 50);
        if (runs.error()) die(base::toText(*runs.error()));
    }
    std::vector<double> times = stepTimes(*workbench.session());
    jobs.shutdown();
    return times;
}

} // namespace

int main(int argc, char** argv)
{
    recording::prepareProcess();
    testing::repairOneDnnCacheSizes();
    int pairs = 6, threads = 1, rate = 0;
    int64_t steps = 4000;
    CLI::App parser("Cost of the live view, as the ratio of step times with and without it");
    parser.add_option("--pairs", pairs, "Runs with and without, in turns");
    parser.add_option("--steps", steps, "Steps of each run");
    parser.add_option("--threads", threads, "Threads of each run");
    parser.add_option("--rate", rate, "Samples per second and thread; 0: calibrated");
    CLI11_PARSE(parser, argc, argv);
    QApplication application(argc, argv);
    const auto file = model::parseModelText(kLeNet, "lenet.jl");
    if (!file) die(base::toText(file.error()));
    engine::TrainOptions options;
    options.steps = steps;
    options.threads = threads;
    options.workers = 0;
    options.evaluate = false;
    options.sampling.mode = recording::SampleMode::cpu;
    options.sampling.rateHz = rate;

    std::vector<double> ratios, tails;
    for (int pair = 0; pair < pairs; ++pair) {
        const QTemporaryDir directory;
        const std::string path = directory.path().toStdString();
        int updates = 0;
        std::vector<double> off, on;
        // Which comes first alternates, too.
        if (pair % 2 == 0) off = without(*file, options, path + "/off.stepscope");
        QElapsedTimer clock;
        clock.start();
        on = withWindow(*file, options, path, updates);
        const double seconds = static_cast<double>(clock.elapsed()) / 1000;
        if (pair % 2 == 1) off = without(*file, options, path + "/off.stepscope");
        const double ratio = quantile(on, 0.5) / quantile(off, 0.5), tail = quantile(on, 0.9) / quantile(off, 0.9);
        ratios.push_back(ratio);
        tails.push_back(tail);
        fmt::print("pair {}: median step {:.1f} us without, {:.1f} us with the live view: {:.4f}; 90th percentile {:.4f}; {} updates in {:.1f} s\n",
                   pair + 1, quantile(off, 0.5) / 1000, quantile(on, 0.5) / 1000, ratio, tail, updates, seconds);
        std::fflush(stdout);
    }
    fmt::print("median of the ratios: {:.4f} (median step), {:.4f} (90th percentile)\n", quantile(ratios, 0.5), quantile(tails, 0.5));
    return 0;
}
