#include "core/recording/wait_poller.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

namespace stepscope::recording {

namespace {

constexpr uint64_t kMaxStackBytes = 64 * 1024;
constexpr uint64_t kRedZone = 128;

// Empty when the thread is gone.
size_t readLine(pid_t id, const char* of, char* line, size_t size)
{
    char path[64];
    std::snprintf(path, sizeof(path), "/proc/self/task/%d/%s", static_cast<int>(id), of);
    const int file = ::open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return 0;
    const ssize_t length = ::read(file, line, size - 1);
    ::close(file);
    if (length <= 0) return 0;
    line[length] = '\0';
    return static_cast<size_t>(length);
}

// "running", "-1 SP PC" (blocked outside a system call) or "NUMBER ARGUMENTS... SP PC".
size_t readCall(pid_t id, char* line, size_t size) { return readLine(id, "syscall", line, size); }

bool isRunning(pid_t id)
{
    char line[256];
    return std::string_view(line, readCall(id, line, sizeof(line))).starts_with("running");
}

// "CPU RUNNABLE SLICES", times in ns. -1 where the kernel does not tell.
int64_t runnableNs(pid_t id)
{
    char line[96];
    const size_t length = readLine(id, "schedstat", line, sizeof(line));
    const char* space = length > 0 ? std::strchr(line, ' ') : nullptr;
    return space != nullptr ? std::strtoll(space + 1, nullptr, 10) : -1;
}

bool parseLine(std::string_view line, uint64_t& sp, uint64_t& pc)
{
    const auto lastNumber = [&line](uint64_t& value) {
        while (!line.empty() && (line.back() == '\n' || line.back() == ' '))
            line.remove_suffix(1);
        const size_t space = line.rfind(' ');
        if (space == std::string_view::npos) return false;
        value = std::strtoull(line.data() + space + 1, nullptr, 16);
        line = line.substr(0, space);
        return true;
    };
    return lastNumber(pc) && lastNumber(sp);
}

} // namespace

bool WaitPoller::copyStack(const Candidate& thread, const ProcessMemory& memory, Registers& registers, StackCopy& stack)
{
    char before[256], after[256];
    const size_t length = readCall(thread.id, before, sizeof(before));
    uint64_t sp = 0, pc = 0;
    if (length == 0 || !parseLine({before, length}, sp, pc)) return false; // running, or gone
    if (sp < thread.stackLow + kRedZone || sp >= thread.stackHigh) return false;
    const uint64_t from = (sp & ~uint64_t{7}) - kRedZone;
    m_bytes.resize(std::min(thread.stackHigh - from, kMaxStackBytes) & ~uint64_t{7});
    const size_t copied = memory.read(from, m_bytes.data(), m_bytes.size());
    if (readCall(thread.id, after, sizeof(after)) != length || std::memcmp(before, after, length) != 0) {
        ++m_discarded;
        return false;
    }
    stack = {from, std::span<const std::byte>(m_bytes).first(copied), 0, {}};
    registers.set(kStackRegister, sp);
    registers.set(kPcRegister, pc);
    return true;
}

void WaitPoller::poll(ThreadRegistry& threads, const ProcessMemory& memory, const Unwind& unwind, std::vector<Wait>& waits)
{
    m_candidates.clear();
    threads.forEach([this](const RegisteredThread& thread) {
        if (thread.excluded.load(std::memory_order_relaxed)) return;
        const ThreadMarker& marker = markerOf(thread);
        m_candidates.push_back({thread.id, thread.serial, thread.stackHigh, thread.stackLow, thread.routine, marker.label.load(std::memory_order_relaxed),
                                marker.step.load(std::memory_order_relaxed)});
    });
    for (auto& [serial, last] : m_last)
        last.seen = false;
    for (const Candidate& thread : m_candidates) {
        Last& last = m_last[thread.serial];
        last.seen = true;
        const int64_t cpuNs = threadCpuNs(thread.id);
        if (cpuNs < 0) continue;
        if (cpuNs != last.cpuNs || !last.waiting) {
            Registers registers;
            StackCopy stack;
            last.waiting = copyStack(thread, memory, registers, stack);
            if (last.waiting) last.stack = unwind(registers, stack);
            last.cpuNs = cpuNs;
        } else if (isRunning(thread.id)) {
            last.waiting = false; // woken, without a processor so far
        }
        Wait wait{thread.id, thread.serial, thread.routine, thread.label, thread.step, last.stack};
        if (last.waiting) waits.push_back(wait);
        const int64_t runnable = runnableNs(thread.id);
        wait.runnableNs = last.runnableNs >= 0 ? runnable - last.runnableNs : 0;
        if (wait.runnableNs > 0) waits.push_back(wait);
        last.runnableNs = runnable;
    }
    std::erase_if(m_last, [](const auto& entry) { return !entry.second.seen; });
}

} // namespace stepscope::recording
