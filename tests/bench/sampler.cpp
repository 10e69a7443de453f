// What stack sampling promises, measured: truth of the shares, whole stacks, names, cost, losses, interrupted calls.
// Prints one row per promise with the figure it must reach. Rows can be chosen; the long ones run as long as asked.
#include "core/model/parser.h"
#include "core/onednn/onednn_backend.h"
#include "core/recording/code_names.h"
#include "core/recording/process_setup.h"
#include "core/recording/recorder.h"
#include "core/recording/sample_timer.h"
#include "core/session/session_builder.h"
#include "tests/support/onednn_cache_sizes.h"
#include "tests/support/sampled_training.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <ctime>
#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

#include <dlfcn.h>
#include <poll.h>

namespace {

using namespace stepscope;
using namespace stepscope::testing;
using recording::SampleMode;
using recording::SamplingOptions;

constexpr const char* kLeNet = R"(using Flux
model = Chain(conv1 = Conv((5, 5), 1 => 6, relu), pool1 = MaxPool((2, 2)), conv2 = Conv((5, 5), 6 => 16, relu), pool2 = MaxPool((2, 2)),
    flatten = Flux.flatten, fc1 = Dense(256 => 120, relu), fc2 = Dense(120 => 84, relu), fc3 = Dense(84 => 10))
loss = logitcrossentropy
optimiser = Adam(0.001)
data = Random((28, 28, 1); classes = 10, samples = 4096, batchsize = 64, shuffle = true)
seed = 1
)";

constexpr const char* kVgg = R"(using Flux
model = Chain(
    Conv((3, 3), 3 => 32; pad = 1, bias = false), BatchNorm(32, relu), Conv((3, 3), 32 => 32; pad = 1, bias = false), BatchNorm(32, relu), MaxPool((2, 2)),
    Conv((3, 3), 32 => 64; pad = 1, bias = false), BatchNorm(64, relu), Conv((3, 3), 64 => 64; pad = 1, bias = false), BatchNorm(64, relu), MaxPool((2, 2)),
    Flux.flatten, Dense(4096 => 256, relu), Dense(256 => 10))
loss = logitcrossentropy
optimiser = Adam(0.001)
data = Random((32, 32, 3); classes = 10, samples = 1024, batchsize = 32, shuffle = true)
seed = 1
)";

constexpr const char* kInnerProduct = R"(using Flux
model = Chain(Dense(200 => 150, relu), Dense(150 => 70, relu), Dense(70 => 10))
loss = logitcrossentropy
optimiser = Adam(0.001)
data = Random(200; classes = 10, samples = 4096, batchsize = 64, shuffle = true)
seed = 1
)";

struct Settings {
    int threads = 1;
    double seconds = 3;      // of CPU time per row that trains
    double stressSeconds = 10;
    bool details = false;
};

void row(const std::string& what, const std::string& measured, const std::string& wanted, bool good)
{
    fmt::print("| {} | {} | {} | {} |\n", what, measured, wanted, good ? "yes" : "NO");
    std::fflush(stdout);
}

[[noreturn]] void die(const std::string& problem)
{
    fmt::print(stderr, "bench_sampler: {}\n", problem);
    std::exit(1);
}

model::ModelFile modelFile(const char* text)
{
    auto file = model::parseModelText(text, "bench.jl");
    if (!file) die(base::toText(file.error()));
    return *file;
}

engine::TrainOptions trainOptions(const Settings& settings, int64_t steps, int rateHz)
{
    engine::TrainOptions options;
    options.steps = steps;
    options.threads = settings.threads;
    options.workers = 0;
    options.evaluate = false;
    options.sampling.mode = rateHz >= 0 ? SampleMode::cpu : SampleMode::off;
    options.sampling.rateHz = std::max(0, rateHz);
    return options;
}

