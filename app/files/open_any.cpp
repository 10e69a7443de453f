#include "app/files/open_any.h"

#include "core/storage/session_file.h"

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

} // namespace

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

base::Result<Opened> openAny(const std::filesystem::path& path, const importers::ImportOptions& options,
                             std::stop_token stop, const base::Progress& progress)
{
    if (options.format == kSessionFormat) return openSession(path, stop, progress, "chosen by the user");
    if (options.format.empty() && storage::isSessionFile(path))
        return openSession(path, stop, progress, "SQLite database with Stepscope's application id");
    base::Result<importers::Imported> imported = importers::importFile(path, options, stop, progress);
    if (!imported) {
        // A file that our own recording left damaged has lost its id; its name still tells, and the reader's message
        // says what is wrong with it.
        if (options.format.empty() && path.extension() == ".stepscope") return openSession(path, stop, progress, "the name");
        return base::fail(imported.error());
    }
    return Opened{std::move(imported->session), std::move(imported->format), std::move(imported->why), imported->complete,
                  std::move(imported->problem)};
}

} // namespace stepscope::files
