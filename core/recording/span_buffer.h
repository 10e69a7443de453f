// SpanBuffer: the finished spans of one thread on their way to the Collector.
// Owner: core/recording. Thread: push() and setStep() by the owning thread, drain() by the Collector.
// Single producer, single consumer, no locks. Blocks are made, touched and recycled by the Collector (the first ones
// by the constructor), so a producer never allocates and never takes a page fault. When the Collector falls behind,
// it makes more blocks up to the limit; a span without a free block is dropped and counted.
#pragma once

#include "core/base/ids.h"
#include "core/recording/allocation_log.h"
#include "core/recording/thread_marker.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace stepscope::recording {

struct RawSpan {
    uint64_t start = 0; // ticks
    uint64_t end = 0;   // ticks
    uint32_t label = 0;
    int32_t step = -1;
};

class alignas(64) SpanBuffer {
public:
    static constexpr size_t kBlockSpans = 16384;

    explicit SpanBuffer(size_t maxBlocks = 64);
    ~SpanBuffer();
    SpanBuffer(const SpanBuffer&) = delete;
    SpanBuffer& operator=(const SpanBuffer&) = delete;

    // Step of the spans pushed from now on.
    void setStep(int32_t step) noexcept
    {
        attributeAllocations();
        m_step = step;
        m_marker->step.store(step, std::memory_order_relaxed);
    }
    // Publishes what the thread works on, for samples of its stack; returns what it was before, to be put back.
    uint32_t enter(uint32_t label) noexcept
    {
        attributeAllocations();
        const uint32_t before = m_marker->label.load(std::memory_order_relaxed);
        m_marker->label.store(label, std::memory_order_relaxed);
        return before;
    }
    void leave(uint32_t before) noexcept
    {
        attributeAllocations();
        m_marker->label.store(before, std::memory_order_relaxed);
    }
    // Publishes to the given marker from now on. Before the first push.
    void publishTo(std::shared_ptr<ThreadMarker> marker);

    void push(uint32_t label, uint64_t start, uint64_t end) noexcept
    {
        if (m_write == m_writeEnd) [[unlikely]] {
            if (!nextBlock()) return; // dropped and counted
        }
        *m_write++ = RawSpan{start, end, label, m_step};
        m_published.store(m_published.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }

    // Attributes what the thread allocates to its labels from now on; null ends it. The log must outlive the buffer's use.
    void logAllocations(AllocationLog* log) noexcept { m_allocations = log; }
    // What the thread allocated so far belongs to the label it has now.
    void attributeAllocations() noexcept
    {
        if (m_allocations != nullptr) m_allocations->attribute(m_marker->label.load(std::memory_order_relaxed), m_step);
    }

    // Hands everything published so far to `take`, in order, in one or more calls. Collector only.
    void drain(const std::function<void(std::span<const RawSpan>)>& take);
    uint64_t dropped() const noexcept { return m_dropped.load(std::memory_order_relaxed); }

private:
    struct Block;
    bool nextBlock() noexcept;
    void addBlocks(size_t count);

    // Written by the producer alone, on a cache line of their own.
    RawSpan* m_write = nullptr;
    RawSpan* m_writeEnd = nullptr;
    int32_t m_step = -1;
    ThreadMarker* m_marker = nullptr;
    AllocationLog* m_allocations = nullptr;
    std::atomic<uint64_t> m_published{0};
    std::atomic<uint64_t> m_dropped{0};
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace stepscope::recording
