// gzip, zstd and xz as sources. Each decoder takes packed bytes from the inner source and hands out what it makes at
// once, so that everything before a damaged place is still read.
#include "core/importers/packing.h"

#include <fmt/format.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>

#include <cstring>

namespace stepscope::importers {

namespace {

constexpr size_t kPackedBytes = size_t{256} << 10;
constexpr uint64_t kMemoryLimit = uint64_t{1} << 30; // of one xz or zstd decoder; "xz -9" asks for 65 MB

// What the three have in common: the packed bytes and the lasting error.
class StreamSource : public ByteSource {
public:
    StreamSource(const char* name, SourcePtr inner) : m_name(name), m_inner(std::move(inner)), m_packed(kPackedBytes) {}

    base::Result<size_t> read(std::span<char> into) override
    {
        size_t filled = 0;
        int idle = 0; // a decoder may need a step without result before it says that the end is too early
        while (filled < into.size() && !m_ended && !m_error && idle < 3) {
            const size_t before = filled;
            step(into, filled);
            if (filled != before || m_next != m_end) continue;
            if (m_innerEnded) ++idle;
            else fetch();
        }
        if (filled == 0 && m_error) return base::fail(*m_error);
        return filled;
    }
    double fraction() const override { return m_inner->fraction(); }

protected:
    // Unpacks from packed() into `into` from `filled` on; sets m_ended or calls fail().
    virtual void step(std::span<char> into, size_t& filled) = 0;

    std::span<char> packed() { return {m_packed.data() + m_next, m_end - m_next}; }
    void consume(size_t bytes) { m_next += bytes; }
    bool atEnd() // of the packed bytes; fetches when that is not known yet
    {
        if (m_next == m_end && !m_innerEnded) fetch();
        return m_next == m_end;
    }
    void end() { m_ended = true; }
    void fail(base::ErrorCode code, std::string message)
    {
        const auto place = static_cast<int64_t>(m_fetched - (m_end - m_next));
        m_error = base::Error{code, fmt::format("{}: {}", m_name, message), {"", place, 0, 0, m_name}, ""};
    }
    void endsTooEarly() { fail(base::ErrorCode::truncated, "the compressed data ends too early"); }

private:
    void fetch()
    {
        const base::Result<size_t> got = m_inner->read(m_packed);
        m_next = 0;
        m_end = got ? *got : 0;
        m_fetched += m_end;
        if (!got) m_error = got.error();
        m_innerEnded = m_end == 0;
    }

    const char* m_name;
    SourcePtr m_inner;
    std::vector<char> m_packed;
    size_t m_next = 0, m_end = 0;
    uint64_t m_fetched = 0;
    bool m_innerEnded = false;
    bool m_ended = false;
    std::optional<base::Error> m_error;
};

class GzipSource final : public StreamSource {
public:
    explicit GzipSource(SourcePtr inner) : StreamSource("gzip", std::move(inner))
    {
        m_good = inflateInit2(&m_stream, 15 + 16) == Z_OK; // the largest window, gzip header and checksum
    }
    ~GzipSource() override { inflateEnd(&m_stream); }
    GzipSource(const GzipSource&) = delete;
    GzipSource& operator=(const GzipSource&) = delete;
    bool good() const { return m_good; }

private:
    void step(std::span<char> into, size_t& filled) override
    {
        if (m_between && !nextMember()) return;
        if (atEnd()) return endsTooEarly();
        m_stream.next_in = reinterpret_cast<Bytef*>(packed().data());
        m_stream.avail_in = static_cast<uInt>(packed().size());
        m_stream.next_out = reinterpret_cast<Bytef*>(into.data() + filled);
        const auto room = static_cast<uInt>(std::min(into.size() - filled, size_t{1} << 30));
        m_stream.avail_out = room;
        const int result = inflate(&m_stream, Z_NO_FLUSH);
        consume(packed().size() - m_stream.avail_in);
        filled += room - m_stream.avail_out;
        if (result == Z_STREAM_END) m_between = true;
        else if (result == Z_MEM_ERROR) fail(base::ErrorCode::io, "no memory for unpacking");
        else if (result != Z_OK && result != Z_BUF_ERROR)
            fail(base::ErrorCode::wrongFormat,
                 fmt::format("the compressed data is damaged ({})", m_stream.msg != nullptr ? m_stream.msg : "no dictionary"));
    }

    // RFC 1952: members follow each other. Zeros behind the last one are padding of tapes and disks.
    bool nextMember()
    {
        while (!atEnd() && packed()[0] == '\0')
            consume(1);
        if (atEnd()) {
            end();
            return false;
        }
        if (packed()[0] != '\x1f') {
            fail(base::ErrorCode::wrongFormat, "something that is not gzip follows the compressed data");
            return false;
        }
        inflateReset(&m_stream);
        m_between = false;
        return true;
    }

