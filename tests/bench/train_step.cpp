// Step time of a model file on the oneDNN backend, beside its floor: every primitive by itself, the loss and the optimiser.
// One step is forward, loss, backward and update on a fixed batch; nothing is recorded.
#include "core/engine/losses.h"
#include "core/model/parser.h"
#include "core/model/shapes.h"
#include "core/onednn/network.h"
#include "core/onednn/onednn_backend.h"
#include "tests/support/step_counters.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

using namespace stepscope;
using Clock = std::chrono::steady_clock;

double nsSince(Clock::time_point start) { return std::chrono::duration<double, std::nano>(Clock::now() - start).count(); }

struct Figures {
    double median = 0, min = 0, floor = 0, reorders = 0;
    double loss = 0;
    int64_t faults = 0, allocations = 0, steps = 0;
};

[[noreturn]] void die(const base::Error& error)
{
    std::fprintf(stderr, "bench_train_step: %s\n", base::toText(error).c_str());
    std::exit(1);
}

engine::Batch madeBatch(const model::ModelFile& file, int64_t count, int64_t outputs)
{
    engine::Batch batch;
    batch.count = count;
    const auto n = static_cast<size_t>(count * model::product(file.model.input));
    batch.x.resize(n);
    uint32_t state = 12345;
    const auto next = [&] { return state = state * 1664525u + 1013904223u, static_cast<float>(state >> 8) / 8388608.0f - 1.0f; };
    for (float& v : batch.x) v = next();
    batch.labels.resize(static_cast<size_t>(count));
    for (int32_t& label : batch.labels) label = static_cast<int32_t>(static_cast<uint64_t>((next() + 1) * 0.4999f * static_cast<float>(outputs)));
    return batch;
}

void step(engine::Network& network)
{
    if (auto s = network.forward(true); !s) die(s.error());
    network.loss(true);
    if (auto s = network.backward(); !s) die(s.error());
    if (auto s = network.update(); !s) die(s.error());
}

template <class F>
double leastTime(const F& f)
{
    double best = 1e300;
    for (int i = 0; i < 30; ++i) {
        const auto start = Clock::now();
        f();
        best = std::min(best, nsSince(start));
    }
    return best;
}

void measureFloor(onednn::OneDnnNetwork& network, Figures& figures, bool detail)
{
    for (const onednn::Program* program : {&network.plan().forward, &network.plan().backward, &network.plan().update}) {
        for (const onednn::Operation& operation : program->operations()) {
            const bool works = operation.kind == onednn::Operation::Kind::primitive || operation.kind == onednn::Operation::Kind::function;
            if (!works || (operation.modes & onednn::Operation::kTraining) == 0) continue;
            const double time = leastTime([&] { onednn::Program::execute(operation, network.stream()); });
            (operation.reorder ? figures.reorders : figures.floor) += time;
            if (detail) fmt::print(stderr, "  {:9.1f} us  {} threads  {}  {}{}\n", time / 1e3, operation.threads, operation.name, operation.implementation, operation.reorder ? "  (reorder)" : "");
        }
    }
    const double loss = leastTime([&] { network.loss(true); });
    if (detail) fmt::print(stderr, "  {:9.1f} us  loss\n", loss / 1e3);
    figures.floor += loss;
}

Figures measure(onednn::OneDnnNetwork& network, double seconds, bool detail)
{
    Figures figures;
    for (int i = 0; i < 20; ++i) step(network);
    measureFloor(network, figures, detail);
    std::vector<double> times;
    times.reserve(1 << 20);
    for (size_t i = 0; i < times.capacity(); i += 512) times.data()[i] = 0; // touched before the faults are counted
    for (int i = 0; i < 10; ++i) step(network);
    const support::StepCounters before = support::stepCounters();
    const auto begin = Clock::now();
    while ((nsSince(begin) < seconds * 1e9 || times.size() < 15) && times.size() < times.capacity()) {
        const auto start = Clock::now();
        step(network);
        times.push_back(nsSince(start));
    }
    const support::StepCounters spent = support::stepCounters() - before;
    figures.allocations = spent.ownAllocations;
    figures.faults = spent.pageFaults;
    figures.steps = static_cast<int64_t>(times.size());
    figures.loss = network.loss(false).loss;
    std::sort(times.begin(), times.end());
    figures.median = times[times.size() / 2];
    figures.min = times.front();
    return figures;
}

} // namespace

