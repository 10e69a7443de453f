// Start-up self-check. oneDNN 3.7 leaves parts of converted weights unwritten on machines that report no cache sizes, and a
// profiler must never time wrong results.
#include "core/onednn/compat.h"
#include "core/onednn/onednn_backend.h"
#include "core/onednn/parameter_store.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <vector>

namespace stepscope::onednn {
namespace {

using compat::Desc;
using compat::Dims;
using Type = dnnl::memory::data_type;
using Tag = dnnl::memory::format_tag;

base::Status broken(const std::string& what)
{
    const dnnl_version_t* v = dnnl_version();
    return base::fail(base::ErrorCode::unavailable,
                      fmt::format("oneDNN {}.{}.{} computes wrong results on this machine ({}), so nothing that it would time could be trusted",
                                  v->major, v->minor, v->patch, what),
                      {}, "oneDNN 3.x does this on virtual machines that hide their cache sizes; run on a machine that shows them "
                          "(lscpu -C lists L1d, L2, L3), or with oneDNN 2.6");
}

std::vector<float> pattern(size_t n, uint32_t seed)
{
    std::vector<float> values(n);
    for (float& v : values) {
        seed = seed * 1664525u + 1013904223u;
        v = static_cast<float>(seed >> 8) / 8388608.0f - 1.0f;
    }
    return values;
}

std::vector<float> nans(const Desc& desc)
{
    return std::vector<float>(desc.get_size() / sizeof(float), std::numeric_limits<float>::quiet_NaN());
}

void run(const dnnl::primitive& primitive, dnnl::stream& stream, const std::unordered_map<int, dnnl::memory>& arguments)
{
    primitive.execute(stream, arguments);
    stream.wait();
}

bool near(const std::vector<float>& a, const std::vector<float>& b)
{
    for (size_t i = 0; i < a.size(); ++i)
        if (!(std::fabs(a[i] - b[i]) <= 1e-4f * (1 + std::fabs(b[i])))) return false;
    return true;
}

// plain -> blocked -> plain over NaN; also every padded cell of the blocked form must be zero.
bool roundTrip(const Dims& dims, Tag blocked)
{
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    dnnl::stream stream(engine);
    const Desc plain = plainDesc(dims), packed(dims, Type::f32, blocked);
    std::vector<float> in = pattern(plain.get_size() / sizeof(float), 7), middle = nans(packed), out = nans(plain);
    dnnl::memory a(plain, engine, in.data()), b(packed, engine, middle.data()), c(plain, engine, out.data());
    run(dnnl::reorder(a, b), stream, {{DNNL_ARG_FROM, a}, {DNNL_ARG_TO, b}});
    run(dnnl::reorder(b, c), stream, {{DNNL_ARG_FROM, b}, {DNNL_ARG_TO, c}});
    size_t notZero = 0;
    for (float v : middle) {
        if (std::isnan(v)) return false;
        notZero += v != 0 ? 1 : 0;
    }
    return in == out && notZero <= in.size();
}

struct SmallConvolution {
    static constexpr int64_t kBatch = 2, kSize = 7, kKernel = 3;
    int64_t in = 1, out = 6;

    size_t x(int64_t n, int64_t c, int64_t h, int64_t w) const { return static_cast<size_t>(((n * in + c) * kSize + h) * kSize + w); }
    size_t y(int64_t n, int64_t c, int64_t h, int64_t w) const { return static_cast<size_t>(((n * out + c) * kSize + h) * kSize + w); }
    size_t w(int64_t o, int64_t c, int64_t h, int64_t k) const
    {
        return static_cast<size_t>(((o * in + c) * kKernel + h) * kKernel + k);
    }

