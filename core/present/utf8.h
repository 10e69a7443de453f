// Counting and cutting UTF-8 text by characters, each taken as one column.
// Owner: core/present. Thread: any; pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stepscope::present {

inline bool startsCharacter(char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }

inline size_t characters(std::string_view text)
{
    size_t n = 0;
    for (const char c : text)
        n += startsCharacter(c) ? 1 : 0;
    return n;
}

// The byte at which character number `index` begins; the size when there are fewer.
inline size_t byteOfCharacter(std::string_view text, size_t index)
{
    for (size_t i = 0; i < text.size(); ++i)
        if (startsCharacter(text[i]) && index-- == 0) return i;
    return text.size();
}

inline std::string_view firstCharacters(std::string_view text, size_t count) { return text.substr(0, byteOfCharacter(text, count)); }
inline std::string_view fromCharacter(std::string_view text, size_t index) { return text.substr(byteOfCharacter(text, index)); }

// Without control characters, so that names from a foreign file cannot break lines or steer a terminal.
inline std::string clean(std::string_view text)
{
    std::string out(text);
    for (char& c : out)
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
    return out;
}

} // namespace stepscope::present
