#include "core/engine/initialise.h"

#include "core/engine/random.h"

#include <algorithm>
#include <cmath>

namespace stepscope::engine {

namespace {

using model::Init;
using model::InitKind;
using model::Parameter;

void fillUniform(std::vector<float>& values, double bound, Random& random)
{
    for (float& value : values)
        value = static_cast<float>((random.uniform() - 0.5) * 2 * bound);
}

void fillNormal(std::vector<float>& values, double mean, double deviation, Random& random)
{
    for (float& value : values)
        value = static_cast<float>(mean + deviation * random.normal());
}

// Normal values within [low, high], by rejection from the uniform distribution on the part of the interval that
// matters: nine deviations from its likeliest point, beyond which nothing is ever drawn.
void fillTruncated(std::vector<float>& values, double mean, double deviation, double low, double high, Random& random)
{
    if (low > high) std::swap(low, high);
    const double peak = std::clamp(mean, low, high);
    low = std::max(low, peak - 9 * deviation);
    high = std::min(high, peak + 9 * deviation);
    const auto exponent = [&](double x) { return 0.5 * (x - mean) * (x - mean) / (deviation * deviation); };
    for (float& value : values) {
        if (!(deviation > 0)) {
            value = static_cast<float>(peak);
            continue;
        }
        double x = 0;
        do
            x = low + (high - low) * random.uniform();
        while (random.uniform() >= std::exp(exponent(peak) - exponent(x)));
        value = static_cast<float>(x);
    }
}

// A (semi-)orthogonal matrix: `count` orthonormal vectors of length `length` by Gram-Schmidt on normal vectors, each
// orthogonalised twice. This is the Q of a QR decomposition whose R has a positive diagonal, as Flux has it.
std::vector<double> orthonormalVectors(size_t count, size_t length, Random& random)
{
    std::vector<double> q(count * length);
    for (size_t i = 0; i < count; ++i) {
        double* v = q.data() + i * length;
        double norm = 0;
        do {
            for (size_t k = 0; k < length; ++k)
                v[k] = random.normal();
            for (size_t j = 0; j < 2 * i; ++j) {
                const double* u = q.data() + (j % i) * length;
                double dot = 0;
                for (size_t k = 0; k < length; ++k)
                    dot += u[k] * v[k];
                for (size_t k = 0; k < length; ++k)
                    v[k] -= dot * u[k];
            }
            norm = 0;
            for (size_t k = 0; k < length; ++k)
                norm += v[k] * v[k];
            norm = std::sqrt(norm);
        } while (norm < 1e-9); // a vector inside the span of the others: draw again
        for (size_t k = 0; k < length; ++k)
            v[k] /= norm;
    }
    return q;
}

// Flux reads the array as a matrix of prod(all but the last dimension) rows; the last one is dims[0] here.
void fillOrthogonal(std::vector<float>& values, const Parameter& parameter, double gain, Random& random)
{
    const size_t columns = static_cast<size_t>(parameter.dims.empty() ? 1 : parameter.dims.front());
    const size_t rows = columns == 0 ? 0 : values.size() / columns;
    const bool tall = rows >= columns;
    const std::vector<double> q =
        tall ? orthonormalVectors(columns, rows, random) : orthonormalVectors(rows, columns, random);
    for (size_t c = 0; c < columns; ++c) {
        for (size_t r = 0; r < rows; ++r)
            values[c * rows + r] = static_cast<float>(gain * (tall ? q[c * rows + r] : q[r * columns + c]));
    }
}

// A vector stays zero; a matrix is the identity; a kernel has its centre tap on the diagonal of the channels.
void fillIdentity(std::vector<float>& values, const model::Dims& dims, double gain)
{
    if (dims.size() < 2) return;
    int64_t kernel = 1, centre = 0;
    for (size_t d = 2; d < dims.size(); ++d) {
        kernel *= dims[d];
        centre = centre * dims[d] + (dims[d] + 1) / 2 - 1;
    }
    for (int64_t i = 0; i < std::min(dims[0], dims[1]); ++i) {
        values[static_cast<size_t>((i * dims[1] + i) * kernel + centre)] = static_cast<float>(gain);
    }
}

} // namespace

std::vector<float> initialValues(const Parameter& parameter, uint64_t seed, int layer, int index)
{
    Random random(seed, static_cast<uint64_t>(layer), static_cast<uint64_t>(index));
    std::vector<float> values(static_cast<size_t>(parameter.count()), 0.0f);
    const Init& init = parameter.init;
    const double in = static_cast<double>(std::max<int64_t>(parameter.fanIn, 1));
    const double sum = in + static_cast<double>(std::max<int64_t>(parameter.fanOut, 1));
    switch (init.kind) {
    case InitKind::glorotUniform: fillUniform(values, init.gain * std::sqrt(6 / sum), random); break;
    case InitKind::glorotNormal: fillNormal(values, 0, init.gain * std::sqrt(2 / sum), random); break;
    case InitKind::kaimingUniform: fillUniform(values, init.gain * std::sqrt(3 / in), random); break;
    case InitKind::kaimingNormal: fillNormal(values, 0, init.gain / std::sqrt(in), random); break;
    case InitKind::lecunNormal: fillTruncated(values, 0, std::sqrt(1 / in), -2, 2, random); break;
    case InitKind::truncatedNormal: fillTruncated(values, init.mean, init.std, init.low, init.high, random); break;
    case InitKind::orthogonal: fillOrthogonal(values, parameter, init.gain, random); break;
    case InitKind::identity: fillIdentity(values, parameter.dims, init.gain); break;
    case InitKind::zeros: break;
    case InitKind::ones: std::fill(values.begin(), values.end(), 1.0f); break;
    case InitKind::randn: fillNormal(values, init.mean, init.std, random); break;
    case InitKind::rand:
        for (float& value : values)
            value = static_cast<float>(random.bits() >> 40) * 0x1p-24f; // below 1 also as a float
        break;
    }
    return values;
}

} // namespace stepscope::engine
