#include "base/random.hpp"

#include <bit>
#include <cmath>

namespace evenkeel {

std::uint64_t mix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27U)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31U);
}

Random::Random(std::uint64_t seed) : state_{} {
  for (auto& word : state_) {
    word = mix64(seed);
    seed += 0x9e3779b97f4a7c15U;
  }
}

std::uint64_t Random::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17U;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

std::uint64_t Random::below(std::uint64_t bound) {
  const std::uint64_t unfair = (0 - bound) % bound;  // values of the low word that would favour some results
  while (true) {
    __extension__ const auto product = static_cast<unsigned __int128>(next()) * bound;
    if (static_cast<std::uint64_t>(product) >= unfair) return static_cast<std::uint64_t>(product >> 64U);
  }
}

double Random::unit() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }

double Random::exponential(double mean) { return -mean * std::log1p(-unit()); }

double Random::normal(double mu, double sigma) {
  while (true) {
    const double u = 2 * unit() - 1;
    const double v = 2 * unit() - 1;
    const double s = u * u + v * v;
    if (s > 0 && s < 1) return mu + sigma * u * std::sqrt(-2 * std::log(s) / s);
  }
}

double Random::lognormal(double mean, double cv) {
  const double variance = std::log1p(cv * cv);
  return std::exp(normal(std::log(mean) - variance / 2, std::sqrt(variance)));
}

double Random::gamma(double shape, double scale) {
  if (shape < 1) {
    const double u = 1 - unit();
    return gamma(shape + 1, scale) * std::pow(u, 1 / shape);
  }
  const double d = shape - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = normal(0, 1);
    const double t = 1 + c * x;
    if (t <= 0) continue;
    const double v = t * t * t;
    if (std::log(1 - unit()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v * scale;
  }
}

Random Random::split() { return Random(next()); }

}  // namespace evenkeel
