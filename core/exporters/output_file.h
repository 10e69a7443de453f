// OutputFile: what an exporter writes, buffered, packed with gzip when the name ends in ".gz".
// Owner: core/exporters. Thread: one at a time.
#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

namespace stepscope::exporters {

class OutputFile {
public:
    OutputFile(const std::filesystem::path& path, bool gzip);
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;
    ~OutputFile();

    void write(std::string_view text);
    bool failed() const { return m_failed; }
    base::Status close(); // the first failure, if there was one

private:
    void flush();
    void fail(std::string what);

    std::filesystem::path m_path;
    std::string m_buffer, m_message;
    int m_file = -1;
    void* m_gzip = nullptr; // a gzFile
    bool m_failed = false, m_diskFull = false;
};

// Writes to a file beside `path` that takes its name when `write` returned without an error. With replace, a file that
// is already there is replaced then, else it is an error. `write` looks at the stop token itself.
base::Status writeOutput(const std::filesystem::path& path, bool replace,
                         const std::function<base::Status(OutputFile&)>& write);

base::Status cancelled();

// Text of a JSON string without its quotes.
void appendJson(std::string_view text, std::string& out);
// "NAME" with quotes.
std::string jsonString(std::string_view text);
// Nanoseconds as microseconds with every digit, "1234.567".
std::string microseconds(int64_t nanoseconds);

} // namespace stepscope::exporters
