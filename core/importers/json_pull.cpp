#include "core/importers/json_pull.h"

#include "core/importers/decimal_text.h"
#include "core/importers/text_encoding.h"

#include <algorithm>
#include <cstring>

namespace stepscope::importers {

namespace {

bool isWordCharacter(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '+'
        || c == '.' || c == '_';
}

bool isNumber(std::string_view word)
{
    if (word.starts_with('-') || word.starts_with('+')) word.remove_prefix(1);
    if (word.empty()) return false;
    if (word[0] >= '0' && word[0] <= '9') return true;
    return word[0] == '.' || word == "NaN" || word == "nan" || word == "Infinity" || word == "inf";
}

} // namespace

JsonPull::JsonPull(std::string_view whole, std::string_view value)
    : m_text(whole.substr(0, value.empty() ? 0 : static_cast<size_t>(value.data() + value.size() - whole.data()))),
      m_at(value.empty() ? 0 : static_cast<size_t>(value.data() - whole.data()))
{
}

void JsonPull::space()
{
    while (m_at < m_text.size() && static_cast<unsigned char>(m_text[m_at]) <= ' ')
        ++m_at;
}

bool JsonPull::failed(const char* kind, size_t offset)
{
    if (!m_problem) m_problem = JsonProblem{kind, offset};
    m_at = m_text.size();
    return false;
}

JsonPull::Kind JsonPull::kind()
{
    space();
    if (m_problem || m_at >= m_text.size()) return Kind::none;
    const char c = m_text[m_at];
    if (c == '{') return Kind::object;
    if (c == '[') return Kind::array;
    if (c == '"') return Kind::string;
    if (c == 't' || c == 'f') return Kind::boolean;
    if (c == 'n' && m_text.substr(m_at, 4) == "null") return Kind::null;
    return isWordCharacter(c) ? Kind::number : Kind::none;
}

bool JsonPull::enter(Kind wanted, char open)
{
    if (kind() != wanted || m_text[m_at] != open) {
        skip();
        return false;
    }
    ++m_at;
    m_first = true;
    return true;
}

bool JsonPull::enterObject() { return enter(Kind::object, '{'); }
bool JsonPull::enterArray() { return enter(Kind::array, '['); }

// Takes the comma or the closing bracket.
bool JsonPull::more(char close)
{
    if (m_problem) return false;
    space();
    const bool first = m_first;
    m_first = false;
    if (m_at >= m_text.size()) return failed("unexpected-end", m_at);
    if (m_text[m_at] == ',' && !first) {
        ++m_at;
        space();
        if (m_at >= m_text.size()) return failed("unexpected-end", m_at);
    } else if (!first && m_text[m_at] != close) {
        return failed("invalid-token", m_at);
    }
    if (m_text[m_at] != close) return true;
    ++m_at;
    return false;
}

bool JsonPull::nextElement()
{
    if (!more(']')) return false;
    return kind() != Kind::none || failed("invalid-token", m_at);
}

bool JsonPull::nextKey(std::string_view& key)
{
    if (!more('}')) return false;
    if (m_text[m_at] != '"') return failed("invalid-token", m_at);
    if (!takeString(key, m_keyScratch)) return false;
    space();
    if (m_at >= m_text.size()) return failed("unexpected-end", m_at);
    if (m_text[m_at] != ':') return failed("invalid-token", m_at);
    ++m_at;
    space();
    if (m_at >= m_text.size()) return failed("unexpected-end", m_at);
    return kind() != Kind::none || failed("invalid-token", m_at);
}

bool JsonPull::takeString(std::string_view& value, std::string& scratch)
{
    const size_t begin = ++m_at;
    bool escapes = false;
    for (;;) {
        const void* const quote = std::memchr(m_text.data() + m_at, '"', m_text.size() - m_at);
        if (quote == nullptr) return failed("unterminated-string", m_text.size());
        const auto end = static_cast<size_t>(static_cast<const char*>(quote) - m_text.data());
        size_t slashes = 0;
        while (end - slashes > begin && m_text[end - slashes - 1] == '\\')
            ++slashes;
        m_at = end + 1;
        if (slashes % 2 == 1) {
            escapes = true;
            continue;
        }
        value = m_text.substr(begin, end - begin);
        if (!escapes) escapes = value.find('\\') != std::string_view::npos;
        break;
    }
    if (!escapes) return true;
    scratch.clear();
    unescape(value, scratch);
    value = scratch;
    return true;
}

void JsonPull::unescape(std::string_view escaped, std::string& out)
{
    constexpr std::string_view kCodes = "\"\\/bfnrt", kValues = "\"\\/\b\f\n\r\t";
    const auto unit = [&](size_t at) {
        return at + 4 <= escaped.size() ? wholeNumber(escaped.substr(at, 4), 16) : std::nullopt;
    };
    for (size_t at = 0; at < escaped.size(); ++at) {
        if (escaped[at] != '\\' || at + 1 == escaped.size()) {
            out += escaped[at];
            continue;
        }
        const char code = escaped[++at];
        if (const size_t known = kCodes.find(code); known != std::string_view::npos) {
            out += kValues[known];
        } else if (const auto first = code == 'u' ? unit(at + 1) : std::nullopt) {
            std::string units{static_cast<char>(*first >> 8), static_cast<char>(*first & 0xff)};
            at += 4;
            if (*first >= 0xd800 && *first < 0xdc00 && escaped.substr(at + 1, 2) == "\\u")
                if (const auto second = unit(at + 3); second && *second >= 0xdc00 && *second <= 0xdfff) {
                    units += {static_cast<char>(*second >> 8), static_cast<char>(*second & 0xff)};
                    at += 6;
                }
            appendUtf16(units, true, true, out);
        } else { // a path written without doubling its backslashes
            out += '\\';
            out += code;
        }
    }
}

std::string_view JsonPull::takeWord()
{
    const size_t begin = m_at;
    while (m_at < m_text.size() && isWordCharacter(m_text[m_at]))
        ++m_at;
    const std::string_view word = m_text.substr(begin, m_at - begin);
    if (m_at == m_text.size() && begin > 0) { // a word at the very end of a text that should go on is cut
        failed("unexpected-end", m_at);
        return {};
    }
    if (word != "true" && word != "false" && word != "null" && !isNumber(word)) failed("invalid-token", begin);
    return m_problem ? std::string_view() : word;
}

std::string_view JsonPull::string()
{
    if (kind() != Kind::string) {
        skip();
        return {};
    }
    std::string_view value;
    return takeString(value, m_scratch) ? value : std::string_view();
}

std::string_view JsonPull::scalar()
{
    switch (kind()) {
    case Kind::string: return string();
    case Kind::number:
    case Kind::boolean:
    case Kind::null: return takeWord();
    default: skip(); return {};
    }
}

std::optional<int64_t> JsonPull::integer(int shift)
{
    const std::string_view text = scalar();
    return text.empty() ? std::nullopt : scaledDecimal(text, shift);
}

std::string_view JsonPull::raw()
{
    space();
    const size_t begin = m_at;
    skip();
    return m_text.substr(begin, m_at - begin);
}

void JsonPull::skip()
{
    m_first = false;
    m_nesting.clear();
    std::string_view ignored;
    while (!m_problem) {
        space();
        if (m_at >= m_text.size()) {
            failed("unexpected-end", m_text.size());
            return;
        }
        const char c = m_text[m_at];
        if (c == '{' || c == '[') {
            m_nesting += c == '{' ? '}' : ']';
            ++m_at;
            continue;
        }
        if (c == '"') {
            // Without unescaping: nobody reads it.
            takeString(ignored, m_scratch);
        } else if (!m_nesting.empty() && (c == ',' || c == ':')) {
            ++m_at;
            continue;
        } else if (!m_nesting.empty() && c == m_nesting.back()) {
            m_nesting.pop_back();
            ++m_at;
        } else if (isWordCharacter(c)) {
            takeWord();
        } else {
            failed("invalid-token", m_at);
            return;
        }
        if (m_nesting.empty()) return;
    }
}

TextPlace placeOf(std::string_view text, size_t offset)
{
    const std::string_view before = text.substr(0, offset);
    const size_t lastEnd = before.rfind('\n');
    return {std::count(before.begin(), before.end(), '\n') + 1,
            static_cast<int64_t>(lastEnd == std::string_view::npos ? before.size() : before.size() - lastEnd - 1) + 1};
}

} // namespace stepscope::importers
