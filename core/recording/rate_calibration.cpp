#include "core/recording/rate_calibration.h"

#include "core/recording/clock.h"
#include "core/recording/thread_registry.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>
#include <thread>
#include <vector>

#include <fmt/format.h>

namespace stepscope::recording {

namespace {

constexpr int kPerfHz = 500;
constexpr int kTimerHz = 1000;
constexpr int64_t kSpinNs = 60'000'000;
constexpr double kGapNs = 700;      // shorter ones are the loop's own
constexpr double kPausedNs = 2e6;   // longer ones mean that somebody else ran
constexpr double kFloorNs = 3000;   // a signal and the copy of a stack cost at least that
constexpr double kAssumedNs = 40000; // where a busy machine gave too few gaps to measure
constexpr size_t kEnoughGaps = 5;
constexpr std::array kRates{1000, 500, 250, 100};

struct Gaps {
    std::vector<double> sampled, other; // ns
    double cpuNs = 0;
    size_t samples = 0;
};

double median(std::vector<double> values)
{
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// A spinning thread sees every interruption as a gap between two readings of the clock.
Gaps spin(const SampleRing& ring, double nsPerTick)
{
    Gaps gaps;
    volatile char deep[4096]; // stacks of real threads are some KB deep
    for (size_t i = 0; i < sizeof(deep); i += 64)
        deep[i] = 1;
    uint64_t seen = ring.written();
    const uint64_t start = ticks();
    const auto length = static_cast<uint64_t>(static_cast<double>(kSpinNs) / nsPerTick);
    for (uint64_t last = start; last - start < length;) {
        const uint64_t now = ticks();
        const double ns = static_cast<double>(now - last) * nsPerTick;
        last = now;
        if (ns < kGapNs) continue;
        const uint64_t written = ring.written();
        if (written != seen) ++gaps.samples;
        if (ns < kPausedNs) (written != seen ? gaps.sampled : gaps.other).push_back(ns);
        seen = written;
        last = ticks();
    }
    return gaps;
}

class Measurement {
public:
    explicit Measurement(const SystemCalls& system) : m_system(system), m_thread(currentThread()), m_ring(size_t{4} << 20, true)
    {
        const TickClock clock;
        m_nsPerTick = clock.nsPerTick();
    }

    SampleCosts run()
    {
        SampleCosts costs;
        if (m_thread == nullptr || !m_thread->canBeSignalled || !m_ring.valid()) {
            costs.perfError = costs.timerError = ENOTSUP;
            return costs;
        }
        m_thread->excluded.store(true);
        m_thread->ring.store(&m_ring);
        Gaps perf;
        costs.perfError = measure(SamplingMethod::perfClock, kPerfHz, perf);
        costs.perfNs = perf.sampled.size() < kEnoughGaps ? kAssumedNs : std::max(kFloorNs, median(perf.sampled));
        Gaps timer;
        costs.timerError = measure(SamplingMethod::cpuTimer, kTimerHz, timer);
        std::vector<double> bare = perf.other;
        bare.insert(bare.end(), timer.other.begin(), timer.other.end());
        costs.timerNs = timer.sampled.size() < kEnoughGaps ? kAssumedNs : std::max(kFloorNs, median(timer.sampled) - median(std::move(bare)));
        if (timer.cpuNs > 0) costs.timerMaxHz = static_cast<double>(timer.samples) * 1e9 / timer.cpuNs;
        m_thread->ring.store(nullptr);
        return costs;
    }

private:
    int measure(SamplingMethod method, int rateHz, Gaps& gaps)
    {
        SampleTimer timer;
        if (const int problem = timer.arm(method, m_thread->id, 1'000'000'000 / rateHz, m_system); problem != 0) return problem;
        const int64_t before = threadCpuNs(m_thread->id);
        gaps = spin(m_ring, m_nsPerTick);
        gaps.cpuNs = static_cast<double>(threadCpuNs(m_thread->id) - before);
        return 0;
    }

    const SystemCalls& m_system;
    RegisteredThread* m_thread;
    SampleRing m_ring;
    double m_nsPerTick = 1;
};

// What to do about a perf_event_open that the system refuses. The setting is the cause only where it is above 2.
std::string permissionHint(const std::string& paranoid)
{
    constexpr const char* kContainer = "in a container --cap-add PERFMON and a seccomp profile that allows it";
    int value = 3;
    std::from_chars(paranoid.data(), paranoid.data() + paranoid.size(), value);
    if (value > 2) return fmt::format("sudo sysctl kernel.perf_event_paranoid=2, or {}", kContainer);
    return fmt::format("{}; kernel.perf_event_paranoid={} is no hindrance", kContainer, value);
}

std::string refusal(const SampleCosts& costs, const std::string& paranoid)
{
    const std::string setting = paranoid.empty() ? "" : fmt::format(", kernel.perf_event_paranoid={}", paranoid);
    return fmt::format("perf_event_open ({}{})", std::strerror(costs.perfError), setting);
}

std::string blockedMessage(const SampleCosts& costs, const std::string& paranoid, int rateHz)
{
    return fmt::format("The system blocks {}. Using CPU timers: at most {} samples/s per thread. For more: {}.", refusal(costs, paranoid),
                       rateHz, permissionHint(paranoid));
}

std::string timerRefusal(const SampleCosts& costs) { return fmt::format("timer_create ({})", std::strerror(costs.timerError)); }

// Neither method works. Waiting threads are looked at from outside, which needs no permission.
base::Result<SamplingPlan> planWithoutTimers(const SamplingOptions& options, const SampleCosts& costs, const std::string& paranoid)
{
    if (costs.perfError == ENOTSUP)
        return base::fail(base::ErrorCode::unavailable, "stacks cannot be sampled: this program did not register its threads");
    if (options.mode != SampleMode::wall)
        return base::fail(base::ErrorCode::unavailable,
                          fmt::format("stacks cannot be sampled: the system refuses {} and {}", refusal(costs, paranoid), timerRefusal(costs)), {},
                          fmt::format("{}; wall-clock mode shows where threads wait all the same", permissionHint(paranoid)));
    SamplingPlan plan;
    plan.rateHz = kPollHz;
    plan.message = fmt::format("The system blocks {} and {}. Threads are sampled only where they wait. For stacks of running threads: {}.",
                               refusal(costs, paranoid), timerRefusal(costs), permissionHint(paranoid));
    return plan;
}

} // namespace

SampleCosts measureSampleCosts(const SystemCalls& system)
{
    SampleCosts costs;
    std::thread([&] { costs = Measurement(system).run(); }).join();
    return costs;
}

std::string perfEventParanoid()
{
    std::ifstream in("/proc/sys/kernel/perf_event_paranoid");
    std::string text;
    std::getline(in, text);
    return text;
}

base::Result<SamplingPlan> planSampling(const SamplingOptions& options, const SampleCosts& costs, const std::string& paranoid)
{
    const bool perf = costs.perfError == 0, timer = costs.timerError == 0;
    if (!perf && !timer) return planWithoutTimers(options, costs, paranoid);
    // A tick may come a little late, so the measured rate is a little below the true one.
    const double timerMax = costs.timerMaxHz * 1.1;
    const auto planFor = [&](int rate) {
        SamplingPlan plan;
        const bool byTimer = timer && (!perf || (rate <= timerMax && costs.timerNs <= costs.perfNs));
        plan.method = byTimer ? SamplingMethod::cpuTimer : SamplingMethod::perfClock;
        plan.rateHz = byTimer && rate > timerMax && costs.timerMaxHz >= 1 ? static_cast<int>(std::lround(costs.timerMaxHz)) : rate;
        plan.sampleNs = byTimer ? costs.timerNs : costs.perfNs;
        plan.cost = plan.sampleNs * plan.rateHz * 1e-9;
        return plan;
    };
    SamplingPlan plan = planFor(options.rateHz > 0 ? options.rateHz : kRates.front());
    for (const int rate : kRates) {
        if (options.rateHz > 0 || plan.cost <= options.maxCost) break;
        if (rate < plan.rateHz) plan = planFor(rate);
    }
    if (!perf) plan.message = blockedMessage(costs, paranoid, plan.rateHz);
    return plan;
}

} // namespace stepscope::recording