int64_t threadTime()
{
    timespec t;
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

double percent(int64_t part, int64_t whole) { return whole > 0 ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 100.0; }

std::string environment(const session::Session& session, std::string_view key) { return std::string(session.environmentValue(key)); }

// Where approximate stacks begin: the innermost frames down to the first that was searched for.
void tellApproximate(const session::Session& session)
{
    std::map<std::string, int> starts;
    const session::SampleTable& samples = session.samples(base::SeriesId(size_t{0}));
    for (size_t i = 0; i < samples.size(); ++i) {
        std::string text;
        for (base::StackId at{samples.stack[i]}; at.valid(); at = session.stacks()[at.index()].parent) {
            const session::FrameRow& frame = session.frames()[session.stacks()[at.index()].frame.index()];
            text += fmt::format("{} < ", session.string(frame.function).substr(0, 60));
            if ((frame.flags & session::kApproximate) == 0) continue;
            ++starts[text];
            break;
        }
    }
    for (const auto& [text, count] : starts)
        fmt::print("    {} approximate: {}\n", count, text);
}

// ---- training: shares, stacks, names ----------------------------------------------------------------------------------
void truthRow(const Settings& settings, const char* name, const char* text, engine::Backend& backend)
{
    const model::ModelFile file = modelFile(text);
    const auto probe = trainSampled(file, trainOptions(settings, 40, 1000), backend, CLOCK_THREAD_CPUTIME_ID); // tunes, and tells the time of a step
    if (probe.session == nullptr) die(probe.problem);
    if (settings.details) tellApproximate(*probe.session);
    int64_t perStep = 0;
    for (const int64_t ns : probe.truth)
        perStep += ns / 40;
    const auto steps = static_cast<int64_t>(settings.seconds * 1e9 / static_cast<double>(std::max<int64_t>(perStep, 1000)));
    const clockid_t clock = settings.threads > 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID;
    const SampledRun run = trainSampled(file, trainOptions(settings, std::max<int64_t>(steps, 50), 1000), backend, clock);
    if (run.session == nullptr) die(run.problem);
    const SampleSummary sum = summarise(*run.session);
    const std::string label = fmt::format("{}, {} thread{}", name, settings.threads, settings.threads > 1 ? "s" : "");
    const double error = largestShareError(sum.byPhase, run.truth);
    const double limit = settings.threads > 1 ? 4 : sum.samples >= 30000 ? 0.3 : 1;
    row(label + ": phase shares against CPU time", fmt::format("{:.2f} points, {} samples", error, sum.samples), fmt::format("<= {} points", limit), error <= limit);
    const int64_t others = sum.samples - sum.generated, othersComplete = sum.complete - sum.generatedComplete;
    row(label + ": whole stacks, leaf in generated code", fmt::format("{:.2f} % of {}", percent(sum.generatedComplete, sum.generated), sum.generated), ">= 99.5 %",
        percent(sum.generatedComplete, sum.generated) >= 99.5);
    row(label + ": whole stacks, leaf elsewhere", fmt::format("{:.2f} % of {}", percent(othersComplete, others), others), ">= 99.9 %", percent(othersComplete, others) >= 99.9);
    const int64_t nameable = sum.generated + sum.unknownLeaf;
    row(label + ": leaves in generated code named", fmt::format("{:.2f} %", percent(sum.generated, nameable)), ">= 99.9 %", percent(sum.generated, nameable) >= 99.9);
    row(label + ": leaves in generated code with the right phase", fmt::format("{:.2f} % of {}", percent(sum.generatedPhaseRight, sum.generatedPhaseKnown), sum.generatedPhaseKnown),
        ">= 99.9 %", percent(sum.generatedPhaseRight, sum.generatedPhaseKnown) >= 99.9);
    row(label + ": found by searching the stack", fmt::format("{:.2f} %", percent(sum.approximate, sum.samples)), "(shown)", true);
    const std::string lost = environment(*run.session, "sampler.lost");
    row(label + ": lost at 1 kHz", lost, "0", lost == "0");
    row(label + ": cost", environment(*run.session, "sampler.cost"), "(shown)", true);
    if (settings.details) tellApproximate(*run.session);
}

void lossesRow(const Settings& settings, engine::Backend& backend)
{
    const model::ModelFile file = modelFile(kInnerProduct);
    const auto losses = [&](int rate) {
        const SampledRun run = trainSampled(file, trainOptions(settings, 2000, rate), backend, CLOCK_THREAD_CPUTIME_ID);
        if (run.session == nullptr) die(run.problem);
        std::vector<double> values;
        for (const session::StepRow& step : run.session->steps())
            values.push_back(step.loss);
        return std::pair(values, run.session->sampleCount());
    };
    losses(-1); // tunes
    const auto plain = losses(-1), sampled = losses(1000);
    const bool equal = plain.first.size() == 2000 && plain.first.size() == sampled.first.size()
        && std::memcmp(plain.first.data(), sampled.first.data(), plain.first.size() * sizeof(double)) == 0;
    row(fmt::format("inner products, 2000 steps at 1 kHz ({} samples): losses", sampled.second), equal ? "equal bit for bit" : "different", "equal bit for bit", equal);
}

// ---- cost: blocks of steps with and without sampling in one process ----------------------------------------------------
void emptyHandler(int, siginfo_t*, void*) {}

class Toggle {
public:
    enum class What { nothing, floor, sampler };
    Toggle(What what, int rateHz) : m_what(what), m_recorder(m_builder), m_sampler(m_recorder, nullptr)
    {
        m_options.mode = SampleMode::cpu;
        m_options.rateHz = rateHz;
        if (what == What::sampler) { // calibrates outside the measured steps
            if (const auto started = m_sampler.start(m_options); !started) die(base::toText(started.error()));
            m_sampler.stop();
        }
        if (what == What::floor) {
            struct sigaction action{};
            action.sa_sigaction = emptyHandler;
            action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
            ::sigaction(recording::kSampleSignal, &action, &m_before);
        }
    }
    ~Toggle()
    {
        set(false);
        if (m_what == What::floor) ::sigaction(recording::kSampleSignal, &m_before, nullptr);
    }
    void set(bool on)
    {
        if (on == m_on) return;
        m_on = on;
        if (m_what == What::sampler) {
            if (!on) m_sampler.stop();
            else if (const auto started = m_sampler.start(m_options); !started) die(base::toText(started.error()));
        } else if (m_what == What::floor) {
            if (!on) m_timer.disarm();
            else m_timer.arm(recording::SamplingMethod::perfClock, ::gettid(), 1'000'000'000 / m_options.rateHz, recording::realSystemCalls());
        }
    }
    recording::SamplingStatistics statistics() const { return m_sampler.statistics(); }

private:
    What m_what;
    session::SessionBuilder m_builder;
    recording::Recorder m_recorder;
    recording::CpuSampler m_sampler;
    SamplingOptions m_options;
    recording::SampleTimer m_timer;
    struct sigaction m_before{};
    bool m_on = false;
};

// Median of (CPU time of a block on) / (off) - 1, in percent.
double slowDown(const Settings& settings, engine::Backend& backend, Toggle& toggle)
{
    constexpr int64_t kBlock = 16;
    std::vector<double> on, off, ratios;
    int64_t blockStart = 0;
    double lastOff = 0;
    MeasuredBackend measured(backend, CLOCK_THREAD_CPUTIME_ID, [&](int64_t step) {
        if (step % kBlock != 0) return;
        const int64_t now = threadTime();
        const int64_t block = step / kBlock - 1; // the one that ends
        const auto took = static_cast<double>(now - blockStart);
        if (block > 1) { // odd ones are measured with, even ones without
            if (block % 2 == 1) ratios.push_back(took / lastOff);
            else lastOff = took;
        }
        toggle.set((step / kBlock) % 2 == 1);
        blockStart = threadTime();
    });
    engine::TrainOptions options = trainOptions(settings, static_cast<int64_t>(settings.seconds * 400), -1);
    session::SessionBuilder builder;
    engine::Trainer trainer;
    const auto started = trainer.start(modelFile(kLeNet), options, measured, nullptr, {}, [](const engine::TrainStatus&) {});
    if (!started) die(base::toText(started.error()));
    if (const auto result = trainer.wait(); !result) die(base::toText(result.error()));
    toggle.set(false);
    if (ratios.empty()) die("too few steps to compare");
    std::nth_element(ratios.begin(), ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2), ratios.end());
    return 100 * (ratios[ratios.size() / 2] - 1);
}

void costRows(const Settings& settings, engine::Backend& backend)
{
    Settings one = settings;
    one.threads = 1;
    const auto measure = [&](Toggle::What what, int rate, std::string* about = nullptr) {
        Toggle toggle(what, rate);
        const double cost = slowDown(one, backend, toggle);
        if (about != nullptr) {
            const auto s = toggle.statistics();
            *about = fmt::format(" ({} at {} Hz)", recording::samplingMethodName(s.method), s.rateHz);
        }
        return cost;
    };
    measure(Toggle::What::nothing, 0); // tunes
    std::string about;
    const double noise = measure(Toggle::What::nothing, 0);
    const double low = measure(Toggle::What::sampler, 0, &about);
    const double floor = measure(Toggle::What::floor, 1000);
    const double fast = measure(Toggle::What::sampler, 1000);
    row("slow-down, nothing against nothing", fmt::format("{:+.2f} %", noise), "(noise)", true);
    row("slow-down at the calibrated rate" + about, fmt::format("{:+.2f} %", low), "<= 1 %", low <= 1);
    row("slow-down, empty handler at 1 kHz", fmt::format("{:+.2f} %", floor), "(floor)", true);
    row("slow-down, sampling at 1 kHz", fmt::format("{:+.2f} %", fast), fmt::format("<= {:.2f} %", floor + 1.5), fast <= floor + 1.5);
}

// ---- threads that wait ------------------------------------------------------------------------------------------------
struct Waits {
    int calls = 0, interrupted = 0;
    double seconds = 0;
    session::SessionPtr session;
    recording::SamplingStatistics statistics;
};

Waits runWaits(SampleMode mode)
{
    Waits result;
    session::SessionBuilder builder;
    recording::Recorder recorder(builder);
    recording::CpuSampler sampler(recorder, std::make_unique<recording::CodeNames>());
    SamplingOptions options;
    options.mode = mode;
    options.rateHz = 1000;
    if (mode != SampleMode::off)
        if (const auto started = sampler.start(options); !started) die(base::toText(started.error()));
    std::mutex mutex;
    std::condition_variable wake;
    bool stop = false;
    std::thread waiter([&] {
        std::unique_lock lock(mutex);
        wake.wait(lock, [&] { return stop; });
    });
    const auto start = std::chrono::steady_clock::now();
    std::thread loader([&] {
        for (int i = 0; i < 500; ++i) {
            const int64_t end = threadTime() + 500'000;
            while (threadTime() < end) {}
            const timespec pause{0, 2'000'000};
            result.interrupted += ::nanosleep(&pause, nullptr) != 0 && errno == EINTR ? 1 : 0;
            result.interrupted += ::poll(nullptr, 0, 1) < 0 && errno == EINTR ? 1 : 0;
            result.calls += 2;
        }
    });
    loader.join();
    result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    {
        const std::lock_guard lock(mutex);
        stop = true;
    }
    wake.notify_all();
    waiter.join();
    sampler.stop();
    result.statistics = sampler.statistics();
    if (const auto finished = recorder.finish(); !finished) die(base::toText(finished.error()));
    result.session = builder.build();
    return result;
}

void waitRows()
{
    const Waits off = runWaits(SampleMode::off), cpu = runWaits(SampleMode::cpu), wall = runWaits(SampleMode::wall);
    for (const auto& [name, run] : {std::pair("cpu", &cpu), std::pair("wall", &wall)})
        row(fmt::format("nanosleep and poll interrupted at 1 kHz, mode {}", name), fmt::format("{} of {}", run->interrupted, run->calls), "0", run->interrupted == 0);
    const auto& s = wall.statistics;
    row("stacks of waiting threads whole", fmt::format("{:.2f} % of {}", percent(s.samples - s.incomplete, s.samples), s.samples), ">= 99 %",
        percent(s.samples - s.incomplete, s.samples) >= 99);
    row("a loader's time, off / cpu / wall", fmt::format("{:.2f} / {:.2f} / {:.2f} s", off.seconds, cpu.seconds, wall.seconds), "equal", wall.seconds < 1.05 * off.seconds);
}

// ---- stress -----------------------------------------------------------------------------------------------------------
[[gnu::noinline]] void throwDeep(int depth)
{
    if (depth == 0) throw std::runtime_error("stress");
    throwDeep(depth - 1);
    asm volatile("");
}

void stressRow(const Settings& settings, engine::Backend& backend)
{
    std::atomic<bool> stop{false};
    std::atomic<int64_t> loads{0}, throws{0}, blocks{0}, births{0};
    std::vector<std::thread> threads;
    threads.emplace_back([&] {
        while (!stop) {
            void* library = ::dlopen("libcapstone.so.4", RTLD_NOW);
            if (library == nullptr) library = ::dlopen("libresolv.so.2", RTLD_NOW);
            if (library != nullptr) ::dlclose(library);
            void* other = ::dlopen("libutil.so.1", RTLD_NOW);
            if (other != nullptr) ::dlclose(other);
            ++loads;
        }
    });
    threads.emplace_back([&] {
        while (!stop) {
            try {
                throwDeep(20);
            } catch (const std::exception&) {
                ++throws;
            }
        }
    });
    threads.emplace_back([&] {
        unsigned seed = 1;
        while (!stop) {
            void* some[64];
            for (void*& block : some)
                block = std::malloc(static_cast<size_t>(::rand_r(&seed)) % 5000);
            for (void* block : some)
                std::free(block);
            blocks += 64;
        }
    });
    threads.emplace_back([&] {
        while (!stop) {
            std::thread([] {
                volatile int x = 0;
                for (int i = 0; i < 20000; ++i)
                    x = x + i;
            }).join();
            ++births;
        }
    });
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(settings.stressSeconds);
    int64_t samples = 0, rounds = 0;
    std::string lost;
    while (std::chrono::steady_clock::now() < end) {
        const SampledRun run = trainSampled(modelFile(kInnerProduct), trainOptions(settings, 1000, 2000), backend, CLOCK_THREAD_CPUTIME_ID);
        if (run.session == nullptr) die(run.problem);
        samples += static_cast<int64_t>(run.session->sampleCount());
        lost = environment(*run.session, "sampler.lost");
        ++rounds;
    }
    stop = true;
    for (std::thread& thread : threads)
        thread.join();
    row(fmt::format("stress at 2 kHz, {:.0f} s ({} rounds; {} dlopen, {} throws, {} blocks, {} threads)", settings.stressSeconds, rounds, loads.load(), throws.load(),
                    blocks.load(), births.load()),
        fmt::format("{} samples, lost in the last round {}", samples, lost), "no crash, no hang", true);
}

} // namespace

