// BoundedQueue: a fixed number of slots, any number of producers and consumers, no locks and no allocation after
// construction (the sequence-per-slot design of Dmitry Vyukov's bounded MPMC queue).
// Owner: core/recording. Thread: any.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <type_traits>

namespace stepscope::recording {

template <class T>
class BoundedQueue {
    static_assert(std::is_trivially_copyable_v<T>);

public:
    explicit BoundedQueue(size_t capacityPowerOfTwo)
        : m_mask(capacityPowerOfTwo - 1), m_slots(std::make_unique<Slot[]>(capacityPowerOfTwo))
    {
        for (size_t i = 0; i <= m_mask; ++i)
            m_slots[i].sequence.store(i, std::memory_order_relaxed);
    }

    // False when full.
    bool push(const T& value) noexcept
    {
        size_t at = m_tail.load(std::memory_order_relaxed);
        for (;;) {
            Slot& slot = m_slots[at & m_mask];
            const size_t sequence = slot.sequence.load(std::memory_order_acquire);
            if (sequence == at) {
                if (m_tail.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
                    slot.value = value;
                    slot.sequence.store(at + 1, std::memory_order_release);
                    return true;
                }
            } else if (static_cast<std::ptrdiff_t>(sequence - at) < 0) {
                return false;
            } else {
                at = m_tail.load(std::memory_order_relaxed);
            }
        }
    }

    // False when empty.
    bool pop(T& value) noexcept
    {
        size_t at = m_head.load(std::memory_order_relaxed);
        for (;;) {
            Slot& slot = m_slots[at & m_mask];
            const size_t sequence = slot.sequence.load(std::memory_order_acquire);
            if (sequence == at + 1) {
                if (m_head.compare_exchange_weak(at, at + 1, std::memory_order_relaxed)) {
                    value = slot.value;
                    slot.sequence.store(at + m_mask + 1, std::memory_order_release);
                    return true;
                }
            } else if (static_cast<std::ptrdiff_t>(sequence - (at + 1)) < 0) {
                return false;
            } else {
                at = m_head.load(std::memory_order_relaxed);
            }
        }
    }

private:
    struct Slot {
        std::atomic<size_t> sequence{0};
        T value{};
    };

    size_t m_mask;
    std::unique_ptr<Slot[]> m_slots; // constructed, hence touched, before the first push
    alignas(64) std::atomic<size_t> m_tail{0};
    alignas(64) std::atomic<size_t> m_head{0};
};

} // namespace stepscope::recording
