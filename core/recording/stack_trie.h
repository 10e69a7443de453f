// StackTrie: the stacks seen so far, each stored once as a frame and the stack that called it.
// Owner: core/recording. Thread: one at a time. Units: addresses in the module's own terms.
#pragma once

#include "core/recording/unwinder.h"

#include <cstdint>
#include <unordered_map>
#include <vector>

namespace stepscope::recording {

struct TrieFrame {
    enum class Kind : uint8_t {
        module,    // place: its index; address: in the module
        generated, // place: index of its name
        unknown,   // code that belongs to nothing we know
        missing,   // stands for the part of a stack that could not be found
        runnable,  // stands for the stack of a thread that could run and was given no processor
    };
    Kind kind = Kind::module;
    bool approximate = false;
    uint32_t place = 0;
    uint64_t address = 0;
    friend bool operator==(const TrieFrame&, const TrieFrame&) = default;
};

struct TrieStack {
    uint32_t parent = 0; // kNoStack: none
    uint32_t frame = 0;
    bool generated = false; // it or a stack below has a frame of generated code
};

inline constexpr uint32_t kNoStack = 0xffffffffu;

class StackTrie {
public:
    // The stack of these frames, innermost first. `complete` false puts a frame "missing" below all.
    uint32_t intern(const std::vector<CodeFrame>& frames, bool complete);
    uint32_t runnable(); // the stack of one frame "runnable"
    const std::vector<TrieFrame>& frames() const { return m_frames; }
    const std::vector<TrieStack>& stacks() const { return m_stacks; }

private:
    struct FrameHash {
        size_t operator()(const TrieFrame& frame) const noexcept;
    };
    uint32_t frame(const TrieFrame& frame);
    uint32_t child(uint32_t parent, uint32_t frame);

    std::vector<TrieFrame> m_frames;
    std::vector<TrieStack> m_stacks;
    std::unordered_map<TrieFrame, uint32_t, FrameHash> m_frameIndex;
    std::unordered_map<uint64_t, uint32_t> m_stackIndex; // (parent, frame)
};

} // namespace stepscope::recording
