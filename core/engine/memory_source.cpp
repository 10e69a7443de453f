#include "core/engine/memory_source.h"

#include "core/engine/target_clones.h"

#include <algorithm>

namespace stepscope::engine {

namespace {

// A true division, not a multiplication by 1 / 255: the values are those of Julia's x / 255.
STEPSCOPE_TARGET_CLONES
void bytesToFloats(const uint8_t* __restrict from, float* __restrict to, int64_t n)
{
    for (int64_t i = 0; i < n; ++i)
        to[i] = static_cast<float>(from[i]) / 255.0f;
}

} // namespace

MemorySource::MemorySource(MemoryData data)
    : m_data(std::move(data)),
      m_sampleSize(model::product(m_data.sampleShape)),
      m_targetSize(model::product(m_data.targetShape))
{
}

void MemorySource::read(std::span<const int64_t> indices, Batch& batch) const
{
    float* x = batch.x.data();
    for (size_t i = 0; i < indices.size(); ++i, x += m_sampleSize) {
        const int64_t from = indices[i] * m_sampleSize;
        if (!m_data.bytes.empty()) bytesToFloats(m_data.bytes.data() + from, x, m_sampleSize);
        else std::copy_n(m_data.values.data() + from, m_sampleSize, x);
    }
    if (!m_data.labels.empty()) {
        for (size_t i = 0; i < indices.size(); ++i)
            batch.labels[i] = m_data.labels[static_cast<size_t>(indices[i])];
    }
    if (!m_data.targets.empty()) {
        for (size_t i = 0; i < indices.size(); ++i) {
            std::copy_n(m_data.targets.data() + indices[i] * m_targetSize, m_targetSize,
                        batch.targets.data() + static_cast<int64_t>(i) * m_targetSize);
        }
    }
}

} // namespace stepscope::engine
