// Repairs references between the small tables, so that everything behind a Session may index without looking.
// Owner: core/session. Thread: any, on the caller's tables.
#pragma once

#include "core/session/session.h"
#include "core/session/session_sink.h"

namespace stepscope::session {

// Clears references that point outside their table, replaces unknown phases and kinds by none and other, and puts
// the steps in order of their index. What was repaired is counted in tables.quality as "broken-reference".
void repairTables(SessionTables& tables);

// True when a view can use the span: a known label, a duration that is not negative, times that do not overflow.
inline bool usable(const SpanRecord& span, size_t labelCount)
{
    constexpr TimeNs kLimit = TimeNs{1} << 61; // about 73 years
    return span.label < labelCount && span.duration >= 0 && span.duration < kLimit && span.start > -kLimit
        && span.start < kLimit;
}

} // namespace stepscope::session
