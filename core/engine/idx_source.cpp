#include "core/engine/idx_source.h"

#include "core/engine/data_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

namespace stepscope::engine {

namespace {

using base::ErrorCode;
using base::fail;
using base::Result;
using base::Status;

constexpr int64_t kLargestContent = int64_t{64} << 30; // refuse headers that promise more, before any allocation

enum class Type : uint8_t { uint8 = 0x08, int32 = 0x0c, float32 = 0x0d };

struct Header {
    Type type = Type::uint8;
    model::Dims dims;
    int64_t valueSize = 1;
    int64_t contentBytes = 0; // after the header
    int64_t headerBytes = 0;
};

uint32_t bigEndian(const uint8_t* p)
{
    return static_cast<uint32_t>(p[0]) << 24 | static_cast<uint32_t>(p[1]) << 16 | static_cast<uint32_t>(p[2]) << 8
        | p[3];
}

std::string dimsText(const model::Dims& dims) { return fmt::format("{}", fmt::join(dims, " x ")); }

Result<Header> readSizes(DataFile& file, Header header, int rank)
{
    uint8_t sizes[4 * 8];
    const Result<int64_t> got = file.read(sizes, 4 * rank);
    if (!got) return fail(got.error());
    if (*got != 4 * rank) {
        return fail(ErrorCode::truncated,
                    fmt::format("the IDX header ends after {} bytes, expected {}", 4 + *got, 4 + 4 * rank),
                    {file.path(), 4 + *got});
    }
    header.headerBytes = 4 + 4 * rank;
    header.contentBytes = header.valueSize;
    for (int d = 0; d < rank; ++d)
        header.dims.push_back(bigEndian(sizes + 4 * d));
    for (size_t d = 0; d < header.dims.size(); ++d) {
        const int64_t size = header.dims[d];
        if (size == 0) {
            return fail(ErrorCode::wrongFormat,
                        fmt::format("the IDX header has a dimension of 0 ({})", dimsText(header.dims)),
                        {file.path(), 4 + 4 * static_cast<int64_t>(d)});
        }
        if (header.contentBytes > kLargestContent / size) {
            return fail(ErrorCode::unsupported,
                        fmt::format("the IDX header promises {} values, more than {} GiB", dimsText(header.dims),
                                    kLargestContent >> 30),
                        {file.path(), 4 + 4 * static_cast<int64_t>(d)}, "the header is probably damaged");
        }
        header.contentBytes *= size;
    }
    return header;
}

Result<Header> readHeader(DataFile& file)
{
    uint8_t magic[4] = {};
    const Result<int64_t> got = file.read(magic, 4);
    if (!got) return fail(got.error());
    if (*got < 4)
        return fail(ErrorCode::truncated, fmt::format("the file holds {} bytes, an IDX header needs at least 8", *got),
                    {file.path(), *got});
    if (magic[0] != 0 || magic[1] != 0) {
        return fail(
            ErrorCode::wrongFormat,
            fmt::format("not an IDX file: it starts with {:02x} {:02x} {:02x} {:02x}, expected 00 00 and a type",
                        magic[0], magic[1], magic[2], magic[3]),
            {file.path(), 0});
    }
    Header header;
    switch (magic[2]) {
    case 0x08: header.type = Type::uint8; break;
    case 0x0c: header.type = Type::int32; break;
    case 0x0d: header.type = Type::float32; break;
    default:
        return fail(
            ErrorCode::unsupported,
            fmt::format("IDX values of type 0x{:02x}; unsigned bytes (0x08), int32 (0x0c) and float32 (0x0d) are read",
                        magic[2]),
            {file.path(), 2});
    }
    header.valueSize = header.type == Type::uint8 ? 1 : 4;
    const int rank = magic[3];
    if (rank < 1 || rank > 4)
        return fail(ErrorCode::unsupported, fmt::format("IDX data of {} dimensions; 1 to 4 are read", rank),
                    {file.path(), 3});
    return readSizes(file, std::move(header), rank);
}

base::Error tooShort(const DataFile& file, const Header& header, int64_t found)
{
    const int64_t expected = header.headerBytes + header.contentBytes;
    return {ErrorCode::truncated,
            fmt::format("the file is cut short: its header ({}) promises {} bytes, found {}", dimsText(header.dims),
                        expected, found),
            {file.path(), found},
            "copy or download the file again"};
}

// Fills `out` with the first `bytes` of the content; the rest must be there too.
Status readContent(DataFile& file, const Header& header, void* out, int64_t bytes, std::stop_token stop)
{
    const Result<int64_t> got = file.read(out, bytes, stop);
    if (!got) return fail(got.error());
    if (*got < bytes) return fail(tooShort(file, header, header.headerBytes + *got));
    if (bytes < header.contentBytes) return {}; // the caller wants only the front
    char extra = 0;
    const Result<int64_t> more = file.read(&extra, 1, stop);
    if (!more) return fail(more.error());
    if (*more != 0) {
        return fail(ErrorCode::wrongFormat,
                    fmt::format("the file goes on after the {} bytes that its header ({}) promises",
                                header.headerBytes + header.contentBytes, dimsText(header.dims)),
                    {file.path(), header.headerBytes + header.contentBytes}, "the header or the file is damaged");
    }
    return {};
}

// Refuses a promise that the file cannot keep before memory is taken for it.
Status checkPromise(const DataFile& file, const Header& header)
{
    if (header.headerBytes + header.contentBytes <= file.largestContent()) return {};
    if (file.compressed()) {
        return fail(ErrorCode::truncated,
                    fmt::format("the file is cut short or damaged: its header ({}) promises {} bytes, more than {} "
                                "compressed bytes can hold",
                                dimsText(header.dims), header.headerBytes + header.contentBytes, file.fileSize()),
                    {file.path()}, "copy or download the file again");
    }
    return fail(tooShort(file, header, file.fileSize()));
}

void swapBytes(void* values, int64_t count)
{
    auto* p = static_cast<uint8_t*>(values);
    for (int64_t i = 0; i < count; ++i, p += 4) {
        const uint32_t v = bigEndian(p);
        std::memcpy(p, &v, 4);
    }
}

Status readImages(const std::string& path, int64_t samples, const std::string& hint, std::stop_token stop,
                  MemoryData& data, int64_t& all)
{
    Result<DataFile> file = DataFile::open(path, hint);
    if (!file) return fail(file.error());
    const Result<Header> header = readHeader(*file);
    if (!header) return fail(header.error());
    if (header->dims.size() == 1) {
        return fail(ErrorCode::wrongFormat,
                    fmt::format("is an IDX labels file ({} labels), expected images", header->dims[0]), {path, 3},
                    "images and labels may be swapped");
    }
    if (header->type == Type::int32)
        return fail(ErrorCode::unsupported, "IDX images of int32; unsigned bytes and float32 are read", {path, 2});
    if (const Status promise = checkPromise(*file, *header); !promise) return promise;

    all = header->dims[0];
    data.size = samples > 0 ? std::min(samples, all) : all;
    data.sampleShape.assign(header->dims.begin() + 1, header->dims.end());
    if (data.sampleShape.size() == 2) data.sampleShape.insert(data.sampleShape.begin(), 1);
    const int64_t bytes = header->contentBytes / all * data.size;
    if (header->type == Type::uint8) {
        data.bytes.resize(static_cast<size_t>(bytes));
        return readContent(*file, *header, data.bytes.data(), bytes, stop);
    }
    data.values.resize(static_cast<size_t>(bytes / 4));
    const Status status = readContent(*file, *header, data.values.data(), bytes, stop);
    if (status && std::endian::native == std::endian::little) swapBytes(data.values.data(), bytes / 4);
    return status;
}

Status readLabels(const std::string& path, const std::string& imagesPath, const std::string& hint, std::stop_token stop,
                  int64_t allImages, MemoryData& data)
{
    Result<DataFile> file = DataFile::open(path, hint);
    if (!file) return fail(file.error());
    const Result<Header> header = readHeader(*file);
    if (!header) return fail(header.error());
    if (header->dims.size() != 1) {
        return fail(ErrorCode::wrongFormat,
                    fmt::format("is an IDX images file ({}), expected labels", dimsText(header->dims)), {path, 3},
                    "images and labels may be swapped");
    }
    if (header->type == Type::float32)
        return fail(ErrorCode::unsupported, "IDX labels of float32; unsigned bytes and int32 are read", {path, 2});
    if (const Status promise = checkPromise(*file, *header); !promise) return promise;
    if (header->dims[0] != allImages) {
        return fail(ErrorCode::wrongFormat,
                    fmt::format("holds {} labels, but {} holds {} images", header->dims[0], imagesPath, allImages),
                    {path, 4});
    }
    data.labels.resize(static_cast<size_t>(data.size));
    const size_t n = data.labels.size();
    if (header->type == Type::int32) {
        const Status status = readContent(*file, *header, data.labels.data(), data.size * 4, stop);
        if (!status) return status;
        if (std::endian::native == std::endian::little) swapBytes(data.labels.data(), data.size);
    } else {
        std::vector<uint8_t> bytes(n);
        const Status status = readContent(*file, *header, bytes.data(), data.size, stop);
        if (!status) return status;
        std::copy(bytes.begin(), bytes.end(), data.labels.begin());
    }
    const auto lowest = std::min_element(data.labels.begin(), data.labels.end());
    if (*lowest < 0) {
        const int64_t index = lowest - data.labels.begin();
        return fail(ErrorCode::wrongFormat, fmt::format("label {} of sample {} is negative", *lowest, index),
                    {path, header->headerBytes + index * 4});
    }
    data.classes = static_cast<int64_t>(*std::max_element(data.labels.begin(), data.labels.end())) + 1;
    return {};
}

} // namespace

base::Result<MemoryData> readIdx(const std::string& imagesPath, const std::string& labelsPath, int64_t samples,
                                 const std::string& missingHint, std::stop_token stop)
{
    MemoryData data;
    int64_t allImages = 0;
    if (const Status status = readImages(imagesPath, samples, missingHint, stop, data, allImages); !status)
        return fail(status.error());
    if (const Status status = readLabels(labelsPath, imagesPath, missingHint, stop, allImages, data); !status)
        return fail(status.error());
    return data;
}

} // namespace stepscope::engine
