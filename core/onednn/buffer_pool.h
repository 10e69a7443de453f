// BufferPool: memory of activations and gradients, handed out and taken back while a plan is built.
// Owner: core/onednn. Thread: the building thread. Units: bytes.
//
// A plan runs its operations in the order in which they were built, so a block whose last user is already built may serve
// a later one: letting go of the last reference returns it. Blocks live in huge pages and are touched when they are made,
// so that a warm step takes no page fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace stepscope::onednn {

class BufferPool {
public:
    // poison: fresh memory holds NaN instead of zero (tests).
    explicit BufferPool(bool poison) : m_state(std::make_shared<State>()) { m_state->poison = poison; }

    // A block of at least `bytes`, 64-byte aligned. Returns to the pool when the last copy of the pointer is gone.
    std::shared_ptr<float> acquire(size_t bytes);
    size_t totalBytes() const { return m_state->total; }

private:
    struct Slab {
        std::unique_ptr<std::byte, void (*)(void*)> memory;
        size_t size = 0, used = 0;
    };
    struct FreeBlock {
        float* data = nullptr;
        size_t bytes = 0;
    };
    struct State {
        std::vector<Slab> slabs;
        std::vector<FreeBlock> free;
        size_t total = 0;
        bool poison = false;
        float* carve(size_t bytes);
    };
    std::shared_ptr<State> m_state;
};

// Huge-page memory, zero-filled (or NaN) and touched. Freed by std::free.
std::unique_ptr<std::byte, void (*)(void*)> touchedMemory(size_t bytes, bool poison);

} // namespace stepscope::onednn
