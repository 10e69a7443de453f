#include "core/onednn/buffer_pool.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <new>

#include <sys/mman.h>

namespace stepscope::onednn {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kSlabBytes = size_t{4} << 20;

size_t roundUp(size_t n, size_t to) { return (n + to - 1) / to * to; }

} // namespace

std::unique_ptr<std::byte, void (*)(void*)> touchedMemory(size_t bytes, bool poison)
{
    const size_t size = roundUp(std::max<size_t>(bytes, 1), kHugePage);
    auto* p = static_cast<std::byte*>(std::aligned_alloc(kHugePage, size));
    if (p == nullptr) throw std::bad_alloc();
    ::madvise(p, size, MADV_HUGEPAGE); // advice only
    const float fill = poison ? std::numeric_limits<float>::quiet_NaN() : 0.0f;
    std::fill_n(reinterpret_cast<float*>(p), size / sizeof(float), fill);
    return {p, &std::free};
}

float* BufferPool::State::carve(size_t bytes)
{
    for (Slab& slab : slabs) {
        if (slab.size - slab.used >= bytes) {
            auto* p = slab.memory.get() + slab.used;
            slab.used += bytes;
            return reinterpret_cast<float*>(p);
        }
    }
    const size_t size = roundUp(std::max(bytes, kSlabBytes), kHugePage);
    slabs.push_back({touchedMemory(size, poison), size, bytes});
    total += size;
    return reinterpret_cast<float*>(slabs.back().memory.get());
}

std::shared_ptr<float> BufferPool::acquire(size_t bytes)
{
    // A distance of one odd cache line between blocks keeps equal-sized tensors from sharing cache sets.
    const size_t size = roundUp(std::max<size_t>(bytes, 64), 128) + 64;
    auto& free = m_state->free;
    size_t best = free.size();
    for (size_t i = 0; i < free.size(); ++i) {
        const bool fits = free[i].bytes >= size && free[i].bytes <= 2 * size;
        if (fits && (best == free.size() || free[i].bytes < free[best].bytes)) best = i;
    }
    FreeBlock block;
    if (best < free.size()) {
        block = free[best];
        free.erase(free.begin() + static_cast<std::ptrdiff_t>(best));
    } else {
        block = {m_state->carve(size), size};
    }
    return std::shared_ptr<float>(block.data, [state = m_state, block](float*) { state->free.push_back(block); });
}

} // namespace stepscope::onednn
