// Decimal numbers as text to integers, digit by digit, never through a double.
// Owner: core/importers. Thread: any; pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stepscope::importers {

// The number times 10^shift, rounded to the nearest integer, halves away from zero: scaledDecimal("1.5", 3) is 1500.
// Accepts a sign, a fraction and an exponent. Nothing when the whole text is no such number or the result does not
// fit 64 bits.
std::optional<int64_t> scaledDecimal(std::string_view text, int shift);

// Digits only, base 10 or 16 (without prefix). Nothing on other characters or overflow.
std::optional<uint64_t> wholeNumber(std::string_view text, int base = 10);

// value / 10^digits as text without trailing zeros: decimalText(1500, 3) is "1.5".
std::string decimalText(int64_t value, int digits);

} // namespace stepscope::importers
