// Debuginfod: fetches files of debug information from the servers that the user has configured.
// Owner: core/recording, internal. Thread: ask() from one thread; the downloads run on a thread of this object.
//
// libdebuginfod is loaded at run time where it is installed. Nothing is asked when DEBUGINFOD_URLS is not set.
#pragma once

#include <chrono>
#include <memory>
#include <string>

namespace stepscope::recording {

class Debuginfod {
public:
    // Null when no server is configured or the library is missing; `why` tells which, "" when not configured.
    static std::unique_ptr<Debuginfod> make(std::string& why);
    ~Debuginfod(); // gives up what is still being fetched

    enum class State { coming, here, missing };
    struct Answer {
        State state = State::coming;
        std::string path; // of the file, when it is here
    };
    // Begins to fetch at the first question and waits for at most `patience`.
    Answer ask(const std::string& buildId, std::chrono::milliseconds patience);

private:
    struct Impl;
    explicit Debuginfod(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> m_impl;
};

} // namespace stepscope::recording
