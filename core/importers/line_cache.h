// LineCache: remembers what was found for a text that comes again and again, much faster than parsing it anew.
// Owner: core/importers. Thread: one at a time.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::importers {

class LineCache {
public:
    static constexpr uint32_t kMissing = 0xffffffffu;

    // The value put for this text and salt, or kMissing.
    uint32_t find(std::string_view text, uint32_t salt = 0) const
    {
        if (m_slots.empty()) return kMissing;
        const uint64_t hash = hashOf(text, salt);
        for (size_t at = hash & (m_slots.size() - 1);; at = (at + 1) & (m_slots.size() - 1)) {
            const Slot& slot = m_slots[at];
            if (slot.value == kMissing) return kMissing;
            if (slot.hash == hash && slot.length == text.size()
                && std::memcmp(m_texts.data() + slot.text, text.data(), text.size()) == 0)
                return slot.value;
        }
    }

    // Of a text that is not there yet; value must not be kMissing. Nothing happens once the cache holds kMaxBytes.
    void put(std::string_view text, uint32_t value, uint32_t salt = 0)
    {
        if (m_texts.size() + text.size() > kMaxBytes) return;
        if (m_used * 2 >= m_slots.size()) grow();
        const Slot slot{hashOf(text, salt), m_texts.size(), static_cast<uint32_t>(text.size()), value};
        m_texts += text;
        place(slot);
        ++m_used;
    }

private:
    static constexpr size_t kMaxBytes = size_t{32} << 20;

    struct Slot {
        uint64_t hash = 0;
        size_t text = 0; // where it begins in m_texts
        uint32_t length = 0;
        uint32_t value = kMissing;
    };

    static uint64_t hashOf(std::string_view text, uint32_t salt)
    {
        constexpr uint64_t kFactor = 0x9e3779b97f4a7c15u;
        uint64_t hash = (text.size() ^ uint64_t{salt} << 32) * kFactor;
        size_t at = 0;
        uint64_t word = 0;
        for (; at + 8 <= text.size(); at += 8) {
            std::memcpy(&word, text.data() + at, 8);
            hash = (hash ^ word) * kFactor;
            hash ^= hash >> 29;
        }
        word = 0;
        std::memcpy(&word, text.data() + at, text.size() - at);
        hash = (hash ^ word) * kFactor;
        return hash ^ hash >> 32;
    }

    void place(const Slot& slot)
    {
        size_t at = slot.hash & (m_slots.size() - 1);
        while (m_slots[at].value != kMissing)
            at = (at + 1) & (m_slots.size() - 1);
        m_slots[at] = slot;
    }

    void grow()
    {
        std::vector<Slot> old(m_slots.empty() ? 1024 : m_slots.size() * 2);
        old.swap(m_slots);
        for (const Slot& slot : old)
            if (slot.value != kMissing) place(slot);
    }

    std::vector<Slot> m_slots;
    std::string m_texts;
    size_t m_used = 0;
};

} // namespace stepscope::importers
