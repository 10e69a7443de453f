// Code that libraries generate at run time: what it is called and where it lies.
// Owner: core/recording. Thread: CodeRegistry any; GeneratedCode one at a time. Units: addresses, ticks of the probe clock.
//
// oneDNN tells every kernel it makes to an agent for Intel's VTune. Ours (jit_agent.cpp) passes it on to the registry.
// Kernels are unmapped without notice and their addresses used again: the newest registration up to a sample's time is
// the right one.
#pragma once

#include "core/recording/unwind_rule.h"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace stepscope::recording {

class ProcessMemory;

struct CodeRegistration {
    uint64_t address = 0;
    uint64_t size = 0;
    uint64_t ticks = 0;
    std::string name;
    std::vector<std::byte> code; // a copy, for code that is made while somebody follows: it may be gone soon
};

// One per process, as the agent's functions have no argument to reach it through.
class CodeRegistry {
public:
    // The code must be there.
    void add(std::string_view name, uint64_t address, uint64_t size) noexcept;
    // From now on take() tells what was added since the last call; the first call tells all there is.
    void follow();
    void unfollow();
    std::vector<CodeRegistration> take();

private:
    std::mutex m_mutex;
    std::map<uint64_t, CodeRegistration> m_live; // by address; they do not overlap
    std::vector<CodeRegistration> m_new;
    bool m_followed = false;
};

CodeRegistry& codeRegistry();

// What the sampler knows of generated code.
class GeneratedCode {
public:
    struct Block {
        uint64_t address = 0, size = 0;
        uint64_t from = 0, until = ~uint64_t{0}; // ticks
        uint32_t name = 0;
        bool analysed = false;
        std::vector<std::pair<uint32_t, UnwindRule>> rules; // by offset; each holds up to the next
        std::vector<std::byte> code; // until it is analysed, or is not likely to be any more
    };

    void add(CodeRegistration registration);
    // The block that held the address at that time; null when none was registered.
    Block* find(uint64_t pc, uint64_t ticks) noexcept;
    // The rule at an address in the block, by following the block's code from its entry. Unknown when its code is gone
    // or too unusual.
    const UnwindRule& rule(Block& block, uint64_t pc, const ProcessMemory& memory);
    const std::string& name(uint32_t index) const { return m_names[index]; }
    size_t names() const { return m_names.size(); }

private:
    void dropOldCopies(uint64_t now);

    std::multimap<uint64_t, Block> m_blocks; // by address
    std::deque<std::pair<uint64_t, uint64_t>> m_copies; // address and `from` of blocks with a copy of their code
    uint64_t m_largest = 0;
    std::vector<std::string> m_names;
    std::unordered_map<std::string, uint32_t> m_nameIndex;
};

} // namespace stepscope::recording
