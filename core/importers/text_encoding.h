// Encodings of text files: byte order marks, UTF-16, and repair of what is not UTF-8.
// Owner: core/importers. Thread: any; pure functions.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace stepscope::importers {

enum class TextEncoding { utf8, utf16LittleEndian, utf16BigEndian };

// By the byte order mark; UTF-8 without one. `markBytes` gets the length of the mark.
TextEncoding detectEncoding(std::string_view head, size_t& markBytes);

// Appends the UTF-8 form of whole UTF-16 code units; returns how many bytes were used (a high surrogate or half a unit
// at the end is left for the next call, unless `last`). Lone surrogates become U+FFFD.
size_t appendUtf16(std::string_view bytes, bool bigEndian, bool last, std::string& out);

// The head of a text file as UTF-8 without its mark, for detection.
std::string headText(std::string_view head);

bool isUtf8(std::string_view text);
// Every maximal part that is not UTF-8 becomes one U+FFFD.
std::string repairUtf8(std::string_view text);

} // namespace stepscope::importers
