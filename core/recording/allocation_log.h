// AllocationLog: what a thread with probes allocated, by label and step, on its way to the Collector.
// Owner: core/recording. Thread: attribute() by the owning thread, take() by the Collector. Units: bytes, ticks.
//
// Whenever the label of a thread changes, what was allocated since the last change belongs to the label before: every
// allocation counts once, for the innermost probe around it. That costs two comparisons where nothing was allocated.
#pragma once

#include "core/base/ids.h"
#include "core/recording/allocation_counter.h"
#include "core/recording/bounded_queue.h"
#include "core/recording/clock.h"

namespace stepscope::recording {

struct AttributedAllocations {
    uint64_t atTicks = 0;
    uint64_t allocations = 0;
    uint64_t bytes = 0;
    uint64_t allocatorTicks = 0; // where it is timed
    uint32_t label = base::LabelId::kNone;
    int32_t step = -1;
};

class AllocationLog {
public:
    // For the calling thread.
    explicit AllocationLog(ThreadAllocations& counts) : m_counts(counts), m_queue(kSlots) { see(); }

    void attribute(uint32_t label, int32_t step) noexcept
    {
        if (m_counts.allocations.load(std::memory_order_relaxed) == m_allocations
            && m_counts.helperAllocations.load(std::memory_order_relaxed) == m_helperAllocations
            && m_counts.ticks.load(std::memory_order_relaxed) == m_ticks) [[likely]]
            return;
        put(label, step);
    }

    bool take(AttributedAllocations& out) noexcept { return m_queue.pop(out); }
    uint64_t lost() const noexcept { return m_lost.load(std::memory_order_relaxed); }
    ThreadAllocations& counts() const noexcept { return m_counts; }

private:
    static constexpr size_t kSlots = 65536; // a quarter of a second at 250 000 allocating probes per second

    void see() noexcept
    {
        m_allocations = m_counts.allocations.load(std::memory_order_relaxed);
        m_bytes = m_counts.bytes.load(std::memory_order_relaxed);
        m_ticks = m_counts.ticks.load(std::memory_order_relaxed);
        m_helperAllocations = m_counts.helperAllocations.load(std::memory_order_acquire);
        m_helperBytes = m_counts.helperBytes.load(std::memory_order_relaxed);
    }
    __attribute__((noinline)) void put(uint32_t label, int32_t step) noexcept
    {
        AttributedAllocations change{recording::ticks(), 0 - m_allocations - m_helperAllocations, 0 - m_bytes - m_helperBytes, 0 - m_ticks, label, step};
        see();
        change.allocations += m_allocations + m_helperAllocations;
        change.bytes += m_bytes + m_helperBytes;
        change.allocatorTicks += m_ticks;
        if (!m_queue.push(change)) m_lost.store(m_lost.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }

    ThreadAllocations& m_counts;
    uint64_t m_allocations = 0, m_bytes = 0, m_ticks = 0, m_helperAllocations = 0, m_helperBytes = 0; // attributed so far
    std::atomic<uint64_t> m_lost{0};
    BoundedQueue<AttributedAllocations> m_queue;
};

} // namespace stepscope::recording
