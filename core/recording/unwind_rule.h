// UnwindRule: how to find the caller's registers from a frame's, in a compact form.
// Owner: core/recording. Thread: plain values. Units: bytes.
#pragma once

#include "core/recording/raw_sample.h"

namespace stepscope::recording {

// The registers that a function keeps for its caller, by DWARF number: rbx, rbp, r12 to r15.
inline constexpr std::array<uint8_t, 6> kSavedRegisters{3, 6, 12, 13, 14, 15};
inline constexpr uint8_t kFrameRegister = 6; // rbp

struct RegisterRule {
    enum class How : uint8_t {
        same,       // the register still holds the caller's value
        atCfa,      // in memory at CFA + offset
        atRegister, // in memory at register + offset
        isCfa,      // CFA + offset itself
        undefined,
    };
    How how = How::same;
    uint8_t reg = 0;
    int32_t offset = 0;
};

// CFA, the canonical frame address: the stack pointer as it was before the call.
struct UnwindRule {
    enum class Cfa : uint8_t {
        unknown,        // no rule
        registerOffset, // register + offset
        memory,         // [register + offset] + second
        plt,            // within an entry of the procedure linkage table
        outermost,      // the thread started here
    };
    Cfa cfa = Cfa::unknown;
    uint8_t reg = kStackRegister;
    bool signalFrame = false; // its caller was interrupted, not calling
    int32_t offset = 0;
    int32_t second = 0;
    std::array<RegisterRule, kSavedRegisters.size()> saved{};
    RegisterRule returnAddress{RegisterRule::How::atCfa, 0, -8};
};

} // namespace stepscope::recording
