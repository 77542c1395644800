#include "maths/compound_moments.hpp"

#include <cmath>

#include "maths/normal.hpp"

namespace evenkeel::maths {

RawMoments uniform_moments(double from, double to) {
  RawMoments moments{};
  // The sum of from^i to^(j - i) over j + 1: no difference of powers, so the two may be equal.
  for (int j = 1; j <= 4; ++j) {
    double sum = 0;
    for (int i = 0; i <= j; ++i) sum += std::pow(from, i) * std::pow(to, j - i);
    moments[static_cast<std::size_t>(j - 1)] = sum / (j + 1);
  }
  return moments;
}

double Shape::cornish_fisher(double level) const {
  const double z = normal_quantile(level);
  const double z2 = z * z;
  const double bent =
      z + (z2 - 1) * skewness / 6 + z * (z2 - 3) * kurtosis / 24 - z * (2 * z2 - 5) * skewness * skewness / 36;
  return mean + sd * bent;
}

Shape compound_shape(const CountLaw& count, const RawMoments& severity) {
  // Cumulants of the compound Poisson, then of its mixture over a gamma law of mean 1 and variance u:
  // the cumulant generator is -ln(1 - u w(t)) / u with w that of the compound Poisson.
  const double w1 = count.mean() * severity[0];
  const double w2 = count.mean() * severity[1];
  const double w3 = count.mean() * severity[2];
  const double w4 = count.mean() * severity[3];
  const double u = count.is_poisson() ? 0 : 1 / count.shape();
  const double k2 = w2 + u * w1 * w1;
  const double k3 = w3 + 3 * u * w1 * w2 + 2 * u * u * w1 * w1 * w1;
  const double k4 =
      w4 + u * (4 * w1 * w3 + 3 * w2 * w2) + 12 * u * u * w1 * w1 * w2 + 6 * u * u * u * w1 * w1 * w1 * w1;
  return {w1, std::sqrt(k2), k2 > 0 ? k3 / std::pow(k2, 1.5) : 0, k2 > 0 ? k4 / (k2 * k2) : 0};
}

}  // namespace evenkeel::maths
