#include "core/recording/debuginfod.h"

#include "core/recording/thread_registry.h"

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include <dlfcn.h>
#include <pthread.h>
#include <unistd.h>

namespace stepscope::recording {

namespace {

// The part of libdebuginfod's interface that is used; it is stable since its first version.
struct Library {
    using Client = void;
    using Progress = int (*)(Client*, long, long);
    Client* (*begin)() = nullptr;
    void (*end)(Client*) = nullptr;
    int (*findDebuginfo)(Client*, const unsigned char*, int, char**) = nullptr;
    void (*setProgress)(Client*, Progress) = nullptr;

    bool load()
    {
        void* handle = ::dlopen("libdebuginfod.so.1", RTLD_NOW | RTLD_LOCAL); // stays loaded: it starts threads of its own
        if (handle == nullptr) return false;
        const auto find = [&](auto& function, const char* name) {
            function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
            return function != nullptr;
        };
        return find(begin, "debuginfod_begin") && find(end, "debuginfod_end") && find(findDebuginfo, "debuginfod_find_debuginfo")
            && find(setProgress, "debuginfod_set_progressfn");
    }
};

// The library calls back on the thread that waits for it, without a way to hand something over.
thread_local const std::atomic<bool>* t_stopping = nullptr;

int giveUpWhenStopping(Library::Client*, long, long) { return t_stopping != nullptr && t_stopping->load() ? 1 : 0; }

std::vector<unsigned char> bytesOf(const std::string& hex)
{
    std::vector<unsigned char> bytes;
    for (size_t i = 0; i + 1 < hex.size(); i += 2)
        bytes.push_back(static_cast<unsigned char>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    return bytes;
}

} // namespace

struct Debuginfod::Impl {
    Library library;
    std::mutex mutex;
    std::condition_variable changed;
    std::deque<std::string> queue;
    std::map<std::string, Answer> answers;
    std::atomic<bool> stopping{false};
    std::thread thread;

    void run();
    Answer fetch(Library::Client* client, const std::string& buildId) const;
};

Debuginfod::Answer Debuginfod::Impl::fetch(Library::Client* client, const std::string& buildId) const
{
    const std::vector<unsigned char> id = bytesOf(buildId);
    char* path = nullptr;
    const int descriptor = library.findDebuginfo(client, id.data(), static_cast<int>(id.size()), &path);
    if (descriptor < 0) return {State::missing, ""};
    ::close(descriptor);
    const Answer answer{path != nullptr ? State::here : State::missing, path != nullptr ? path : ""};
    std::free(path);
    return answer;
}

void Debuginfod::Impl::run()
{
    pthread_setname_np(pthread_self(), "debuginfod");
    excludeCurrentThread();
    t_stopping = &stopping;
    Library::Client* client = library.begin();
    if (client != nullptr) library.setProgress(client, &giveUpWhenStopping);
    std::unique_lock lock(mutex);
    for (;;) {
        changed.wait(lock, [this] { return stopping.load() || !queue.empty(); });
        if (stopping) break;
        const std::string buildId = queue.front();
        queue.pop_front();
        lock.unlock();
        const Answer answer = client != nullptr ? fetch(client, buildId) : Answer{State::missing, ""};
        lock.lock();
        answers[buildId] = answer;
        changed.notify_all();
    }
    lock.unlock();
    if (client != nullptr) library.end(client);
}

std::unique_ptr<Debuginfod> Debuginfod::make(std::string& why)
{
    why.clear();
    const char* servers = std::getenv("DEBUGINFOD_URLS");
    if (servers == nullptr || *servers == '\0') return nullptr;
    auto impl = std::make_unique<Impl>();
    if (!impl->library.load()) {
        why = "DEBUGINFOD_URLS is set, but libdebuginfod.so.1 is not installed (Debian: libdebuginfod1)";
        return nullptr;
    }
    impl->thread = std::thread([p = impl.get()] { p->run(); });
    return std::unique_ptr<Debuginfod>(new Debuginfod(std::move(impl)));
}

Debuginfod::Debuginfod(std::unique_ptr<Impl> impl) : m_impl(std::move(impl)) {}

Debuginfod::~Debuginfod()
{
    {
        const std::lock_guard lock(m_impl->mutex);
        m_impl->stopping = true;
    }
    m_impl->changed.notify_all();
    m_impl->thread.join();
}

Debuginfod::Answer Debuginfod::ask(const std::string& buildId, std::chrono::milliseconds patience)
{
    std::unique_lock lock(m_impl->mutex);
    const auto [at, added] = m_impl->answers.try_emplace(buildId);
    if (added) {
        m_impl->queue.push_back(buildId);
        m_impl->changed.notify_all();
    }
    if (at->second.state == State::coming)
        m_impl->changed.wait_for(lock, patience, [&, at = at] { return at->second.state != State::coming; });
    return at->second;
}

} // namespace stepscope::recording
