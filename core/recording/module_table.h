// ModuleTable: the program and its shared libraries, as the dynamic loader has them now and had them before.
// Owner: core/recording. Thread: one at a time. Units: addresses.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace stepscope::recording {

class CallFrameRules;

struct Module {
    std::string path;       // absolute; "[vdso]"
    std::string name;       // its last part
    uint64_t bias = 0;      // address in memory less address in the file
    uint64_t low = 0, high = 0; // of its code in memory
    bool program = false;   // the executable itself
    bool openMp = false;    // a run-time library of OpenMP
    uint32_t index = 0;     // for good, also after it was unloaded
    std::unique_ptr<CallFrameRules> rules;
    Module();
    ~Module();
};

class ModuleTable {
public:
    ModuleTable();
    ~ModuleTable();
    // Looks whether libraries were loaded or unloaded since; true when the table changed.
    bool refresh();
    // The loaded module whose code holds the address; null when there is none.
    Module* find(uint64_t pc) noexcept;
    const Module& at(uint32_t index) const { return *m_all[index]; }
    size_t size() const { return m_all.size(); }

private:
    std::vector<std::unique_ptr<Module>> m_all; // by index
    std::vector<Module*> m_loaded;              // by address
    unsigned long long m_added = 0, m_removed = 0;
    size_t m_last = 0; // where the last search ended
};

} // namespace stepscope::recording
