#include "core/engine/random.h"

#include <bit>
#include <cmath>

namespace stepscope::engine {

namespace {

// log x for 0 < x < 1 from + - * / alone, because the C library's log differs between processors in the last bit.
double naturalLog(double x)
{
    int exponent = 0;
    double m = std::frexp(x, &exponent); // [0.5, 1)
    if (m < 0.70710678118654752) {
        m *= 2;
        --exponent;
    }
    const double z = (m - 1) / (m + 1), z2 = z * z; // |z| < 0.172
    double series = 0;
    for (int k = 23; k >= 1; k -= 2)
        series = series * z2 + 1.0 / k;
    return 2 * z * series + exponent * 0.69314718055994531;
}

} // namespace

uint64_t mix(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

Random::Random(uint64_t seed, uint64_t stream, uint64_t substream)
{
    uint64_t s = mix(mix(mix(seed) ^ stream) ^ substream);
    for (uint64_t& word : m_state)
        word = s = mix(s);
}

uint64_t Random::bits()
{
    const uint64_t result = std::rotl(m_state[0] + m_state[3], 23) + m_state[0];
    const uint64_t t = m_state[1] << 17;
    m_state[2] ^= m_state[0];
    m_state[3] ^= m_state[1];
    m_state[1] ^= m_state[2];
    m_state[0] ^= m_state[3];
    m_state[2] ^= t;
    m_state[3] = std::rotl(m_state[3], 45);
    return result;
}

uint64_t Random::below(uint64_t n)
{
    const uint64_t rest = (0 - n) % n; // 2^64 mod n: so many values would come once too often
    uint64_t value = bits();
    while (value < rest)
        value = bits();
    return value % n;
}

double Random::uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

double Random::normal()
{
    if (m_hasSpare) {
        m_hasSpare = false;
        return m_spare;
    }
    double u = 0, v = 0, s = 0;
    do {
        u = 2 * uniform() - 1;
        v = 2 * uniform() - 1;
        s = u * u + v * v;
    } while (s >= 1 || s == 0);
    const double factor = std::sqrt(-2 * naturalLog(s) / s);
    m_spare = v * factor;
    m_hasSpare = true;
    return u * factor;
}

} // namespace stepscope::engine
