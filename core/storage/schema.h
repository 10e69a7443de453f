// The tables of a session file. resources/help/session-format.md is the description for readers of other programs;
// a change here needs a change there and, when old programs could misread the result, a new version number.
// Owner: core/storage.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stepscope::storage {

inline constexpr int64_t kApplicationId = 0x53747363; // "Stsc"
inline constexpr int64_t kSchemaVersion = 1;          // PRAGMA user_version
inline constexpr int64_t kPageBytes = 16384;
inline constexpr size_t kChunkRows = size_t{1} << 16;      // a full chunk
inline constexpr int64_t kMaxChunkRows = int64_t{1} << 20; // the most that a reader accepts

extern const char* const kCreateTables;

} // namespace stepscope::storage
