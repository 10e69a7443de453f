#include "core/exporters/sqlite_exporter.h"

#include "core/storage/plain_rows.h"

namespace stepscope::exporters {

base::Status exportSqlite(const session::Session& session, const std::filesystem::path& path, bool replace,
                          std::stop_token stop, const base::Progress& progress)
{
    const auto existing = replace ? storage::Existing::replace : storage::Existing::refuse;
    return storage::writePlainRows(session, path, existing, std::move(stop), progress);
}

} // namespace stepscope::exporters
