#pragma once

#include <array>
#include <cstdint>

namespace evenkeel {

/// Our own generator (xoshiro256**, Blackman and Vigna 2018, seeded by SplitMix64) and our own
/// distributions, because the standard library's differ between implementations: the same seed gives the
/// same decisions everywhere. Not for secrets. Not thread-safe.
class Random {
 public:
  explicit Random(std::uint64_t seed = 1);

  [[nodiscard]] std::uint64_t next();
  /// Uniform over [0, bound), exact (Lemire's rejection). bound must be positive.
  [[nodiscard]] std::uint64_t below(std::uint64_t bound);
  /// Uniform over [0, 1), 53 bits.
  [[nodiscard]] double unit();
  /// Exponential with the given mean (> 0).
  [[nodiscard]] double exponential(double mean);
  /// Standard normal times sigma plus mu (polar method; keeps no spare, so draws are independent of history).
  [[nodiscard]] double normal(double mu, double sigma);
  /// Lognormal by its own mean (> 0) and coefficient of variation (>= 0).
  [[nodiscard]] double lognormal(double mean, double cv);
  /// Gamma with shape (> 0) and scale (> 0), Marsaglia and Tsang 2000.
  [[nodiscard]] double gamma(double shape, double scale);
  /// A generator whose stream is independent of this one's further draws.
  [[nodiscard]] Random split();

 private:
  std::array<std::uint64_t, 4> state_;
};

/// SplitMix64: a good mixer of one 64-bit value, also usable as a hash of small integers.
[[nodiscard]] std::uint64_t mix64(std::uint64_t x);

}  // namespace evenkeel
