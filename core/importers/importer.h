// Importer: reads a file of another tool into a Session. One file per format, one line in builtin.cpp.
// Owner: core/importers. Thread: any; meant for jobs. Units: ns.
#pragma once

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/importers/input.h"
#include "core/session/session.h"

#include <filesystem>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::importers {

enum class Confidence : uint8_t {
    no,
    name,    // only the file's name speaks for it
    likely,  // most of the first lines fit
    certain, // magic bytes, a schema, keys that nothing else has
};

struct Detection {
    Confidence confidence = Confidence::no;
    std::string why; // for the user: "top-level key 'traceEvents'"
};

// Times (ns) and weights from here on, and as far below 0, are damage: left out and counted.
inline constexpr base::TimeNs kTimeLimit = base::TimeNs{1} << 61; // about 73 years; sums of two still fit
inline constexpr int64_t kWeightLimit = int64_t{1} << 56;

struct ImportOptions {
    std::string format;                     // name of an importer; "" = found by content
    std::optional<base::TimeNs> rangeBegin; // load only what overlaps [begin, end), relative to the first event
    std::optional<base::TimeNs> rangeEnd;
    std::optional<int64_t> firstStep, lastStep; // load only these steps, by their number in the file
    std::string stepName;                   // spans of this name are the steps; "" = found by the rules of the format
    std::string group;                      // Track::group of every track, e.g. "rank 1"
    base::TimeNs clockOffset = 0;           // added to every time
    InputOptions input;
};

// Why reading ended before the end of the file.
struct ImportProblem {
    std::string kind;        // stable: "unexpected-end", "invalid-token", "gzip-truncated", ...
    int64_t byteOffset = -1; // in the unpacked bytes, from 0; -1 unknown
    int64_t line = -1;       // from 1; -1 unknown
    int64_t column = -1;     // from 1, in bytes
    std::string message;
};

struct Imported {
    session::SessionPtr session; // also the environment rows "import.format", "import.why", "import.file"
    std::string format;          // name of the importer
    std::string why;
    bool complete = true;        // false: cut or broken; `session` holds what was readable
    std::optional<ImportProblem> problem;
};

struct Importer {
    std::string_view name;        // "kineto", "speedscope", ...
    std::string_view description; // one line for help and dialogs
    Detection (*detect)(const Input& input); // looks at head and name only
    // Errors are for input of which nothing can be used, and for "cancelled".
    base::Result<Imported> (*run)(Input& input, const ImportOptions& options, std::stop_token stop,
                                  const base::Progress& progress);
};

// All importers, those that decide by magic bytes first.
std::span<const Importer> builtinImporters();

// The importer for the input and why, among equals the first. Error wrongFormat: what the file is when it is known
// (with how to export something readable), else what was tried.
struct Choice {
    const Importer* importer = nullptr;
    std::string why;
};
base::Result<Choice> chooseImporter(const Input& input, std::string_view format);

// Why reading ended at an error of Input::bytes: kind "gzip-truncated", "zip-damaged", "read-error" and the like.
ImportProblem problemOf(const base::Error& error);

// What the options leave out, for people: "1.5 s to 2 s", "steps 3 to 5, a step being a span named train"; "" nothing.
std::string partText(const ImportOptions& options);

// For every importer to call on its tables before the session is built: the environment rows "import.format", "import.why",
// "import.file", "import.bytes" (of the file as it lies there), "import.packing", "import.member" and "import.part", which is
// a quality row too.
void addImportRows(session::SessionTables& tables, const Input& input, std::string_view format);
// The quality row "incomplete-file", for what makes Imported::complete false.
void addProblemRow(session::SessionTables& tables, const ImportProblem& problem);

// openInput, chooseImporter and run. Of an archive with several files the first that an importer takes, unless
// options.input.member names one.
base::Result<Imported> importFile(const std::filesystem::path& path, const ImportOptions& options = {},
                                  std::stop_token stop = {}, const base::Progress& progress = {});

} // namespace stepscope::importers