int main(int argc, char** argv)
{
    recording::prepareProcess();
    Settings settings;
    std::set<std::string> rows;
    CLI::App app("Stack sampling: truth, cost and safety");
    app.add_option("--threads", settings.threads, "OpenMP threads (use OMP_WAIT_POLICY=passive)");
    app.add_option("--seconds", settings.seconds, "CPU time per row that trains; 3 gives 2 000 samples, 40 gives 30 000");
    app.add_option("--stress-seconds", settings.stressSeconds, "length of the stress row");
    app.add_flag("--details", settings.details, "what approximate stacks look like");
    app.add_option("ROW", rows, "lenet, vgg, losses, cost, waits, stress; default: all");
    CLI11_PARSE(app, argc, argv);
    repairOneDnnCacheSizes();
    const auto backend = onednn::createBackend();
    const auto wanted = [&](const char* name) { return rows.empty() || rows.contains(name); };
    fmt::print("| what | measured | wanted | reached |\n|---|---|---|---|\n");
    if (wanted("losses")) lossesRow(settings, *backend);
    if (wanted("lenet")) truthRow(settings, "LeNet", kLeNet, *backend);
    if (wanted("vgg")) truthRow(settings, "VGG", kVgg, *backend);
    if (wanted("cost")) costRows(settings, *backend);
    if (wanted("waits")) waitRows();
    if (wanted("stress")) stressRow(settings, *backend);
    return 0;
}
