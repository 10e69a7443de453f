// Forgiving reading of JSON in memory: the raw tokens of values, decimal text to integers, and text with what real
// writers get wrong repaired and counted.
// Owner: core/importers. Thread: any. Units: bytes; ns where a name says so.
//
// A raw token is the text of a value as it stands in the file: "abc\n" with its quotes, 12.5, null, {...}, [...].
#pragma once

#include "core/base/time_ns.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::importers {

// Deviations from RFC 8259 that are repaired; the names are those of ImportProblem::kind.
enum class JsonRepair : uint8_t { invalidToken, invalidEscape, controlCharacter, invalidUtf8 };
inline constexpr int kJsonRepairCount = 4;
const char* repairKind(JsonRepair repair); // "invalid-token", ...

// Places of one kind of event: how many, and the first few.
struct Places {
    static constexpr size_t kKept = 5;
    int64_t count = 0;
    uint64_t bytes[kKept] = {};
    void add(uint64_t byte)
    {
        if (count < static_cast<int64_t>(kKept)) bytes[count] = byte;
        ++count;
    }
    size_t kept() const { return count < static_cast<int64_t>(kKept) ? static_cast<size_t>(count) : kKept; }
};

// Counts the deviations in the text of one value that begins at byte `offset` of the file.
void checkJson(std::string_view text, uint64_t offset, Places (&repairs)[kJsonRepairCount]);
// True when the text could hold such a deviation that a parser of structure alone would not see: non-finite numbers and
// wrong escapes. Fast; may be true without need.
bool maybeDeviates(std::string_view text);

// The end of the value that begins at text[from], or npos when it is not all there. Strings may hold anything but their
// quote. Never recursive.
size_t endOfValue(std::string_view text, size_t from);
size_t skipBlanks(std::string_view text, size_t from);

// Walks over the members of the object, or the elements of the array, whose text is `value`.
class JsonCursor {
public:
    explicit JsonCursor(std::string_view value) : m_text(value), m_at(value.empty() ? 0 : 1) {}
    // The next member; false at the end and when the text is broken (then broken()).
    bool nextMember(std::string_view& key, std::string_view& value); // the key without its quotes, still escaped
    bool nextElement(std::string_view& value);
    bool broken() const { return m_broken; }

private:
    bool nextValue(std::string_view& value);
    std::string_view m_text;
    size_t m_at;
    bool m_broken = false;
};

// What the token of a key holds, "" when it is not a member.
std::string_view memberOf(std::string_view object, std::string_view key);

inline bool isString(std::string_view token) { return token.size() >= 2 && token.front() == '"'; }
// Between the quotes, still escaped; other tokens as they are.
inline std::string_view unquoted(std::string_view token)
{
    return isString(token) ? token.substr(1, token.size() - 2) : token;
}
// Text of a string token, escapes replaced, bad UTF-8 as U+FFFD, wrong escapes left as they are. Other tokens as they are.
std::string decoded(std::string_view token);

enum class NumberState { good, missing, bad, nonFinite };

// Whole numbers; strings of digits count as numbers, fractions are cut off. Empty when it is none or does not fit.
std::optional<int64_t> wholeNumber(std::string_view token);
NumberState realNumber(std::string_view token, double& value);

// A time in microseconds as decimal text, in nanoseconds and the rest below one; never through a floating-point number.
struct MicroTime {
    NumberState state = NumberState::missing;
    base::TimeNs ns = 0;  // rounded down
    int64_t below = 0;    // 0..999 999 999, in 1e-9 ns
};
MicroTime microTime(std::string_view token); // numbers, and strings that hold one

} // namespace stepscope::importers
