// What counting costs per pair of malloc() and free(): the variants take turns, and each is compared with the C library's
// own functions in the same round. CPU time of the thread.
#include "core/recording/allocation_counter.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <vector>

extern "C" {
void* __libc_malloc(size_t);
void __libc_free(void*);
}

using namespace stepscope::recording;

namespace {

double cpuNs()
{
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

// A program calls its own replaced functions directly and those of the C library through its address table. A library
// goes through its table in both cases. So there are two ways to call, and both are measured.
struct ViaTable {
    static inline void* (*volatile allocateAt)(size_t) = nullptr;
    static inline void (*volatile releaseAt)(void*) = nullptr;
    static void* allocate(size_t bytes) { return allocateAt(bytes); }
    static void release(void* p) { releaseAt(p); }
};
struct Own {
    static void* allocate(size_t bytes) { return std::malloc(bytes); }
    static void release(void* p) { std::free(p); }
};
struct Library {
    static void* allocate(size_t bytes) { return __libc_malloc(bytes); }
    static void release(void* p) { __libc_free(p); }
};

template <class F>
double smallPairs()
{
    constexpr int kPairs = 200000;
    const double start = cpuNs();
    for (int i = 0; i < kPairs; ++i) {
        void* p = F::allocate(64);
        asm volatile("" : : "r"(p) : "memory");
        F::release(p);
    }
    return (cpuNs() - start) / kPairs;
}

template <class F>
double mixedPairs()
{
    constexpr int kRounds = 400, kLive = 256;
    static void* live[kLive];
    uint32_t state = 1;
    const double start = cpuNs();
    for (int round = 0; round < kRounds; ++round) {
        for (void*& p : live) {
            state = state * 1664525u + 1013904223u;
            p = F::allocate(16 + (state >> 20));
        }
        for (void* p : live)
            F::release(p);
    }
    return (cpuNs() - start) / (kRounds * kLive);
}

template <class F>
double largePairs()
{
    constexpr int kPairs = 20000;
    const double start = cpuNs();
    for (int i = 0; i < kPairs; ++i) {
        char* p = static_cast<char*>(F::allocate(100000));
        p[0] = 1;
        asm volatile("" : : "r"(p) : "memory");
        F::release(p);
    }
    return (cpuNs() - start) / kPairs;
}

double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

struct Variant {
    const char* name;
    uint32_t modes;
};

constexpr Variant kVariants[] = {{"off", 0},
                                 {"counting", kCountAllocations},
                                 {"counting, stacks sampled", kCountAllocations | kSampleAllocations},
                                 {"counting, timed", kCountAllocations | kTimeAllocations}};

// `plain` is what a program without the hooks does.
void compare(const char* title, double (*plain)(), double (*replaced)())
{
    constexpr int kRounds = 41;
    std::vector<double> plainTimes;
    std::vector<std::vector<double>> times(std::size(kVariants)), extra(std::size(kVariants));
    for (int round = 0; round < kRounds; ++round) {
        plainTimes.push_back(plain());
        for (size_t v = 0; v < std::size(kVariants); ++v) {
            const AllocationCounting counting(kVariants[v].modes);
            times[v].push_back(replaced());
            extra[v].push_back(times[v].back() - plainTimes.back());
        }
    }
    fmt::print("{}\n  {:28} {:7.2f} ns per pair\n", title, "not replaced", median(plainTimes));
    for (size_t v = 0; v < std::size(kVariants); ++v)
        fmt::print("  {:28} {:7.2f}  {:+.2f}\n", kVariants[v].name, median(times[v]), median(extra[v]));
}

double viaTable(double (*load)(), bool replaced)
{
    ViaTable::allocateAt = replaced ? &std::malloc : &__libc_malloc;
    ViaTable::releaseAt = replaced ? &std::free : &__libc_free;
    return load();
}

} // namespace

int main()
{
    if (*whyNoAllocationCounts() != '\0') {
        fmt::print("not counted: {}\n", whyNoAllocationCounts());
        return 1;
    }
    compare("64 bytes, called by the program", &smallPairs<Library>, &smallPairs<Own>);
    compare("16 to 4112 bytes, 256 at a time, called by the program", &mixedPairs<Library>, &mixedPairs<Own>);
    compare("100 000 bytes, called by the program", &largePairs<Library>, &largePairs<Own>);
    compare("64 bytes, called by a library", [] { return viaTable(&smallPairs<ViaTable>, false); },
        [] { return viaTable(&smallPairs<ViaTable>, true); });
    compare("16 to 4112 bytes, 256 at a time, called by a library", [] { return viaTable(&mixedPairs<ViaTable>, false); },
        [] { return viaTable(&mixedPairs<ViaTable>, true); });
}
