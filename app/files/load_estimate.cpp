#include "app/files/load_estimate.h"

#include "core/importers/importer.h"
#include "core/storage/session_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace stepscope::files {

namespace {

constexpr uint64_t kSmall = uint64_t{64} << 20; // bears no question
constexpr uint64_t kFirstBytes = uint64_t{16} << 20;

// Session columns, and the nodes of the flame graph, per byte of an unpacked file; measured with the traces of the
// benchmarks, rounded up.
double memoryPerByte(std::string_view format)
{
    if (format == "nsight") return 0.8;
    if (format == "kineto" || format == "chrome") return 0.5;
    return 0.4;
}

uint64_t numberIn(const char* path)
{
    std::ifstream file(path);
    uint64_t value = 0;
    return file >> value ? value : std::numeric_limits<uint64_t>::max(); // "max": no limit
}

// Of the control group, without the files it has read, which are given up when memory is short.
uint64_t usedMemory()
{
    const uint64_t used = numberIn("/sys/fs/cgroup/memory.current");
    if (used == std::numeric_limits<uint64_t>::max()) return 0; // not told
    std::ifstream statistics("/sys/fs/cgroup/memory.stat");
    std::string key;
    for (uint64_t value = 0; statistics >> key >> value;)
        if (key == "inactive_file") return used - std::min(used, value);
    return used;
}

// Of the system, and of the control group that a container runs in.
uint64_t availableMemory()
{
    uint64_t available = std::numeric_limits<uint64_t>::max();
    std::ifstream system("/proc/meminfo");
    std::string key, unit;
    for (uint64_t value = 0; system >> key >> value;) {
        if (key == "MemAvailable:") available = value << 10;
        std::getline(system, unit);
    }
    const uint64_t limit = numberIn("/sys/fs/cgroup/memory.max");
    if (limit == std::numeric_limits<uint64_t>::max()) return available;
    const uint64_t used = usedMemory();
    return std::min(available, limit > used ? limit - used : 0);
}

std::string amount(uint64_t bytes)
{
    constexpr double kGiB = 1024.0 * 1024 * 1024;
    const double gib = static_cast<double>(bytes) / kGiB;
    return gib >= 10 ? fmt::format("{:.0f} GiB", gib) : gib >= 1 ? fmt::format("{:.1f} GiB", gib) : fmt::format("{:.0f} MiB", gib * 1024);
}

// Unpacks a first part and takes the rest to be packed as well.
uint64_t unpackedSize(importers::Input& input, uint64_t fileBytes)
{
    if (input.plain()) return fileBytes;
    std::string block(size_t{1} << 20, '\0');
    uint64_t read = 0;
    while (read < kFirstBytes) {
        const base::Result<size_t> got = input.bytes->read(block);
        if (!got || *got == 0) break;
        read += *got;
    }
    const double fraction = input.bytes->fraction();
    if (!(fraction > 0)) return read;
    return static_cast<uint64_t>(std::min(static_cast<double>(read) / std::min(fraction, 1.0), 1e18));
}

} // namespace

std::optional<LoadEstimate> estimateLoad(const std::filesystem::path& path)
{
    std::error_code failed;
    const uint64_t bytes = std::filesystem::file_size(path, failed);
    if (failed || storage::isSessionFile(path)) return std::nullopt;
    base::Result<importers::Input> input = importers::openInput(path);
    if (!input) return std::nullopt;
    LoadEstimate estimate;
    estimate.unpacked = unpackedSize(*input, bytes);
    const base::Result<importers::Choice> choice = importers::chooseImporter(*input, {});
    if (!choice) return std::nullopt;
    estimate.needed = static_cast<uint64_t>(static_cast<double>(estimate.unpacked) * memoryPerByte(choice->importer->name));
    estimate.available = availableMemory();
    return estimate;
}

std::optional<base::Error> tooLargeFor(const LoadEstimate& estimate, const std::filesystem::path& path)
{
    if (estimate.unpacked < kSmall || estimate.fits()) return std::nullopt;
    return base::Error{base::ErrorCode::unavailable,
                       fmt::format("the whole file ({} unpacked) would need about {} of memory, and {} are free", amount(estimate.unpacked),
                                   amount(estimate.needed), amount(estimate.available)),
                       {path.string()}, "load a part of it: a range of time, or some steps"};
}

std::optional<base::Error> tooLargeFor(const std::vector<std::filesystem::path>& paths)
{
    LoadEstimate all;
    uint64_t largest = 0; // while a file is added to the others it is there twice
    for (const std::filesystem::path& path : paths) {
        const std::optional<LoadEstimate> one = estimateLoad(path);
        if (!one) continue;
        if (paths.size() == 1) return tooLargeFor(*one, path);
        all.unpacked += one->unpacked;
        all.needed += one->needed;
        all.available = one->available;
        largest = std::max(largest, one->needed);
    }
    if (all.unpacked < kSmall) return std::nullopt;
    all.needed += largest;
    if (all.fits()) return std::nullopt;
    return base::Error{base::ErrorCode::unavailable,
                       fmt::format("together the {} files ({} unpacked) would need about {} of memory, and {} are free", paths.size(),
                                   amount(all.unpacked), amount(all.needed), amount(all.available)),
                       {}, "open fewer files, or make smaller ones first: stepscope convert --load-steps 5 8 FILE... -o OUT.stepscope"};
}

} // namespace stepscope::files
