// Convolution, pooling and normalisation of the reference: plain loops in double.
// Owner: tests/support. Thread: any.
#pragma once

#include "tests/support/reference_math.h"

namespace stepscope::testing {

using model::Dims;

// Values with one sample's shape (row-major, batch slowest).
struct Tensor {
    Dims shape;
    int64_t count = 0;
    Values values;

    Tensor() = default;
    Tensor(Dims sampleShape, int64_t samples, double fill = 0);
    Tensor(Dims sampleShape, int64_t samples, Values given);
    int64_t sampleSize() const;
};

int64_t sizeOf(const Dims& dims);

// Options of a sliding window with one to three spatial dimensions, brought to three by leading ones.
struct Window {
    Dims input, kernel, stride, dilation, padLow, output; // three entries each

    // spatial: the input's spatial dims. Empty stride means `defaultStride`, empty dilation and pads mean none.
    Window(const model::LayerOptions& options, const Dims& spatial, const Dims& defaultStride);
    // Visits every (output position, kernel position, input position) that lies inside the input; positions are
    // row-major offsets within one channel.
    template <class Visit>
    void forEach(Visit visit) const;

    int64_t inputSize() const { return sizeOf(input); }
    int64_t kernelSize() const { return sizeOf(kernel); }
    int64_t outputSize() const { return sizeOf(output); }
    Dims outputShape(int64_t channels) const; // with as many spatial dims as the input had

private:
    size_t m_spatialDims = 0;
};

// weight {out, in / groups, kernel...}. flipped: true convolution (Flux Conv), else cross-correlation.
struct ConvGradients {
    Tensor dx;
    Values dw, db;
};
Tensor convForward(const model::LayerOptions& options, bool flipped, const Tensor& x, const Values& weight,
                   const Values& bias);
ConvGradients convBackward(const model::LayerOptions& options, bool flipped, const Tensor& x, const Values& weight,
                           const Tensor& dy);

Tensor maxPoolForward(const model::LayerOptions& options, const Tensor& x); // the first of equal values wins
Tensor maxPoolBackward(const model::LayerOptions& options, const Tensor& x, const Tensor& dy);
Tensor meanPoolForward(const model::LayerOptions& options, const Tensor& x); // padding counts
Tensor meanPoolBackward(const model::LayerOptions& options, const Tensor& x, const Tensor& dy);

// weight {in, out}: y[o] = Σ weight[i, o] x[i] + bias[o]; the input's last dimension is `in`.
Tensor denseForward(const model::LayerOptions& options, const Tensor& x, const Values& weight, const Values& bias);
struct DenseGradients {
    Tensor dx;
    Values dw, db;
};
DenseGradients denseBackward(const model::LayerOptions& options, const Tensor& x, const Values& weight,
                             const Tensor& dy);

// What a normalisation needs: x̂ = (x - mean) / sqrt(variance + eps), over groups of values. Group g has `size` values;
// group(i) tells the group of value i.
struct Moments {
    Values mean, variance; // biased
};

// Batch normalisation: one group per channel. Layer normalisation: one group per run of `length` adjacent values.
class Grouping {
public:
    static Grouping perChannel(const Tensor& x);
    static Grouping perRun(const Tensor& x, int64_t length);
    int64_t groups() const { return m_groups; }
    int64_t groupSize() const { return m_size; }
    int64_t group(int64_t index) const { return index / m_inner % m_groups; }
    Moments moments(const Values& x) const;

private:
    int64_t m_groups = 1, m_inner = 1, m_size = 1;
};

Values normalise(const Grouping& grouping, const Moments& moments, double eps, const Values& x);
// dx from dx̂, where the moments were computed from x itself; xhat as returned by normalise().
Values normaliseGradient(const Grouping& grouping, const Moments& moments, double eps, const Values& xhat,
                         const Values& dxhat);

} // namespace stepscope::testing
