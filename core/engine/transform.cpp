#include "core/engine/transform.h"

#include "core/engine/random.h"
#include "core/engine/target_clones.h"

#include <fmt/format.h>

#include <algorithm>

namespace stepscope::engine {

namespace {

using Kind = TransformSpec::Kind;

constexpr uint64_t kStream = 0x7472616e73; // apart from other uses of the seed

struct Image {
    float* data;
    int64_t planes, height, width;
};

STEPSCOPE_TARGET_CLONES
void normalise(float* x, int64_t n, float mean, float deviation)
{
    for (int64_t i = 0; i < n; ++i)
        x[i] = (x[i] - mean) / deviation;
}

void flip(const Image& image)
{
    for (int64_t row = 0; row < image.planes * image.height; ++row)
        std::reverse(image.data + row * image.width, image.data + (row + 1) * image.width);
}

// Moves the content by (dx, dy); what enters is 0. Rows go in the order that does not overwrite what is still needed.
void shift(const Image& image, int64_t dx, int64_t dy)
{
    const int64_t w = image.width, h = image.height;
    for (int64_t p = 0; p < image.planes; ++p) {
        float* plane = image.data + p * w * h;
        for (int64_t i = 0; i < h; ++i) {
            const int64_t y = dy > 0 ? h - 1 - i : i;
            const int64_t from = y - dy;
            float* row = plane + y * w;
            if (from < 0 || from >= h || dx >= w || -dx >= w) {
                std::fill_n(row, w, 0.0f);
                continue;
            }
            const float* source = plane + from * w;
            if (dx >= 0) {
                std::copy_backward(source, source + w - dx, row + w);
                std::fill_n(row, dx, 0.0f);
            } else {
                std::copy(source - dx, source + w, row);
                std::fill_n(row + w + dx, -dx, 0.0f);
            }
        }
    }
}

void addNoise(float* x, int64_t n, double deviation, Random random)
{
    for (int64_t i = 0; i < n; ++i)
        x[i] += static_cast<float>(deviation * random.normal());
}

Image imageOf(const model::Dims& shape, float* data)
{
    Image image{data, 1, 1, 1};
    if (!shape.empty()) image.width = shape.back();
    if (shape.size() >= 2) image.height = shape[shape.size() - 2];
    for (size_t d = 0; d + 2 < shape.size(); ++d)
        image.planes *= shape[d];
    return image;
}

void applyToSample(const TransformSpec& transform, const Image& image, Random random)
{
    const int64_t n = image.planes * image.height * image.width;
    switch (transform.kind) {
    case Kind::normalise:
        normalise(image.data, n, static_cast<float>(transform.a), static_cast<float>(transform.b));
        break;
    case Kind::flipHorizontal:
        if (random.uniform() < transform.a) flip(image);
        break;
    case Kind::shift: {
        const auto most = static_cast<int64_t>(transform.a);
        const auto range = static_cast<uint64_t>(2 * most + 1);
        const int64_t dx = static_cast<int64_t>(random.below(range)) - most,
                      dy = static_cast<int64_t>(random.below(range)) - most;
        if (dx != 0 || dy != 0) shift(image, dx, dy);
        break;
    }
    case Kind::noise: addNoise(image.data, n, transform.a, random); break;
    }
}

} // namespace

std::string transformName(const TransformSpec& transform)
{
    const char* name = "Normalise";
    switch (transform.kind) {
    case Kind::normalise: break;
    case Kind::flipHorizontal: name = "FlipHorizontal"; break;
    case Kind::shift: name = "Shift"; break;
    case Kind::noise: name = "Noise"; break;
    }
    return transform.perBatch ? fmt::format("{} per batch", name) : name;
}

base::Status checkTransforms(std::span<const TransformSpec> transforms, const model::Dims& sampleShape)
{
    for (const TransformSpec& transform : transforms) {
        const bool image = transform.kind == Kind::flipHorizontal || transform.kind == Kind::shift;
        if (image && sampleShape.size() < 2) {
            return base::fail(base::ErrorCode::invalidArgument,
                              fmt::format("the transform {} needs images, but a sample has the shape {}",
                                          transformName(transform), fmt::join(sampleShape, " x ")));
        }
        if (transform.kind == Kind::normalise && transform.b == 0) {
            return base::fail(base::ErrorCode::invalidArgument,
                              "the transform Normalise divides by a standard deviation of 0");
        }
        if (transform.kind == Kind::shift && !(transform.a >= 0 && transform.a <= 1e6)) {
            return base::fail(base::ErrorCode::invalidArgument,
                              fmt::format("the transform Shift cannot move by up to {} pixels", transform.a));
        }
    }
    return {};
}

void applyTransform(const TransformSpec& transform, uint64_t position, const model::Dims& sampleShape,
                    std::span<const int64_t> samples, uint64_t seed, Batch& batch)
{
    const int64_t sampleSize = model::product(sampleShape);
    if (transform.perBatch && transform.kind == Kind::normalise) {
        normalise(batch.x.data(), batch.count * sampleSize, static_cast<float>(transform.a),
                  static_cast<float>(transform.b));
        return;
    }
    const uint64_t key = mix(seed ^ kStream) ^ mix(static_cast<uint64_t>(batch.epoch) << 8 | position);
    for (int64_t i = 0; i < batch.count; ++i) {
        const Image image = imageOf(sampleShape, batch.x.data() + i * sampleSize);
        applyToSample(transform, image, Random(key, static_cast<uint64_t>(samples[static_cast<size_t>(i)])));
    }
}

} // namespace stepscope::engine
