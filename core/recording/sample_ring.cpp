#include "core/recording/sample_ring.h"

#include "core/recording/raw_copy.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <sys/mman.h>

namespace stepscope::recording {

SampleRing::SampleRing(size_t bytes, bool touch)
{
    const size_t capacity = std::bit_ceil(std::max<size_t>(bytes, 4096));
    void* memory = ::mmap(nullptr, capacity, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (touch ? MAP_POPULATE : 0), -1, 0);
    if (memory == MAP_FAILED) return;
    m_data = static_cast<std::byte*>(memory);
    m_mask = capacity - 1;
}

SampleRing::~SampleRing()
{
    if (m_data != nullptr) ::munmap(m_data, capacity());
}

void SampleRing::put(const void* data, size_t bytes) noexcept
{
    const size_t offset = static_cast<size_t>(m_position) & m_mask;
    const size_t first = std::min(bytes, capacity() - offset);
    rawCopy(m_data + offset, data, first);
    if (first < bytes) rawCopy(m_data, static_cast<const std::byte*>(data) + first, bytes - first);
    m_position += bytes;
}

void SampleRing::copyOut(uint64_t from, void* to, size_t bytes) const noexcept
{
    const size_t offset = static_cast<size_t>(from) & m_mask;
    const size_t first = std::min(bytes, capacity() - offset);
    std::memcpy(to, m_data + offset, first);
    std::memcpy(static_cast<std::byte*>(to) + first, m_data, bytes - first);
}

std::span<const std::byte> SampleRing::next(uint64_t tail)
{
    uint32_t size = 0;
    copyOut(tail, &size, sizeof(size));
    const size_t offset = static_cast<size_t>(tail) & m_mask;
    if (offset + size <= capacity()) return {m_data + offset, size};
    m_wrapped.resize(size);
    copyOut(tail, m_wrapped.data(), size);
    return m_wrapped;
}

void SampleRing::reset() noexcept
{
    m_head.store(0, std::memory_order_relaxed);
    m_tail.store(0, std::memory_order_relaxed);
    m_lost.store(0, std::memory_order_relaxed);
}

} // namespace stepscope::recording
