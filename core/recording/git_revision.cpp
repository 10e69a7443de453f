#include "core/recording/git_revision.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char** environ;

namespace stepscope::recording {

namespace fs = std::filesystem;

namespace {

constexpr int kGitMilliseconds = 2000;

std::string firstLine(const fs::path& file)
{
    std::ifstream in(file);
    std::string line;
    std::getline(in, line);
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())))
        line.pop_back();
    return line;
}

bool isHash(std::string_view text)
{
    return (text.size() == 40 || text.size() == 64)
        && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isxdigit(c) != 0; });
}

fs::path gitDirectory(fs::path directory)
{
    std::error_code error;
    directory = fs::absolute(directory, error);
    while (!error) {
        const fs::path candidate = directory / ".git";
        if (fs::is_directory(candidate, error)) return candidate;
        if (fs::is_regular_file(candidate, error)) {
            constexpr std::string_view kPrefix = "gitdir: ";
            const std::string line = firstLine(candidate);
            if (!line.starts_with(kPrefix)) return {};
            const fs::path target = line.substr(kPrefix.size());
            return target.is_absolute() ? target : directory / target;
        }
        error.clear();
        if (!directory.has_relative_path() || directory == directory.parent_path()) return {};
        directory = directory.parent_path();
    }
    return {};
}

std::string packedReference(const fs::path& common, std::string_view name)
{
    std::ifstream in(common / "packed-refs");
    std::string line;
    while (std::getline(in, line)) {
        const size_t space = line.find(' ');
        if (space == std::string::npos || line[0] == '#' || line[0] == '^') continue;
        if (std::string_view(line).substr(space + 1) == name) return line.substr(0, space);
    }
    return {};
}

int64_t nowMs()
{
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return int64_t{t.tv_sec} * 1000 + t.tv_nsec / 1'000'000;
}

// Waits for the child to close the pipe; true when it wrote something. -1 on a time-out.
int readsAnything(int pipe, int64_t deadline)
{
    bool any = false;
    for (;;) {
        const int64_t left = deadline - nowMs();
        if (left <= 0) return -1;
        pollfd waiting{pipe, POLLIN, 0};
        const int ready = ::poll(&waiting, 1, static_cast<int>(left));
        if (ready < 0 && errno != EINTR) return -1;
        if (ready <= 0) continue;
        char buffer[4096];
        const ssize_t got = ::read(pipe, buffer, sizeof(buffer));
        if (got == 0) return any ? 1 : 0;
        if (got > 0) any = true;
        else if (errno != EINTR) return -1;
    }
}

} // namespace

std::string gitRevision(const fs::path& directory)
{
    const fs::path git = gitDirectory(directory);
    if (git.empty()) return {};
    fs::path common = git; // a linked work tree keeps its references in the main one
    if (const std::string other = firstLine(git / "commondir"); !other.empty())
        common = fs::path(other).is_absolute() ? fs::path(other) : git / other;

    std::string value = firstLine(git / "HEAD");
    constexpr std::string_view kReference = "ref: ";
    for (int depth = 0; depth < 8 && value.starts_with(kReference); ++depth) {
        const std::string name = value.substr(kReference.size());
        if (name.find("..") != std::string::npos) return {};
        value = firstLine(git / name);
        if (value.empty()) value = firstLine(common / name);
        if (value.empty()) value = packedReference(common, name);
    }
    return isHash(value) ? value : std::string();
}

std::string gitState(const fs::path& directory)
{
    int pipes[2];
    if (::pipe2(pipes, O_CLOEXEC) != 0) return "unknown";
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, pipes[1], 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    std::string where = directory.string();
    // Optional locks off: looking must not change the index of somebody's work tree.
    std::vector<std::string> words{"git",         "--no-optional-locks", "-C", where, "status",
                                   "--porcelain", "--untracked-files=no"};
    std::vector<char*> arguments;
    for (std::string& word : words)
        arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_t child = -1;
    const int error = ::posix_spawnp(&child, "git", &actions, nullptr, arguments.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    ::close(pipes[1]);
    if (error != 0) {
        ::close(pipes[0]);
        return "unknown";
    }
    const int output = readsAnything(pipes[0], nowMs() + kGitMilliseconds);
    ::close(pipes[0]);
    if (output < 0) ::kill(child, SIGKILL);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    if (output < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0) return "unknown";
    return output > 0 ? "modified" : "clean";
}

} // namespace stepscope::recording
