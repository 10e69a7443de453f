#include "core/engine/raw_source.h"

#include "core/engine/data_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace stepscope::engine {

namespace {

using base::ErrorCode;
using base::fail;
using base::Result;
using base::Status;

constexpr int64_t kLargestContent = int64_t{64} << 30;

// Reads the file to its end (or `limit` values) as 4-byte values; rowValues values belong together.
template <class T>
Result<base::HugeVector<T>> readValues(const std::string& path, int64_t rowValues, int64_t limit, std::string_view what,
                                       std::stop_token stop)
{
    static_assert(sizeof(T) == 4 && std::endian::native == std::endian::little,
                  "the file's byte order is the machine's");
    Result<DataFile> file = DataFile::open(path);
    if (!file) return fail(file.error());
    base::HugeVector<T> values;
    int64_t bytes = 0;
    const int64_t wanted = limit > 0 ? limit * 4 : kLargestContent;
    int64_t block = file->compressed() ? int64_t{16} << 20 : std::clamp<int64_t>(file->fileSize(), 4, wanted);
    for (;;) {
        block = std::min(block, wanted - bytes);
        values.resize(static_cast<size_t>((bytes + block + 3) / 4));
        const Result<int64_t> got = file->read(reinterpret_cast<char*>(values.data()) + bytes, block, stop);
        if (!got) return fail(got.error());
        bytes += *got;
        if (*got < block || bytes >= wanted) break;
        block = file->compressed() ? bytes : int64_t{1} << 20;
    }
    if (limit == 0 && bytes >= kLargestContent) {
        return fail(ErrorCode::unsupported, fmt::format("the file holds {} GiB or more", kLargestContent >> 30), {path},
                    "say samples = N to take fewer");
    }
    const int64_t rowBytes = rowValues * 4;
    if (bytes == 0 || bytes % rowBytes != 0) {
        return fail(
            ErrorCode::truncated,
            fmt::format("the file holds {} bytes of {}; expected a multiple of {} ({} values each), so {} are missing",
                        bytes, what, rowBytes, rowValues, rowBytes - bytes % rowBytes),
            {path, bytes}, "the file is cut short, or the shape is another one");
    }
    values.resize(static_cast<size_t>(bytes / 4));
    return values;
}

Status checkCount(const std::string& path, int64_t found, int64_t expected, int64_t bytesEach, std::string_view what,
                  const std::string& samplesPath)
{
    if (found == expected) return {};
    return fail(found < expected ? ErrorCode::truncated : ErrorCode::wrongFormat,
                fmt::format("holds {} {} ({} bytes), but {} holds {} samples, which need {} bytes", found, what,
                            found * bytesEach, samplesPath, expected, expected * bytesEach),
                {path, std::min(found, expected) * bytesEach});
}

} // namespace

base::Result<MemoryData> readRaw(const std::string& path, const std::string& targetPath, const RawOptions& options,
                                 std::stop_token stop)
{
    const int64_t sample = model::product(options.sampleShape);
    if (options.sampleShape.empty() || sample < 1) {
        return fail(ErrorCode::invalidArgument, "raw data needs the shape of a sample", {path},
                    "say `input = (28, 28, 1)` or give the data a shape");
    }
    if (targetPath.empty())
        return fail(ErrorCode::invalidArgument, "raw data needs a second file with its labels or targets", {path});
    MemoryData data;
    data.sampleShape = options.sampleShape;
    Result<base::HugeVector<float>> values = readValues<float>(path, sample, options.samples * sample, "samples", stop);
    if (!values) return fail(values.error());
    data.values = std::move(*values);
    data.size = static_cast<int64_t>(data.values.size()) / sample;

    const int64_t target = options.classification ? 1 : model::product(options.targetShape);
    const int64_t limit = options.samples > 0 ? data.size * target : 0;
    if (options.classification) {
        Result<base::HugeVector<int32_t>> labels = readValues<int32_t>(targetPath, 1, limit, "labels", stop);
        if (!labels) return fail(labels.error());
        data.labels = std::move(*labels);
        const Status count =
            checkCount(targetPath, static_cast<int64_t>(data.labels.size()), data.size, 4, "labels", path);
        if (!count) return fail(count.error());
        const auto [lowest, highest] = std::minmax_element(data.labels.begin(), data.labels.end());
        if (*lowest < 0) {
            const int64_t index = lowest - data.labels.begin();
            return fail(ErrorCode::wrongFormat, fmt::format("label {} of sample {} is negative", *lowest, index),
                        {targetPath, index * 4}, "labels are int32 class numbers from 0");
        }
        data.classes = int64_t{*highest} + 1;
        return data;
    }
    Result<base::HugeVector<float>> targets = readValues<float>(targetPath, target, limit, "targets", stop);
    if (!targets) return fail(targets.error());
    data.targets = std::move(*targets);
    data.targetShape = options.targetShape;
    const Status count = checkCount(targetPath, static_cast<int64_t>(data.targets.size()) / target, data.size,
                                    4 * target, "targets", path);
    if (!count) return fail(count.error());
    return data;
}

} // namespace stepscope::engine
