// DataSource: random access to the samples of a data set. Made by openData() from the model file's `data = ...`.
// Owner: core/engine. Thread: read() from several loader workers at once. Units: samples.
#pragma once

#include "core/base/progress.h"
#include "core/base/result.h"
#include "core/engine/batch.h"
#include "core/model/model.h"

#include <memory>
#include <span>
#include <stop_token>

namespace stepscope::engine {

class DataSource {
public:
    virtual ~DataSource() = default;
    virtual int64_t size() const = 0;
    virtual model::Dims sampleShape() const = 0; // row-major, per sample
    virtual int64_t classes() const = 0;         // 0 for regression
    virtual model::Dims targetShape() const = 0; // empty for classification
    // Writes the samples with these numbers into the batch (x and labels or targets are sized already).
    virtual void read(std::span<const int64_t> indices, Batch& batch) const = 0;
};

struct DataSet {
    std::unique_ptr<DataSource> train;
    std::unique_ptr<DataSource> test; // null when there is none
};

// Opens and checks the files; `modelOutput` shapes made data for models without a data set. A missing, cut or foreign
// file is an Error with path, byte and hint ("apt install dataset-fashion-mnist").
base::Result<DataSet> openData(const model::DataSpec& spec, const model::Dims& modelInput,
                               const model::Dims& modelOutput, const model::LossSpec& loss, uint64_t seed,
                               std::stop_token stop, const base::Progress& progress);

} // namespace stepscope::engine
