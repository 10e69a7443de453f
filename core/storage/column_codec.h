// Packs one column of a chunk into bytes and back. resources/help/session-format.md describes the bytes.
// Owner: core/storage. Thread: one object per thread; the objects recycle their memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

struct ZSTD_CCtx_s;
struct ZSTD_DCtx_s;

namespace stepscope::storage {

// The numeric values are written to files.
enum class Transform : uint8_t {
    offset = 0, // value = base + stored
    delta = 1,  // value = value before it + least difference + stored; the first value is base
};

class ColumnEncoder {
public:
    ColumnEncoder();
    ~ColumnEncoder();
    ColumnEncoder(const ColumnEncoder&) = delete;
    ColumnEncoder& operator=(const ColumnEncoder&) = delete;

    // The bytes stay valid until the next call.
    std::span<const uint8_t> encode(std::span<const int64_t> values, Transform transform);
    std::span<const uint8_t> encode(std::span<const uint32_t> values, Transform transform);
    std::span<const uint8_t> encode(std::span<const int32_t> values, Transform transform);
    std::span<const uint8_t> encode(std::span<const double> values, Transform transform); // bit patterns

private:
    template <class T>
    std::span<const uint8_t> encodeColumn(std::span<const T> values, Transform transform);

    ZSTD_CCtx_s* m_context;
    std::vector<uint64_t> m_stored;
    std::vector<uint8_t> m_planes;
    std::vector<uint8_t> m_bytes;
};

class ColumnDecoder {
public:
    ColumnDecoder();
    ~ColumnDecoder();
    ColumnDecoder(const ColumnDecoder&) = delete;
    ColumnDecoder& operator=(const ColumnDecoder&) = delete;

    // False when the bytes are not a column of exactly values.size() values or fail their checksum.
    bool decode(std::span<const uint8_t> bytes, std::span<int64_t> values);
    bool decode(std::span<const uint8_t> bytes, std::span<uint32_t> values);
    bool decode(std::span<const uint8_t> bytes, std::span<int32_t> values);
    bool decode(std::span<const uint8_t> bytes, std::span<double> values);

private:
    template <class T>
    bool decodeColumn(std::span<const uint8_t> bytes, std::span<T> values);

    ZSTD_DCtx_s* m_context;
    std::vector<uint8_t> m_planes;
};

} // namespace stepscope::storage