    // Calls visit(position in x, in w, in y) for every multiplication; padding 1.
    template <class Visit>
    void each(const Visit& visit) const
    {
        for (int64_t n = 0; n < kBatch; ++n)
            for (int64_t o = 0; o < out; ++o)
                for (int64_t c = 0; c < in; ++c)
                    for (int64_t h = 0; h < kSize; ++h)
                        for (int64_t v = 0; v < kSize; ++v)
                            for (int64_t kh = 0; kh < kKernel; ++kh)
                                for (int64_t kw = 0; kw < kKernel; ++kw) {
                                    const int64_t ih = h + kh - 1, iw = v + kw - 1;
                                    if (ih >= 0 && ih < kSize && iw >= 0 && iw < kSize) visit(x(n, c, ih, iw), w(o, c, kh, kw), y(n, o, h, v));
                                }
    }
};

// The library's own layouts, with conversions from and to plain arrays full of NaN.
bool convolutionAgrees(int64_t inChannels, int64_t outChannels)
{
    const SmallConvolution s{inChannels, outChannels};
    const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
    dnnl::stream stream(engine);
    const Dims xd{s.kBatch, s.in, s.kSize, s.kSize}, wd{s.out, s.in, s.kKernel, s.kKernel}, yd{s.kBatch, s.out, s.kSize, s.kSize}, one{1, 1};
    const auto algorithm = dnnl::algorithm::convolution_direct;
    const auto any = [](const Dims& d) { return anyDesc(d); };
    const auto fd = compat::forward<dnnl::convolution_forward>(engine, {}, 0, dnnl::prop_kind::forward_training, algorithm, any(xd), any(wd), any(yd), one,
                                                               one, one);
    const auto dd = compat::backward<dnnl::convolution_backward_data>(engine, {}, 0, fd, algorithm, any(xd), any(wd), any(yd), one, one, one);
    const auto wdsc = compat::backward<dnnl::convolution_backward_weights>(engine, {}, 0, fd, algorithm, any(xd), any(wd), any(yd), one, one, one);
    std::vector<float> x = pattern(static_cast<size_t>(s.kBatch * s.in * s.kSize * s.kSize), 1), w = pattern(static_cast<size_t>(s.out * s.in * 9), 2),
                       dy = pattern(static_cast<size_t>(s.kBatch * s.out * s.kSize * s.kSize), 3);
    std::vector<std::vector<float>> storage;
    const auto packed = [&](std::vector<float>& values, const Dims& dims, const Desc& want) {
        storage.push_back(nans(want));
        dnnl::memory from(plainDesc(dims), engine, values.data()), to(want, engine, storage.back().data());
        run(dnnl::reorder(from, to), stream, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
        return to;
    };
    const auto empty = [&](const Desc& want) {
        storage.push_back(nans(want));
        return dnnl::memory(want, engine, storage.back().data());
    };
    const auto unpacked = [&](const dnnl::memory& from, const Dims& dims) {
        std::vector<float> values = nans(plainDesc(dims));
        dnnl::memory source = from, to(plainDesc(dims), engine, values.data());
        run(dnnl::reorder(source, to), stream, {{DNNL_ARG_FROM, source}, {DNNL_ARG_TO, to}});
        return values;
    };
    storage.reserve(16);
    const dnnl::memory y = empty(fd.dst_desc()), dx = empty(dd.diff_src_desc()), dw = empty(wdsc.diff_weights_desc());
    run(dnnl::convolution_forward(fd), stream,
        {{DNNL_ARG_SRC, packed(x, xd, fd.src_desc())}, {DNNL_ARG_WEIGHTS, packed(w, wd, fd.weights_desc())}, {DNNL_ARG_DST, y}});
    run(dnnl::convolution_backward_data(dd), stream,
        {{DNNL_ARG_DIFF_DST, packed(dy, yd, dd.diff_dst_desc())}, {DNNL_ARG_WEIGHTS, packed(w, wd, dd.weights_desc())}, {DNNL_ARG_DIFF_SRC, dx}});
    run(dnnl::convolution_backward_weights(wdsc), stream,
        {{DNNL_ARG_DIFF_DST, packed(dy, yd, wdsc.diff_dst_desc())}, {DNNL_ARG_SRC, packed(x, xd, wdsc.src_desc())}, {DNNL_ARG_DIFF_WEIGHTS, dw}});
    std::vector<float> ry(dy.size()), rdx(x.size()), rdw(w.size());
    s.each([&](size_t i, size_t k, size_t o) {
        ry[o] += x[i] * w[k];
        rdx[i] += dy[o] * w[k];
        rdw[k] += dy[o] * x[i];
    });
    return near(unpacked(y, yd), ry) && near(unpacked(dx, xd), rdx) && near(unpacked(dw, wd), rdw);
}

} // namespace

base::Status checkReorder()
{
    try {
        const bool good = roundTrip({6, 1, 5, 5}, Tag::Acdb16a) && roundTrip({5, 3, 3, 3}, Tag::ABcd16b16a)
            && roundTrip({20, 6, 5, 5}, Tag::ABcd16b16a) && roundTrip({2, 6, 12, 12}, Tag::aBcd16b) && roundTrip({10, 84}, Tag::AB16b16a);
        return good ? base::Status() : broken("a layout conversion leaves values unwritten");
    } catch (const dnnl::error& e) {
        return broken(fmt::format("a layout conversion fails: {}", e.what()));
    }
}

base::Status checkConvolution()
{
    try {
        for (const auto& [in, out] : {std::pair<int64_t, int64_t>{1, 6}, {3, 5}, {16, 16}})
            if (!convolutionAgrees(in, out)) return broken(fmt::format("a convolution of {} to {} channels differs from plain code", in, out));
        return {};
    } catch (const dnnl::error& e) {
        return broken(fmt::format("a small convolution fails: {}", e.what()));
    }
}

} // namespace stepscope::onednn
