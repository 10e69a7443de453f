#include "app/cli/interrupt_watch.h"

#include <initializer_list>

#include <poll.h>
#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>

namespace stepscope::cli {

InterruptWatch::InterruptWatch()
{
    sigset_t watched;
    sigemptyset(&watched);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
        struct sigaction current {};
        // Ignored on purpose (nohup, a background job): stays ignored.
        if (sigaction(signal, nullptr, &current) == 0 && current.sa_handler == SIG_IGN) continue;
        sigaddset(&watched, signal);
    }
    pthread_sigmask(SIG_BLOCK, &watched, &m_before);
    m_descriptor = signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC);
    if (m_descriptor < 0) pthread_sigmask(SIG_SETMASK, &m_before, nullptr); // then a signal ends the process as usual
}

InterruptWatch::~InterruptWatch()
{
    if (m_descriptor < 0) return;
    ::close(m_descriptor);
    pthread_sigmask(SIG_SETMASK, &m_before, nullptr);
}

bool InterruptWatch::wait(int milliseconds)
{
    pollfd waiting{m_descriptor, POLLIN, 0};
    if (::poll(&waiting, m_descriptor < 0 ? 0 : 1, milliseconds) <= 0) return false;
    signalfd_siginfo info;
    return ::read(m_descriptor, &info, sizeof info) == static_cast<ssize_t>(sizeof info);
}

} // namespace stepscope::cli
