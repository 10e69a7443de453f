#include "core/importers/line_reader.h"

#include <algorithm>
#include <cstring>

namespace stepscope::importers {

namespace {

constexpr size_t kWindow = size_t{1} << 20;

} // namespace

LineReader::LineReader(ByteSource& source) : m_source(source), m_buffer(kWindow) {}

// More text behind m_end; false when there is no more.
bool LineReader::fill()
{
    if (m_atEnd) return false;
    if (m_begin > 0) {
        std::memmove(m_buffer.data(), m_buffer.data() + m_begin, m_end - m_begin);
        m_end -= m_begin;
        m_begin = 0;
    }
    if (m_end == m_buffer.size()) m_buffer.resize(m_buffer.size() * 2);
    if (m_encoding != TextEncoding::utf8) return fillDecoded();

    const base::Result<size_t> got = m_source.read(std::span(m_buffer).subspan(m_end));
    if (!got) m_error = got.error();
    if (!got || *got == 0) {
        m_atEnd = true;
        return false;
    }
    m_end += *got;
    if (m_started) return true;
    m_started = true;
    size_t mark = 0;
    m_encoding = detectEncoding(std::string_view(m_buffer.data(), m_end), mark);
    m_begin = mark;
    m_nextOffset = static_cast<int64_t>(mark);
    if (m_encoding == TextEncoding::utf8) return true;
    m_raw.assign(m_buffer.data() + mark, m_end - mark);
    m_begin = m_end = 0;
    return fillDecoded();
}

bool LineReader::fillDecoded()
{
    std::vector<char> window(kWindow / 4);
    const base::Result<size_t> got = m_source.read(window);
    if (!got) m_error = got.error();
    const bool last = !got || *got == 0;
    if (!last) m_raw.append(window.data(), *got);
    m_decoded.clear();
    m_raw.erase(0, appendUtf16(m_raw, m_encoding == TextEncoding::utf16BigEndian, last, m_decoded));
    if (last) m_atEnd = true;
    if (m_buffer.size() < m_end + m_decoded.size()) m_buffer.resize(m_end + m_decoded.size());
    std::memcpy(m_buffer.data() + m_end, m_decoded.data(), m_decoded.size());
    m_end += m_decoded.size();
    return !m_decoded.empty();
}

bool LineReader::next(std::string_view& line)
{
    size_t searched = 0; // bytes after m_begin that hold no line end
    for (;;) {
        const char* const begin = m_buffer.data() + m_begin;
        const size_t held = m_end - m_begin;
        const void* const found = held > searched ? std::memchr(begin + searched, '\n', held - searched) : nullptr;
        size_t length = found != nullptr ? static_cast<size_t>(static_cast<const char*>(found) - begin) : held;
        size_t used = length + (found != nullptr ? 1 : 0);
        if (found == nullptr && held < kMaxLine) {
            searched = held;
            if (fill()) continue;
            if (m_end == m_begin) return false;
            length = used = m_end - m_begin;
        } else if (found == nullptr) {
            ++m_cutLines;
        }
        line = std::string_view(m_buffer.data() + m_begin, length);
        if (line.ends_with('\r')) line.remove_suffix(1);
        m_begin += used;
        m_offset = m_nextOffset;
        m_nextOffset += static_cast<int64_t>(used);
        ++m_number;
        return true;
    }
}

} // namespace stepscope::importers
