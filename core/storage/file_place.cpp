#include "core/storage/file_place.h"

#include "core/storage/sqlite.h"

#include <exception>
#include <system_error>

#include <fmt/format.h>

namespace stepscope::storage {

namespace fs = std::filesystem;
using base::ErrorCode;

namespace {

fs::path journalOf(const fs::path& path) { return path.string() + "-journal"; }

// A writer keeps the lock of its transaction all the time.
bool isBeingWritten(const fs::path& path)
{
    auto database = Database::open(path, OpenMode::readWrite);
    if (!database) return false;
    (*database)->setBusyTimeout(0);
    const base::Status status = (*database)->execute("BEGIN IMMEDIATE; ROLLBACK");
    return !status && status.error().code == ErrorCode::unavailable;
}

base::Status failed(const fs::path& path, const char* what, const std::error_code& error)
{
    return base::fail(error == std::errc::no_space_on_device ? ErrorCode::diskFull : ErrorCode::io,
                      fmt::format("{}: {}", what, error.message()), {.file = path.string()});
}

} // namespace

fs::path behindLinks(const fs::path& path)
{
    std::error_code error;
    if (!fs::is_symlink(fs::symlink_status(path, error))) return path;
    const fs::path target = fs::weakly_canonical(path, error);
    return error ? path : target;
}

fs::path backupName(const fs::path& path) { return path.string() + "~"; }

base::Status clearPlace(const fs::path& path, Existing existing)
{
    std::error_code error;
    if (!path.has_filename())
        return base::fail(ErrorCode::invalidArgument, "the name of the file is missing", {.file = path.string()});
    const fs::path directory = path.has_parent_path() ? path.parent_path() : fs::path(".");
    if (!fs::is_directory(directory, error))
        return base::fail(ErrorCode::notFound, "the directory does not exist", {.file = directory.string()},
                          "create the directory or choose another one");
    const fs::file_status status = fs::symlink_status(path, error);
    if (!fs::exists(status)) {
        fs::remove(journalOf(path), error); // of a file that somebody deleted
        return {};
    }
    const fs::file_status target = fs::status(path, error); // behind a link
    if (fs::is_directory(target))
        return base::fail(ErrorCode::invalidArgument, "this is a directory, not a file", {.file = path.string()});
    if (fs::exists(target) && !fs::is_regular_file(target))
        return base::fail(ErrorCode::invalidArgument, "this is a device or a pipe, not a file", {.file = path.string()},
                          "give the name of a file");
    if (existing == Existing::refuse)
        return base::fail(ErrorCode::invalidArgument, "the file exists already", {.file = path.string()},
                          "choose another name or delete the file");
    if (isBeingWritten(path))
        return base::fail(ErrorCode::unavailable, "another program is recording into this file",
                          {.file = path.string()}, "choose another name");
    if (existing == Existing::backup) {
        fs::rename(path, backupName(path), error);
        if (error) return failed(path, "the old file cannot be renamed", error);
        fs::remove(journalOf(backupName(path)), error);
        fs::rename(journalOf(path), journalOf(backupName(path)), error); // usually there is none
        return {};
    }
    fs::remove(path, error);
    if (error) return failed(path, "the old file cannot be deleted", error);
    fs::remove(journalOf(path), error);
    return {};
}

base::Status writeThenRename(const fs::path& given, Existing existing,
                             const std::function<base::Status(const fs::path&)>& write)
{
    const fs::path path = behindLinks(given);
    const fs::path part = path.string() + ".part";
    std::error_code error;
    base::Status status;
    bool keepPart = false; // the old file may be gone by then: the new one is all there is
    try {
        const fs::file_status old = fs::status(path, error);
        const bool replaces = fs::exists(old);
        if (replaces && (existing == Existing::refuse || !fs::is_regular_file(old))) return clearPlace(path, existing);
        status = clearPlace(part, Existing::replace);
        if (!status) return status;
        status = write(part);
        if (status && replaces && existing == Existing::replace) fs::permissions(part, old.permissions(), error);
        if (status) status = clearPlace(path, existing);
        if (status) {
            fs::rename(part, path, error);
            keepPart = static_cast<bool>(error);
            if (error) status = failed(path, "the file cannot be given its name", error);
        }
    } catch (const std::exception& e) {
        status = base::fail(ErrorCode::internal, e.what());
    }
    if (status) return status;
    if (!keepPart) fs::remove(part, error);
    base::Error named = status.error();
    if (keepPart) named.hint = fmt::format("the new file is whole and called {}", part.string());
    named.where.file = given.string(); // the name that the user gave
    return base::fail(std::move(named));
}

} // namespace stepscope::storage
