// Plain SQL rows in an SQLite database. Owner: core/exporters.
#pragma once

#include "core/exporters/exporter.h"

namespace stepscope::exporters {

base::Status exportSqlite(const session::Session& session, const std::filesystem::path& path, bool replace,
                          std::stop_token stop, const base::Progress& progress);

inline constexpr Exporter kSqliteExporter{"sqlite", "sqlite", "SQLite database with one row per span, for SQL queries",
                                          exportSqlite};

} // namespace stepscope::exporters
