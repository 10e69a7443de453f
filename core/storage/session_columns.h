// Reads the column chunks of a session file. Internal to core/storage.
// Owner: core/storage. Thread: one at a time.
#pragma once

#include "core/session/session.h"
#include "core/storage/sqlite.h"

#include <vector>

namespace stepscope::storage {

struct ChunkReference {
    int64_t id = 0;
    uint32_t owner = 0; // track, counter or series
    uint32_t rows = 0;
};

// Where the chunks are, and what their values may refer to.
struct ChunkIndex {
    std::vector<ChunkReference> spans;    // by track, then in the order of time
    std::vector<ChunkReference> counters; // by counter, then in the order of time
    std::vector<ChunkReference> samples;  // by series, then in the order of recording
    std::vector<ChunkReference> stacks;   // by id, which is that of the first stack in it
    size_t tracks = 0, labels = 0, counterCount = 0, seriesCount = 0;
    bool withDetails = false;  // spans have rows of details
    std::vector<session::Label> labelRows; // with details: their kinds tell calls from work
    size_t stringCount = 0;
    bool inTableOrder = false; // the chunks of a track were cut from sorted rows
    int64_t damaged = 0;       // references that make no sense
    uint64_t spanCount = 0;
    uint64_t sampleCount = 0;
    uint64_t stackCount = 0;
};

ChunkIndex readChunkIndex(Database& database, const session::SessionTables& tables);

// Decodes the stacks into tables.stacks. What is damaged becomes stacks without frames and is counted in
// tables.quality as "damaged-stacks".
void readStacks(Database& database, const ChunkIndex& index, session::SessionTables& tables);

// Decodes and nests. Damaged chunks are left out and counted as "damaged-chunk".
session::LoadedColumns readColumns(Database& database, const ChunkIndex& index);

} // namespace stepscope::storage
