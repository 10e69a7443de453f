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
constexpr size_t kMaxCopies = 1024;             // at most some tens of MB

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
        CodeRegistration registration{address, size, ticks(), std::string(name), {}};
        const std::lock_guard lock(m_mutex);
        auto at = m_live.lower_bound(address);
        if (at != m_live.begin() && std::prev(at)->second.address + std::prev(at)->second.size > address) --at;
        while (at != m_live.end() && at->first < address + size)
            at = m_live.erase(at);
        if (m_followed) {
            m_new.push_back(registration);
            const auto* code = reinterpret_cast<const std::byte*>(address);
            m_new.back().code.assign(code, code + size);
        }
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
    block.code = std::move(registration.code);
    if (!block.code.empty()) m_copies.emplace_back(block.address, block.from);
    m_largest = std::max(m_largest, block.size);
    m_blocks.emplace(block.address, std::move(block));
    dropOldCopies(registration.ticks);
}

// Samples come within half a second; a block that lives longer can be read where it is.
void GeneratedCode::dropOldCopies(uint64_t now)
{
    while (!m_copies.empty() && (m_copies.size() > kMaxCopies || m_copies.front().second + kKeepTicks < now)) {
        const auto [address, from] = m_copies.front();
        m_copies.pop_front();
        const auto [begin, end] = m_blocks.equal_range(address);
        for (auto at = begin; at != end; ++at)
            if (at->second.from == from) at->second.code = {};
    }
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
        if (block.code.empty()) {
            block.code.resize(block.size);
            block.code.resize(memory.read(block.address, block.code.data(), block.size));
        }
        block.rules = generatedCodeRules(block.code, block.address);
        block.code = {};
    }
    const auto offset = static_cast<uint32_t>(pc - block.address);
    const auto after = std::upper_bound(block.rules.begin(), block.rules.end(), offset,
                                        [](uint32_t value, const auto& row) { return value < row.first; });
    return after == block.rules.begin() ? kUnknown : std::prev(after)->second;
}

} // namespace stepscope::recording
