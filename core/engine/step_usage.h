// What the operating system did to the process between two moments: switches and page faults.
// Owner: core/engine. Thread: the one that is measured.
#pragma once

#include "core/session/types.h"

#include <sys/resource.h>

namespace stepscope::engine {

struct StepUsage {
    rusage thread = {};
    rusage process = {};

    static StepUsage now() noexcept
    {
        StepUsage usage;
        ::getrusage(RUSAGE_THREAD, &usage.thread);
        ::getrusage(RUSAGE_SELF, &usage.process);
        return usage;
    }

    // Writes the differences to `end` into the row.
    void writeTo(session::StepRow& row, const StepUsage& end) const noexcept
    {
        const auto difference = [](long from, long to) { return static_cast<int32_t>(to - from); };
        row.threadInvoluntarySwitches = difference(thread.ru_nivcsw, end.thread.ru_nivcsw);
        row.threadMinorFaults = difference(thread.ru_minflt, end.thread.ru_minflt);
        row.threadMajorFaults = difference(thread.ru_majflt, end.thread.ru_majflt);
        row.processInvoluntarySwitches = difference(process.ru_nivcsw, end.process.ru_nivcsw);
        row.processMinorFaults = difference(process.ru_minflt, end.process.ru_minflt);
    }
};

} // namespace stepscope::engine
