#include "core/recording/module_table.h"

#include "core/recording/call_frame_rules.h"

#include <algorithm>

#include <link.h>
#include <sys/auxv.h>
#include <unistd.h>

namespace stepscope::recording {

namespace {

struct Loaded {
    std::string path;
    uint64_t bias = 0, low = 0, high = 0;
};

struct Listing {
    std::vector<Loaded> modules;
    unsigned long long added = 0, removed = 0;
    unsigned long long knownAdded = 0, knownRemoved = 0;
    bool changed = true;
};

std::string programPath()
{
    char path[4096];
    const ssize_t length = ::readlink("/proc/self/exe", path, sizeof(path));
    return length > 0 ? std::string(path, static_cast<size_t>(length)) : std::string();
}

// Called with the loader's lock held: it only copies.
int listModule(dl_phdr_info* info, size_t, void* data)
{
    auto& listing = *static_cast<Listing*>(data);
    listing.added = info->dlpi_adds;
    listing.removed = info->dlpi_subs;
    if (listing.added == listing.knownAdded && listing.removed == listing.knownRemoved) {
        listing.changed = false;
        return 1;
    }
    Loaded module;
    module.bias = info->dlpi_addr;
    module.low = ~uint64_t{0};
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const ElfW(Phdr)& segment = info->dlpi_phdr[i];
        if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
        module.low = std::min<uint64_t>(module.low, info->dlpi_addr + segment.p_vaddr);
        module.high = std::max<uint64_t>(module.high, info->dlpi_addr + segment.p_vaddr + segment.p_memsz);
    }
    if (module.high == 0) return 0;
    const uint64_t vdso = ::getauxval(AT_SYSINFO_EHDR);
    if (vdso >= module.low && vdso < module.high) module.path = "[vdso]";
    else module.path = info->dlpi_name != nullptr ? info->dlpi_name : "";
    listing.modules.push_back(std::move(module));
    return 0;
}

bool isOpenMp(const std::string& name)
{
    return name.starts_with("libgomp") || name.starts_with("libiomp") || name.starts_with("libomp.");
}

} // namespace

Module::Module() = default;
Module::~Module() = default;
ModuleTable::ModuleTable() = default;
ModuleTable::~ModuleTable() = default;

bool ModuleTable::refresh()
{
    Listing listing;
    listing.knownAdded = m_added;
    listing.knownRemoved = m_removed;
    ::dl_iterate_phdr(listModule, &listing);
    if (!listing.changed) return false;
    m_added = listing.added;
    m_removed = listing.removed;
    m_loaded.clear();
    bool first = true;
    for (Loaded& found : listing.modules) {
        if (first) found.path = programPath(); // the loader lists the program first, without a name
        const auto known = std::find_if(m_all.begin(), m_all.end(), [&](const auto& module) {
            return module->path == found.path && module->bias == found.bias && module->low == found.low && module->high == found.high;
        });
        if (known != m_all.end()) {
            m_loaded.push_back(known->get());
        } else {
            auto module = std::make_unique<Module>();
            module->path = found.path;
            module->name = found.path.substr(found.path.rfind('/') + 1);
            module->bias = found.bias;
            module->low = found.low;
            module->high = found.high;
            module->program = first;
            module->openMp = isOpenMp(module->name);
            module->index = static_cast<uint32_t>(m_all.size());
            module->rules = std::make_unique<CallFrameRules>(module->path);
            m_loaded.push_back(module.get());
            m_all.push_back(std::move(module));
        }
        first = false;
    }
    std::sort(m_loaded.begin(), m_loaded.end(), [](const Module* a, const Module* b) { return a->low < b->low; });
    m_last = 0;
    return true;
}

Module* ModuleTable::find(uint64_t pc) noexcept
{
    if (m_last < m_loaded.size() && pc >= m_loaded[m_last]->low && pc < m_loaded[m_last]->high) return m_loaded[m_last];
    const auto after = std::upper_bound(m_loaded.begin(), m_loaded.end(), pc, [](uint64_t value, const Module* module) { return value < module->low; });
    if (after == m_loaded.begin() || pc >= (*(after - 1))->high) return nullptr;
    m_last = static_cast<size_t>(after - 1 - m_loaded.begin());
    return *(after - 1);
}

} // namespace stepscope::recording
