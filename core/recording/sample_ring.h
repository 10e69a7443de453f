// SampleRing: raw samples of one thread on their way to the sampler's thread.
// Owner: core/recording. Thread: reserve(), put() and commit() by the owning thread, also in a signal handler;
// drain() by the sampler's thread. One producer, one consumer, no locks. Units: bytes.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <semaphore.h>

namespace stepscope::recording {

class SampleRing {
public:
    // Rounded up to a power of two of at least 4096. With `touch` its pages are there from the start. Not valid() when
    // there is no memory.
    SampleRing(size_t bytes, bool touch);
    ~SampleRing();
    SampleRing(const SampleRing&) = delete;
    SampleRing& operator=(const SampleRing&) = delete;

    bool valid() const noexcept { return m_data != nullptr; }
    size_t capacity() const noexcept { return m_mask + 1; }

    // False, and counted, when there is no room for a record of that size.
    bool reserve(size_t bytes) noexcept
    {
        m_position = m_head.load(std::memory_order_relaxed);
        if (bytes <= capacity() - (m_position - m_tail.load(std::memory_order_acquire))) return true;
        countLoss();
        return false;
    }
    void put(const void* data, size_t bytes) noexcept;
    void commit() noexcept
    {
        m_head.store(m_position, std::memory_order_release);
        if (m_position - m_tail.load(std::memory_order_relaxed) > capacity() / 2) askForDrain();
    }
    // Who is woken when the ring is half full; null: nobody. Before the ring is written to.
    void setDrainer(std::shared_ptr<sem_t> drainer) noexcept { m_drainer = std::move(drainer); }
    void countLoss() noexcept { m_lost.store(m_lost.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }

    // Hands out every record there is, each in one piece. Records start with their size as uint32_t.
    template <class Take>
    void drain(Take&& take)
    {
        m_asked.store(false, std::memory_order_relaxed);
        const uint64_t head = m_head.load(std::memory_order_acquire);
        uint64_t tail = m_tail.load(std::memory_order_relaxed);
        while (tail < head) {
            const std::span<const std::byte> record = next(tail);
            take(record);
            tail += record.size();
            m_tail.store(tail, std::memory_order_release);
        }
    }
    uint64_t lost() const noexcept { return m_lost.load(std::memory_order_relaxed); }
    uint64_t written() const noexcept { return m_head.load(std::memory_order_relaxed); } // bytes, ever
    // Before it serves another thread.
    void reset() noexcept;

private:
    void askForDrain() noexcept
    {
        if (m_drainer != nullptr && !m_asked.exchange(true, std::memory_order_relaxed)) ::sem_post(m_drainer.get()); // safe in handlers
    }
    std::span<const std::byte> next(uint64_t tail);
    void copyOut(uint64_t from, void* to, size_t bytes) const noexcept;

    std::byte* m_data = nullptr;
    size_t m_mask = 0;
    std::vector<std::byte> m_wrapped; // of the consumer: a record that goes over the end
    uint64_t m_position = 0;          // of the producer, within a record
    std::shared_ptr<sem_t> m_drainer;
    std::atomic<bool> m_asked{false};
    alignas(64) std::atomic<uint64_t> m_head{0};
    std::atomic<uint64_t> m_lost{0};
    alignas(64) std::atomic<uint64_t> m_tail{0};
};

} // namespace stepscope::recording
