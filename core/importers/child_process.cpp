#include "core/importers/child_process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace stepscope::importers {

namespace {

constexpr int kPollMs = 100; // how often a request to stop is looked for
constexpr size_t kMaxErrorText = 4096;

struct Pipe {
    int read = -1, write = -1;
    bool open()
    {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0) return false;
        read = ends[0];
        write = ends[1];
        return true;
    }
    void closeEnd(int& end)
    {
        if (end >= 0) ::close(end);
        end = -1;
    }
    ~Pipe()
    {
        closeEnd(read);
        closeEnd(write);
    }
};

// Ours, without its language: messages and numbers are the same everywhere.
std::vector<std::string> environment()
{
    std::vector<std::string> result{"LC_ALL=C"};
    for (char** entry = environ; *entry != nullptr; ++entry)
        if (std::strncmp(*entry, "LC_", 3) != 0 && std::strncmp(*entry, "LANG", 4) != 0) result.emplace_back(*entry);
    return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts)
{
    std::vector<char*> result;
    for (std::string& text : texts)
        result.push_back(text.data());
    result.push_back(nullptr);
    return result;
}

} // namespace

ChildProcess::ChildProcess(int pid, int out, int error, std::stop_token stop, std::string name)
    : m_pid(pid),
      m_out(out),
      m_error(error),
      m_stop(std::move(stop)),
      m_name(std::move(name))
{
}

base::Result<std::unique_ptr<ChildProcess>> ChildProcess::start(const std::vector<std::string>& arguments,
                                                                std::stop_token stop)
{
    Pipe out, error;
    if (!out.open() || !error.open()) return base::fail(base::ErrorCode::io, "cannot make a pipe");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, out.write, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, error.write, STDERR_FILENO);
    std::vector<std::string> words = arguments, variables = environment();
    pid_t pid = -1;
    const int failed =
        ::posix_spawnp(&pid, words[0].c_str(), &actions, nullptr, pointers(words).data(), pointers(variables).data());
    posix_spawn_file_actions_destroy(&actions);
    if (failed != 0)
        return base::fail(base::ErrorCode::unavailable,
                          fmt::format("cannot run '{}': {}", words[0], std::strerror(failed)));
    ::fcntl(error.read, F_SETFL, O_NONBLOCK);
    const int outRead = out.read, errorRead = error.read;
    out.read = error.read = -1;
    return std::unique_ptr<ChildProcess>(new ChildProcess(pid, outRead, errorRead, std::move(stop), words[0]));
}

ChildProcess::~ChildProcess()
{
    if (m_pid > 0) {
        ::kill(m_pid, SIGKILL);
        ::waitpid(m_pid, nullptr, 0);
    }
    if (m_out >= 0) ::close(m_out);
    if (m_error >= 0) ::close(m_error);
}

void ChildProcess::takeErrors()
{
    std::array<char, 1024> block;
    for (;;) {
        const ssize_t got = ::read(m_error, block.data(), block.size());
        if (got == 0) { // closed: nothing more to wait for
            ::close(m_error);
            m_error = -1;
        }
        if (got <= 0) return;
        m_errorText.append(
            block.data(),
            std::min(static_cast<size_t>(got), kMaxErrorText - std::min(kMaxErrorText, m_errorText.size())));
    }
}

// False when a stop was requested.
bool ChildProcess::waitForOutput()
{
    for (;;) {
        if (m_stop.stop_requested()) return false;
        std::array<pollfd, 2> ends{{{m_out, POLLIN, 0}, {m_error, POLLIN, 0}}}; // a negative one is ignored
        const int ready = ::poll(ends.data(), ends.size(), kPollMs);
        if (ready < 0 && errno != EINTR) return true;
        if (ready > 0 && ends[1].revents != 0) takeErrors();
        if (ready > 0 && ends[0].revents != 0) return true;
    }
}

base::Result<size_t> ChildProcess::read(std::span<char> into)
{
    if (m_failed) return base::fail(*m_failed);
    if (m_out < 0 || into.empty()) return size_t{0};
    if (!waitForOutput()) {
        m_failed = base::Error{base::ErrorCode::cancelled, "cancelled", {}, {}};
        return base::fail(*m_failed);
    }
    const ssize_t got = ::read(m_out, into.data(), into.size());
    if (got > 0) return static_cast<size_t>(got);
    if (const base::Status ended = finish(); !ended) {
        m_failed = ended.error();
        return base::fail(*m_failed);
    }
    return size_t{0};
}

base::Status ChildProcess::finish()
{
    ::close(m_out);
    m_out = -1;
    if (m_error >= 0) takeErrors();
    int status = 0;
    while (::waitpid(m_pid, &status, 0) < 0 && errno == EINTR) {}
    m_pid = -1;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return {};
    std::string said = m_errorText.substr(0, m_errorText.find_last_not_of(" \n\t") + 1);
    const std::string how = WIFSIGNALED(status) ? fmt::format("was ended by signal {}", WTERMSIG(status))
                                                : fmt::format("ended with exit code {}", WEXITSTATUS(status));
    return base::fail(base::ErrorCode::io, fmt::format("'{}' {}{}{}", m_name, how, said.empty() ? "" : ": ", said));
}

} // namespace stepscope::importers
