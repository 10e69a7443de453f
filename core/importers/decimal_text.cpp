#include "core/importers/decimal_text.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace stepscope::importers {

namespace {

using Wide = unsigned __int128;

constexpr int kMaxDigits = 36; // of a Wide that can still be doubled
constexpr int kMaxExponent = 100'000;

bool isDigit(char c) { return c >= '0' && c <= '9'; }

Wide powerOfTen(int exponent)
{
    Wide power = 1;
    while (exponent-- > 0)
        power *= 10;
    return power;
}

struct Digits {
    Wide value = 0;
    int exponent = 0; // value * 10^exponent
    bool any = false;
};

// Digits from `at` on, of the whole part or of the fraction.
void takeDigits(std::string_view text, size_t& at, bool fraction, int& significant, Digits& number)
{
    for (; at < text.size() && isDigit(text[at]); ++at) {
        number.any = true;
        if (significant < kMaxDigits) {
            number.value = number.value * 10 + static_cast<unsigned>(text[at] - '0');
            if (number.value > 0) ++significant;
            if (fraction) --number.exponent;
        } else if (!fraction && number.exponent < kMaxExponent) {
            ++number.exponent;
        }
    }
}

// "e-3": false when it is malformed.
bool takeExponent(std::string_view text, size_t& at, Digits& number)
{
    if (at == text.size() || (text[at] != 'e' && text[at] != 'E')) return true;
    bool negative = false;
    if (++at < text.size() && (text[at] == '+' || text[at] == '-')) negative = text[at++] == '-';
    if (at == text.size() || !isDigit(text[at])) return false;
    int exponent = 0;
    for (; at < text.size() && isDigit(text[at]); ++at)
        exponent = std::min(kMaxExponent, exponent * 10 + (text[at] - '0'));
    number.exponent += negative ? -exponent : exponent;
    return true;
}

} // namespace

std::optional<int64_t> scaledDecimal(std::string_view text, int shift)
{
    size_t at = 0;
    const bool negative = !text.empty() && text[0] == '-';
    if (!text.empty() && (text[0] == '-' || text[0] == '+')) ++at;
    Digits number;
    int significant = 0;
    takeDigits(text, at, false, significant, number);
    if (at < text.size() && text[at] == '.') takeDigits(text, ++at, true, significant, number);
    if (!number.any || !takeExponent(text, at, number) || at != text.size()) return std::nullopt;

    constexpr Wide kLimit = static_cast<Wide>(std::numeric_limits<int64_t>::max());
    int exponent = number.exponent + shift;
    for (; exponent > 0 && number.value > 0 && number.value <= kLimit; --exponent)
        number.value *= 10;
    if (exponent < 0 && number.value > 0) {
        if (-exponent > kMaxDigits + 1) return 0;
        const Wide power = powerOfTen(-exponent);
        const Wide rest = number.value % power;
        number.value = number.value / power + (rest * 2 >= power ? 1 : 0);
    }
    if (number.value > kLimit) return std::nullopt;
    const auto value = static_cast<int64_t>(number.value);
    return negative ? -value : value;
}

std::optional<uint64_t> wholeNumber(std::string_view text, int base)
{
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

std::string decimalText(int64_t value, int digits)
{
    const bool negative = value < 0;
    std::string text = std::to_string(negative ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value));
    if (text.size() <= static_cast<size_t>(digits)) text.insert(0, static_cast<size_t>(digits) + 1 - text.size(), '0');
    if (digits > 0) {
        text.insert(text.size() - static_cast<size_t>(digits), 1, '.');
        text.erase(text.find_last_not_of('0') + 1);
        if (text.back() == '.') text.pop_back();
    }
    return negative ? '-' + text : text;
}

} // namespace stepscope::importers
