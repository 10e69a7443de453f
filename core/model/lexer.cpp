#include "core/model/lexer.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>

namespace stepscope::model {

namespace {

struct Character {
    char32_t code = 0;
    size_t bytes = 0; // 0 at the end of the text
};

bool isDigit(char32_t c) { return c >= '0' && c <= '9'; }

// Spaces that come along when text is copied from a web page count as spaces, as does a byte order mark.
bool isBlank(char32_t c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v' || c == 0xA0 || c == 0xFEFF || c == 0x200B
        || c == 0x2060 || (c >= 0x2000 && c <= 0x200A) || c == 0x202F || c == 0x3000;
}

bool isOperatorCode(char32_t c)
{
    return c == 0xD7 || c == 0xF7 || c == 0x2212 || c == 0x221A || c == 0x2218 || (c >= 0x2190 && c <= 0x21FF)
        || (c >= 0x2200 && c <= 0x22FF && c != 0x2202 && c != 0x2207);
}

bool isQuote(char32_t c) { return (c >= 0x2018 && c <= 0x201F) || c == 0xAB || c == 0xBB; }

bool startsName(char32_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'
        || (c >= 0x80 && !isBlank(c) && !isOperatorCode(c) && !isQuote(c));
}

bool continuesName(char32_t c) { return startsName(c) || isDigit(c) || c == '!'; }

class Lexer {
public:
    explicit Lexer(std::string_view text) : m_text(text) {}

    std::vector<Token> run()
    {
        while (true) {
            skipBlanksAndComments();
            if (m_at >= m_text.size()) break;
            readToken();
        }
        m_tokens.push_back(start(Token::Kind::newline));
        m_tokens.push_back(start(Token::Kind::end));
        return std::move(m_tokens);
    }

private:
    // Decodes one character; refuses what is not UTF-8 (also overlong forms and surrogates).
    Character peek(size_t offset = 0) const
    {
        const size_t at = m_at + offset;
        if (at >= m_text.size()) return {};
        const auto byte = [&](size_t i) { return static_cast<unsigned char>(m_text[i]); };
        const unsigned char first = byte(at);
        if (first == 0) {
            failAt(m_place, "the text holds a zero byte: this is not a model file",
                   "a model file is plain text in UTF-8", base::ErrorCode::wrongFormat);
        }
        if (first < 0x80) return {first, 1};
        const size_t count = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
        char32_t code = first & (count == 4 ? 0x07 : count == 3 ? 0x0F : 0x1F);
        bool good = first >= 0xC2 && first <= 0xF4 && at + count <= m_text.size();
        for (size_t i = 1; good && i < count; ++i) {
            good = (byte(at + i) & 0xC0) == 0x80;
            code = (code << 6) | (byte(at + i) & 0x3F);
        }
        constexpr std::array<char32_t, 5> kLeast{0, 0, 0x80, 0x800, 0x10000};
        if (!good || code < kLeast[count] || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) {
            failAt(m_place, fmt::format("byte 0x{:02X} is not part of UTF-8 text", first), "save the file as UTF-8",
                   base::ErrorCode::wrongFormat);
        }
        return {code, count};
    }

    Character take()
    {
        const Character c = peek();
        m_at += c.bytes;
        if (c.code == '\n') {
            ++m_place.line;
            m_place.column = 1;
        } else if (c.bytes > 0 && !(c.code == 0xFEFF && m_at == c.bytes)) {
            ++m_place.column; // a byte order mark at the very start takes no column
        }
        return c;
    }

    bool startsWith(std::string_view what) const { return m_text.substr(m_at, what.size()) == what; }

    Token start(Token::Kind kind) const
    {
        Token token;
        token.kind = kind;
        token.place = m_place;
        token.begin = token.end = m_at;
        return token;
    }

    void finish(Token token)
    {
        token.end = m_at;
        m_tokens.push_back(std::move(token));
    }

