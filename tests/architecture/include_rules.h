// Checks which folder includes what, over the sources of core/, gpu/, ui/ and app/.
// Owner: tests/architecture. Thread: any.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace stepscope::architecture {

// What a folder may include, as "core/base" or, for a whole part, "core".
using Allowed = std::map<std::string, std::vector<std::string>>;

// A departure from the table that was decided on; the reason is printed with the test's output.
struct Deviation {
    std::string folder;
    std::string mayInclude;
    std::string reason;
};

// <...> headers that only some folders may include. A name matches when the header starts with it.
struct ForeignHeader {
    std::string what; // "Qt"
    std::vector<std::string> startsWith;
    std::vector<std::string> allowedIn; // folders, whole parts, or single files
};

struct LongFile {
    std::string file;
    std::string reason;
};

struct Rules {
    Allowed allowed;
    std::vector<Deviation> deviations;
    std::vector<ForeignHeader> foreign;
    int maxLines = 600;
    std::vector<LongFile> longFiles;
};

// The rules of this repository.
Rules rules();

struct Violation {
    std::string file; // from the root
    int line = 0; // 0: the whole file
    std::string text;
};

struct Report {
    std::vector<Violation> violations;
    int files = 0;
    int includes = 0; // of this repository's own headers
    std::vector<Deviation> unusedDeviations; // a departure nobody needs any more should go
};

Report check(const std::filesystem::path& root, const Rules& rules);

} // namespace stepscope::architecture
