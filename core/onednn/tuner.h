// Tuner: times primitives on scratch memory and remembers which choice won.
// Owner: core/onednn. Thread: the building thread. Units: nanoseconds.
//
// Timed choices differ from run to run, and with them the last bits of every result. A choice is therefore remembered by a key
// that describes the problem, in memory and, when a file is given, across processes: later runs on the same machine use the
// same primitives, start faster and give the same bits.
#pragma once

#include "core/base/result.h"
#include "core/onednn/compat.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace stepscope::onednn {

using TimingArguments = std::vector<std::pair<int, compat::Desc>>;

// Remembered choices: text -> numbers.
class TuningMemory {
public:
    // Reads `path` if it exists; a foreign or damaged file is ignored and replaced. "" = in memory only. `machine` names what the
    // choices depend on besides the problem: library version, instruction set, processor.
    TuningMemory(std::string path, std::string machine);
    ~TuningMemory(); // writes what is new, if it can

    std::optional<std::vector<int>> find(const std::string& key) const;
    void store(const std::string& key, std::vector<int> choice);
    base::Status save();

private:
    std::string m_path;
    std::string m_machine;
    std::map<std::string, std::vector<int>> m_choices;
    bool m_changed = false;
};

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

// Text that identifies a descriptor: dims, layout.
std::string describe(const compat::Desc& desc);

} // namespace stepscope::onednn
