// Arithmetic that stays at the largest value instead of overflowing, and numbers as text.
// Owner: core/model, private to it. Thread: any.
#pragma once

#include <cstdint>
#include <string>

namespace stepscope::model {

inline int64_t saturatedProduct(int64_t a, int64_t b) // for a, b >= 0
{
    int64_t result = 0;
    return __builtin_mul_overflow(a, b, &result) ? INT64_MAX : result;
}
inline int64_t saturatedSum(int64_t a, int64_t b)
{
    int64_t result = 0;
    return __builtin_add_overflow(a, b, &result) ? INT64_MAX : result;
}

std::string underscored(int64_t value); // 44_426, as Flux prints numbers
std::string countText(int64_t value);   // the same; "more than ..." at the largest value
std::string byteText(int64_t bytes);    // 173.539 KiB, as Julia's Base.format_bytes

} // namespace stepscope::model
