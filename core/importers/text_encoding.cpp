#include "core/importers/text_encoding.h"

#include <cstdint>
#include <cstring>

namespace stepscope::importers {

namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

void appendCodePoint(uint32_t code, std::string& out)
{
    if (code < 0x80) {
        out += static_cast<char>(code);
    } else if (code < 0x800) {
        out += static_cast<char>(0xc0 | code >> 6);
        out += static_cast<char>(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        out += static_cast<char>(0xe0 | code >> 12);
        out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
        out += static_cast<char>(0x80 | (code & 0x3f));
    } else {
        out += static_cast<char>(0xf0 | code >> 18);
        out += static_cast<char>(0x80 | (code >> 12 & 0x3f));
        out += static_cast<char>(0x80 | (code >> 6 & 0x3f));
        out += static_cast<char>(0x80 | (code & 0x3f));
    }
}

uint32_t unitAt(std::string_view bytes, size_t at, bool bigEndian)
{
    const auto first = static_cast<unsigned char>(bytes[at]), second = static_cast<unsigned char>(bytes[at + 1]);
    return bigEndian ? first << 8 | second : second << 8 | first;
}

// What may follow a lead byte, by the table of well-formed sequences in the Unicode standard (3.9, table 3-7).
struct Sequence {
    int length = 0;                   // 0: no lead byte
    unsigned low = 0x80, high = 0xbf; // of the second byte
};

Sequence sequenceOf(unsigned lead)
{
    if (lead < 0x80) return {1};
    if (lead < 0xc2) return {0};
    if (lead < 0xe0) return {2};
    if (lead == 0xe0) return {3, 0xa0, 0xbf};
    if (lead == 0xed) return {3, 0x80, 0x9f};
    if (lead < 0xf0) return {3};
    if (lead == 0xf0) return {4, 0x90, 0xbf};
    if (lead < 0xf4) return {4};
    if (lead == 0xf4) return {4, 0x80, 0x8f};
    return {0};
}

// Length of the well-formed character at `at`; 0 when there is none, and then `bad` gets the length of what to replace.
size_t characterAt(std::string_view text, size_t at, size_t& bad)
{
    const Sequence sequence = sequenceOf(static_cast<unsigned char>(text[at]));
    bad = 1;
    if (sequence.length == 0) return 0;
    for (size_t i = 1; i < static_cast<size_t>(sequence.length); ++i) {
        if (at + i >= text.size()) return 0;
        const unsigned c = static_cast<unsigned char>(text[at + i]);
        const bool fits = i == 1 ? c >= sequence.low && c <= sequence.high : (c & 0xc0) == 0x80;
        if (!fits) return 0;
        ++bad;
    }
    return static_cast<size_t>(sequence.length);
}

bool isAscii(std::string_view text)
{
    size_t at = 0;
    for (uint64_t word = 0; at + sizeof(word) <= text.size(); at += sizeof(word)) {
        std::memcpy(&word, text.data() + at, sizeof(word));
        if ((word & 0x8080808080808080u) != 0) return false;
    }
    for (; at < text.size(); ++at)
        if ((text[at] & 0x80) != 0) return false;
    return true;
}

} // namespace

TextEncoding detectEncoding(std::string_view head, size_t& markBytes)
{
    markBytes = 0;
    if (head.starts_with("\xef\xbb\xbf")) markBytes = 3;
    if (head.starts_with("\xff\xfe")) {
        markBytes = 2;
        return TextEncoding::utf16LittleEndian;
    }
    if (head.starts_with("\xfe\xff")) {
        markBytes = 2;
        return TextEncoding::utf16BigEndian;
    }
    return TextEncoding::utf8;
}

size_t appendUtf16(std::string_view bytes, bool bigEndian, bool last, std::string& out)
{
    size_t at = 0;
    while (at + 2 <= bytes.size()) {
        const uint32_t unit = unitAt(bytes, at, bigEndian);
        if (unit < 0xd800 || unit > 0xdfff) {
            appendCodePoint(unit, out);
            at += 2;
            continue;
        }
        if (unit < 0xdc00 && at + 4 > bytes.size() && !last) break;
        const uint32_t next = at + 4 <= bytes.size() ? unitAt(bytes, at + 2, bigEndian) : 0;
        const bool pair = unit < 0xdc00 && next >= 0xdc00 && next <= 0xdfff;
        appendCodePoint(pair ? 0x10000 + ((unit - 0xd800) << 10) + (next - 0xdc00) : 0xfffd, out);
        at += pair ? 4 : 2;
    }
    if (last && at < bytes.size()) {
        out += kReplacement;
        at = bytes.size();
    }
    return at;
}

std::string headText(std::string_view head)
{
    size_t mark = 0;
    const TextEncoding encoding = detectEncoding(head, mark);
    head.remove_prefix(mark);
    if (encoding == TextEncoding::utf8) return std::string(head);
    std::string text;
    appendUtf16(head, encoding == TextEncoding::utf16BigEndian, false, text);
    return text;
}

bool isUtf8(std::string_view text)
{
    if (isAscii(text)) return true;
    size_t bad = 0;
    for (size_t at = 0; at < text.size();) {
        const size_t length = characterAt(text, at, bad);
        if (length == 0) return false;
        at += length;
    }
    return true;
}

std::string repairUtf8(std::string_view text)
{
    std::string out;
    out.reserve(text.size() + 8);
    size_t bad = 0;
    for (size_t at = 0; at < text.size();) {
        const size_t length = characterAt(text, at, bad);
        if (length == 0) out += kReplacement;
        else out += text.substr(at, length);
        at += length == 0 ? bad : length;
    }
    return out;
}

} // namespace stepscope::importers
