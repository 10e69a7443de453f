#include "core/engine/softmax.h"

#include "core/engine/target_clones.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace stepscope::engine {

namespace {

constexpr int64_t kTile = 4096;   // floats on the stack when no gradient is wanted
constexpr int64_t kMaxRows = 256; // rows per tile

// e^x = 2^k e^r with k = round(x / ln 2) and |r| <= ln(2) / 2; e^r by its Taylor polynomial of degree 7, whose next
// term is below 6e-9. Branch-free, so that the compiler vectorises the loop around it.
inline float exponential(float x)
{
    constexpr float kRound = 12582912.0f;           // 1.5 * 2^23: adding it rounds to an integer held in the low bits
    constexpr float kLow = -87.33f, kHigh = 88.37f; // 2^k stays a normal float
    const float clamped = x < kLow ? kLow : x > kHigh ? kHigh : x; // keeps NaN
    const float shifted = clamped * 1.44269504f + kRound;
    const float k = shifted - kRound;
    const float r = (clamped - k * 0.693359375f) - k * -2.12194440e-4f; // ln 2 in two parts; the first is exact
    float p = 1.0f / 5040;
    p = p * r + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    p = p * r + 1.0f;
    p = p * r + 1.0f;
    const uint32_t bits = std::bit_cast<uint32_t>(shifted);
    const float value = p * std::bit_cast<float>((bits + 127u) << 23);
    return x < kLow ? 0.0f : x > kHigh ? std::numeric_limits<float>::infinity() : value;
}

STEPSCOPE_TARGET_CLONES
void rowMaxima(const float* __restrict x, int64_t rows, int64_t outputs, float* __restrict maxima)
{
    for (int64_t row = 0; row < rows; ++row) {
        const float* y = x + row * outputs;
        float best = -std::numeric_limits<float>::infinity();
        for (int64_t j = 0; j < outputs; ++j)
            best = y[j] > best ? y[j] : best;
        maxima[row] = best;
    }
}

// x - max, where equal infinities differ by 0 (as NNlib has it).
inline float distance(float x, float max)
{
    if (std::isinf(max)) return x == max ? 0.0f : x - max;
    return x - max;
}

STEPSCOPE_TARGET_CLONES
void subtractMaxima(const float* __restrict x, int64_t rows, int64_t outputs, const float* __restrict maxima,
                    float* __restrict out)
{
    for (int64_t row = 0; row < rows; ++row) {
        const float* y = x + row * outputs;
        float* o = out + row * outputs;
        const float max = maxima[row];
        if (std::isinf(max)) {
            for (int64_t j = 0; j < outputs; ++j)
                o[j] = distance(y[j], max);
        } else {
            for (int64_t j = 0; j < outputs; ++j)
                o[j] = y[j] - max;
        }
    }
}

STEPSCOPE_TARGET_CLONES
void exponentials(float* x, int64_t n)
{
    for (int64_t i = 0; i < n; ++i)
        x[i] = exponential(x[i]);
}

STEPSCOPE_TARGET_CLONES
double rowSum(const float* x, int64_t n)
{
    constexpr int64_t kLanes = 16;
    float lanes[kLanes] = {};
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
        for (int64_t j = 0; j < kLanes; ++j)
            lanes[j] += x[i + j];
    }
    double total = 0;
    if (n >= kLanes) {
        for (const float lane : lanes)
            total += lane;
    }
    float rest = 0;
    for (; i < n; ++i)
        rest += x[i];
    return total + rest;
}

STEPSCOPE_TARGET_CLONES
void scaleRow(float* x, int64_t n, float factor)
{
    for (int64_t i = 0; i < n; ++i)
        x[i] *= factor;
}

// Sum of the exponentials of one long row, without room for them.
double sumOfLongRow(const float* x, int64_t outputs, float max, float* tile)
{
    double sum = 0;
    for (int64_t begin = 0; begin < outputs; begin += kTile) {
        const int64_t n = std::min(kTile, outputs - begin);
        subtractMaxima(x + begin, 1, n, &max, tile);
        exponentials(tile, n);
        sum += rowSum(tile, n);
    }
    return sum;
}

struct Row {
    const float* x;
    float max;
    double sum; // of exp(x - max)
};

double labelLoss(const Row& row, int32_t label, int64_t outputs, double scale, float* gradient)
{
    const int64_t target = outputs == 1 ? 0 : label;
    if (gradient != nullptr) {
        scaleRow(gradient, outputs, static_cast<float>(scale / row.sum));
        gradient[target] -= static_cast<float>(scale);
    }
    return std::log(row.sum) - distance(row.x[target], row.max);
}

double targetLoss(const Row& row, const float* y, int64_t outputs, double scale, float* gradient)
{
    const double logSum = std::log(row.sum);
    double loss = 0, weight = 0;
    for (int64_t j = 0; j < outputs; ++j) {
        loss += y[j] * (logSum - distance(row.x[j], row.max));
        weight += y[j];
    }
    if (gradient != nullptr) {
        const double factor = weight / row.sum;
        for (int64_t j = 0; j < outputs; ++j)
            gradient[j] = static_cast<float>(scale * (gradient[j] * factor - y[j]));
    }
    return loss;
}

} // namespace

double softmaxCrossEntropy(const float* x, const int32_t* labels, const float* targets, int64_t count, int64_t outputs,
                           double scale, float* gradient)
{
    alignas(64) float tile[kTile];
    alignas(64) float maxima[kMaxRows];
    const int64_t rowsPerTile = std::clamp<int64_t>(kTile / outputs, 1, kMaxRows);
    double loss = 0;
    for (int64_t first = 0; first < count; first += rowsPerTile) {
        const int64_t rows = std::min(rowsPerTile, count - first);
        const float* xs = x + first * outputs;
        float* exps = gradient != nullptr ? gradient + first * outputs : tile;
        rowMaxima(xs, rows, outputs, maxima);
        const bool stored = gradient != nullptr || outputs <= kTile;
        if (stored) {
            subtractMaxima(xs, rows, outputs, maxima, exps);
            exponentials(exps, rows * outputs);
        }
        for (int64_t r = 0; r < rows; ++r) {
            const Row row{xs + r * outputs, maxima[r],
                          stored ? rowSum(exps + r * outputs, outputs) : sumOfLongRow(xs, outputs, maxima[r], tile)};
            float* g = gradient != nullptr ? exps + r * outputs : nullptr;
            loss += labels != nullptr ? labelLoss(row, labels[first + r], outputs, scale, g)
                                      : targetLoss(row, targets + (first + r) * outputs, outputs, scale, g);
        }
    }
    return loss;
}

void expInPlace(float* x, int64_t n) { exponentials(x, n); }

} // namespace stepscope::engine
