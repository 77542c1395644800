#pragma once

#include <complex>
#include <cstdint>

namespace evenkeel::maths {

/// How many: Poisson, or negative binomial where the variance is greater than the mean (a Poisson count whose rate is
/// itself drawn from a gamma law).
class CountLaw {
 public:
  /// mean >= 0 and finite.
  static CountLaw poisson(double mean);
  /// variance >= mean; equal is Poisson.
  static CountLaw negative_binomial(double mean, double variance);

  [[nodiscard]] double mean() const { return mean_; }
  [[nodiscard]] double variance() const { return variance_; }
  [[nodiscard]] bool is_poisson() const { return shape_ == 0; }
  /// Shape of the gamma law of the rate: mean^2 / (variance - mean). Not for Poisson.
  [[nodiscard]] double shape() const { return shape_; }

  /// ln E[z^K]. Where |z| is at most 1, always finite for z other than one of real part far under -1.
  [[nodiscard]] std::complex<double> log_pgf(std::complex<double> z) const;
  [[nodiscard]] double log_pgf(double z) const;

  [[nodiscard]] double pmf(std::int64_t k) const;
  /// The smallest k with P(K <= k) >= level, 0 < level < 1. Cost: linear in the answer.
  [[nodiscard]] std::int64_t quantile(double level) const;

  /// Panjer's a and b: P(K = k) = (a + b / k) P(K = k - 1). Panjer 1981, theorem 1.
  [[nodiscard]] double panjer_a() const;
  [[nodiscard]] double panjer_b() const;

 private:
  double mean_ = 0;
  double variance_ = 0;
  double shape_ = 0;  ///< 0: Poisson
};

}  // namespace evenkeel::maths
