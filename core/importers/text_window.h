// TextWindow: the part of a ByteSource that is looked at, in one recycled buffer.
// Owner: core/importers. Thread: one at a time. Units: bytes.
#pragma once

#include "core/importers/input.h"

#include <optional>
#include <string_view>
#include <vector>

namespace stepscope::importers {

class TextWindow {
public:
    static constexpr size_t kBlock = size_t{1} << 20;
    static constexpr size_t kPadding = 64; // readable behind the text; in front of it there is one byte

    explicit TextWindow(ByteSource& source) : m_source(source), m_buffer(2 * kBlock + kPadding + 1) {}

    std::string_view text() const { return {m_buffer.data() + m_begin, m_end - m_begin}; }
    char* data() { return m_buffer.data() + m_begin; } // data()[-1] and data()[size() + kPadding - 1] may be written
    size_t size() const { return m_end - m_begin; }
    size_t capacityLeft() const { return m_buffer.size() - m_begin; } // from data() on
    uint64_t offset() const { return m_offset; } // of the first byte of text() in the file
    void advance(size_t bytes)
    {
        m_begin += bytes;
        m_offset += bytes;
    }
    // Reads a block behind the text, which moves in memory. False at the end of the file or after an error.
    bool more()
    {
        if (m_ended) return false;
        if (m_begin > 1) {
            std::char_traits<char>::move(m_buffer.data() + 1, m_buffer.data() + m_begin, m_end - m_begin);
            m_end -= m_begin - 1;
            m_begin = 1;
        }
        if (m_buffer.size() < m_end + kBlock + kPadding) m_buffer.resize(2 * m_buffer.size());
        const base::Result<size_t> got = m_source.read({m_buffer.data() + m_end, kBlock});
        if (!got) m_error = got.error();
        else m_end += *got;
        m_ended = !got || *got == 0;
        return !m_ended;
    }
    bool ended() const { return m_ended; }
    const std::optional<base::Error>& error() const { return m_error; }
    double fraction() const { return m_source.fraction(); }

private:
    ByteSource& m_source;
    std::vector<char> m_buffer;
    size_t m_begin = 1, m_end = 1;
    uint64_t m_offset = 0;
    bool m_ended = false;
    std::optional<base::Error> m_error;
};

} // namespace stepscope::importers
