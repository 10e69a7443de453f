// Kernels of our own for the few cases in which oneDNN's are many times slower than the machine allows: max pooling over
// blocked channels on AVX2, and the weight gradient of a convolution that reads only a few channels (a first layer).
// They compete with the library's primitives by timing like any other implementation.
// Owner: core/onednn. Thread: any; the work is split over `threads` OpenMP threads. Units: elements (float32).
#pragma once

#include "core/onednn/compat.h"

#include <cstdint>
#include <optional>

namespace stepscope::onednn {

// How a 4-D activation lies in memory when some channels are contiguous: [outer][height][width][lanes].
// Plain nchw has one lane, nhwc has all channels, nChw8c and nChw16c have a block (padding included).
struct LaneLayout {
    int64_t outer = 0, height = 0, width = 0, lanes = 0;
    bool channelsLast = false;
};
std::optional<LaneLayout> laneLayout(const compat::Desc& desc);

struct MaxPoolShape {
    int64_t outer = 0, lanes = 0;
    int64_t inHeight = 0, inWidth = 0, outHeight = 0, outWidth = 0;
    int64_t kernelHeight = 0, kernelWidth = 0, strideHeight = 0, strideWidth = 0, padTop = 0, padLeft = 0;
    int64_t outputs() const { return outer * outHeight * outWidth * lanes; }
};

// y = maximum of each window, winner = its position in the window (row-major). Equal values: the first wins.
void maxPoolForward(const MaxPoolShape& shape, const float* x, float* y, int32_t* winner, int threads);
// With y (the result of the forward pass) the gradient of a relu before the pooling is applied, too: a window whose maximum is
// not positive passes nothing on. y may be null.
void maxPoolBackward(const MaxPoolShape& shape, const float* dy, const int32_t* winner, const float* y, float* dx, int threads);

// dW[o, c, kh, kw] = Σ dy[n, o, h, w] x[n, c, h s + kh - p, w s + kw - p] and dBias[o] = Σ dy, for plain x and dy whose channels
// lie in lanes. Results are plain {out, in, kernelHeight, kernelWidth}; dBias may be null.
struct ThinConvolution {
    int64_t batch = 0, in = 0, out = 0;
    int64_t inHeight = 0, inWidth = 0, outHeight = 0, outWidth = 0;
    int64_t kernelHeight = 0, kernelWidth = 0, strideHeight = 0, strideWidth = 0, padTop = 0, padLeft = 0;
    LaneLayout gradient; // of dy

    static constexpr int64_t kLanes = 8;
    static constexpr int64_t kMaxKernelWidth = 8;
    int64_t blocks() const { return (out + kLanes - 1) / kLanes; }
    // Scratch that `threads` threads need, in elements.
    int64_t scratch(int threads) const;
    bool supported() const;
};
void thinWeightsGradient(const ThinConvolution& shape, const float* x, const float* dy, float* dWeights, float* dBias, float* scratch,
                         int threads);

} // namespace stepscope::onednn
