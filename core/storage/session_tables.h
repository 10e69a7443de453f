// Reads the small tables of a session file. Internal to core/storage.
// Owner: core/storage. Thread: one at a time.
#pragma once

#include "core/session/session.h"
#include "core/storage/sqlite.h"

namespace stepscope::storage {

// Reads every table as far as it can be read; damaged ones are counted in quality as "damaged-table". The only
// error is "cancelled". spanCount is not set.
base::Result<session::SessionTables> readTables(Database& database);

// False also when the file is too damaged to tell.
bool hasTable(Database& database, std::string_view table);
bool hasColumn(Database& database, std::string_view table, std::string_view column);

// A value of the table meta, false or "" when absent or unreadable.
bool readMetaFlag(Database& database, std::string_view key);
std::string readMetaText(Database& database, std::string_view key);

} // namespace stepscope::storage
