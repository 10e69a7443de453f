#include "core/onednn/tuner.h"

#include "core/onednn/buffer_pool.h"
#include "core/onednn/program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>

namespace stepscope::onednn {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double nowNs()
{
    return static_cast<double>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

size_t roundUp(size_t n) { return (n + 127) / 128 * 128 + 64; }

} // namespace

std::string describe(const compat::Desc& desc)
{
    return fmt::format("{}{}", fmt::join(compat::dimsOf(desc), "x"), compat::layoutText(desc));
}

Tuner::Tuner(dnnl::engine engine) : m_engine(std::move(engine)), m_stream(m_engine), m_memory(nullptr, &std::free) {}

float* Tuner::scratch(size_t bytes)
{
    if (bytes > m_bytes) {
        m_memory = touchedMemory(bytes, false);
        m_bytes = bytes;
    }
    return reinterpret_cast<float*>(m_memory.get());
}

template <class Run>
double Tuner::leastTime(const Run& runOnce, double giveUp)
{
    double best = kInfinity;
    double spent = 0;
    constexpr int kRuns = 7;
    constexpr double kEnough = 4e6; // of timing one candidate
    for (int run = 0; run < kRuns + 1; ++run) {
        const double start = nowNs();
        if (!runOnce()) return kInfinity;
        const double elapsed = nowNs() - start;
        spent += elapsed;
        m_spent += elapsed;
        if (run > 0) best = std::min(best, elapsed); // the first run warms caches and pages
        if (run == 0 && elapsed > 20 * giveUp + 100e3) return elapsed;
        if (run >= 2 && best > 2 * giveUp) return best;
        if (run >= 4 && best > 1.2 * giveUp) return best;
        if (run >= 4 && spent > kEnough) return best;
        if (run >= 2 && spent > 5 * kEnough) return best;
    }
    return best;
}

double Tuner::time(const std::function<void()>& run, double giveUp)
{
    return leastTime([&] { return run(), true; }, giveUp);
}

double Tuner::time(const dnnl::primitive_desc_base& desc, const TimingArguments& arguments, int threads, double giveUp)
{
    try {
        size_t bytes = 0;
        for (const auto& [id, d] : arguments) bytes += roundUp(d.get_size());
        auto* base = reinterpret_cast<std::byte*>(scratch(bytes));
        std::vector<dnnl::memory> memories;
        std::vector<dnnl_exec_arg_t> args;
        size_t offset = 0;
        for (const auto& [id, d] : arguments) {
            if (d.get_size() == 0) continue;
            memories.emplace_back(d, m_engine, base + offset);
            args.push_back({id, memories.back().get()});
            offset += roundUp(d.get_size());
        }
        setThreads(threads);
        const dnnl::primitive primitive(desc.get());
        return leastTime(
            [&] {
                return dnnl_primitive_execute(primitive.get(), m_stream.get(), static_cast<int>(args.size()), args.data()) == dnnl_success;
            },
            giveUp);
    } catch (const dnnl::error&) {
        return kInfinity;
    }
}

double Tuner::reorderTime(const compat::Desc& from, const compat::Desc& to, int threads)
{
    if (from == to) return 0;
    const std::string key = fmt::format("{}>{}/{}", describe(from), describe(to), threads);
    if (const auto it = m_reorders.find(key); it != m_reorders.end()) return it->second;
    double best = kInfinity;
    try {
        dnnl::primitive_attr attr;
        attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
        for (int t : {1, threads}) {
            setThreads(t);
            const dnnl::reorder::primitive_desc desc(m_engine, from, m_engine, to, attr);
            best = std::min(best, time(desc, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}, {DNNL_ARG_SCRATCHPAD, desc.scratchpad_desc()}},
                                       t, kInfinity));
            if (threads == 1) break;
        }
    } catch (const dnnl::error&) {
        best = kInfinity;
    }
    m_reorders[key] = best;
    return best;
}

} // namespace stepscope::onednn
