// Reads comma-separated text: numbers, with the target in the trailing columns.
// Owner: core/engine. Thread: any; no state. Format: RFC 4180 (quotes, doubled quotes, CRLF), also ';' or tabs as the
// separator, a byte-order mark, blank lines and .gz.
#pragma once

#include "core/engine/memory_source.h"

#include <string>
#include <vector>

namespace stepscope::engine {

struct CsvOptions {
    bool header = false;
    int64_t targetColumns = 1;
    bool classification = true;          // the one target column is a class: a whole number from 0, or a name
    int64_t samples = 0;                 // at most so many rows; 0 = all
    std::vector<std::string> classNames; // known names (of the training file); empty: taken from this file, sorted
};

struct CsvData {
    MemoryData data;                     // sample shape {columns - targetColumns}
    std::vector<std::string> classNames; // empty when the classes are numbers
};

// Errors name file, line, column (in characters) and, with a header, the column's name.
base::Result<CsvData> readCsv(const std::string& path, const CsvOptions& options, std::stop_token stop);

} // namespace stepscope::engine