    void skipBlanksAndComments()
    {
        while (m_at < m_text.size()) {
            if (startsWith("#=")) skipBlockComment();
            else if (m_text[m_at] == '#') {
                while (m_at < m_text.size() && m_text[m_at] != '\n')
                    take();
            } else if (isBlank(peek().code)) take();
            else break;
        }
    }

    void skipBlockComment()
    {
        const Place opened = m_place;
        int depth = 0; // Julia's block comments nest
        do {
            if (startsWith("#=")) {
                ++depth;
                take();
            } else if (startsWith("=#")) {
                --depth;
                take();
            } else if (m_at >= m_text.size()) failAt(opened, "the comment '#=' is never closed", "close it with '=#'");
            take();
        } while (depth > 0);
    }

    void readToken()
    {
        const char32_t c = peek().code;
        if (c == '\n') {
            Token token = start(Token::Kind::newline);
            take();
            if (m_brackets.empty()) finish(std::move(token));
        } else if (isDigit(c) || (c == '.' && isDigit(peek(1).code))) readNumber();
        else if (c == '"') readString();
        else if (isQuote(c)) failAt(m_place, "typographic quotes are not Julia", "write plain quotes: \"...\"");
        else if (startsName(c)) readName();
        else readOperator();
    }

    void readName()
    {
        Token token = start(Token::Kind::name);
        while (m_at < m_text.size() && continuesName(peek().code)) {
            if (startsWith("!=")) break;
            take();
        }
        token.text = std::string(m_text.substr(token.begin, m_at - token.begin));
        finish(std::move(token));
    }

    void readDigits(std::string& digits)
    {
        while (m_at < m_text.size() && (isDigit(peek().code) || (peek().code == '_' && isDigit(peek(1).code)))) {
            const char32_t c = take().code;
            if (c != '_') digits += static_cast<char>(c);
        }
    }

    void readNumber()
    {
        Token token = start(Token::Kind::number);
        std::string digits;
        bool whole = true;
        readDigits(digits);
        if (peek().code == '.' && !startsWith("...") && peek(1).code != '(' && peek(1).code != '*'
            && peek(1).code != '+' && peek(1).code != '-' && peek(1).code != '/' && peek(1).code != '^') {
            whole = false;
            take();
            digits += '.';
            readDigits(digits);
        }
        const char32_t letter = peek().code;
        if (letter == 'e' || letter == 'E' || letter == 'f') { // 1f-3 is Julia's Float32 literal
            const bool sign = peek(1).code == '-' || peek(1).code == '+';
            if (isDigit(peek(sign ? 2 : 1).code)) {
                whole = false;
                take();
                digits += 'e';
                if (sign) digits += static_cast<char>(take().code);
                readDigits(digits);
            }
        }
        if (m_at < m_text.size() && continuesName(peek().code)) {
            failAt(token.place,
                   fmt::format("'{}{}' is not a number", m_text.substr(token.begin, m_at - token.begin),
                               m_text.substr(m_at, peek().bytes)),
                   "numbers are written like 64, 0.001, 1e-3, 1f-3 or 5_000; products need a '*'");
        }
        convert(digits, whole, token);
        finish(std::move(token));
    }

    static void convert(const std::string& digits, bool whole, Token& token)
    {
        const char* last = digits.data() + digits.size();
        if (whole) {
            const auto [end, error] = std::from_chars(digits.data(), last, token.integer);
            if (error != std::errc() || end != last) {
                failAt(token.place, "this whole number is too large", "the largest is 9_223_372_036_854_775_807");
            }
            token.isInteger = true;
            token.number = static_cast<double>(token.integer);
            return;
        }
        const auto [end, error] = std::from_chars(digits.data(), last, token.number);
        if (error == std::errc::result_out_of_range)
            failAt(token.place, "this number is too large or too small for a double");
        if (error != std::errc() || end != last || !std::isfinite(token.number))
            failAt(token.place, "this is not a number");
    }

