#include "tests/support/reference_layers.h"

#include <cmath>
#include <limits>

namespace stepscope::testing {

namespace {

Dims toThree(const Dims& dims, int64_t fill)
{
    Dims three(3 - dims.size(), fill);
    three.insert(three.end(), dims.begin(), dims.end());
    return three;
}

Dims orElse(const Dims& dims, const Dims& otherwise) { return dims.empty() ? otherwise : dims; }
Dims spatialOf(const Tensor& x) { return {x.shape.begin() + 1, x.shape.end()}; }

// Offset into a weight of one kernel position: a true convolution reads the kernel from its far end.
int64_t kernelOffset(const Window& window, bool flipped, int64_t k)
{
    return flipped ? window.kernelSize() - 1 - k : k;
}

} // namespace

int64_t sizeOf(const Dims& dims)
{
    int64_t size = 1;
    for (int64_t d : dims)
        size *= d;
    return size;
}

Tensor::Tensor(Dims sampleShape, int64_t samples, double fill)
    : shape(std::move(sampleShape)),
      count(samples),
      values(static_cast<size_t>(sizeOf(shape) * samples), fill)
{
}

Tensor::Tensor(Dims sampleShape, int64_t samples, Values given)
    : shape(std::move(sampleShape)),
      count(samples),
      values(std::move(given))
{
}

int64_t Tensor::sampleSize() const { return sizeOf(shape); }

Window::Window(const model::LayerOptions& options, const Dims& spatial, const Dims& defaultStride)
    : m_spatialDims(spatial.size())
{
    const Dims ones(spatial.size(), 1), zeros(spatial.size(), 0);
    input = toThree(spatial, 1);
    kernel = toThree(options.kernel, 1);
    stride = toThree(orElse(options.stride, defaultStride), 1);
    dilation = toThree(orElse(options.dilation, ones), 1);
    padLow = toThree(orElse(options.padLow, zeros), 0);
    const Dims padHigh = toThree(orElse(options.padHigh, zeros), 0);
    for (size_t d = 0; d < 3; ++d) {
        const int64_t reach = (kernel[d] - 1) * dilation[d] + 1;
        output.push_back((input[d] + padLow[d] + padHigh[d] - reach) / stride[d] + 1);
    }
}

Dims Window::outputShape(int64_t channels) const
{
    Dims shape{channels};
    shape.insert(shape.end(), output.end() - static_cast<std::ptrdiff_t>(m_spatialDims), output.end());
    return shape;
}

template <class Visit>
void Window::forEach(Visit visit) const
{
    int64_t out = 0;
    for (int64_t oz = 0; oz < output[0]; ++oz)
        for (int64_t oy = 0; oy < output[1]; ++oy)
            for (int64_t ox = 0; ox < output[2]; ++ox, ++out) {
                int64_t k = 0;
                for (int64_t kz = 0; kz < kernel[0]; ++kz)
                    for (int64_t ky = 0; ky < kernel[1]; ++ky)
                        for (int64_t kx = 0; kx < kernel[2]; ++kx, ++k) {
                            const int64_t z = oz * stride[0] + kz * dilation[0] - padLow[0];
                            const int64_t y = oy * stride[1] + ky * dilation[1] - padLow[1];
                            const int64_t x = ox * stride[2] + kx * dilation[2] - padLow[2];
                            if (z < 0 || y < 0 || x < 0 || z >= input[0] || y >= input[1] || x >= input[2]) continue;
                            visit(out, k, (z * input[1] + y) * input[2] + x);
                        }
            }
}

Tensor convForward(const model::LayerOptions& options, bool flipped, const Tensor& x, const Values& weight,
                   const Values& bias)
{
    const Window window(options, spatialOf(x), Dims(options.kernel.size(), 1));
    const int64_t in = x.shape[0], out = options.out, inPerGroup = in / options.groups,
                  outPerGroup = out / options.groups;
    Tensor y(window.outputShape(out), x.count);
    for (int64_t n = 0; n < x.count; ++n)
        for (int64_t o = 0; o < out; ++o) {
            double* target = &y.values[(n * out + o) * window.outputSize()];
            for (int64_t p = 0; p < window.outputSize(); ++p)
                target[p] = bias.empty() ? 0 : bias[o];
            for (int64_t i = 0; i < inPerGroup; ++i) {
                const double* source = &x.values[(n * in + o / outPerGroup * inPerGroup + i) * window.inputSize()];
                const double* w = &weight[(o * inPerGroup + i) * window.kernelSize()];
                window.forEach([&](int64_t position, int64_t k, int64_t at) {
                    target[position] += w[kernelOffset(window, flipped, k)] * source[at];
                });
            }
        }
    return y;
}

ConvGradients convBackward(const model::LayerOptions& options, bool flipped, const Tensor& x, const Values& weight,
                           const Tensor& dy)
{
    const Window window(options, spatialOf(x), Dims(options.kernel.size(), 1));
    const int64_t in = x.shape[0], out = options.out, inPerGroup = in / options.groups,
                  outPerGroup = out / options.groups;
    ConvGradients g{Tensor(x.shape, x.count), Values(weight.size(), 0.0), Values(options.bias ? out : 0, 0.0)};
    for (int64_t n = 0; n < x.count; ++n)
        for (int64_t o = 0; o < out; ++o) {
            const double* dyo = &dy.values[(n * out + o) * window.outputSize()];
            for (int64_t p = 0; options.bias && p < window.outputSize(); ++p)
                g.db[o] += dyo[p];
            for (int64_t i = 0; i < inPerGroup; ++i) {
                const int64_t plane = (n * in + o / outPerGroup * inPerGroup + i) * window.inputSize();
                const int64_t w = (o * inPerGroup + i) * window.kernelSize();
                window.forEach([&](int64_t position, int64_t k, int64_t at) {
                    const int64_t wk = w + kernelOffset(window, flipped, k);
                    g.dw[wk] += dyo[position] * x.values[plane + at];
                    g.dx.values[plane + at] += dyo[position] * weight[wk];
                });
            }
        }
    return g;
}

Tensor maxPoolForward(const model::LayerOptions& options, const Tensor& x)
{
    const Window window(options, spatialOf(x), options.kernel);
    Tensor y(window.outputShape(x.shape[0]), x.count, -std::numeric_limits<double>::infinity());
    for (int64_t plane = 0; plane < x.count * x.shape[0]; ++plane) {
        const double* source = &x.values[plane * window.inputSize()];
        double* target = &y.values[plane * window.outputSize()];
        window.forEach([&](int64_t position, int64_t, int64_t at) {
            if (source[at] > target[position]) target[position] = source[at];
        });
    }
    return y;
}

Tensor maxPoolBackward(const model::LayerOptions& options, const Tensor& x, const Tensor& dy)
{
    const Window window(options, spatialOf(x), options.kernel);
    Tensor dx(x.shape, x.count);
    for (int64_t plane = 0; plane < x.count * x.shape[0]; ++plane) {
        const double* source = &x.values[plane * window.inputSize()];
        std::vector<int64_t> winner(window.outputSize(), -1);
        window.forEach([&](int64_t position, int64_t, int64_t at) {
            if (winner[position] < 0 || source[at] > source[winner[position]]) winner[position] = at;
        });
        for (int64_t p = 0; p < window.outputSize(); ++p)
            if (winner[p] >= 0)
                dx.values[plane * window.inputSize() + winner[p]] += dy.values[plane * window.outputSize() + p];
    }
    return dx;
}

Tensor meanPoolForward(const model::LayerOptions& options, const Tensor& x)
{
    const Window window(options, spatialOf(x), options.kernel);
    Tensor y(window.outputShape(x.shape[0]), x.count);
    for (int64_t plane = 0; plane < x.count * x.shape[0]; ++plane)
        window.forEach([&](int64_t position, int64_t, int64_t at) {
            y.values[plane * window.outputSize() + position] +=
                x.values[plane * window.inputSize() + at] / double(window.kernelSize());
        });
    return y;
}

Tensor meanPoolBackward(const model::LayerOptions& options, const Tensor& x, const Tensor& dy)
{
    const Window window(options, spatialOf(x), options.kernel);
    Tensor dx(x.shape, x.count);
    for (int64_t plane = 0; plane < x.count * x.shape[0]; ++plane)
        window.forEach([&](int64_t position, int64_t, int64_t at) {
            dx.values[plane * window.inputSize() + at] +=
                dy.values[plane * window.outputSize() + position] / double(window.kernelSize());
        });
    return dx;
}

Tensor denseForward(const model::LayerOptions& options, const Tensor& x, const Values& weight, const Values& bias)
{
    Dims shape = x.shape;
    shape.back() = options.out;
    Tensor y(shape, x.count);
    const int64_t rows = static_cast<int64_t>(x.values.size()) / options.in;
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t o = 0; o < options.out; ++o) {
            double sum = bias.empty() ? 0 : bias[o];
            for (int64_t i = 0; i < options.in; ++i)
                sum += weight[i * options.out + o] * x.values[r * options.in + i];
            y.values[r * options.out + o] = sum;
        }
    return y;
}

