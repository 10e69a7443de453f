// HugeVector: std::vector whose large blocks are 2 MB-aligned and advised to use huge pages.
// Why: touching fresh memory in 4 KB pages costs a fault each, which dominates loading of big tables.
// Owner: core/base. Thread: as std::vector.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>
#include <vector>

#include <sys/mman.h>

namespace stepscope::base {

// Leaves trivially constructible values uninitialised on resize(): columns are always overwritten.
template <class T>
struct HugeAllocator {
    using value_type = T;
    static constexpr size_t kHugePage = size_t{2} << 20;

    HugeAllocator() = default;
    template <class U>
    HugeAllocator(const HugeAllocator<U>&) noexcept {}

    T* allocate(size_t n)
    {
        const size_t bytes = n * sizeof(T);
        if (bytes < kHugePage) return static_cast<T*>(::operator new(bytes, std::align_val_t{64}));
        const size_t rounded = (bytes + kHugePage - 1) / kHugePage * kHugePage;
        void* p = std::aligned_alloc(kHugePage, rounded);
        if (p == nullptr) throw std::bad_alloc();
        ::madvise(p, rounded, MADV_HUGEPAGE); // advice only: failure is harmless
        return static_cast<T*>(p);
    }
    void deallocate(T* p, size_t n) noexcept
    {
        if (n * sizeof(T) < kHugePage) ::operator delete(p, std::align_val_t{64});
        else std::free(p);
    }
    template <class U>
    void construct(U* p) noexcept { ::new (static_cast<void*>(p)) U; }
    template <class U, class... A>
    void construct(U* p, A&&... a) { ::new (static_cast<void*>(p)) U(std::forward<A>(a)...); }

    template <class U>
    bool operator==(const HugeAllocator<U>&) const { return true; }
};

template <class T>
using HugeVector = std::vector<T, HugeAllocator<T>>;

} // namespace stepscope::base
