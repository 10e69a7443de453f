// SystemCalls: the calls by which threads get their sampling timers, replaceable so that tests can forbid them.
// Owner: core/recording. Thread: any.
#pragma once

#include <csignal>
#include <ctime>

#include <sys/types.h>

struct perf_event_attr;

namespace stepscope::recording {

struct SystemCalls {
    // For one thread on every core; a file descriptor, or -1 with errno.
    int (*perfEventOpen)(perf_event_attr* attributes, pid_t thread);
    // 0, or -1 with errno.
    int (*timerCreate)(clockid_t clock, sigevent* event, timer_t* timer);
};

const SystemCalls& realSystemCalls();

} // namespace stepscope::recording
