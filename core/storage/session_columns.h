// Reads the column chunks of a session file. Internal to core/storage.
// Owner: core/storage. Thread: one at a time.
#pragma once

#include "core/session/session.h"
#include "core/storage/sqlite.h"

#include <vector>

namespace stepscope::storage {

struct ChunkReference {
    int64_t id = 0;
    uint32_t owner = 0; // track or counter
    uint32_t rows = 0;
};

// Where the chunks are, and what their values may refer to.
struct ChunkIndex {
    std::vector<ChunkReference> spans;    // by track, then in the order of time
    std::vector<ChunkReference> counters; // by counter, then in the order of time
    size_t tracks = 0, labels = 0, counterCount = 0;
    bool inTableOrder = false; // the chunks of a track were cut from sorted rows
    int64_t damaged = 0;       // references that make no sense
    uint64_t spanCount = 0;
};

ChunkIndex readChunkIndex(Database& database, const session::SessionTables& tables);

// Decodes and nests. Damaged chunks are left out and counted as "damaged-chunk".
session::LoadedColumns readColumns(Database& database, const ChunkIndex& index);

} // namespace stepscope::storage
