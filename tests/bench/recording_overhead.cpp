// What recording costs: step times of the same training with and without a session file, in interleaved rounds.
// Each round trains twice on the calling machine, off first in even rounds and on first in odd ones; the figure is the median over
// the rounds of (median step with recording) / (median step without).
#include "core/engine/trainer.h"
#include "core/model/parser.h"
#include "core/onednn/onednn_backend.h"
#include "core/storage/session_writer.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <vector>

namespace {

using namespace stepscope;

struct Setting {
    model::ModelFile file;
    engine::TrainOptions options;
    engine::Backend* backend = nullptr;
    std::string directory;
};

[[noreturn]] void die(const base::Error& error)
{
    fmt::print(stderr, "bench_recording_overhead: {}\n", base::toText(error));
    std::exit(1);
}

// Median step time in ns over the last 256 steps.
double train(const Setting& setting, bool record)
{
    const std::string path = setting.directory + "/overhead.stepscope";
    std::filesystem::remove(path);
    std::unique_ptr<storage::SessionWriter> writer;
    if (record) {
        auto created = storage::SessionWriter::create(path);
        if (!created) die(created.error());
        writer = std::move(*created);
    }
    double median = 0;
    engine::Trainer trainer;
    const auto remember = [&](const engine::TrainStatus& status) { median = status.medianStepNs > 0 ? status.medianStepNs : median; };
    if (auto s = trainer.start(setting.file, setting.options, *setting.backend, writer.get(), {}, remember); !s) die(s.error());
    if (auto result = trainer.wait(); !result) die(result.error());
    return median;
}

} // namespace

int main(int argc, char** argv)
{
    std::string path;
    int rounds = 15;
    int64_t steps = 400;
    CLI::App app("Cost of recording spans");
    app.add_option("--model", path, "model file")->required();
    app.add_option("--rounds", rounds, "interleaved rounds");
    app.add_option("--steps", steps, "steps per training");
    CLI11_PARSE(app, argc, argv);

    auto file = model::readModelFile(path);
    if (!file) die(file.error());
    const auto backend = onednn::createBackend();
    Setting setting;
    setting.file = *file;
    setting.backend = backend.get();
    setting.options.steps = steps;
    setting.options.workers = 0; // loader threads would only add noise
    setting.options.evaluate = false;
    setting.directory = std::filesystem::temp_directory_path().string();
    train(setting, false); // tunes; later rounds use the same choices
    std::vector<double> ratios, off, on;
    for (int round = 0; round < rounds; ++round) {
        double a = 0, b = 0;
        if (round % 2 == 0) a = train(setting, false);
        b = train(setting, true);
        if (round % 2 == 1) a = train(setting, false);
        off.push_back(a);
        on.push_back(b);
        ratios.push_back(b / a);
    }
    const auto median = [](std::vector<double> v) {
        std::sort(v.begin(), v.end());
        return v[v.size() / 2];
    };
    fmt::print("{}: {} rounds of {} steps: off {:.1f} us, on {:.1f} us, on / off {:.4f}\n", path, rounds, steps, median(off) / 1e3, median(on) / 1e3,
               median(ratios));
    return 0;
}