DenseGradients denseBackward(const model::LayerOptions& options, const Tensor& x, const Values& weight,
                             const Tensor& dy)
{
    DenseGradients g{Tensor(x.shape, x.count), Values(weight.size(), 0.0), Values(options.bias ? options.out : 0, 0.0)};
    const int64_t rows = static_cast<int64_t>(x.values.size()) / options.in;
    for (int64_t r = 0; r < rows; ++r)
        for (int64_t o = 0; o < options.out; ++o) {
            const double d = dy.values[r * options.out + o];
            if (options.bias) g.db[o] += d;
            for (int64_t i = 0; i < options.in; ++i) {
                g.dw[i * options.out + o] += d * x.values[r * options.in + i];
                g.dx.values[r * options.in + i] += d * weight[i * options.out + o];
            }
        }
    return g;
}

Grouping Grouping::perChannel(const Tensor& x)
{
    Grouping g;
    g.m_groups = x.shape[0];
    g.m_inner = x.sampleSize() / x.shape[0];
    g.m_size = x.count * g.m_inner;
    return g;
}

Grouping Grouping::perRun(const Tensor& x, int64_t length)
{
    Grouping g;
    g.m_inner = g.m_size = length;
    g.m_groups = static_cast<int64_t>(x.values.size()) / length;
    return g;
}

