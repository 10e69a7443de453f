#include "app/files/open_any.h"

#include "core/importers/packing.h"
#include "core/importers/temporary_file.h"
#include "core/storage/session_file.h"
#include "core/storage/sqlite.h"

#include <algorithm>

namespace stepscope::files {

namespace {

bool cutShort(const session::Session& session)
{
    for (const session::QualityRow& row : session.tables().quality)
        if (row.code == "cut-short" || row.code == "truncated-file") return true;
    return false;
}

base::Result<Opened> openSession(const std::filesystem::path& path, std::stop_token stop, const base::Progress& progress,
                                 std::string why)
{
    base::Result<session::SessionPtr> session = storage::openSession(path, stop, progress);
    if (!session) return base::fail(session.error());
    Opened opened;
    opened.complete = !cutShort(**session);
    opened.session = std::move(*session);
    opened.format = kSessionFormat;
    opened.why = std::move(why);
    return opened;
}

// What the importers cannot know: the files that Stepscope itself writes, in a form that is not read back. Null for
// other files.
std::optional<base::Error> ownOtherForm(const std::filesystem::path& path)
{
    const base::Result<importers::Input> input = importers::openInput(path);
    if (!input || !input->head.starts_with("SQLite format 3")) return std::nullopt;
    constexpr size_t kApplicationId = 68; // its place in SQLite's header
    if (input->packing == "gzip" && input->head.substr(kApplicationId, 4) == "Stsc")
        return base::Error{base::ErrorCode::unsupported, "this is a session, packed with gzip", {path.string()},
                           "unpack it first: gunzip " + path.filename().string()};
    if (!input->plain()) return std::nullopt;
    const auto database = storage::Database::open(path, storage::OpenMode::readOnly);
    if (!database) return std::nullopt;
    const auto views = (*database)->integer(
        "SELECT count(*) FROM sqlite_master WHERE type = 'view' AND name IN ('spans', 'step_phases', 'layer_times', 'primitive_times')");
    if (!views || *views != 4) return std::nullopt;
    return base::Error{base::ErrorCode::unsupported, "these are the SQL tables that stepscope convert wrote, which are not read back",
                       {path.string()}, "open the session (.stepscope) that they were made from"};
}

// The bytes of a pipe, which come once, as a file that can be read as often as is needed.
base::Result<Opened> openPiped(const std::filesystem::path& path, const importers::ImportOptions& options, std::stop_token stop,
                               const base::Progress& progress)
{
    const std::filesystem::path from = path == "-" ? std::filesystem::path("/dev/stdin") : path;
    base::Result<importers::SourcePtr> bytes = importers::openFileSource(from);
    if (!bytes) return base::fail(bytes.error());
    std::error_code failed;
    const std::filesystem::space_info room = std::filesystem::space(std::filesystem::temp_directory_path(failed), failed);
    uint64_t limit = options.input.maxUnpackedBytes;
    if (!failed) limit = std::min<uint64_t>(limit, room.available / 2); // what else runs here needs some, too
    const importers::SourcePtr limited = importers::limitedSource(std::move(*bytes), limit);
    importers::TemporaryFile file;
    const base::Status filled = file.fill(*limited, stop, progress);
    const auto named = [&](base::Error error) {
        if (error.where.file.empty() || error.where.file == file.path().string()) error.where.file = path.string();
        return base::fail(std::move(error));
    };
    if (!filled && filled.error().code == base::ErrorCode::unsupported)
        return base::fail(base::ErrorCode::unsupported, "the pipe holds more than " + std::to_string(limit) + " bytes", {path.string()},
                          "write it to a file and open that, or set TMPDIR to a folder with more room");
    if (!filled) return named(filled.error());
    base::Result<Opened> opened = openAny(file.path(), options, stop, progress);
    if (!opened) return named(opened.error());
    static_cast<void>(opened->session->spans()); // sessions read their columns late, and the file is gone then
    return opened;
}

} // namespace

bool isPipe(const std::filesystem::path& path)
{
    std::error_code failed;
    const std::filesystem::file_status status = std::filesystem::status(path == "-" ? std::filesystem::path("/dev/stdin") : path, failed);
    return !failed && (path == "-" || std::filesystem::is_fifo(status) || std::filesystem::is_socket(status));
}

base::Result<session::SessionPtr> openFirstPart(const std::filesystem::path& path, std::stop_token stop)
{
    constexpr uint64_t kLarge = uint64_t{48} << 20, kLargePacked = uint64_t{6} << 20, kFirstBytes = uint64_t{12} << 20;
    std::error_code failed;
    const auto bytes = std::filesystem::file_size(path, failed);
    if (failed || bytes < kLargePacked || storage::isSessionFile(path)) return session::SessionPtr();
    importers::ImportOptions options;
    options.input.firstBytes = kFirstBytes;
    const base::Result<importers::Input> input = importers::openInput(path, options.input);
    if (!input || (input->plain() && bytes < kLarge)) return session::SessionPtr();
    base::Result<importers::Imported> imported = importers::importFile(path, options, std::move(stop));
    if (!imported) return session::SessionPtr(); // the whole file tells what is wrong
    return std::move(imported->session);
}

namespace {

bool isPart(const importers::ImportOptions& options)
{
    return options.rangeBegin || options.rangeEnd || options.firstStep || options.lastStep || !options.stepName.empty();
}

// A choice that the format cannot follow must not give the whole file instead.
base::Status checkPart(const Opened& opened, const importers::ImportOptions& part, const std::filesystem::path& path)
{
    const session::Session& session = *opened.session;
    const bool bySteps = part.firstStep || part.lastStep || !part.stepName.empty();
    if (bySteps && opened.format != "kineto" && opened.format != "chrome" && opened.format != "nsight")
        return base::fail(base::ErrorCode::unsupported, "files of the format " + opened.format + " mark no steps", {path.string()},
                          "choose a range of time instead");
    const auto& series = session.series();
    const bool untimed = session.spanCount() == 0 && !series.empty()
        && std::none_of(series.begin(), series.end(), [](const session::SeriesRow& row) { return row.timed; });
    if (untimed)
        return base::fail(base::ErrorCode::unsupported, "this profile has no times that a part could be chosen by", {path.string()}, "open it whole");
    if (!part.stepName.empty() && session.steps().empty())
        return base::fail(base::ErrorCode::notFound, "no span has the name '" + part.stepName + "' that the steps should have", {path.string()},
                          "names are compared whole; stepscope report --by span lists them");
    return {};
}

} // namespace

base::Result<session::SessionPtr> openPart(const std::filesystem::path& path, const importers::ImportOptions& part, std::stop_token stop,
                                           const base::Progress& progress)
{
    if (storage::isSessionFile(path))
        return base::fail(base::ErrorCode::unsupported, "a session is opened whole", {path.string()},
                          "that takes little memory: its columns are read as they are shown");
    base::Result<Opened> opened = openAny(path, part, stop, progress);
    if (!opened) return base::fail(opened.error());
    const session::Session& session = *opened->session;
    if (session.spanCount() == 0 && session.sampleCount() == 0)
        return base::fail(base::ErrorCode::notFound, "nothing of the trace lies in this part: " + importers::partText(part), {path.string()},
                          "times count from the first event of the trace");
    return std::move(opened->session);
}

base::Result<Opened> openAny(const std::filesystem::path& path, const importers::ImportOptions& options,
                             std::stop_token stop, const base::Progress& progress)
{
    if (isPipe(path)) return openPiped(path, options, stop, progress);
    const bool isSession = options.format.empty() && storage::isSessionFile(path);
    if (isPart(options) && (isSession || options.format == kSessionFormat))
        return base::fail(base::ErrorCode::unsupported, "a session is opened whole: no range, steps or name of steps can be chosen", {path.string()},
                          "reports choose steps with --first-step and --last-step");
    if (options.format == kSessionFormat) return openSession(path, stop, progress, "chosen by the user");
    if (isSession)
        return openSession(path, stop, progress, "SQLite database with Stepscope's application id");
    base::Result<importers::Imported> imported = importers::importFile(path, options, stop, progress);
    if (!imported) {
        if (options.format.empty())
            if (const std::optional<base::Error> own = ownOtherForm(path)) return base::fail(*own);
        // A file that our own recording left damaged has lost its id; its name still tells, and the reader's message
        // says what is wrong with it.
        if (options.format.empty() && path.extension() == ".stepscope") return openSession(path, stop, progress, "the name");
        return base::fail(imported.error());
    }
    Opened opened{std::move(imported->session), std::move(imported->format), std::move(imported->why), imported->complete,
                  std::move(imported->problem), {}};
    if (isPart(options))
        if (const base::Status possible = checkPart(opened, options, path); !possible) return base::fail(possible.error());
    return opened;
}

} // namespace stepscope::files
