// MadeSource: a synthetic data set for models without data, deterministic and learnable.
// Owner: core/engine. Thread: read() from several threads.
//
// Classification: every class has a prototype (a plane wave of its own direction and wavelength per channel for images,
// normal numbers otherwise); a sample is the prototype of its class plus normal noise. Regression: inputs and targets
// are linear functions of the same few hidden normal numbers, plus noise on the inputs.
#pragma once

#include "core/engine/data_source.h"

namespace stepscope::engine {

struct MadeOptions {
    int64_t samples = 4096;
    model::Dims sampleShape;
    int64_t classes = 0;     // 0 = regression
    model::Dims targetShape; // regression
    uint64_t seed = 0;       // prototypes and noise
    int64_t firstSample = 0; // number of sample 0: a test set continues after the training set
};

class MadeSource final : public DataSource {
public:
    explicit MadeSource(const MadeOptions& options);

    int64_t size() const override { return m_options.samples; }
    model::Dims sampleShape() const override { return m_options.sampleShape; }
    int64_t classes() const override { return m_options.classes; }
    model::Dims targetShape() const override { return m_options.classes > 0 ? model::Dims{} : m_options.targetShape; }
    void read(std::span<const int64_t> indices, Batch& batch) const override;

private:
    void makePrototypes();
    void makeHiddenMaps();
    const float* noise(uint64_t sample) const;

    MadeOptions m_options;
    int64_t m_sampleSize = 1, m_targetSize = 1;
    base::HugeVector<float> m_prototypes; // classes x sample, or hidden x sample
    base::HugeVector<float> m_targetMap;  // hidden x target
    base::HugeVector<float> m_noise;      // a bank that every sample reads from its own place
};

} // namespace stepscope::engine
