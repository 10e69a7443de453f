// Times are int64 nanoseconds everywhere. Owner: core/base.
#pragma once

#include <cstdint>

namespace stepscope::base {

using TimeNs = int64_t; // a point (since the session's origin) or a duration, in nanoseconds

struct TimeRange {
    TimeNs begin = 0;
    TimeNs end = 0; // exclusive
    constexpr TimeNs duration() const { return end - begin; }
    friend constexpr bool operator==(const TimeRange&, const TimeRange&) = default;
};

} // namespace stepscope::base
