#include "core/recording/process_memory.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

namespace stepscope::recording {

ProcessMemory::ProcessMemory() : m_file(::open("/proc/self/mem", O_RDONLY | O_CLOEXEC)) {}

ProcessMemory::~ProcessMemory()
{
    if (m_file >= 0) ::close(m_file);
}

size_t ProcessMemory::read(uint64_t address, void* to, size_t bytes) const noexcept
{
    ssize_t got = -1;
    if (m_file >= 0) {
        got = ::pread(m_file, to, bytes, static_cast<off_t>(address));
    } else {
        const iovec local{to, bytes}, remote{reinterpret_cast<void*>(address), bytes};
        got = ::process_vm_readv(::getpid(), &local, 1, &remote, 1, 0);
    }
    return got > 0 ? static_cast<size_t>(got) : 0;
}

} // namespace stepscope::recording
