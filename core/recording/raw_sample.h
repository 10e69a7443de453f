// RawSample: one sample as the signal handler copies it: this header, then `stackBytes` of the stack from stackAddress
// upwards, then `otherBytes` from otherAddress: the memory the stack pointer points to where it is not the stack, or
// the frames beyond a work space on the stack that is too large to be copied.
// Owner: core/recording. Thread: plain values.
#pragma once

#include <array>
#include <cstdint>

namespace stepscope::recording {

// DWARF numbers of x86-64: 0 rax, 1 rdx, 2 rcx, 3 rbx, 4 rsi, 5 rdi, 6 rbp, 7 rsp, 8..15 r8..r15, 16 return address.
inline constexpr int kRegisters = 17;
inline constexpr int kStackRegister = 7;
inline constexpr int kPcRegister = 16;
using RegisterValues = std::array<uint64_t, kRegisters>;

enum class SampleKind : uint8_t {
    cpu = 0,
    allocation = 1, // weight: bytes it stands for
};

struct RawSample {
    uint32_t size = 0; // of header, stack and other memory
    SampleKind kind = SampleKind::cpu;
    uint8_t reserved[3] = {};
    uint64_t ticks = 0;
    int64_t weight = 0; // ns or bytes
    int64_t bytes = 0;  // of the allocation that was taken
    uint32_t label = 0;
    int32_t step = -1;
    uint64_t stackAddress = 0;
    uint64_t otherAddress = 0;
    uint32_t stackBytes = 0;
    uint32_t otherBytes = 0;
    RegisterValues registers{};
};
static_assert(sizeof(RawSample) % 8 == 0);

} // namespace stepscope::recording
