// Begins and ends that are separate events: B and E on threads, b, n and e of asynchronous spans.
// Owner: core/importers. Thread: one at a time. Units: ns of the file's clock.
//
// Spans take their row when they begin; pairing gives them their duration at the end of the file, because files are not
// always in order of time.
#pragma once

#include "core/importers/trace_problems.h"
#include "core/session/event_builder.h"

#include <vector>

namespace stepscope::importers {

class TracePairs {
public:
    static constexpr uint32_t kNoName = 0;

    // `list`: the thread, or the asynchronous id; ends close the newest open begin of the list with the same name, an end
    // without a name the newest.
    struct Mark {
        session::TimeNs time = 0;
        session::Event* begin = nullptr; // null: an end
        uint64_t place = 0;
        uint32_t name = kNoName;
    };
    void add(size_t list, const Mark& mark);

    // Sets the durations of what has an end. Begins without one go to `open`; ends without a begin are counted.
    void match(TraceProblem withoutBegin, TraceProblems& problems, std::vector<session::Event*>& open);

private:
    std::vector<std::vector<Mark>> m_lists;
};

} // namespace stepscope::importers
