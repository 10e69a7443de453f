#include "tests/support/onednn_cache_sizes.h"

#include <cstdint>
#include <cstdio>
#include <cstring>

#include <dlfcn.h>
#include <link.h>

namespace stepscope::testing {

namespace {

// How oneDNN's processor description holds its caches: ten sizes in bytes, ten numbers of cores that share one, the
// number of levels in use.
struct CacheTable {
    uint32_t size[10];
    uint32_t sharing[10];
    uint32_t levels;
};

// What the table looks like where CPUID hides everything: three levels of one byte.
constexpr CacheTable kHidden{{1, 1, 1}, {1, 1, 1}, 3};
constexpr uint32_t kUsual[] = {32u << 10, 512u << 10, 4u << 20};

bool looksSane(const CacheTable& table)
{
    if (table.levels < 2 || table.levels > 4) return false;
    for (uint32_t level = 0; level < 10; ++level) {
        const bool used = level < table.levels;
        const uint32_t size = table.size[level], sharing = table.sharing[level];
        if (used ? size < (8u << 10) || size > (1u << 30) || sharing < 1 || sharing > 4096 : size != 0 || sharing != 0)
            return false;
        if (used && level > 0 && size < table.size[level - 1]) return false;
    }
    return true;
}

// Calls change(words) for every table that matches in the writable parts of libdnnl; the number of them.
struct Search {
    bool (*matches)(const CacheTable& table);
    void (*change)(uint32_t* words);
    int found = 0;
};

void searchRange(uint32_t* words, size_t count, Search& search)
{
    constexpr size_t kWords = sizeof(CacheTable) / sizeof(uint32_t);
    for (size_t i = 0; i + kWords <= count; ++i) {
        CacheTable table;
        std::memcpy(&table, words + i, sizeof table);
        if (!search.matches(table)) continue;
        search.change(words + i);
        ++search.found;
    }
}

int searchLibrary(dl_phdr_info* info, size_t, void* search)
{
    if (std::strstr(info->dlpi_name, "libdnnl") == nullptr) return 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = info->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) == 0) continue;
        auto* words = reinterpret_cast<uint32_t*>(info->dlpi_addr + segment.p_vaddr);
        searchRange(words, segment.p_memsz / sizeof(uint32_t), *static_cast<Search*>(search));
    }
    return 0;
}

struct Version { // the start of dnnl_version_t
    int major, minor, patch;
};

const Version* oneDnnVersion()
{
    // By name: this code also runs in processes without oneDNN.
    const auto version = reinterpret_cast<const Version* (*)()>(dlsym(RTLD_DEFAULT, "dnnl_version"));
    const auto fill = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "dnnl_get_effective_cpu_isa"));
    if (version == nullptr || fill == nullptr || version()->major < 3) return nullptr;
    fill(); // asks for the processor, which fills the table
    return version();
}

} // namespace

int repairOneDnnCacheSizes()
{
    const Version* version = oneDnnVersion();
    if (version == nullptr) return 0;
    Search search{[](const CacheTable& table) { return std::memcmp(&table, &kHidden, sizeof table) == 0; },
                  [](uint32_t* words) { std::memcpy(words, kUsual, sizeof kUsual); }};
    dl_iterate_phdr(searchLibrary, &search);
    if (search.found > 0)
        std::fprintf(
            stderr,
            "tests: this machine hides its cache sizes, on which oneDNN %d.%d.%d computes wrong results; wrote "
            "32 KiB, 512 KiB and 4 MiB in %d place(s) of this process\n",
            version->major, version->minor, version->patch, search.found);
    return search.found;
}

int hideOneDnnCacheSizes()
{
    if (oneDnnVersion() == nullptr) return 0;
    Search search{looksSane, [](uint32_t* words) { std::memcpy(words, &kHidden, sizeof kHidden); }};
    dl_iterate_phdr(searchLibrary, &search);
    return search.found;
}

} // namespace stepscope::testing
