#include "core/recording/span_buffer.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

#include <sys/mman.h>

namespace stepscope::recording {

struct SpanBuffer::Block {
    RawSpan spans[kBlockSpans];
};

namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kFirstBlocks = 16; // a quarter of a second at a million spans per second

struct FreeMemory {
    void operator()(void* memory) const noexcept { std::free(memory); }
};

} // namespace

struct SpanBuffer::Impl {
    // Two rings of one producer and one consumer each, with room for every block.
    struct Ring {
        std::vector<Block*> slots;
        alignas(64) std::atomic<size_t> head{0}; // next to take
        alignas(64) std::atomic<size_t> tail{0}; // next to fill
        void put(Block* block) noexcept
        {
            const size_t at = tail.load(std::memory_order_relaxed);
            slots[at % slots.size()] = block;
            tail.store(at + 1, std::memory_order_release);
        }
        Block* front() const noexcept
        {
            const size_t at = head.load(std::memory_order_relaxed);
            return at == tail.load(std::memory_order_acquire) ? nullptr : slots[at % slots.size()];
        }
        void pop() noexcept { head.store(head.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
    };

    Ring filling; // in the order of use; the last one is being filled
    Ring free;
    size_t maxBlocks = 0;
    size_t blocks = 0;
    uint64_t consumed = 0; // Collector's
    uint64_t droppedSeen = 0;
    std::vector<std::unique_ptr<void, FreeMemory>> memory;
    std::shared_ptr<ThreadMarker> marker = std::make_shared<ThreadMarker>();
};

SpanBuffer::SpanBuffer(size_t maxBlocks) : m_impl(std::make_unique<Impl>())
{
    m_impl->maxBlocks = std::max<size_t>(1, maxBlocks);
    m_impl->filling.slots.resize(m_impl->maxBlocks);
    m_impl->free.slots.resize(m_impl->maxBlocks);
    m_marker = m_impl->marker.get();
    addBlocks(kFirstBlocks);
}

SpanBuffer::~SpanBuffer() = default;

void SpanBuffer::publishTo(std::shared_ptr<ThreadMarker> marker)
{
    m_marker = marker.get();
    m_impl->marker = std::move(marker);
}

void SpanBuffer::addBlocks(size_t count)
{
    count = std::min(count, m_impl->maxBlocks - m_impl->blocks);
    if (count == 0) return;
    const size_t bytes = (count * sizeof(Block) + kHugePage - 1) / kHugePage * kHugePage;
    void* memory = std::aligned_alloc(kHugePage, bytes);
    if (memory == nullptr) {
        if (m_impl->blocks == 0) throw std::bad_alloc();
        return; // spans are dropped and counted instead
    }
    m_impl->memory.emplace_back(memory);
    ::madvise(memory, bytes, MADV_HUGEPAGE);
    std::memset(memory, 0, bytes); // takes the page faults here, not in the measured thread
    for (size_t i = 0; i < count; ++i)
        m_impl->free.put(static_cast<Block*>(memory) + i);
    m_impl->blocks += count;
}

bool SpanBuffer::nextBlock() noexcept
{
    Block* block = m_impl->free.front();
    if (block == nullptr) {
        m_dropped.store(m_dropped.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        return false;
    }
    m_impl->free.pop();
    m_impl->filling.put(block);
    m_write = block->spans;
    m_writeEnd = block->spans + kBlockSpans;
    return true;
}

void SpanBuffer::drain(const std::function<void(std::span<const RawSpan>)>& take)
{
    Impl& impl = *m_impl;
    const uint64_t published = m_published.load(std::memory_order_acquire);
    const size_t newSpans = static_cast<size_t>(published - impl.consumed);
    while (impl.consumed < published) {
        Block* block = impl.filling.front();
        const size_t offset = static_cast<size_t>(impl.consumed % kBlockSpans);
        const size_t count = static_cast<size_t>(std::min<uint64_t>(kBlockSpans - offset, published - impl.consumed));
        take(std::span<const RawSpan>(block->spans + offset, count));
        impl.consumed += count;
        if (offset + count == kBlockSpans) {
            impl.filling.pop();
            impl.free.put(block);
        }
    }
    // A quarter full is the signal for more, long before anything is lost.
    const uint64_t dropped = this->dropped();
    if (newSpans > impl.blocks * kBlockSpans / 4 || dropped != impl.droppedSeen) addBlocks(impl.blocks);
    impl.droppedSeen = dropped;
}

} // namespace stepscope::recording
