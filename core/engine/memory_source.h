// MemorySource: a data set held in memory, as every file format fills it.
// Owner: core/engine. Thread: read() from several threads.
#pragma once

#include "core/engine/data_source.h"

namespace stepscope::engine {

struct MemoryData {
    int64_t size = 0;
    model::Dims sampleShape;
    base::HugeVector<uint8_t> bytes;  // size x sample; read as value / 255. Either this
    base::HugeVector<float> values;   // or this
    base::HugeVector<int32_t> labels; // size, or empty
    base::HugeVector<float> targets;  // size x target, or empty
    model::Dims targetShape;
    int64_t classes = 0; // largest label + 1, or more
};

class MemorySource final : public DataSource {
public:
    explicit MemorySource(MemoryData data);

    int64_t size() const override { return m_data.size; }
    model::Dims sampleShape() const override { return m_data.sampleShape; }
    int64_t classes() const override { return m_data.classes; }
    model::Dims targetShape() const override { return m_data.targetShape; }
    void read(std::span<const int64_t> indices, Batch& batch) const override;

private:
    MemoryData m_data;
    int64_t m_sampleSize = 1, m_targetSize = 1;
};

} // namespace stepscope::engine
