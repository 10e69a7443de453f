#include "core/engine/malloc_tuning.h"

#include <cstdlib>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

namespace stepscope::engine {

void keepFreedMemory()
{
#if defined(__GLIBC__)
    constexpr int kLarge = 1 << 30, kLargestOfOldVersions = 32 << 20; // older versions refuse more than half a heap
    if (mallopt(M_MMAP_THRESHOLD, kLarge) == 0) mallopt(M_MMAP_THRESHOLD, kLargestOfOldVersions);
    mallopt(M_TRIM_THRESHOLD, kLarge);
    mallopt(M_TOP_PAD, 16 << 20); // grow in few, large steps; untouched memory costs nothing
#endif
}

} // namespace stepscope::engine
