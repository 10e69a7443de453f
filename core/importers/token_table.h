// TokenTable: values by raw text, without decoding it: the same writer writes equal things equally.
// Owner: core/importers. Thread: one at a time.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace stepscope::importers {

inline uint64_t hashText(std::string_view text, uint64_t seed = 0)
{
    const auto mix = [](uint64_t a, uint64_t b) {
        const auto product = static_cast<unsigned __int128>(a) * b;
        return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
    };
    uint64_t hash = seed ^ (text.size() * 0x9e3779b97f4a7c15u);
    const char* at = text.data();
    size_t left = text.size();
    for (; left >= 8; at += 8, left -= 8) {
        uint64_t word = 0;
        std::memcpy(&word, at, 8);
        hash = mix(hash ^ word, 0xa0761d6478bd642fu);
    }
    uint64_t word = 0;
    if (left > 0) std::memcpy(&word, at, left);
    return mix(hash ^ word, 0xe7037ed1a0b428dbu);
}

// Keys of two parts, such as name and category. References to values stay good until the next add.
template <class Value>
class TokenTable {
public:
    TokenTable() : m_slots(256) {}

    // The value of the key, or a new one that `make()` returns.
    template <class Make>
    Value& find(std::string_view first, std::string_view second, Make&& make)
    {
        const uint64_t hash = hashText(second, hashText(first));
        size_t at = hash & (m_slots.size() - 1);
        for (; m_slots[at].index != 0; at = (at + 1) & (m_slots.size() - 1)) {
            const Entry& entry = m_entries[m_slots[at].index - 1];
            if (m_slots[at].check == static_cast<uint32_t>(hash >> 32) && entry.first == first && entry.second == second)
                return m_entries[m_slots[at].index - 1].value;
        }
        const std::string_view keptFirst = keep(first), keptSecond = keep(second);
        m_entries.push_back({keptFirst, keptSecond, make()});
        m_slots[at] = {static_cast<uint32_t>(hash >> 32), static_cast<uint32_t>(m_entries.size())};
        if (m_entries.size() * 2 > m_slots.size()) grow();
        return m_entries.back().value;
    }
    size_t size() const { return m_entries.size(); }
    std::string_view firstKey(size_t index) const { return m_entries[index].first; }
    Value& operator[](size_t index) { return m_entries[index].value; } // in the order of adding

private:
    struct Entry {
        std::string_view first, second;
        Value value;
    };
    struct Slot {
        uint32_t check = 0;
        uint32_t index = 0; // from 1; 0 is free
    };

    std::string_view keep(std::string_view text)
    {
        if (m_blocks.empty() || text.size() > m_room) {
            m_room = text.size() > kBlock ? text.size() : kBlock;
            m_blocks.push_back(std::make_unique<char[]>(m_room));
            m_next = m_blocks.back().get();
        }
        if (!text.empty()) std::memcpy(m_next, text.data(), text.size());
        const std::string_view kept(m_next, text.size());
        m_next += text.size();
        m_room -= text.size();
        return kept;
    }
    void grow()
    {
        std::vector<Slot> slots(m_slots.size() * 2);
        for (size_t i = 0; i < m_entries.size(); ++i) {
            const uint64_t hash = hashText(m_entries[i].second, hashText(m_entries[i].first));
            size_t at = hash & (slots.size() - 1);
            while (slots[at].index != 0)
                at = (at + 1) & (slots.size() - 1);
            slots[at] = {static_cast<uint32_t>(hash >> 32), static_cast<uint32_t>(i + 1)};
        }
        m_slots.swap(slots);
    }

    static constexpr size_t kBlock = size_t{64} << 10;
    std::vector<Slot> m_slots; // a power of two
    std::vector<Entry> m_entries;
    std::vector<std::unique_ptr<char[]>> m_blocks;
    char* m_next = nullptr;
    size_t m_room = 0;
};

} // namespace stepscope::importers
