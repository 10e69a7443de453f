// ChildProcess: runs a program and hands out what it prints, as a ByteSource.
// Owner: core/importers. Thread: one at a time; a job.
#pragma once

#include "core/importers/input.h"

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace stepscope::importers {

class ChildProcess final : public ByteSource {
public:
    // `arguments[0]` is looked up in PATH; no shell is involved. The environment is ours with LC_ALL=C. Error
    // unavailable when there is no such program.
    static base::Result<std::unique_ptr<ChildProcess>> start(const std::vector<std::string>& arguments,
                                                             std::stop_token stop);
    ~ChildProcess() override; // ends the program when it still runs

    // What it printed to its standard output. When it ended with an error, or `stop` was requested, that comes at the
    // end.
    base::Result<size_t> read(std::span<char> into) override;
    double fraction() const override { return -1; }
    const std::string& errorText() const { return m_errorText; } // the first of its standard error

private:
    ChildProcess(int pid, int out, int error, std::stop_token stop, std::string name);
    bool waitForOutput();
    void takeErrors();
    base::Status finish();

    int m_pid = -1, m_out = -1, m_error = -1;
    std::stop_token m_stop;
    std::string m_name, m_errorText;
    std::optional<base::Error> m_failed;
};

} // namespace stepscope::importers
