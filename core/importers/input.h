// Input: the unpacked bytes of one file to import, with what is known of it.
// Owner: core/importers. Thread: one at a time; a job.
//
// openInput() looks through gzip (several members too), zstd, xz, zip and tar, in any nesting up to a small depth. What
// an archive claims about sizes is not believed: bytes are unpacked as they are read, up to a limit, and no path of an
// archive is ever used for a file of ours.
#pragma once

#include "core/base/result.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace stepscope::importers {

// A sequential reader of unpacked bytes.
class ByteSource {
public:
    virtual ~ByteSource() = default;
    // Fills `into` as far as possible; 0 at the end. An error (a damaged packing) comes after every byte before it
    // has been handed out; it is repeated by later calls.
    virtual base::Result<size_t> read(std::span<char> into) = 0;
    // Share of the packed file that has been read, 0 to 1, for a true progress bar.
    virtual double fraction() const = 0;
};

struct InputOptions {
    uint64_t maxUnpackedBytes = uint64_t{64} << 30;
    uint64_t firstBytes = 0; // not 0: the bytes end after so many, for a first picture of a large file
    std::string member; // of an archive with several files: the one to take; "" the only or the first that is known
};

struct Input {
    static constexpr size_t kHeadBytes = size_t{64} << 10;

    std::filesystem::path path;       // as the user gave it
    std::string name;                 // innermost, without the endings of packings: "trace.json"
    std::string packing;              // "", "gzip", "zip, gzip", ... outermost first
    std::vector<std::string> members; // of an archive: every regular file in it
    std::string head;                 // the first unpacked bytes, up to kHeadBytes
    std::string why;                  // of the importer that was chosen; importFile() sets it
    std::string part;                 // what the user chose to load, in words, "" everything; importFile() sets it
    std::unique_ptr<ByteSource> bytes; // all unpacked bytes from the first on, head included
    std::function<base::Result<std::unique_ptr<ByteSource>>()> reopen; // the same bytes once more, from the first on

    bool plain() const { return packing.empty(); } // then `path` holds the bytes themselves
};

// Errors: notFound, io, wrongFormat (a packing that cannot be read at all, with its place).
base::Result<Input> openInput(const std::filesystem::path& path, const InputOptions& options = {});
// The same for bytes in memory: tests, fuzzing, text pasted by the user.
Input inputFromBytes(std::string bytes, std::string name);

// Everything that is left. More than `limit` bytes is the error "unsupported".
base::Result<std::string> readAll(ByteSource& source, uint64_t limit);

} // namespace stepscope::importers
