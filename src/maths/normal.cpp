#include "maths/normal.hpp"

#include <array>
#include <cmath>
#include <limits>
#include <numbers>

namespace evenkeel::maths {

namespace {

template <std::size_t n>
double polynomial(const std::array<double, n>& coefficients, double x) {
  double value = 0;
  for (const double c : coefficients) value = value * x + c;
  return value;
}

/// P. J. Acklam, "An algorithm for computing the inverse normal cumulative distribution function" (2003).
/// For probabilities up to 1/2; relative error 1.15e-9.
double rough_quantile(double p) {
  static constexpr std::array a{-3.969683028665376e+01, 2.209460984245205e+02,  -2.759285104469687e+02,
                                1.383577518672690e+02,  -3.066479806614716e+01, 2.506628277459239e+00};
  static constexpr std::array b{-5.447609879822406e+01, 1.615858368580409e+02,  -1.556989798598866e+02,
                                6.680131188771972e+01,  -1.328068155288572e+01, 1.0};
  static constexpr std::array c{-7.784894002430293e-03, -3.223964580411365e-01, -2.400758277161838e+00,
                                -2.549732539343734e+00, 4.374664141464968e+00,  2.938163982698783e+00};
  static constexpr std::array d{7.784695709041462e-03, 3.224671290700398e-01, 2.445134137142996e+00,
                                3.754408661907416e+00, 1.0};
  if (p < 0.02425) {
    const double q = std::sqrt(-2 * std::log(p));
    return polynomial(c, q) / polynomial(d, q);
  }
  const double q = p - 0.5;
  return q * polynomial(a, q * q) / polynomial(b, q * q);
}

}  // namespace

double normal_cdf(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

double normal_quantile(double probability) {
  if (!(probability >= 0 && probability <= 1)) return std::numeric_limits<double>::quiet_NaN();
  if (probability == 0) return -std::numeric_limits<double>::infinity();
  // The upper half by symmetry, so that 1 - p is not lost in what is near 1.
  if (probability > 0.5) return -normal_quantile(1 - probability);
  const double z = rough_quantile(probability);
  const double off = (normal_cdf(z) - probability) * std::sqrt(2 * std::numbers::pi) * std::exp(z * z / 2);
  return z - off / (1 + z * off / 2);
}

}  // namespace evenkeel::maths
