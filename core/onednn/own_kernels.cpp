#include "core/onednn/own_kernels.h"

#include <algorithm>
#include <cstring>
#include <limits>

#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__)
#define STEPSCOPE_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define STEPSCOPE_CLONES
#endif
#define STEPSCOPE_INLINE inline __attribute__((always_inline))

namespace stepscope::onednn {

std::optional<LaneLayout> laneLayout(const compat::Desc& desc)
{
    const compat::Dims d = compat::dimsOf(desc);
    if (d.size() != 4) return std::nullopt;
    const std::string layout = compat::layoutText(desc);
    if (layout == "abcd") return LaneLayout{d[0] * d[1], d[2], d[3], 1, false};
    if (layout == "acdb") return LaneLayout{d[0], d[2], d[3], d[1], true};
    if (layout == "aBcd8b") return LaneLayout{d[0] * ((d[1] + 7) / 8), d[2], d[3], 8, false};
    if (layout == "aBcd16b") return LaneLayout{d[0] * ((d[1] + 15) / 16), d[2], d[3], 16, false};
    return std::nullopt;
}

namespace {

constexpr int64_t kLanes = ThinConvolution::kLanes;

// Eight lanes at once in the compiler's vector notation: one AVX2 register, two SSE or NEON ones.
typedef float Floats __attribute__((vector_size(32)));
typedef int32_t Ints __attribute__((vector_size(32)));

template <class Vector, class Element>
STEPSCOPE_INLINE Vector load(const Element* p)
{
    Vector v;
    std::memcpy(&v, p, sizeof v);
    return v;
}
template <class Vector, class Element>
STEPSCOPE_INLINE void store(Element* p, Vector v)
{
    std::memcpy(p, &v, sizeof v);
}

// ---- max pooling ----

// The part of a window that lies inside the input.
struct Window {
    int64_t top, left, firstRow, lastRow, firstColumn, lastColumn;
};

STEPSCOPE_INLINE Window windowAt(const MaxPoolShape& s, int64_t oh, int64_t ow)
{
    const int64_t top = oh * s.strideHeight - s.padTop, left = ow * s.strideWidth - s.padLeft;
    return {top, left, std::max<int64_t>(0, -top), std::min(s.kernelHeight, s.inHeight - top), std::max<int64_t>(0, -left),
            std::min(s.kernelWidth, s.inWidth - left)};
}

STEPSCOPE_CLONES void poolForwardPlanes(const MaxPoolShape& s, const float* x, float* y, int32_t* winner, int64_t begin, int64_t end)
{
    const int64_t inPlane = s.inHeight * s.inWidth * s.lanes, outPlane = s.outHeight * s.outWidth * s.lanes;
    for (int64_t o = begin; o < end; ++o) {
        const float* plane = x + o * inPlane;
        for (int64_t oh = 0; oh < s.outHeight; ++oh) {
            for (int64_t ow = 0; ow < s.outWidth; ++ow) {
                const Window w = windowAt(s, oh, ow);
                // A window of nothing but NaN has no maximum: its first element inside the input stands for it.
                const auto first = static_cast<int32_t>(w.firstRow * s.kernelWidth + w.firstColumn);
                const int64_t at = o * outPlane + (oh * s.outWidth + ow) * s.lanes;
                int64_t l = 0;
                for (; l + kLanes <= s.lanes; l += kLanes) {
                    Floats best = Floats{} - std::numeric_limits<float>::infinity();
                    Ints won = Ints{} + first;
                    for (int64_t kh = w.firstRow; kh < w.lastRow; ++kh) {
                        const float* row = plane + ((w.top + kh) * s.inWidth + w.left) * s.lanes + l;
                        for (int64_t kw = w.firstColumn; kw < w.lastColumn; ++kw) {
                            const Floats v = load<Floats>(row + kw * s.lanes);
                            const Ints larger = v > best;
                            best = larger ? v : best;
                            won = larger ? Ints{} + static_cast<int32_t>(kh * s.kernelWidth + kw) : won;
                        }
                    }
                    store(y + at + l, best);
                    store(winner + at + l, won);
                }
                for (; l < s.lanes; ++l) {
                    float best = -std::numeric_limits<float>::infinity();
                    int32_t won = first;
                    for (int64_t kh = w.firstRow; kh < w.lastRow; ++kh) {
                        for (int64_t kw = w.firstColumn; kw < w.lastColumn; ++kw) {
                            const float v = plane[((w.top + kh) * s.inWidth + w.left + kw) * s.lanes + l];
                            won = v > best ? static_cast<int32_t>(kh * s.kernelWidth + kw) : won;
                            best = v > best ? v : best;
                        }
                    }
                    y[at + l] = best;
                    winner[at + l] = won;
                }
            }
        }
    }
}

STEPSCOPE_CLONES void poolBackwardPlanes(const MaxPoolShape& s, const float* dy, const int32_t* winner, const float* y, float* dx, int64_t begin,
                                         int64_t end)
{
    const int64_t inPlane = s.inHeight * s.inWidth * s.lanes, outPlane = s.outHeight * s.outWidth * s.lanes;
    // Windows that tile the input write every element once; others add into zeros.
    const bool tiles = s.strideHeight == s.kernelHeight && s.strideWidth == s.kernelWidth && s.padTop == 0 && s.padLeft == 0
        && s.outHeight * s.strideHeight == s.inHeight && s.outWidth * s.strideWidth == s.inWidth;
    for (int64_t o = begin; o < end; ++o) {
        float* plane = dx + o * inPlane;
        if (!tiles) std::memset(plane, 0, static_cast<size_t>(inPlane) * sizeof(float));
        for (int64_t oh = 0; oh < s.outHeight; ++oh) {
            for (int64_t ow = 0; ow < s.outWidth; ++ow) {
                const Window w = windowAt(s, oh, ow);
                const int64_t at = o * outPlane + (oh * s.outWidth + ow) * s.lanes;
                int64_t l = 0;
                for (; l + kLanes <= s.lanes; l += kLanes) {
                    Floats g = load<Floats>(dy + at + l);
                    if (y != nullptr) g = load<Floats>(y + at + l) > 0.0f ? g : Floats{};
                    const Ints won = load<Ints>(winner + at + l);
                    for (int64_t kh = w.firstRow; kh < w.lastRow; ++kh) {
                        float* row = plane + ((w.top + kh) * s.inWidth + w.left) * s.lanes + l;
                        for (int64_t kw = w.firstColumn; kw < w.lastColumn; ++kw) {
                            const Ints mine = won == Ints{} + static_cast<int32_t>(kh * s.kernelWidth + kw);
                            const Floats part = mine ? g : Floats{};
                            store(row + kw * s.lanes, tiles ? part : load<Floats>(row + kw * s.lanes) + part);
                        }
                    }
                }
                for (; l < s.lanes; ++l) {
                    const float g = y != nullptr && !(y[at + l] > 0) ? 0.0f : dy[at + l];
                    if (!tiles) {
                        const int64_t kh = winner[at + l] / s.kernelWidth, kw = winner[at + l] % s.kernelWidth;
                        if (kh < w.firstRow || kh >= w.lastRow || kw < w.firstColumn || kw >= w.lastColumn) continue; // an empty window
                        plane[((w.top + kh) * s.inWidth + w.left + kw) * s.lanes + l] += g;
                        continue;
                    }
                    for (int64_t kh = 0; kh < s.kernelHeight; ++kh)
                        for (int64_t kw = 0; kw < s.kernelWidth; ++kw)
                            plane[((w.top + kh) * s.inWidth + w.left + kw) * s.lanes + l]
                                = winner[at + l] == kh * s.kernelWidth + kw ? g : 0.0f;
                }
            }
        }
    }
}

// ---- weight gradient of a convolution with few input channels ----

// acc[k][lane] += Σ_ow dy[ow][lane] row[ow stride + k] for one row of the output.
template <int KernelWidth>
STEPSCOPE_INLINE void accumulateRow(const float* row, const float* dy, int64_t dyStep, int64_t outWidth, int64_t stride, float* acc)
{
    Floats sum[KernelWidth];
    for (int k = 0; k < KernelWidth; ++k) sum[k] = load<Floats>(acc + k * kLanes);
    for (int64_t ow = 0; ow < outWidth; ++ow) {
        const Floats g = load<Floats>(dy + ow * dyStep);
        const float* x = row + ow * stride;
        for (int k = 0; k < KernelWidth; ++k) sum[k] += x[k] * g;
    }
    for (int k = 0; k < KernelWidth; ++k) store(acc + k * kLanes, sum[k]);
}

STEPSCOPE_INLINE void accumulateRowAny(int64_t kernelWidth, const float* row, const float* dy, int64_t dyStep, int64_t outWidth, int64_t stride,
                                       float* acc)
{
    switch (kernelWidth) {
    case 1: accumulateRow<1>(row, dy, dyStep, outWidth, stride, acc); break;
    case 2: accumulateRow<2>(row, dy, dyStep, outWidth, stride, acc); break;
    case 3: accumulateRow<3>(row, dy, dyStep, outWidth, stride, acc); break;
    case 4: accumulateRow<4>(row, dy, dyStep, outWidth, stride, acc); break;
    case 5: accumulateRow<5>(row, dy, dyStep, outWidth, stride, acc); break;
    case 6: accumulateRow<6>(row, dy, dyStep, outWidth, stride, acc); break;
    case 7: accumulateRow<7>(row, dy, dyStep, outWidth, stride, acc); break;
    default: accumulateRow<8>(row, dy, dyStep, outWidth, stride, acc); break;
    }
}

int64_t accumulators(const ThinConvolution& s) { return s.blocks() * kLanes * (s.in * s.kernelHeight * s.kernelWidth + 1); }
int64_t paddedWidth(const ThinConvolution& s) { return s.outWidth * s.strideWidth + s.kernelWidth; }

const float* gradientAt(const ThinConvolution& s, const float* dy, int64_t n, int64_t block)
{
    const LaneLayout& g = s.gradient;
    const int64_t plane = g.height * g.width * g.lanes;
    if (g.channelsLast) return dy + n * plane + block * kLanes;
    const int64_t perOuter = g.lanes / kLanes; // blocks of 8 in one of the layout's blocks
    const int64_t outers = g.outer / s.batch;
    return dy + (n * outers + block / perOuter) * plane + block % perOuter * kLanes;
}

// acc: [block][in][kernelHeight][kernelWidth][lane], then [block][lane] for the bias. padded: one row of x with its padding.
STEPSCOPE_CLONES void thinGradientSamples(const ThinConvolution& s, const float* x, const float* dy, float* acc, float* padded, int64_t begin,
                                          int64_t end)
{
    const int64_t taps = s.in * s.kernelHeight * s.kernelWidth;
    float* bias = acc + s.blocks() * taps * kLanes;
    const int64_t step = s.gradient.lanes, width = paddedWidth(s);
    for (int64_t n = begin; n < end; ++n) {
        for (int64_t block = 0; block < s.blocks(); ++block) {
            const float* g = gradientAt(s, dy, n, block);
            Floats sum = load<Floats>(bias + block * kLanes);
            for (int64_t p = 0; p < s.outHeight * s.outWidth; ++p) sum += load<Floats>(g + p * step);
            store(bias + block * kLanes, sum);
        }
        for (int64_t c = 0; c < s.in; ++c) {
            for (int64_t h = 0; h < s.inHeight; ++h) {
                const float* row = x + ((n * s.in + c) * s.inHeight + h) * s.inWidth;
                const int64_t copied = std::min(s.inWidth, width - s.padLeft);
                std::memcpy(padded + s.padLeft, row, static_cast<size_t>(copied) * sizeof(float)); // the rest stays zero
                for (int64_t kh = 0; kh < s.kernelHeight; ++kh) {
                    const int64_t at = h + s.padTop - kh;
                    if (at < 0 || at % s.strideHeight != 0 || at / s.strideHeight >= s.outHeight) continue;
                    const int64_t oh = at / s.strideHeight;
                    for (int64_t block = 0; block < s.blocks(); ++block)
                        accumulateRowAny(s.kernelWidth, padded, gradientAt(s, dy, n, block) + oh * s.outWidth * step, step, s.outWidth,
                                         s.strideWidth, acc + ((block * s.in + c) * s.kernelHeight + kh) * s.kernelWidth * kLanes);
                }
            }
        }
    }
}

} // namespace

void maxPoolForward(const MaxPoolShape& shape, const float* x, float* y, int32_t* winner, int threads)
{
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int t = 0; t < threads; ++t)
        poolForwardPlanes(shape, x, y, winner, shape.outer * t / threads, shape.outer * (t + 1) / threads);
}

