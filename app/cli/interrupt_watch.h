// InterruptWatch: Ctrl-C (and SIGTERM, SIGHUP) as something to ask for instead of a signal handler.
// Owner: app/cli. Thread: main; construct it before any other thread starts, since threads inherit the signal mask.
#pragma once

#include <csignal>

namespace stepscope::cli {

class InterruptWatch {
public:
    InterruptWatch();
    ~InterruptWatch();
    InterruptWatch(const InterruptWatch&) = delete;
    InterruptWatch& operator=(const InterruptWatch&) = delete;

    // Waits up to `milliseconds`; true when a signal arrived.
    bool wait(int milliseconds);

private:
    int m_descriptor = -1;
    sigset_t m_before{};
};

} // namespace stepscope::cli
