// The details of imported traces in a session file: one row of the table `detail_columns` per column and chunk, and the
// table `span_details` beside the chunks of spans. Both exist only in files of sessions that have details.
// Owner: core/storage. Thread: one at a time. Internal to core/storage.
#pragma once

#include "core/session/session.h"
#include "core/storage/column_codec.h"
#include "core/storage/sqlite.h"

#include <functional>
#include <string_view>

namespace stepscope::storage {

extern const char* const kCreateDetailTables;

// Calls write(column, first row, rows, packed bytes) for every chunk.
using WriteDetail = std::function<void(std::string_view column, int64_t first, int64_t rows, std::span<const uint8_t> bytes)>;
void encodeDetails(const session::DetailTable& details, const WriteDetail& write);

// Nothing when the file has none. `damaged` counts chunks that could not be read; their values are "not known".
session::DetailTable readDetails(Database& database, size_t spanCount, size_t stringCount, int64_t& damaged);

} // namespace stepscope::storage