    z_stream m_stream = {};
    bool m_good = false;
    bool m_between = false; // members
};

class ZstdSource final : public StreamSource {
public:
    explicit ZstdSource(SourcePtr inner) : StreamSource("zstd", std::move(inner)), m_stream(ZSTD_createDStream()) {}
    ~ZstdSource() override { ZSTD_freeDStream(m_stream); }
    ZstdSource(const ZstdSource&) = delete;
    ZstdSource& operator=(const ZstdSource&) = delete;
    bool good() const { return m_stream != nullptr; }

private:
    void step(std::span<char> into, size_t& filled) override
    {
        const bool last = atEnd(); // there may still be bytes in the decoder
        ZSTD_inBuffer in{packed().data(), packed().size(), 0};
        ZSTD_outBuffer out{into.data(), into.size(), filled};
        const size_t result = ZSTD_decompressStream(m_stream, &out, &in);
        const bool progress = in.pos > 0 || out.pos > filled;
        consume(in.pos);
        filled = out.pos;
        if (ZSTD_isError(result) != 0)
            fail(base::ErrorCode::wrongFormat, fmt::format("the compressed data is damaged ({})", ZSTD_getErrorName(result)));
        else if (progress) m_inFrame = result != 0;
        else if (last && m_inFrame) endsTooEarly();
        else if (last) end();
    }

    ZSTD_DStream* m_stream;
    bool m_inFrame = false;
};

class XzSource final : public StreamSource {
public:
    explicit XzSource(SourcePtr inner) : StreamSource("xz", std::move(inner))
    {
        m_good = lzma_stream_decoder(&m_stream, kMemoryLimit, LZMA_CONCATENATED) == LZMA_OK;
    }
    ~XzSource() override { lzma_end(&m_stream); }
    XzSource(const XzSource&) = delete;
    XzSource& operator=(const XzSource&) = delete;
    bool good() const { return m_good; }

private:
    void step(std::span<char> into, size_t& filled) override
    {
        const bool last = atEnd();
        m_stream.next_in = reinterpret_cast<const uint8_t*>(packed().data());
        m_stream.avail_in = packed().size();
        m_stream.next_out = reinterpret_cast<uint8_t*>(into.data() + filled);
        m_stream.avail_out = into.size() - filled;
        const lzma_ret result = lzma_code(&m_stream, last ? LZMA_FINISH : LZMA_RUN);
        consume(packed().size() - m_stream.avail_in);
        filled = into.size() - m_stream.avail_out;
        if (result == LZMA_STREAM_END) end();
        else if (result == LZMA_BUF_ERROR && last) endsTooEarly();
        else if (result == LZMA_MEMLIMIT_ERROR) fail(base::ErrorCode::unsupported, "unpacking needs more than 1 GiB of memory");
        else if (result == LZMA_MEM_ERROR) fail(base::ErrorCode::io, "no memory for unpacking");
        else if (result != LZMA_OK && result != LZMA_BUF_ERROR)
            fail(base::ErrorCode::wrongFormat, fmt::format("the compressed data is damaged (code {})", static_cast<int>(result)));
    }

    lzma_stream m_stream = LZMA_STREAM_INIT;
    bool m_good = false;
};

template <class Source>
base::Result<SourcePtr> make(SourcePtr inner)
{
    auto source = std::make_unique<Source>(std::move(inner));
    if (!source->good()) return base::fail(base::ErrorCode::io, "no memory for unpacking");
    return SourcePtr(std::move(source));
}

} // namespace

const char* packingName(Packing packing)
{
    switch (packing) {
    case Packing::none: return "";
    case Packing::gzip: return "gzip";
    case Packing::zstd: return "zstd";
    case Packing::xz: return "xz";
    case Packing::zip: return "zip";
    case Packing::tar: return "tar";
    case Packing::bzip2: return "bzip2";
    }
    return "";
}

Packing sniffPacking(std::string_view head)
{
    const auto starts = [&](std::string_view magic) { return head.substr(0, magic.size()) == magic; };
    if (starts("\x1f\x8b\x08")) return Packing::gzip;
    if (starts("\x28\xb5\x2f\xfd")) return Packing::zstd;
    if (head.size() >= 4 && (head[0] & '\xf0') == '\x50' && head.substr(1, 3) == "\x2a\x4d\x18") return Packing::zstd;
    if (starts(std::string_view("\xfd\x37\x7a\x58\x5a\x00", 6))) return Packing::xz;
    if (starts("PK\x03\x04") || starts("PK\x05\x06")) return Packing::zip;
    if (head.size() > 262 && head.substr(257, 5) == "ustar") return Packing::tar;
    if (starts("BZh") && head.size() > 9 && head.substr(4, 6) == "\x31\x41\x59\x26\x53\x59") return Packing::bzip2;
    return Packing::none;
}

base::Result<SourcePtr> streamSource(Packing packing, SourcePtr inner)
{
    if (packing == Packing::zstd) return make<ZstdSource>(std::move(inner));
    if (packing == Packing::xz) return make<XzSource>(std::move(inner));
    return make<GzipSource>(std::move(inner));
}

} // namespace stepscope::importers