Moments Grouping::moments(const Values& x) const
{
    Moments m{Values(m_groups, 0.0), Values(m_groups, 0.0)};
    for (size_t i = 0; i < x.size(); ++i)
        m.mean[group(i)] += x[i] / double(m_size);
    for (size_t i = 0; i < x.size(); ++i) {
        const double d = x[i] - m.mean[group(i)];
        m.variance[group(i)] += d * d / double(m_size);
    }
    return m;
}

Values normalise(const Grouping& grouping, const Moments& moments, double eps, const Values& x)
{
    Values xhat(x.size());
    for (size_t i = 0; i < x.size(); ++i) {
        const int64_t g = grouping.group(i);
        xhat[i] = (x[i] - moments.mean[g]) / std::sqrt(moments.variance[g] + eps);
    }
    return xhat;
}

Values normaliseGradient(const Grouping& grouping, const Moments& moments, double eps, const Values& xhat,
                         const Values& dxhat)
{
    // dx = (dx̂ - mean(dx̂) - x̂ mean(dx̂ x̂)) / σ, the means over each group.
    Values meanD(grouping.groups(), 0.0), meanDx(grouping.groups(), 0.0), dx(xhat.size());
    for (size_t i = 0; i < xhat.size(); ++i) {
        meanD[grouping.group(i)] += dxhat[i] / double(grouping.groupSize());
        meanDx[grouping.group(i)] += dxhat[i] * xhat[i] / double(grouping.groupSize());
    }
    for (size_t i = 0; i < xhat.size(); ++i) {
        const int64_t g = grouping.group(i);
        dx[i] = (dxhat[i] - meanD[g] - xhat[i] * meanDx[g]) / std::sqrt(moments.variance[g] + eps);
    }
    return dx;
}

} // namespace stepscope::testing
