#include "core/recording/stack_trie.h"

namespace stepscope::recording {

size_t StackTrie::FrameHash::operator()(const TrieFrame& frame) const noexcept
{
    uint64_t h = frame.address * 0x9e3779b97f4a7c15u;
    h ^= (uint64_t{frame.place} << 4 | static_cast<uint64_t>(frame.kind) << 1 | uint64_t{frame.approximate}) * 0xff51afd7ed558ccdu;
    return h ^ h >> 32;
}

uint32_t StackTrie::frame(const TrieFrame& frame)
{
    const auto [at, added] = m_frameIndex.try_emplace(frame, static_cast<uint32_t>(m_frames.size()));
    if (added) m_frames.push_back(frame);
    return at->second;
}

uint32_t StackTrie::child(uint32_t parent, uint32_t frame)
{
    const auto [at, added] = m_stackIndex.try_emplace(uint64_t{parent} << 32 | frame, static_cast<uint32_t>(m_stacks.size()));
    if (added) {
        const bool below = parent != kNoStack && m_stacks[parent].generated;
        m_stacks.push_back({parent, frame, below || m_frames[frame].kind == TrieFrame::Kind::generated});
    }
    return at->second;
}

uint32_t StackTrie::intern(const std::vector<CodeFrame>& frames, bool complete)
{
    uint32_t stack = kNoStack;
    if (!complete) stack = child(stack, frame({TrieFrame::Kind::missing}));
    for (auto at = frames.rbegin(); at != frames.rend(); ++at) {
        TrieFrame key{TrieFrame::Kind::unknown, at->approximate};
        if (at->module != nullptr) {
            key.kind = TrieFrame::Kind::module;
            key.place = at->module->index;
            key.address = at->pc - at->module->bias;
        } else if (at->block != nullptr) { // one frame per kernel: there are no lines to tell apart
            key.kind = TrieFrame::Kind::generated;
            key.place = at->block->name;
        }
        stack = child(stack, frame(key));
    }
    return stack;
}

uint32_t StackTrie::runnable() { return child(kNoStack, frame({TrieFrame::Kind::runnable})); }

} // namespace stepscope::recording
