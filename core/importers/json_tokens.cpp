#include "core/importers/json_tokens.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

namespace stepscope::importers {

namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd"; // U+FFFD

bool isBlank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
bool isDigit(char c) { return c >= '0' && c <= '9'; }
bool isHex(char c) { return isDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool endsScalar(char c) { return isBlank(c) || c == ',' || c == ']' || c == '}' || c == ':'; }

int hexValue(char c)
{
    if (isDigit(c)) return c - '0';
    return (c | 0x20) - 'a' + 10;
}

bool goodEscape(std::string_view text, size_t backslash)
{
    if (backslash + 1 >= text.size()) return true; // cut off, which is told elsewhere
    const char c = text[backslash + 1];
    if (c != 'u') return c != '\0' && std::strchr("\"\\/bfnrt", c) != nullptr;
    if (backslash + 6 > text.size()) return false;
    return std::all_of(text.begin() + static_cast<ptrdiff_t>(backslash) + 2, text.begin() + static_cast<ptrdiff_t>(backslash) + 6, isHex);
}

// Bytes of the well-formed sequence at the begin of the text, or 0; then `bad` is the length of the longest part of one
// (Unicode standard, table 3-7).
size_t utf8Length(std::string_view text, size_t& bad)
{
    const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
    const unsigned first = byte(0);
    bad = 1;
    if (first < 0x80) return 1;
    size_t length = 0;
    unsigned low = 0x80, high = 0xbf;
    if (first >= 0xc2 && first <= 0xdf) length = 2;
    else if (first >= 0xe0 && first <= 0xef) {
        length = 3;
        if (first == 0xe0) low = 0xa0;
        if (first == 0xed) high = 0x9f;
    } else if (first >= 0xf0 && first <= 0xf4) {
        length = 4;
        if (first == 0xf0) low = 0x90;
        if (first == 0xf4) high = 0x8f;
    } else {
        return 0;
    }
    for (size_t i = 1; i < length; ++i) {
        if (byte(i) < low || byte(i) > high) {
            bad = i;
            return 0;
        }
        low = 0x80;
        high = 0xbf;
    }
    return length;
}

void appendUtf8(std::string& out, uint32_t code)
{
    if (code < 0x80) {
        out += static_cast<char>(code);
    } else if (code < 0x800) {
        out += static_cast<char>(0xc0 | (code >> 6));
        out += static_cast<char>(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
        out += static_cast<char>(0xe0 | (code >> 12));
        out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
        out += static_cast<char>(0x80 | (code & 0x3f));
    } else {
        out += static_cast<char>(0xf0 | (code >> 18));
        out += static_cast<char>(0x80 | ((code >> 12) & 0x3f));
        out += static_cast<char>(0x80 | ((code >> 6) & 0x3f));
        out += static_cast<char>(0x80 | (code & 0x3f));
    }
}

uint32_t hex4(std::string_view text)
{
    uint32_t code = 0;
    for (size_t i = 0; i < 4; ++i)
        code = code * 16 + static_cast<uint32_t>(hexValue(text[i]));
    return code;
}

// Appends what the escape at text[at] means; returns its length.
size_t appendEscape(std::string& out, std::string_view text, size_t at)
{
    const char c = at + 1 < text.size() ? text[at + 1] : '\0';
    switch (c) {
    case 'b': out += '\b'; return 2;
    case 'f': out += '\f'; return 2;
    case 'n': out += '\n'; return 2;
    case 'r': out += '\r'; return 2;
    case 't': out += '\t'; return 2;
    case '"':
    case '\\':
    case '/': out += c; return 2;
    default: break;
    }
    if (c != 'u' || !goodEscape(text, at)) {
        out += '\\';
        return 1;
    }
    uint32_t code = hex4(text.substr(at + 2));
    if (code >= 0xd800 && code < 0xdc00 && at + 12 <= text.size() && text[at + 6] == '\\' && text[at + 7] == 'u' && goodEscape(text, at + 6)) {
        const uint32_t low = hex4(text.substr(at + 8));
        if (low >= 0xdc00 && low < 0xe000) {
            appendUtf8(out, 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00));
            return 12;
        }
    }
    if (code >= 0xd800 && code < 0xe000) out += kReplacement; // half of a pair
    else appendUtf8(out, code);
    return 6;
}

// NaN, nan, inf, Infinity with an optional sign: what C and Python print for numbers that are none.
bool isNonFinite(std::string_view token)
{
    if (!token.empty() && (token.front() == '-' || token.front() == '+')) token.remove_prefix(1);
    if (token.size() < 3 || token.size() > 8) return false;
    char small[9] = {};
    for (size_t i = 0; i < token.size(); ++i)
        small[i] = static_cast<char>(token[i] | 0x20);
    const std::string_view word(small, token.size());
    return word == "nan" || word == "inf" || word == "infinity";
}

size_t endOfString(std::string_view text, size_t from) // text[from] is the quote
{
    for (size_t at = from + 1;;) {
        const void* quote = at < text.size() ? std::memchr(text.data() + at, '"', text.size() - at) : nullptr;
        if (quote == nullptr) return std::string_view::npos;
        const auto end = static_cast<size_t>(static_cast<const char*>(quote) - text.data());
        size_t backslashes = 0;
        while (end - backslashes > from + 1 && text[end - backslashes - 1] == '\\')
            ++backslashes;
        if (backslashes % 2 == 0) return end + 1;
        at = end + 1;
    }
}

struct Decimal {
    NumberState state = NumberState::missing;
    bool negative = false;
    std::string_view whole, fraction; // digits
    int exponent = 0;
};

Decimal splitDecimal(std::string_view token)
{
    Decimal d;
    token = unquoted(token);
    while (!token.empty() && isBlank(token.front()))
        token.remove_prefix(1);
    while (!token.empty() && isBlank(token.back()))
        token.remove_suffix(1);
    if (token.empty()) return d;
    d.state = isNonFinite(token) ? NumberState::nonFinite : NumberState::bad;
    size_t at = 0;
    if (token[0] == '-' || token[0] == '+') {
        d.negative = token[0] == '-';
        ++at;
    }
    const size_t whole = at;
    while (at < token.size() && isDigit(token[at]))
        ++at;
    d.whole = token.substr(whole, at - whole);
    if (at < token.size() && token[at] == '.') {
        const size_t fraction = ++at;
        while (at < token.size() && isDigit(token[at]))
            ++at;
        d.fraction = token.substr(fraction, at - fraction);
    }
    if (d.whole.empty() && d.fraction.empty()) return d;
    if (at < token.size() && (token[at] | 0x20) == 'e') {
        const char* begin = token.data() + at + 1;
        if (begin < token.data() + token.size() && *begin == '+') ++begin;
        const auto [end, error] = std::from_chars(begin, token.data() + token.size(), d.exponent);
        if (error != std::errc() || d.exponent > 1000 || d.exponent < -1000) return d;
        at = static_cast<size_t>(end - token.data());
    }
    if (at == token.size()) d.state = NumberState::good;
    return d;
}

// The digit of the decimal at place 10^power.
int digitAt(const Decimal& d, int power)
{
    const int place = power - d.exponent;
    if (place >= 0) {
        const auto index = static_cast<ptrdiff_t>(d.whole.size()) - 1 - place;
        return index >= 0 ? d.whole[static_cast<size_t>(index)] - '0' : 0;
    }
    const auto index = static_cast<size_t>(-place - 1);
    return index < d.fraction.size() ? d.fraction[index] - '0' : 0;
}

// The usual form, "1712195495519689.047" with at most three decimals, without detours.
bool quickMicroTime(std::string_view token, MicroTime& time)
{
    size_t at = 0;
    const bool negative = !token.empty() && token[0] == '-';
    if (negative) ++at;
    const size_t first = at;
    int64_t value = 0;
    while (at < token.size() && isDigit(token[at]) && at - first <= 16) // 17 digits fit, and are one too many
        value = value * 10 + (token[at++] - '0');
    if (at == first || at - first > 16 || value > 9'000'000'000'000'000) return false;
    value *= 1000;
    if (at < token.size() && token[at] == '.') {
        const size_t point = at++;
        static constexpr int64_t kUnits[] = {100, 10, 1};
        while (at < token.size() && isDigit(token[at]) && at - point <= 3) {
            value += (token[at] - '0') * kUnits[at - point - 1];
            ++at;
        }
        if (at == point + 1) return false;
    }
    if (at != token.size()) return false;
    time = {NumberState::good, negative ? -value : value, 0};
    return true;
}

} // namespace

const char* repairKind(JsonRepair repair)
{
    switch (repair) {
    case JsonRepair::invalidToken: return "invalid-token";
    case JsonRepair::invalidEscape: return "invalid-escape";
    case JsonRepair::controlCharacter: return "control-character-in-string";
    case JsonRepair::invalidUtf8: return "invalid-utf8";
    }
    return "";
}

void checkJson(std::string_view text, uint64_t offset, Places (&repairs)[kJsonRepairCount])
{
    const auto note = [&](JsonRepair repair, size_t at) { repairs[static_cast<size_t>(repair)].add(offset + at); };
    bool inString = false;
    for (size_t at = 0; at < text.size();) {
        const char c = text[at];
        if (!inString) {
            if (c == '"') inString = true;
            else if (c == 'N' || c == 'n' || c == 'i' || c == 'I' || c == '-' || c == '+') {
                size_t end = at;
                while (end < text.size() && !endsScalar(text[end]))
                    ++end;
                if (isNonFinite(text.substr(at, end - at))) note(JsonRepair::invalidToken, at);
                at = end;
                continue;
            }
            ++at;
            continue;
        }
        if (c == '"') {
            inString = false;
            ++at;
        } else if (c == '\\') {
            const bool good = goodEscape(text, at);
            if (!good) note(JsonRepair::invalidEscape, at);
            at += good ? 2 : 1;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            note(JsonRepair::controlCharacter, at);
            ++at;
        } else if (static_cast<unsigned char>(c) >= 0x80) {
            size_t bad = 1;
            const size_t length = utf8Length(text.substr(at, 4), bad);
            if (length == 0) note(JsonRepair::invalidUtf8, at);
            at += length == 0 ? bad : length;
        } else {
            ++at;
        }
    }
}

namespace {

// Blocks of 32 bytes in which some byte could begin what maybeDeviates() looks for.
using Block = uint8_t __attribute__((vector_size(32)));

#ifdef __x86_64__
[[gnu::target_clones("avx2", "default")]]
#endif
size_t nextSuspectBlock(const char* text, size_t from, size_t size)
{
    for (; from + 33 <= size; from += 32) {
        Block before, here;
        std::memcpy(&before, text + from, 32);
        std::memcpy(&here, text + from + 1, 32);
        const Block small = here | 0x20;
        const auto letter = (small == 'n') | (small == 'i');
        const auto opened = (before == ' ') | (before == ':') | (before == ',') | (before == '[') | (before == '-') | (before == '\n');
        const auto hit = (letter & opened) | (here == '\\');
        uint64_t any[4];
        std::memcpy(any, &hit, 32);
        if ((any[0] | any[1] | any[2] | any[3]) != 0) return from;
    }
    return from;
}

bool suspect(std::string_view text, size_t& at)
{
    const char c = text[at];
    if (c == '\\') {
        if (!goodEscape(text, at)) return true;
        ++at; // what it escapes is no backslash of its own
        return false;
    }
    if ((c | 0x20) != 'n' && (c | 0x20) != 'i') return false;
    size_t end = at;
    while (end < text.size() && end - at < 9 && !endsScalar(text[end]))
        ++end;
    if (!isNonFinite(text.substr(at, end - at))) return false;
    size_t before = at;
    while (before > 0 && (isBlank(text[before - 1]) || text[before - 1] == '-' || text[before - 1] == '+'))
        --before;
    return before > 0 && (text[before - 1] == ':' || text[before - 1] == ',' || text[before - 1] == '[');
}

} // namespace

bool maybeDeviates(std::string_view text)
{
    size_t at = 1;
    while (at < text.size()) {
        at = std::max(at, nextSuspectBlock(text.data(), at - 1, text.size()) + 1);
        const size_t end = std::min(text.size(), at + 32);
        for (; at < end; ++at)
            if (suspect(text, at)) return true;
    }
    return false;
}

size_t skipBlanks(std::string_view text, size_t from)
{
    while (from < text.size() && isBlank(text[from]))
        ++from;
    return from;
}

size_t endOfValue(std::string_view text, size_t from)
{
    if (from >= text.size()) return std::string_view::npos;
    if (text[from] == '"') return endOfString(text, from);
    if (text[from] != '{' && text[from] != '[') {
        size_t end = from;
        while (end < text.size() && !endsScalar(text[end]))
            ++end;
        return end < text.size() ? end : std::string_view::npos; // more of it may follow
    }
    int64_t depth = 0;
    for (size_t at = from; at < text.size();) {
        switch (text[at]) {
        case '"':
            at = endOfString(text, at);
            if (at == std::string_view::npos) return at;
            continue;
        case '{':
        case '[': ++depth; break;
        case '}':
        case ']':
            if (--depth == 0) return at + 1;
            break;
        default: break;
        }
        ++at;
    }
    return std::string_view::npos;
}

bool JsonCursor::nextValue(std::string_view& value)
{
    size_t end = endOfValue(m_text, m_at);
    if (end == std::string_view::npos || end == m_at) {
        m_broken = true;
        return false;
    }
    value = m_text.substr(m_at, end - m_at);
    m_at = skipBlanks(m_text, end);
    if (m_at < m_text.size() && m_text[m_at] == ',') ++m_at;
    else if (m_at + 1 < m_text.size()) m_broken = true; // only the closing bracket may follow
    return true;
}

bool JsonCursor::nextMember(std::string_view& key, std::string_view& value)
{
    m_at = skipBlanks(m_text, m_at);
    if (m_broken || m_at + 1 >= m_text.size()) return false;
    const size_t end = m_text[m_at] == '"' ? endOfString(m_text, m_at) : std::string_view::npos;
    if (end == std::string_view::npos) {
        m_broken = true;
        return false;
    }
    key = m_text.substr(m_at + 1, end - m_at - 2);
    m_at = skipBlanks(m_text, end);
    if (m_at >= m_text.size() || m_text[m_at] != ':') {
        m_broken = true;
        return false;
    }
    m_at = skipBlanks(m_text, m_at + 1);
    return nextValue(value);
}

bool JsonCursor::nextElement(std::string_view& value)
{
    m_at = skipBlanks(m_text, m_at);
    if (m_broken || m_at + 1 >= m_text.size()) return false;
    return nextValue(value);
}

std::string_view memberOf(std::string_view object, std::string_view key)
{
    if (object.empty() || object.front() != '{') return {};
    JsonCursor cursor(object);
    std::string_view name, value;
    while (cursor.nextMember(name, value))
        if (name == key) return value;
    return {};
}

std::string decoded(std::string_view token)
{
    const std::string_view text = unquoted(token);
    std::string out;
    out.reserve(text.size());
    for (size_t at = 0; at < text.size();) {
        const char c = text[at];
        if (c == '\\' && isString(token)) {
            at += appendEscape(out, text, at);
        } else if (static_cast<unsigned char>(c) < 0x80) {
            out += c;
            ++at;
        } else {
            size_t bad = 1;
            const size_t length = utf8Length(text.substr(at, 4), bad);
            if (length == 0) out += kReplacement;
            else out += text.substr(at, length);
            at += length == 0 ? bad : length;
        }
    }
    return out;
}

std::optional<int64_t> wholeNumber(std::string_view token)
{
    token = unquoted(token);
    int64_t value = 0;
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
    if (error != std::errc() || end == token.data()) return std::nullopt;
    if (end == token.data() + token.size()) return value;
    const Decimal d = splitDecimal(token);
    if (d.state != NumberState::good || d.exponent != 0) return std::nullopt;
    return value;
}

NumberState realNumber(std::string_view token, double& value)
{
    token = unquoted(token);
    const Decimal d = splitDecimal(token);
    if (d.state != NumberState::good) return d.state;
    if (token.front() == '+') token.remove_prefix(1);
    const auto [end, error] = std::from_chars(token.data(), token.data() + token.size(), value);
    static_cast<void>(end);
    return error == std::errc() && std::isfinite(value) ? NumberState::good : NumberState::bad;
}

MicroTime microTime(std::string_view token)
{
    MicroTime time;
    if (token.empty() || token == "null") return time;
    if (quickMicroTime(token, time)) return time;
    const Decimal d = splitDecimal(token);
    time.state = d.state == NumberState::missing ? NumberState::bad : d.state;
    if (d.state != NumberState::good) return time;
    const int highest = static_cast<int>(d.whole.size()) - 1 + d.exponent;
    for (int power = std::max(highest, -3); power >= -3; --power) { // 10^-3 us is 1 ns
        if (__builtin_mul_overflow(time.ns, int64_t{10}, &time.ns) || __builtin_add_overflow(time.ns, digitAt(d, power), &time.ns)) {
            time.state = NumberState::bad;
            return time;
        }
    }
    for (int power = -4; power >= -12; --power)
        time.below = time.below * 10 + digitAt(d, power);
    if (d.negative) { // rounded down, the rest counts upwards
        time.ns = -time.ns - (time.below > 0 ? 1 : 0);
        if (time.below > 0) time.below = 1000000000 - time.below;
    }
    return time;
}

} // namespace stepscope::importers