void maxPoolBackward(const MaxPoolShape& shape, const float* dy, const int32_t* winner, const float* y, float* dx, int threads)
{
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int t = 0; t < threads; ++t)
        poolBackwardPlanes(shape, dy, winner, y, dx, shape.outer * t / threads, shape.outer * (t + 1) / threads);
}

bool ThinConvolution::supported() const
{
    const bool lanesFit = gradient.channelsLast ? gradient.lanes % kLanes == 0 : gradient.lanes == 8 || gradient.lanes == 16;
    return lanesFit && in <= 4 && kernelWidth <= kMaxKernelWidth;
}

int64_t ThinConvolution::scratch(int threads) const { return threads * (accumulators(*this) + (paddedWidth(*this) + 15) / 16 * 16); }

void thinWeightsGradient(const ThinConvolution& s, const float* x, const float* dy, float* dWeights, float* dBias, float* scratch, int threads)
{
    const int64_t each = s.scratch(1), taps = s.in * s.kernelHeight * s.kernelWidth;
    std::memset(scratch, 0, static_cast<size_t>(s.scratch(threads)) * sizeof(float));
#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (int t = 0; t < threads; ++t)
        thinGradientSamples(s, x, dy, scratch + t * each, scratch + t * each + accumulators(s), s.batch * t / threads, s.batch * (t + 1) / threads);
    for (int64_t o = 0; o < s.out; ++o) {
        const int64_t block = o / kLanes, lane = o % kLanes;
        for (int64_t k = 0; k < taps; ++k) {
            float sum = 0;
            for (int t = 0; t < threads; ++t) sum += scratch[t * each + (block * taps + k) * kLanes + lane];
            dWeights[o * taps + k] = sum;
        }
        if (dBias == nullptr) continue;
        dBias[o] = 0;
        for (int t = 0; t < threads; ++t) dBias[o] += scratch[t * each + s.blocks() * taps * kLanes + o];
    }
}

} // namespace stepscope::onednn
