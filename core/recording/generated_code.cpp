#include "core/recording/generated_code.h"

#include "core/recording/clock.h"
#include "core/recording/generated_code_rules.h"
#include "core/recording/process_memory.h"

#include <algorithm>
#include <exception>

namespace stepscope::recording {

namespace {

constexpr uint64_t kMaxBlock = 16u << 20; // a registration larger than this is nonsense
constexpr uint64_t kKeepTicks = 10'000'000'000; // a few seconds: samples are never that late

} // namespace

CodeRegistry& codeRegistry()
{
    static CodeRegistry* const registry = new CodeRegistry; // never destroyed: kernels may be made while the program ends
    return *registry;
}

void CodeRegistry::add(std::string_view name, uint64_t address, uint64_t size) noexcept
{
    if (size == 0 || size > kMaxBlock) return;
    try {
        CodeRegistration registration{address, size, ticks(), std::string(name)};
        const std::lock_guard lock(m_mutex);
        auto at = m_live.lower_bound(address);
        if (at != m_live.begin() && std::prev(at)->second.address + std::prev(at)->second.size > address) --at;
        while (at != m_live.end() && at->first < address + size)
            at = m_live.erase(at);
        if (m_followed) m_new.push_back(registration);
        m_live.insert_or_assign(address, std::move(registration));
    } catch (const std::exception&) {
        // Out of memory: the kernel stays nameless.
    }
}

void CodeRegistry::follow()
{
    const std::lock_guard lock(m_mutex);
    m_followed = true;
    m_new.clear();
    for (const auto& [address, registration] : m_live)
        m_new.push_back(registration);
}

void CodeRegistry::unfollow()
{
    const std::lock_guard lock(m_mutex);
    m_followed = false;
    m_new = {};
}

std::vector<CodeRegistration> CodeRegistry::take()
{
    const std::lock_guard lock(m_mutex);
    return std::exchange(m_new, {});
}

void GeneratedCode::add(CodeRegistration registration)
{
    const uint64_t end = registration.address + registration.size;
    const uint64_t first = registration.address - std::min(registration.address, m_largest);
    for (auto at = m_blocks.lower_bound(first); at != m_blocks.end() && at->first < end;) {
        Block& old = at->second;
        const bool overlaps = old.address + old.size > registration.address;
        if (overlaps) old.until = std::min(old.until, registration.ticks);
        if (overlaps && old.until + kKeepTicks < registration.ticks) at = m_blocks.erase(at);
        else ++at;
    }
    const auto [name, isNew] = m_nameIndex.try_emplace(registration.name, static_cast<uint32_t>(m_names.size()));
    if (isNew) m_names.push_back(registration.name);
    Block block;
    block.address = registration.address;
    block.size = registration.size;
    block.from = registration.ticks;
    block.name = name->second;
    m_largest = std::max(m_largest, block.size);
    m_blocks.emplace(block.address, std::move(block));
}

GeneratedCode::Block* GeneratedCode::find(uint64_t pc, uint64_t ticks) noexcept
{
    Block* best = nullptr;
    for (auto at = m_blocks.upper_bound(pc); at != m_blocks.begin();) {
        --at;
        if (at->first + m_largest <= pc) break;
        Block& block = at->second;
        if (pc >= block.address + block.size || ticks < block.from || ticks >= block.until) continue;
        if (best == nullptr || block.from > best->from) best = &block;
    }
    return best;
}

const UnwindRule& GeneratedCode::rule(Block& block, uint64_t pc, const ProcessMemory& memory)
{
    static const UnwindRule kUnknown;
    if (!block.analysed) {
        block.analysed = true;
        std::vector<std::byte> code(block.size);
        code.resize(memory.read(block.address, code.data(), code.size()));
        block.rules = generatedCodeRules(code, block.address);
    }
    const auto offset = static_cast<uint32_t>(pc - block.address);
    const auto after = std::upper_bound(block.rules.begin(), block.rules.end(), offset,
                                        [](uint32_t value, const auto& row) { return value < row.first; });
    return after == block.rules.begin() ? kUnknown : std::prev(after)->second;
}

} // namespace stepscope::recording
