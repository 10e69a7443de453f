#include "app/cli/json_text.h"

#include <fmt/format.h>

#include <cmath>

namespace stepscope::cli {

namespace {

// Length of the well-formed UTF-8 sequence at `at`, 0 when there is none.
size_t sequenceLength(std::string_view text, size_t at)
{
    const auto byte = [&](size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u; };
    const auto follows = [&](size_t i) { return (byte(i) & 0xc0) == 0x80; };
    const unsigned first = byte(0);
    if (first < 0x80) return 1;
    if (first >= 0xc2 && first <= 0xdf) return follows(1) ? 2 : 0;
    if (first >= 0xe0 && first <= 0xef) {
        if (!follows(1) || !follows(2)) return 0;
        const bool overlong = first == 0xe0 && byte(1) < 0xa0, surrogate = first == 0xed && byte(1) > 0x9f;
        return overlong || surrogate ? 0 : 3;
    }
    if (first >= 0xf0 && first <= 0xf4) {
        if (!follows(1) || !follows(2) || !follows(3)) return 0;
        const bool overlong = first == 0xf0 && byte(1) < 0x90, tooLarge = first == 0xf4 && byte(1) > 0x8f;
        return overlong || tooLarge ? 0 : 4;
    }
    return 0;
}

std::string quoted(std::string_view text)
{
    std::string out = "\"";
    for (size_t i = 0; i < text.size();) {
        const char c = text[i];
        const size_t length = sequenceLength(text, i);
        if (length == 0) {
            out += "\xef\xbf\xbd";
            ++i;
            continue;
        }
        if (c == '"' || c == '\\') out += '\\', out += c;
        else if (c == '\n') out += "\\n";
        else if (c == '\t') out += "\\t";
        else if (static_cast<unsigned char>(c) < 0x20) out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
        else out += text.substr(i, length);
        i += length;
    }
    return out + '"';
}

} // namespace

void JsonText::separate()
{
    if (m_afterKey) {
        m_afterKey = false;
        return;
    }
    if (m_counts.empty()) return;
    if (m_counts.back()++ > 0) m_text += ',';
    m_text += '\n';
    m_text.append(2 * m_counts.size(), ' ');
}

void JsonText::open(char bracket)
{
    separate();
    m_text += bracket;
    m_counts.push_back(0);
}

void JsonText::close(char bracket)
{
    const bool empty = m_counts.back() == 0;
    m_counts.pop_back();
    if (!empty) {
        m_text += '\n';
        m_text.append(2 * m_counts.size(), ' ');
    }
    m_text += bracket;
}

void JsonText::key(std::string_view name)
{
    separate();
    m_text += quoted(name) + ": ";
    m_afterKey = true;
}

void JsonText::value(std::string_view text)
{
    separate();
    m_text += quoted(text);
}

void JsonText::value(double number)
{
    separate();
    m_text += std::isfinite(number) ? fmt::format("{}", number) : "null";
}

void JsonText::value(int64_t number)
{
    separate();
    m_text += fmt::format("{}", number);
}

void JsonText::value(bool yes)
{
    separate();
    m_text += yes ? "true" : "false";
}

void JsonText::null()
{
    separate();
    m_text += "null";
}

std::string JsonText::take()
{
    m_text += '\n';
    return std::move(m_text);
}

} // namespace stepscope::cli
