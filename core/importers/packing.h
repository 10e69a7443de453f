// The packings that openInput() looks through, each a ByteSource over another one.
// Owner: core/importers. Thread: one at a time; a job. Units: bytes.
#pragma once

#include "core/importers/input.h"

#include <functional>
#include <memory>
#include <optional>
#include <string_view>

namespace stepscope::importers {

enum class Packing { none, gzip, zstd, xz, zip, tar, bzip2 };
const char* packingName(Packing packing); // "gzip", ...; "" none

// By magic bytes; `head` holds the first bytes of the file, 512 are enough.
Packing sniffPacking(std::string_view head);
inline bool isArchive(Packing packing) { return packing == Packing::zip || packing == Packing::tar; }

using SourcePtr = std::unique_ptr<ByteSource>;

base::Result<SourcePtr> openFileSource(const std::filesystem::path& path);
SourcePtr memorySource(std::shared_ptr<const std::string> bytes);
// `head` again, then what `rest` still has.
SourcePtr joinedSource(std::string head, SourcePtr rest);
// Fails with "unsupported" once more than `limit` bytes came.
SourcePtr limitedSource(SourcePtr inner, uint64_t limit);
// Ends after `bytes`.
SourcePtr firstPartSource(SourcePtr inner, uint64_t bytes);

// gzip (all members), zstd (all frames), xz (all streams). Damage is an error with where.field = the packing and
// where.byte = the place in the packed bytes; ErrorCode::truncated where they end too early.
base::Result<SourcePtr> streamSource(Packing packing, SourcePtr inner);

// Regular files of an archive in its order, at most `limit`; their names are only ever shown and compared.
struct ArchiveMember {
    std::string name;
    int64_t bytes = -1; // as the archive claims; only for choosing
};
base::Result<std::vector<ArchiveMember>> listArchive(SourcePtr inner, size_t limit);
// The bytes of the member of that name; the first when there are several.
base::Result<SourcePtr> archiveSource(SourcePtr inner, const std::string& member);

} // namespace stepscope::importers
