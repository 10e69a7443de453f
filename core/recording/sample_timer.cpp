#include "core/recording/sample_timer.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace stepscope::recording {

namespace {

int openPerfEvent(perf_event_attr* attributes, pid_t thread)
{
    return static_cast<int>(::syscall(SYS_perf_event_open, attributes, thread, -1, -1, PERF_FLAG_FD_CLOEXEC));
}

int createTimer(clockid_t clock, sigevent* event, timer_t* timer) { return ::timer_create(clock, event, timer); }

} // namespace

const SystemCalls& realSystemCalls()
{
    static constexpr SystemCalls kReal{openPerfEvent, createTimer};
    return kReal;
}

clockid_t threadCpuClock(pid_t thread)
{
    // The kernel's encoding of clockids of threads (clock_getcpuclockid(3) makes the same for processes).
    constexpr unsigned kPerThread = 4, kScheduler = 2;
    return static_cast<clockid_t>((~static_cast<unsigned>(thread) << 3) | kPerThread | kScheduler);
}

int64_t threadCpuNs(pid_t thread)
{
    timespec t;
    if (::clock_gettime(threadCpuClock(thread), &t) != 0) return -1;
    return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

int SampleTimer::arm(SamplingMethod method, pid_t thread, int64_t periodNs, const SystemCalls& system)
{
    disarm();
    switch (method) {
    case SamplingMethod::perfClock: return armPerf(thread, periodNs, system);
    case SamplingMethod::cpuTimer: return armCpuTimer(thread, periodNs, system);
    case SamplingMethod::none: break;
    }
    return EINVAL;
}

int SampleTimer::armPerf(pid_t thread, int64_t periodNs, const SystemCalls& system)
{
    perf_event_attr attributes;
    std::memset(&attributes, 0, sizeof(attributes));
    attributes.size = sizeof(attributes);
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.config = PERF_COUNT_SW_CPU_CLOCK;
    attributes.sample_period = static_cast<uint64_t>(periodNs);
    // Without the kernel the event needs no privileges, and no signal can reach a thread on its way into a sleep.
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    attributes.wakeup_events = 1;
    attributes.disabled = 1;
    const int file = system.perfEventOpen(&attributes, thread);
    if (file < 0) return errno;
    const f_owner_ex owner{F_OWNER_TID, thread};
    if (::fcntl(file, F_SETSIG, kSampleSignal) != 0 || ::fcntl(file, F_SETOWN_EX, &owner) != 0
        || ::fcntl(file, F_SETFL, O_ASYNC) != 0 || ::ioctl(file, PERF_EVENT_IOC_ENABLE, 0) != 0) {
        const int problem = errno;
        ::close(file);
        return problem;
    }
    m_file = file;
    m_method = SamplingMethod::perfClock;
    return 0;
}

int SampleTimer::armCpuTimer(pid_t thread, int64_t periodNs, const SystemCalls& system)
{
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = kSampleSignal;
    event.sigev_notify_thread_id = thread;
    timer_t timer{};
    if (system.timerCreate(threadCpuClock(thread), &event, &timer) != 0) return errno;
    itimerspec interval{};
    interval.it_interval = {static_cast<time_t>(periodNs / 1'000'000'000), static_cast<long>(periodNs % 1'000'000'000)};
    interval.it_value = interval.it_interval;
    if (::timer_settime(timer, 0, &interval, nullptr) != 0) {
        const int problem = errno;
        ::timer_delete(timer);
        return problem;
    }
    m_timer = timer;
    m_method = SamplingMethod::cpuTimer;
    return 0;
}

void SampleTimer::disarm()
{
    if (m_method == SamplingMethod::perfClock) {
        ::ioctl(m_file, PERF_EVENT_IOC_DISABLE, 0);
        ::close(m_file);
    } else if (m_method == SamplingMethod::cpuTimer) {
        ::timer_delete(m_timer);
    }
    m_method = SamplingMethod::none;
    m_file = -1;
}

void SampleTimer::forget()
{
    if (m_method == SamplingMethod::perfClock) ::close(m_file);
    m_method = SamplingMethod::none; // timers are not inherited
    m_file = -1;
}

} // namespace stepscope::recording
