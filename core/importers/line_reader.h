// LineReader: the lines of a text input as UTF-8, read in windows of bounded size.
// Owner: core/importers. Thread: one at a time; a job.
#pragma once

#include "core/importers/input.h"
#include "core/importers/text_encoding.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::importers {

class LineReader {
public:
    static constexpr size_t kMaxLine = size_t{64} << 20; // what is longer is handed out in pieces

    explicit LineReader(ByteSource& source);

    // The next line without its end (LF, or CR LF); false at the end of the input. `line` is valid until the next call.
    bool next(std::string_view& line);

    int64_t number() const { return m_number; } // of the last line, from 1
    int64_t offset() const { return m_offset; } // of its first byte in the UTF-8 text, from 0
    double fraction() const { return m_source.fraction(); }
    // Why reading ended early.
    const std::optional<base::Error>& error() const { return m_error; }
    int64_t cutLines() const { return m_cutLines; } // longer than kMaxLine

private:
    bool fill();
    bool fillDecoded();

    ByteSource& m_source;
    std::vector<char> m_buffer;
    size_t m_begin = 0, m_end = 0; // the text not yet handed out
    std::string m_raw;             // UTF-16 bytes not yet decoded
    std::string m_decoded;
    TextEncoding m_encoding = TextEncoding::utf8;
    bool m_started = false, m_atEnd = false;
    int64_t m_number = 0, m_offset = 0, m_nextOffset = 0, m_cutLines = 0;
    std::optional<base::Error> m_error;
};

} // namespace stepscope::importers
