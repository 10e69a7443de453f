// Refuses system calls to a process, as containers and hardened systems do.
#pragma once

#include <array>
#include <cstddef>
#include <initializer_list>

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>

namespace stepscope::support {

struct RefusedCall {
    long number = 0; // SYS_perf_event_open
    int error = 0;   // errno that the caller gets
};

// For the calling thread and all that it starts from now on, also through exec. May be called between fork() and exec.
// False, with errno, where the system has no such filters.
inline bool refuseSystemCalls(std::initializer_list<RefusedCall> calls) noexcept
{
    std::array<sock_filter, 16> program{};
    size_t length = 0;
    if (2 * calls.size() + 2 > program.size()) return false;
    program[length++] = BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr));
    for (const RefusedCall& call : calls) {
        program[length++] = BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(call.number), 0, 1);
        program[length++] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(call.error));
    }
    program[length++] = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const sock_fprog filter{static_cast<unsigned short>(length), program.data()};
    return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

} // namespace stepscope::support
