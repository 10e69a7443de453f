// ProcessMemory: reads memory of this process that another thread may unmap at any moment, without a fault.
// Owner: core/recording. Thread: any. Units: addresses, bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stepscope::recording {

class ProcessMemory {
public:
    ProcessMemory();
    ~ProcessMemory();
    ProcessMemory(const ProcessMemory&) = delete;
    ProcessMemory& operator=(const ProcessMemory&) = delete;

    // The number of bytes that could be read, from the first one on.
    size_t read(uint64_t address, void* to, size_t bytes) const noexcept;

private:
    int m_file = -1; // /proc/self/mem; where that is closed to us, process_vm_readv() serves
};

} // namespace stepscope::recording
