// WholeWeights: turns weights with fractions into whole numbers whose running sum stays within half a unit of the true
// one. Owner: core/importers. Thread: one at a time.
#pragma once

#include "core/importers/decimal_text.h"

#include <cstdint>
#include <optional>
#include <string_view>

namespace stepscope::importers {

class WholeWeights {
public:
    // `shift`: powers of ten from the text's unit to the wanted one. Nothing when it is no number or too large.
    std::optional<int64_t> take(std::string_view text, int shift = 0)
    {
        constexpr int64_t kPart = 1'000'000; // fractions are kept to a millionth of a unit
        const std::optional<int64_t> whole = scaledDecimal(text, shift);
        const std::optional<int64_t> parts = scaledDecimal(text, shift + 6);
        if (!whole || !parts || *whole * kPart == *parts)
            return whole; // whole already, or too large for fractions to matter
        ++m_rounded;
        const int64_t sum = *parts + m_carry;
        const int64_t result = (sum >= 0 ? sum + kPart / 2 : sum - kPart / 2) / kPart;
        m_carry = sum - result * kPart;
        return result;
    }
    int64_t rounded() const { return m_rounded; }

private:
    int64_t m_carry = 0, m_rounded = 0; // carry in millionths
};

} // namespace stepscope::importers
