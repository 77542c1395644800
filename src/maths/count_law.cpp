#include "maths/count_law.hpp"

#include <cmath>

namespace evenkeel::maths {

CountLaw CountLaw::poisson(double mean) {
  CountLaw law;
  law.mean_ = law.variance_ = mean;
  return law;
}

CountLaw CountLaw::negative_binomial(double mean, double variance) {
  CountLaw law = poisson(mean);
  // So near to Poisson the shape is beyond 1e12 means, and its formulas lose more than they say.
  if (variance - mean <= 1e-12 * mean) return law;
  law.variance_ = variance;
  law.shape_ = mean * mean / (variance - mean);
  return law;
}

std::complex<double> CountLaw::log_pgf(std::complex<double> z) const {
  if (is_poisson()) return mean_ * (z - 1.0);
  return -shape_ * std::log(1.0 - mean_ / shape_ * (z - 1.0));
}

double CountLaw::log_pgf(double z) const {
  if (is_poisson()) return mean_ * (z - 1);
  return -shape_ * std::log1p(-mean_ / shape_ * (z - 1));
}

double CountLaw::panjer_a() const { return is_poisson() ? 0 : 1 - mean_ / variance_; }

double CountLaw::panjer_b() const { return is_poisson() ? mean_ : (shape_ - 1) * panjer_a(); }

double CountLaw::pmf(std::int64_t k) const {
  if (k < 0) return 0;
  const auto n = static_cast<double>(k);
  if (is_poisson()) return mean_ == 0 ? (k == 0 ? 1 : 0) : std::exp(n * std::log(mean_) - mean_ - std::lgamma(n + 1));
  const double p = mean_ / variance_;
  return std::exp(std::lgamma(n + shape_) - std::lgamma(shape_) - std::lgamma(n + 1) + shape_ * std::log(p) +
                  n * std::log1p(-p));
}

std::int64_t CountLaw::quantile(double level) const {
  // Below this no mass is seen; it keeps the walk short where the mean is large.
  const double low = std::floor(mean_ - 40 * std::sqrt(variance_));
  auto k = static_cast<std::int64_t>(std::fmax(0, low));
  double below = 0;
  const double last = mean_ + 1000 + 1000 * std::sqrt(variance_);
  for (; static_cast<double>(k) < last; ++k) {
    below += pmf(k);
    if (below >= level * (1 - 1e-14)) break;
  }
  return k;
}

}  // namespace evenkeel::maths
