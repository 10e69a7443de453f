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
