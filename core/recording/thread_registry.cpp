#include "core/recording/thread_registry.h"

#include <algorithm>
#include <new>

#include <dlfcn.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" void* __libc_stack_end; // of the dynamic loader: the first thread's stack pointer at its start

namespace stepscope::recording {

namespace {

constexpr size_t kAlternateBytes = 64 * 1024;
constexpr size_t kHandlerBytes = 8 * 1024; // what our handler needs beside the registers

// initial-exec: the handler's access must not call into the dynamic loader, which might allocate.
__attribute__((tls_model("initial-exec"))) constinit thread_local RegisteredThread* t_thread = nullptr;

size_t neededAlternateBytes()
{
#ifdef AT_MINSIGSTKSZ
    const unsigned long minimum = ::getauxval(AT_MINSIGSTKSZ); // with the largest register state of this processor
#else
    const unsigned long minimum = 0;
#endif
    return std::max<size_t>(minimum, 2048) + kHandlerBytes;
}

void findStack(RegisteredThread& thread)
{
    pthread_attr_t attributes;
    if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return;
    void* low = nullptr;
    size_t bytes = 0;
    ::pthread_attr_getstack(&attributes, &low, &bytes);
    ::pthread_attr_destroy(&attributes);
    thread.stackLow = reinterpret_cast<uint64_t>(low);
    thread.stackHigh = thread.stackLow + bytes;
    // Above the first frame lie the thread's own data, or the program's arguments and environment: no frames.
    const bool first = thread.id == ::getpid();
    const uint64_t end = first ? reinterpret_cast<uint64_t>(__libc_stack_end) + 64 : static_cast<uint64_t>(::pthread_self());
    if (end > thread.stackLow && end < thread.stackHigh) thread.stackHigh = end;
}

void onThreadExit(void*) { threadRegistry().endCurrentThread(); }

pthread_key_t exitKey()
{
    // A key's destructor runs after the destructors of thread_local objects, also on pthread_exit() and cancellation.
    static const pthread_key_t key = [] {
        pthread_key_t made{};
        ::pthread_key_create(&made, onThreadExit);
        return made;
    }();
    return key;
}

} // namespace

AlternateStack::~AlternateStack()
{
    if (m_memory != nullptr) ::munmap(m_memory, kAlternateBytes);
}

bool AlternateStack::present()
{
    stack_t now{};
    return ::sigaltstack(nullptr, &now) == 0 && (now.ss_flags & SS_DISABLE) == 0 && now.ss_size >= neededAlternateBytes();
}

bool AlternateStack::install()
{
    if (present()) return true;
    void* memory = ::mmap(nullptr, kAlternateBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return false;
    stack_t own{};
    own.ss_sp = memory;
    own.ss_size = kAlternateBytes;
    if (kAlternateBytes < neededAlternateBytes() || ::sigaltstack(&own, nullptr) != 0) {
        ::munmap(memory, kAlternateBytes);
        return false;
    }
    m_memory = memory;
    return true;
}

void AlternateStack::remove()
{
    if (m_memory == nullptr) return;
    stack_t now{};
    if (::sigaltstack(nullptr, &now) == 0 && now.ss_sp == m_memory) {
        stack_t none{};
        none.ss_flags = SS_DISABLE;
        ::sigaltstack(&none, nullptr);
    }
    ::munmap(m_memory, kAlternateBytes);
    m_memory = nullptr;
}

ThreadRegistry& threadRegistry()
{
    // Never destroyed: threads may end after main() does.
    static ThreadRegistry* const registry = [] {
        auto* made = new ThreadRegistry;
        ::pthread_atfork([] { threadRegistry().beforeFork(); }, [] { threadRegistry().afterForkInParent(); },
                         [] { threadRegistry().afterForkInChild(); });
        return made;
    }();
    return *registry;
}

RegisteredThread* currentThread() noexcept { return t_thread; }

void excludeCurrentThread()
{
    excludeAllocationsOfThisThread();
    if (t_thread != nullptr) threadRegistry().excludeCurrentThread();
}

void ThreadRegistry::addCurrentThread(std::shared_ptr<RegisteredThread> maker, const void* routine) noexcept
{
    if (t_thread != nullptr) return;
    try {
        auto thread = std::make_shared<RegisteredThread>();
        thread->id = static_cast<pid_t>(::syscall(SYS_gettid));
        thread->routine = routine;
        thread->leader = maker.get();
        thread->maker = std::move(maker);
        findStack(*thread);
        thread->canBeSignalled = thread->alternateStack.install() && thread->stackHigh > thread->stackLow;
        ::pthread_setspecific(exitKey(), thread.get());
        const std::lock_guard lock(m_mutex);
        thread->serial = m_nextSerial++;
        m_threads.push_back(thread);
        t_thread = thread.get();
        lookWhomAllocationsAreFor();
        if (m_observer != nullptr) m_observer->threadStarted(*thread);
    } catch (const std::exception&) {
        // Without memory the thread runs unsampled; it is counted with those that the registry does not know.
    }
}

void ThreadRegistry::endCurrentThread() noexcept
{
    if (t_thread == nullptr) return;
    const std::lock_guard lock(m_mutex);
    const auto at = std::find_if(m_threads.begin(), m_threads.end(), [](const auto& other) { return other.get() == t_thread; });
    if (at == m_threads.end()) return;
    const std::shared_ptr<RegisteredThread> thread = std::move(*at);
    m_threads.erase(at);
    thread->timer.disarm();
    thread->ring.store(nullptr);
    thread->exited.store(true, std::memory_order_release);
    // Threads that it made live on, and work for nobody now.
    thread->marker.used.store(false);
    thread->marker.label.store(base::LabelId::kNone);
    thread->marker.step.store(-1);
    thread->allocations.store(nullptr);
    t_thread = nullptr; // a signal that is still under way finds nothing to do
    thread->alternateStack.remove();
    thread->maker.reset();
    thread->leader = nullptr;
    if (m_observer == nullptr) return;
    m_observer->threadEnds(*thread);
    if (thread->ownedRing != nullptr) m_ended.push_back(thread);
}

bool ThreadRegistry::observe(ThreadObserver* observer)
{
    const std::lock_guard lock(m_mutex);
    if (m_observer != nullptr) return false;
    m_observer = observer;
    return true;
}

void ThreadRegistry::stopObserving()
{
    const std::lock_guard lock(m_mutex);
    m_observer = nullptr;
    m_ended.clear();
}

ThreadRegistry::Threads ThreadRegistry::threads() const
{
    const std::lock_guard lock(m_mutex);
    Threads all = m_threads;
    all.insert(all.end(), m_ended.begin(), m_ended.end());
    return all;
}

void ThreadRegistry::drop(const RegisteredThread& ended)
{
    const std::lock_guard lock(m_mutex);
    std::erase_if(m_ended, [&](const auto& thread) { return thread.get() == &ended; });
}

void ThreadRegistry::excludeCurrentThread()
{
    const std::lock_guard lock(m_mutex);
    t_thread->excluded.store(true);
    t_thread->timer.disarm();
    t_thread->ring.store(nullptr); // its memory stays until sampling ends: somebody may be reading it
}

void ThreadRegistry::beforeFork() { m_mutex.lock(); }

void ThreadRegistry::afterForkInParent()
{
    m_forks.fetch_add(1, std::memory_order_relaxed);
    m_mutex.unlock();
}

void ThreadRegistry::afterForkInChild()
{
    // The other threads exist in the parent alone. Their timers, their samples and the recording stay with it.
    for (const auto& thread : m_threads) {
        thread->timer.forget();
        thread->ring.store(nullptr);
        if (thread.get() != t_thread) thread->exited.store(true);
    }
    if (t_thread != nullptr) t_thread->id = static_cast<pid_t>(::syscall(SYS_gettid));
    if (m_observer != nullptr) m_observer->childForked();
    m_observer = nullptr;
    m_mutex.unlock();
}

namespace {

struct ThreadStart {
    void* (*routine)(void*);
    void* argument;
    std::shared_ptr<RegisteredThread> maker;
};

void* runRegistered(void* data)
{
    auto* start = static_cast<ThreadStart*>(data);
    void* (*const routine)(void*) = start->routine;
    void* const argument = start->argument;
    threadRegistry().addCurrentThread(std::move(start->maker), reinterpret_cast<const void*>(routine));
    delete start;
    return routine(argument);
}

} // namespace

} // namespace stepscope::recording

// Takes the place of the C library's function for the whole process, as the program's symbols come first.
extern "C" __attribute__((visibility("default"))) int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                                                      void* (*routine)(void*), void* argument) noexcept
{
    using namespace stepscope::recording;
    using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static const auto create = reinterpret_cast<Create>(::dlsym(RTLD_NEXT, "pthread_create"));
    auto* start = new (std::nothrow) ThreadStart{routine, argument, nullptr};
    if (start == nullptr) return create(thread, attributes, routine, argument);
    if (RegisteredThread* maker = currentThread(); maker != nullptr) start->maker = maker->weak_from_this().lock();
    const int result = create(thread, attributes, runRegistered, start);
    if (result != 0) delete start;
    return result;
}