    void readString()
    {
        Token token = start(Token::Kind::string);
        if (startsWith("\"\"\""))
            failAt(token.place, "strings in triple quotes are not supported",
                   "write the text between plain quotes: \"...\"");
        take();
        while (true) {
            if (m_at >= m_text.size() || m_text[m_at] == '\n')
                failAt(token.place, "this string is never closed", "add a '\"' at its end");
            Character c = peek();
            if (c.code == '$') failAt(m_place, "'$' in a string is not supported", "write '\\$' for a dollar sign");
            size_t from = m_at;
            take();
            if (c.code == '"') break;
            if (c.code == '\\') {
                c = peek();
                if (c.code != '\\' && c.code != '"' && c.code != '$') {
                    failAt(m_place, "only \\\\, \\\" and \\$ are supported after a backslash in a string",
                           "write paths with '/'");
                }
                from = m_at;
                take();
            }
            token.text += m_text.substr(from, m_at - from);
        }
        finish(std::move(token));
    }

    void readOperator()
    {
        Token token = start(Token::Kind::op);
        static constexpr std::array<std::string_view, 22> kOperators{
            "...", "|>", "=>", "->", "::", "==", "!=", "<=", ">=", ".+", ".-",
            ".*",  "./", ".^", "+=", "-=", "*=", "&&", "||", ".=", "<|", "//"};
        for (const std::string_view op : kOperators) {
            if (!startsWith(op)) continue;
            for (size_t i = 0; i < op.size(); ++i)
                take();
            token.text = op;
            finish(std::move(token));
            return;
        }
        const Character c = take();
        token.text = std::string(m_text.substr(token.begin, c.bytes));
        if (c.code == 0x2212) token.text = "-"; // the typographic minus
        if (c.code == 0x2192)
            failAt(token.place, "'→' is not Julia", "an anonymous function is written x -> ..., a pair in => out");
        if (c.code < 0x20 || c.code == 0x7F) {
            failAt(token.place,
                   fmt::format("the control character 0x{:02X} does not belong into a model file",
                               static_cast<unsigned>(c.code)),
                   "a model file is plain text in UTF-8", base::ErrorCode::wrongFormat);
        }
        trackBracket(token);
        finish(std::move(token));
    }

    void trackBracket(const Token& token)
    {
        const char c = token.text[0];
        if (c == '(' || c == '[' || c == '{') m_brackets.push_back({c, token.place});
        if (c != ')' && c != ']' && c != '}') return;
        const char opening = c == ')' ? '(' : c == ']' ? '[' : '{';
        if (m_brackets.empty())
            failAt(token.place, fmt::format("'{}' closes nothing", c),
                   "a bracket before it is missing, or this one is too many");
        if (m_brackets.back().bracket != opening) {
            failAt(token.place,
                   fmt::format("'{}' closes the '{}' opened at {}:{}", c, m_brackets.back().bracket,
                               m_brackets.back().place.line, m_brackets.back().place.column),
                   "close the brackets in the reverse order of opening");
        }
        m_brackets.pop_back();
    }

    struct Bracket {
        char bracket;
        Place place;
    };
    std::string_view m_text;
    size_t m_at = 0;
    Place m_place{1, 1};
    std::vector<Bracket> m_brackets;
    std::vector<Token> m_tokens;
};

} // namespace

std::vector<Token> tokenise(std::string_view text) { return Lexer(text).run(); }

std::string describe(const Token& token)
{
    switch (token.kind) {
    case Token::Kind::newline: return "the end of the line";
    case Token::Kind::end: return "the end of the file";
    case Token::Kind::string: return "a string";
    case Token::Kind::number:
        return token.isInteger ? fmt::format("{}", token.integer) : fmt::format("{}", token.number);
    default: return fmt::format("'{}'", shortened(token.text));
    }
}

} // namespace stepscope::model