int main(int argc, char** argv)
{
    std::string path, tuning;
    int64_t batchSize = 0;
    int threads = 0;
    double seconds = 1.5;
    bool json = false, detail = false, fuseOff = false;
    CLI::App app("Step time of a model beside its floor");
    app.add_option("--model", path, "model file")->required();
    app.add_option("--batch", batchSize, "batch size (default: the file's)");
    app.add_option("--threads", threads, "threads (default: chosen by timing)");
    app.add_option("--seconds", seconds, "how long to run steps");
    app.add_option("--tuning", tuning, "file that keeps tuned choices");
    app.add_flag("--json", json, "print one JSON object");
    app.add_flag("--detail", detail, "list the operations on stderr");
    app.add_flag("--no-fuse", fuseOff, "activations as operations of their own");
    CLI11_PARSE(app, argc, argv);

    auto file = model::readModelFile(path);
    if (!file) die(file.error());
    model::Dims input = file->model.input.empty() ? file->data.sampleShape : file->model.input;
    if (input.empty() && (file->data.kind == model::DataKind::fashionMnist || file->data.kind == model::DataKind::mnist)) input = {1, 28, 28};
    if (input.empty()) input = model::impliedInput(file->model);
    if (auto s = model::inferShapes(*file, input); !s) die(s.error());

    auto backend = onednn::createBackend({tuning});
    engine::BuildOptions options;
    options.batchSize = batchSize > 0 ? batchSize : file->data.batchSize;
    options.threads = threads;
    options.fuse = !fuseOff;
    auto built = backend->build(*file, options, {}, {}, {});
    if (!built) die(built.error());
    auto& network = static_cast<onednn::OneDnnNetwork&>(**built);
    if (detail)
        for (const std::string& note : network.info().notes) fmt::print(stderr, "note: {}\n", note);
    const int64_t outputs = model::product(file->model.root().output);
    engine::Batch batch = madeBatch(*file, options.batchSize, outputs);
    if (file->loss.kind == model::LossKind::mse || file->loss.kind == model::LossKind::mae || file->loss.kind == model::LossKind::huberLoss) {
        batch.labels.clear();
        batch.targets.resize(static_cast<size_t>(options.batchSize * outputs));
        std::fill(batch.targets.begin(), batch.targets.end(), 0.5f);
    }
    if (auto s = network.setBatch(batch); !s) die(s.error());
    const Figures f = measure(network, seconds, detail);
    const engine::BuildInfo& info = network.info();
    if (json)
        fmt::print("{{\"median_ns\": {:.0f}, \"min_ns\": {:.0f}, \"floor_ns\": {:.0f}, \"reorder_ns\": {:.0f}, \"page_faults\": {}, \"allocations\": {}, "
                   "\"reference_primitives\": {}, \"primitives\": {}, \"reorders\": {}, \"threads\": {}, \"steps\": {}, \"build_seconds\": {:.3f}, "
                   "\"loss\": {:.6f}}}\n",
                   f.median, f.min, f.floor, f.reorders, f.faults, f.allocations, info.referencePrimitives, info.primitives, info.reorders, info.threads,
                   f.steps, info.buildSeconds, f.loss);
    else
        fmt::print("{} batch {}: median {:.1f} us, min {:.1f} us, floor {:.1f} us (min/floor {:.2f}), reorders {:.1f} us in {} of {} primitives, "
                   "{} reference, {} faults and {} allocations in {} steps, {} threads, built in {:.2f} s, loss {:.4f}\n",
                   path, options.batchSize, f.median / 1e3, f.min / 1e3, f.floor / 1e3, f.min / f.floor, f.reorders / 1e3, info.reorders, info.primitives,
                   info.referencePrimitives, f.faults, f.allocations, f.steps, info.threads, info.buildSeconds, f.loss);
    return 0;
}
