// Unwinder: from the registers and the stack of a thread to the chain of its calls.
// Owner: core/recording. Thread: one at a time, never a measured one. Units: addresses.
//
// Rules come from the call frame information of programs and libraries, and for generated code from its instructions.
// Only where there is neither, the stack is searched for return addresses; such frames are marked approximate.
#pragma once

#include "core/recording/generated_code.h"
#include "core/recording/module_table.h"
#include "core/recording/process_memory.h"

#include <cstddef>
#include <span>
#include <unordered_map>
#include <vector>

namespace stepscope::recording {

// A copy of the memory around a stack pointer.
struct StackCopy {
    uint64_t address = 0;
    std::span<const std::byte> bytes;
    uint64_t otherAddress = 0; // where the stack pointer points when not to the stack, or frames further up
    std::span<const std::byte> other;

    bool read(uint64_t from, uint64_t& value) const noexcept;
};

struct CodeFrame {
    uint64_t pc = 0;                   // of a caller: within its call
    const Module* module = nullptr;    // null: generated or unknown code
    const GeneratedCode::Block* block = nullptr;
    bool approximate = false;          // found by searching
};

struct Registers {
    RegisterValues value{};
    uint32_t known = 0; // bit per register
    bool has(int reg) const { return (known >> reg & 1) != 0; }
    void set(int reg, uint64_t to)
    {
        value[static_cast<size_t>(reg)] = to;
        known |= 1u << reg;
    }
};

class Unwinder {
public:
    // Frames from the innermost to the outermost; true when they reach the thread's start. `ticks` is the time of the
    // copy. `frames` is overwritten.
    bool unwind(const Registers& registers, const StackCopy& stack, uint64_t ticks, std::vector<CodeFrame>& frames);

    // Once per batch of samples: libraries may have come or gone, code may have been generated.
    void refresh();
    ModuleTable& modules() { return m_modules; }
    GeneratedCode& generated() { return m_generated; }
    const ProcessMemory& memory() const { return m_memory; }

private:
    struct Place { // what is known about the code at an address
        Module* module = nullptr;
        GeneratedCode::Block* block = nullptr;
        const UnwindRule* rule = nullptr;
    };
    enum class Next : uint8_t { frame, outermost, lost };

    bool unwindOnce(Registers registers, const StackCopy& stack, uint64_t ticks, int skip, std::vector<CodeFrame>& frames, bool& searched);
    Place placeOf(uint64_t pc, uint64_t ticks);
    Next step(const Place& place, Registers& registers, const StackCopy& stack) const;
    bool findCfa(const UnwindRule& rule, const Registers& registers, const StackCopy& stack, uint64_t& cfa) const;
    bool search(Registers& registers, const StackCopy& stack, uint64_t ticks, int& skip);
    bool isCode(uint64_t pc, uint64_t ticks);
    bool followsCall(uint64_t returnAddress);

    ModuleTable m_modules;
    GeneratedCode m_generated;
    ProcessMemory m_memory;
    std::unordered_map<uint64_t, Place> m_places; // of modules only: generated code changes with time
    std::unordered_map<uint64_t, bool> m_followsCall;
    std::vector<CodeFrame> m_trial;
};

} // namespace stepscope::recording
