#include "core/engine/made_source.h"

#include "core/engine/random.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace stepscope::engine {

namespace {

constexpr int64_t kHidden = 8;
constexpr int64_t kNoisePlaces = 65536;
constexpr float kRegressionNoise = 0.1f;

void fillNormal(float* values, int64_t n, Random random)
{
    for (int64_t i = 0; i < n; ++i)
        values[i] = static_cast<float>(random.normal());
}

// One to four waves across the image, in a direction of the class's own.
void fillWave(float* plane, int64_t height, int64_t width, Random& random)
{
    const double angle = random.uniform() * std::numbers::pi, waves = 1 + 3 * random.uniform();
    const double fx = 2 * std::numbers::pi * waves * std::cos(angle) / static_cast<double>(width);
    const double fy = 2 * std::numbers::pi * waves * std::sin(angle) / static_cast<double>(height);
    const double phase = 2 * std::numbers::pi * random.uniform(), level = random.normal() * 0.5;
    for (int64_t y = 0; y < height; ++y) {
        for (int64_t x = 0; x < width; ++x) {
            plane[y * width + x] =
                static_cast<float>(level + std::cos(fx * static_cast<double>(x) + fy * static_cast<double>(y) + phase));
        }
    }
}

} // namespace

MadeSource::MadeSource(const MadeOptions& options)
    : m_options(options),
      m_sampleSize(model::product(options.sampleShape)),
      m_targetSize(model::product(options.targetShape))
{
    m_noise.resize(static_cast<size_t>(m_sampleSize + kNoisePlaces));
    fillNormal(m_noise.data(), m_sampleSize + kNoisePlaces, Random(options.seed, 1));
    if (options.classes > 0) makePrototypes();
    else makeHiddenMaps();
}

void MadeSource::makePrototypes()
{
    m_prototypes.resize(static_cast<size_t>(m_options.classes * m_sampleSize));
    for (int64_t c = 0; c < m_options.classes; ++c) {
        float* prototype = m_prototypes.data() + c * m_sampleSize;
        Random random(m_options.seed, 2, static_cast<uint64_t>(c));
        const model::Dims& shape = m_options.sampleShape;
        if (shape.size() < 3) {
            fillNormal(prototype, m_sampleSize, random);
            continue;
        }
        const int64_t width = shape.back(), height = shape[shape.size() - 2], plane = height * width;
        for (int64_t at = 0; at < m_sampleSize; at += plane)
            fillWave(prototype + at, height, width, random);
    }
}

void MadeSource::makeHiddenMaps()
{
    m_prototypes.resize(static_cast<size_t>(kHidden * m_sampleSize));
    m_targetMap.resize(static_cast<size_t>(kHidden * m_targetSize));
    fillNormal(m_prototypes.data(), kHidden * m_sampleSize, Random(m_options.seed, 3));
    fillNormal(m_targetMap.data(), kHidden * m_targetSize, Random(m_options.seed, 4));
    const float scale = 1 / std::sqrt(static_cast<float>(kHidden)); // outputs of deviation 1
    for (float& v : m_prototypes)
        v *= scale;
    for (float& v : m_targetMap)
        v *= scale;
}

const float* MadeSource::noise(uint64_t sample) const
{
    return m_noise.data() + mix(m_options.seed ^ mix(sample)) % kNoisePlaces;
}

void MadeSource::read(std::span<const int64_t> indices, Batch& batch) const
{
    for (size_t i = 0; i < indices.size(); ++i) {
        const auto sample = static_cast<uint64_t>(indices[i] + m_options.firstSample);
        const float* e = noise(sample);
        float* x = batch.x.data() + static_cast<int64_t>(i) * m_sampleSize;
        if (m_options.classes > 0) {
            const int64_t label = static_cast<int64_t>(sample) % m_options.classes;
            const float* prototype = m_prototypes.data() + label * m_sampleSize;
            for (int64_t k = 0; k < m_sampleSize; ++k)
                x[k] = prototype[k] + e[k];
            batch.labels[i] = static_cast<int32_t>(label);
            continue;
        }
        float* target = batch.targets.data() + static_cast<int64_t>(i) * m_targetSize;
        for (int64_t k = 0; k < m_sampleSize; ++k)
            x[k] = kRegressionNoise * e[k];
        std::fill_n(target, m_targetSize, 0.0f);
        Random random(m_options.seed, 5, sample);
        for (int64_t h = 0; h < kHidden; ++h) {
            const float z = static_cast<float>(random.normal());
            const float* in = m_prototypes.data() + h * m_sampleSize;
            const float* out = m_targetMap.data() + h * m_targetSize;
            for (int64_t k = 0; k < m_sampleSize; ++k)
                x[k] += z * in[k];
            for (int64_t k = 0; k < m_targetSize; ++k)
                target[k] += z * out[k];
        }
    }
}

} // namespace stepscope::engine
