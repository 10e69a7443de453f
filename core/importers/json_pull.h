// JsonPull: walks through a JSON text in memory, value by value, forgiving what other tools get wrong.
// Owner: core/importers. Thread: one at a time.
//
// The caller asks for what its format expects; a value of another kind is skipped. There is no recursion, so nesting of
// any depth is fine. After the first place that is no JSON at all, every call says that there is nothing more.
// Accepted beyond RFC 8259: trailing commas, NaN and Infinity, raw control characters and unknown escapes in strings.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stepscope::importers {

struct JsonProblem {
    std::string kind; // "unexpected-end", "unterminated-string", "invalid-token"
    size_t offset = 0;
};

class JsonPull {
public:
    enum class Kind : uint8_t { none, object, array, string, number, boolean, null };

    explicit JsonPull(std::string_view text) : m_text(text) {}
    // A value inside another text, for raw() values that are read later.
    JsonPull(std::string_view whole, std::string_view value);

    Kind kind(); // of the next value
    // for (bool in = json.enterObject(); in && json.nextKey(key);) ... one value is taken per key.
    bool enterObject();
    bool nextKey(std::string_view& key); // valid until the next string or key
    bool enterArray();
    bool nextElement();

    std::string_view string(); // without escapes, valid until the next one; "" and skipped when it is no string
    std::string_view scalar(); // text of a number, word or string; "" and skipped when it is an object or array
    std::string_view raw();    // text of the whole value
    void skip();
    // Of a number, or of a string with a number in it: scaledDecimal().
    std::optional<int64_t> integer(int shift = 0);

    size_t offset() const { return m_at; }
    const std::optional<JsonProblem>& problem() const { return m_problem; }

private:
    void space();
    bool failed(const char* kind, size_t offset);
    bool enter(Kind wanted, char open);
    bool more(char close);
    bool takeString(std::string_view& value, std::string& scratch);
    std::string_view takeWord();
    void unescape(std::string_view escaped, std::string& out);

    std::string_view m_text;
    size_t m_at = 0;
    bool m_first = false; // right behind '{' or '['
    std::string m_scratch, m_keyScratch, m_nesting;
    std::optional<JsonProblem> m_problem;
};

// Line and column, both from 1, of a place in a text; columns count bytes.
struct TextPlace {
    int64_t line = 1, column = 1;
};
TextPlace placeOf(std::string_view text, size_t offset);

} // namespace stepscope::importers
