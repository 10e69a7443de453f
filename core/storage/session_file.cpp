#include "core/storage/session_file.h"

#include "core/session/table_check.h"
#include "core/storage/schema.h"
#include "core/storage/session_columns.h"
#include "core/storage/session_tables.h"

#include <algorithm>
#include <array>
#include <exception>
#include <fstream>
#include <memory>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace stepscope::storage {

namespace fs = std::filesystem;
using base::ErrorCode;

namespace {

constexpr std::string_view kSqliteMagic("SQLite format 3\0", 16);
constexpr uint64_t kBytesPerSpan = 28; // of the columns in memory
constexpr uint64_t kBytesPerSample = 32;
constexpr uint64_t kBytesPerStack = 8;
constexpr const char* kMadeBy = "session files (.stepscope) are made by `stepscope record`";

std::string firstBytes(const fs::path& path, size_t count)
{
    std::string bytes(count, '\0');
    std::ifstream in(path, std::ios::binary);
    in.read(bytes.data(), static_cast<std::streamsize>(count));
    bytes.resize(static_cast<size_t>(in.gcount()));
    return bytes;
}

// What a file that is no SQLite database seems to be; "" when unknown.
std::string_view guessKind(std::string_view bytes)
{
    constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kKinds{{
        {"\x1f\x8b", "gzip data"},
        {"\x28\xb5\x2f\xfd", "zstd data"},
        {"PK\x03\x04", "a zip archive"},
        {"\x7f"
         "ELF",
         "a program or library"},
        {"PERFILE2", "a recording of Linux perf"},
        {"\x89PNG", "a PNG picture"},
        {"model", "a model file"},
        {"\xef\xbb\xbf{", "JSON text"},
        {"{", "JSON text"},
        {"[", "JSON text"},
    }};
    const size_t begin = bytes.find_first_not_of(" \t\r\n");
    if (begin != std::string_view::npos) bytes.remove_prefix(begin);
    for (const auto& [start, kind] : kKinds)
        if (bytes.starts_with(start)) return kind;
    return {};
}

base::Error notASession(const fs::path& path, std::string_view kind)
{
    base::Error error;
    error.code = ErrorCode::wrongFormat;
    error.message = kind.empty() ? "not a Stepscope session file"
                                 : fmt::format("not a Stepscope session file; it looks like {}", kind);
    error.where.file = path.string();
    error.hint = kMadeBy;
    return error;
}

base::Status checkPlace(const fs::path& path)
{
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (status.type() == fs::file_type::not_found)
        return base::fail(ErrorCode::notFound, "the file does not exist", {.file = path.string()});
    if (fs::is_directory(status))
        return base::fail(ErrorCode::wrongFormat, "this is a directory, not a session file", {.file = path.string()});
    if (error) return base::fail(ErrorCode::io, error.message(), {.file = path.string()});
    if (!fs::is_regular_file(status))
        return base::fail(ErrorCode::wrongFormat, "this is not a regular file", {.file = path.string()});
    const auto size = fs::file_size(path, error);
    if (!error && size == 0)
        return base::fail(ErrorCode::truncated, "the file is empty", {.file = path.string()},
                          "the recording ended before it wrote anything, or the copy failed");
    return {};
}

struct Opened {
    std::unique_ptr<Database> database;
    bool readOnly = false;
    bool truncated = false;
};

base::Error endsInHeader(const fs::path& path)
{
    return {ErrorCode::truncated,
            "the file ends in its header",
            {.file = path.string()},
            "copy the file again from where it was recorded"};
}

// SQLite takes what is missing of the last page for zeros, without a word.
base::Result<Opened> checkLength(Opened opened, const fs::path& path)
{
    const auto pages = opened.database->integer("PRAGMA page_count");
    const auto pageBytes = opened.database->integer("PRAGMA page_size");
    std::error_code error;
    const auto size = static_cast<int64_t>(fs::file_size(path, error));
    if (error || !pages || !pageBytes) return opened;
    if (size < *pageBytes) return base::fail(endsInHeader(path));
    if (size < *pages * *pageBytes) opened.truncated = true;
    return opened;
}

// Write access lets SQLite undo the half-written commit of a killed recording; without it we read what is there.
base::Result<Opened> openDatabase(const fs::path& path)
{
    Opened opened;
    auto database = Database::open(path, OpenMode::readWrite);
    if (!database) {
        opened.readOnly = true;
        database = Database::open(path, OpenMode::readOnly);
    }
    if (!database) return base::fail(database.error());
    opened.database = std::move(*database);
    base::Status status = opened.database->execute("SELECT count(*) FROM sqlite_master");
    if (!status && status.error().code == ErrorCode::truncated) {
        // The file is shorter than its header says. This lets SQLite read the pages that are there; on a
        // connection that writes nothing it has no other effect.
        opened.truncated = true;
        status = opened.database->execute("PRAGMA writable_schema = ON; SELECT count(*) FROM sqlite_master");
    }
    if (status) return checkLength(std::move(opened), path);
    base::Error error = status.error();
    error.where.file = path.string();
    if (error.code == ErrorCode::wrongFormat) {
        // No database, hence no recording of ours whose locks this reading could release.
        const std::string bytes = firstBytes(path, 64);
        if (std::string_view(bytes).starts_with(kSqliteMagic.substr(0, bytes.size())))
            return base::fail(endsInHeader(path));
        error = notASession(path, guessKind(bytes));
    }
    return base::fail(std::move(error));
}

base::Status checkKind(Database& database, const fs::path& path)
{
    const auto application = database.integer("PRAGMA application_id");
    if (!application) return base::fail(application.error());
    if (*application != kApplicationId) {
        const auto nsight = database.integer("SELECT count(*) FROM sqlite_master WHERE name LIKE 'CUPTI_ACTIVITY%'");
        return base::fail(notASession(
            path, nsight && *nsight > 0 ? "an export of Nsight Systems" : "an SQLite database of another program"));
    }
    // A view in the place of a table could make the reader compute for ever.
    const auto odd = database.integer(
        "SELECT count(*) FROM sqlite_master WHERE (type <> 'table' OR rootpage = 0) AND lower(name) IN ('meta', "
        "'strings', "
        "'tracks', 'labels', 'layers', 'primitives', 'steps', 'counters', 'environment', 'quality', 'span_chunks', "
        "'counter_chunks', 'frames', 'stack_chunks', 'series', 'sample_chunks', 'span_details', 'detail_columns')");
    if (odd && *odd > 0)
        return base::fail(ErrorCode::wrongFormat, "a table of the session format is not a table in this file",
                          {.file = path.string()}, kMadeBy);
    const auto version = database.integer("PRAGMA user_version");
    if (!version) return base::fail(version.error());
    if (*version > kSchemaVersion)
        return base::fail(
            ErrorCode::newerVersion,
            fmt::format("the file has version {} of the session format; this program reads up to version {}", *version,
                        kSchemaVersion),
            {.file = path.string()}, "open it with a newer Stepscope");
    if (*version < 1)
        return base::fail(ErrorCode::wrongFormat, fmt::format("version {} of the session format is unknown", *version),
                          {.file = path.string()}, kMadeBy);
    return {};
}

bool isBeingRecorded(Database& database)
{
    database.setBusyTimeout(0);
    const base::Status status = database.execute("BEGIN IMMEDIATE; ROLLBACK");
    database.setBusyTimeout(5000);
    return !status && status.error().code == ErrorCode::unavailable;
}

session::QualityRow incompleteQuality(bool recording)
{
    if (recording)
        return {"still-recording", 1, "Another program is recording into this file; this is what it had stored."};
    return {"cut-short", 1, "The recording did not end properly: its last second may be missing."};
}

// A file of a few megabytes can claim any number of rows; a real session may also be too big for a machine.
base::Status checkMemory(const ChunkIndex& index, const fs::path& path)
{
    const auto machine = static_cast<uint64_t>(std::max(0L, ::sysconf(_SC_PHYS_PAGES)))
        * static_cast<uint64_t>(std::max(0L, ::sysconf(_SC_PAGESIZE)));
    const uint64_t needed = index.spanCount * kBytesPerSpan + index.sampleCount * kBytesPerSample
        + index.stackCount * kBytesPerStack;
    if (machine == 0 || needed < machine) return {};
    return base::fail(ErrorCode::unsupported,
                      fmt::format("the session has {} spans and {} samples; they need {} GB of memory, more than this "
                                  "machine has",
                                  index.spanCount, index.sampleCount, needed >> 30),
                      {.file = path.string()}, "open it on a machine with more memory");
}

base::Result<session::SessionPtr> readSession(const fs::path& path, std::stop_token stop,
                                              const base::Progress& progress)
{
    if (base::Status status = checkPlace(path); !status) return base::fail(status.error());
    auto opened = openDatabase(path);
    if (!opened) return base::fail(opened.error());
    std::shared_ptr<Database> database = std::move(opened->database);
    if (base::Status status = checkKind(*database, path); !status) return base::fail(status.error());
    if (progress) progress(0.0, "reading tables");
    database->setStop(stop);
    const bool recording = !opened->readOnly && isBeingRecorded(*database);

    // One transaction: while a recording goes on, tables and chunks are of the same moment.
    if (base::Status status = database->execute("BEGIN"); !status) return base::fail(status.error());
    const bool finished = readMetaFlag(*database, "finished");
    auto tables = readTables(*database);
    if (!tables) return base::fail(tables.error());
    if (!finished) tables->quality.push_back(incompleteQuality(recording));
    if (opened->truncated)
        tables->quality.push_back({"truncated-file", 1, "The file is shorter than it should be: copy it again."});
    ChunkIndex index = readChunkIndex(*database, *tables);
    if (base::Status status = checkMemory(index, path); !status) return base::fail(status.error());
    readStacks(*database, index, *tables);
    session::repairTables(*tables);
    tables->spanCount = index.spanCount;
    tables->sampleCount = index.sampleCount;
    if (stop.stop_requested()) return base::fail(ErrorCode::cancelled, "cancelled");

    if (!finished || opened->truncated) {
        if (progress) progress(0.2, "reading spans");
        session::LoadedColumns columns = readColumns(*database, index);
        if (stop.stop_requested()) return base::fail(ErrorCode::cancelled, "cancelled");
        return std::make_shared<const session::Session>(std::move(*tables), std::move(columns));
    }
    static_cast<void>(database->execute("COMMIT"));
    database->setStop({});
    if (progress) progress(1.0, "reading tables");
    // The connection keeps the file open, so that this session stays readable when another takes over its name.
    auto shared = std::make_shared<const ChunkIndex>(std::move(index));
    return std::make_shared<const session::Session>(std::move(*tables),
                                                    [database, shared] { return readColumns(*database, *shared); });
}

} // namespace

base::Result<session::SessionPtr> openSession(const fs::path& path, std::stop_token stop,
                                              const base::Progress& progress)
{
    try {
        return readSession(path, std::move(stop), progress);
    } catch (const std::exception& e) {
        return base::fail(ErrorCode::internal, e.what(), {.file = path.string()});
    }
}

bool isSessionFile(const fs::path& path)
{
    std::error_code error;
    if (!fs::is_regular_file(path, error)) return false;
    const auto database = Database::open(path, OpenMode::readOnly);
    if (!database) return false;
    const auto application = (*database)->integer("PRAGMA application_id");
    return application && *application == kApplicationId;
}

} // namespace stepscope::storage
