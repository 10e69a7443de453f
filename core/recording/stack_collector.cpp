#include "core/recording/stack_collector.h"

#include "core/recording/clock.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include <fmt/format.h>
#include <unistd.h>

namespace stepscope::recording {

namespace {

constexpr uint8_t kIncomplete = 1, kApproximate = 2;

} // namespace

StackCollector::StackCollector() { codeRegistry().follow(); }

StackCollector::~StackCollector() { codeRegistry().unfollow(); }

void StackCollector::refresh()
{
    const std::lock_guard lock(m_mutex); // takeBatch() reads the modules
    m_unwinder.refresh();
}

// With the mutex held.
uint32_t StackCollector::unwind(const Registers& registers, const StackCopy& stack, uint64_t ticks)
{
    const bool complete = m_unwinder.unwind(registers, stack, ticks, m_found);
    const uint32_t id = m_trie.intern(m_found, complete);
    if (id < m_quality.size() && m_quality[id] != 0xff) return id;
    m_quality.resize(m_trie.stacks().size(), 0xff);
    const bool approximate = std::any_of(m_found.begin(), m_found.end(), [](const CodeFrame& frame) { return frame.approximate; });
    m_quality[id] = static_cast<uint8_t>((complete ? 0 : kIncomplete) | (approximate ? kApproximate : 0));
    return id;
}

void StackCollector::take(const RegisteredThread& thread, std::span<const std::byte> record)
{
    RawSample raw;
    if (record.size() < sizeof(raw)) return;
    std::memcpy(&raw, record.data(), sizeof(raw));
    Registers registers;
    registers.value = raw.registers;
    registers.known = (1u << kRegisters) - 1;
    StackCopy stack;
    stack.address = raw.stackAddress;
    stack.bytes = record.subspan(sizeof(raw), raw.stackBytes);
    stack.otherAddress = raw.otherAddress;
    stack.other = record.subspan(sizeof(raw) + raw.stackBytes, raw.otherBytes);
    const uint32_t index = indexOf(thread.serial, thread.id, thread.routine);
    const std::lock_guard lock(m_mutex);
    if (raw.ticks < m_clearedAt) return;
    StackSample sample{raw.ticks, raw.weight, unwind(registers, stack, raw.ticks), raw.label, raw.step, index};
    if (raw.kind == SampleKind::allocation) {
        sample.kind = StackSample::Kind::allocation;
        sample.count = raw.bytes > 0 ? static_cast<double>(raw.weight) / static_cast<double>(raw.bytes) : 1;
    } else {
        ++m_counts.samples;
        m_counts.weight += raw.weight;
        if ((m_quality[sample.stack] & kIncomplete) != 0) ++m_counts.incomplete;
        if ((m_quality[sample.stack] & kApproximate) != 0) ++m_counts.approximate;
    }
    m_samples.push_back(sample);
}

// With the mutex held.
uint32_t StackCollector::runnableStack()
{
    const uint32_t id = m_trie.runnable();
    if (id >= m_quality.size()) m_quality.resize(m_trie.stacks().size(), 0xff);
    m_quality[id] = 0;
    return id;
}

void StackCollector::poll(ThreadRegistry& threads, int64_t weight)
{
    m_waits.clear();
    const uint64_t now = ticks();
    const auto unwindWait = [&](const Registers& registers, const StackCopy& stack) {
        const std::lock_guard lock(m_mutex);
        return unwind(registers, stack, now);
    };
    const int64_t discardedBefore = m_poller.discarded();
    m_poller.poll(threads, m_unwinder.memory(), unwindWait, m_waits);
    {
        const std::lock_guard lock(m_mutex);
        m_counts.discarded += m_poller.discarded() - discardedBefore;
    }
    for (const WaitPoller::Wait& wait : m_waits) {
        const uint32_t index = indexOf(wait.serial, wait.id, wait.routine);
        const std::lock_guard lock(m_mutex);
        if (wait.runnableNs > 0) {
            m_samples.push_back({now, wait.runnableNs, runnableStack(), wait.label, wait.step, index, StackSample::Kind::blocked});
            continue;
        }
        m_samples.push_back({now, weight, wait.stack, wait.label, wait.step, index, StackSample::Kind::blocked});
        ++m_counts.samples;
        ++m_counts.blocked;
        if ((m_quality[wait.stack] & kIncomplete) != 0) ++m_counts.incomplete;
        if ((m_quality[wait.stack] & kApproximate) != 0) ++m_counts.approximate;
    }
}

std::string StackCollector::threadName(pid_t id, const void* routine)
{
    const Module* module = routine != nullptr ? m_unwinder.modules().find(reinterpret_cast<uint64_t>(routine)) : nullptr;
    if (module != nullptr && module->openMp) return fmt::format("OpenMP worker {}", ++m_openMpWorkers);
    if (id == ::getpid()) return "main";
    char path[64];
    std::snprintf(path, sizeof(path), "/proc/self/task/%d/comm", static_cast<int>(id));
    char name[64] = {};
    if (std::FILE* file = std::fopen(path, "re"); file != nullptr) {
        const size_t length = std::fread(name, 1, sizeof(name) - 1, file);
        std::fclose(file);
        std::string_view text(name, length);
        while (!text.empty() && text.back() == '\n')
            text.remove_suffix(1);
        if (!text.empty()) return std::string(text);
    }
    return fmt::format("thread {}", id);
}

uint32_t StackCollector::indexOf(uint64_t serial, pid_t id, const void* routine)
{
    const auto [at, added] = m_threadIndex.try_emplace(serial, static_cast<uint32_t>(m_threadIndex.size()));
    if (added) {
        SampledThread thread{serial, id, threadName(id, routine)};
        const std::lock_guard lock(m_mutex);
        m_threads.push_back(std::move(thread));
    }
    return at->second;
}

void StackCollector::setWall(bool wall)
{
    const std::lock_guard lock(m_mutex);
    m_wall = wall;
}

void StackCollector::takeTail(SampledBatch& batch)
{
    const ModuleTable& modules = m_unwinder.modules();
    for (; m_sentModules < modules.size(); ++m_sentModules) {
        const Module& module = modules.at(static_cast<uint32_t>(m_sentModules));
        batch.modules.push_back({module.path, module.name, module.program, module.openMp});
    }
    for (; m_sentNames < m_unwinder.generated().names(); ++m_sentNames)
        batch.names.push_back(m_unwinder.generated().name(static_cast<uint32_t>(m_sentNames)));
    const auto tail = [](const auto& all, size_t& sent, auto& to) {
        to.assign(all.begin() + static_cast<std::ptrdiff_t>(sent), all.end());
        sent = all.size();
    };
    tail(m_trie.frames(), m_sentFrames, batch.frames);
    tail(m_trie.stacks(), m_sentStacks, batch.stacks);
    tail(m_threads, m_sentThreads, batch.threads);
}

SampledBatch StackCollector::takeBatch()
{
    SampledBatch batch;
    const std::lock_guard lock(m_mutex);
    batch.generation = m_generation;
    batch.wall = m_wall;
    takeTail(batch);
    batch.samples = std::exchange(m_samples, {});
    return batch;
}

void StackCollector::clear()
{
    const std::lock_guard lock(m_mutex);
    m_samples.clear();
    m_counts = {};
    m_clearedAt = ticks();
    ++m_generation;
}

StackCollector::Counts StackCollector::counts() const
{
    const std::lock_guard lock(m_mutex);
    return m_counts;
}

} // namespace stepscope::recording
