// Tuner: times primitives on scratch memory.
// Owner: core/onednn. Thread: the building thread. Units: nanoseconds.
#pragma once

#include "core/onednn/compat.h"

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace stepscope::onednn {

using TimingArguments = std::vector<std::pair<int, compat::Desc>>;

class Tuner {
public:
    explicit Tuner(dnnl::engine engine);

    // Least time of a few executions with that many threads. Stops early once it is clear that the primitive takes longer
    // than `giveUp`. Infinity when it cannot run.
    double time(const dnnl::primitive_desc_base& desc, const TimingArguments& arguments, int threads, double giveUp);
    // The same for code of ours.
    double time(const std::function<void()>& run, double giveUp);
    // Timing has taken as long as it may: from here on the library's first choice is taken. A busy machine can make timing runs
    // a hundred times longer, and a start must not take minutes.
    bool exhausted() const { return m_spent > kBudget; }

    // Cost of converting a layout, the better of one and `threads` threads; 0 for equal layouts.
    double reorderTime(const compat::Desc& from, const compat::Desc& to, int threads);

private:
    static constexpr double kBudget = 10e9; // ns
    float* scratch(size_t bytes);
    template <class Run>
    double leastTime(const Run& run, double giveUp); // run() returns false on failure

    dnnl::engine m_engine;
    dnnl::stream m_stream;
    std::unique_ptr<std::byte, void (*)(void*)> m_memory;
    size_t m_bytes = 0;
    double m_spent = 0;
    std::map<std::string, double> m_reorders;
};

// Text that identifies a descriptor, for keys of the TuningMemory: dims, layout.
std::string describe(const compat::Desc& desc);

} // namespace stepscope::onednn
