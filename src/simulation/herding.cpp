#include "simulation/herding.hpp"

#include <algorithm>
#include <cmath>

namespace evenkeel::simulation {

std::vector<double> rank_probabilities(int workers, int sampled) {
  std::vector<double> law;
  // P(the best of the sample has rank >= r) = C(N-r, d) / C(N, d), built up by its ratios.
  double at_least = 1;
  for (int r = 0; r < workers; ++r) {
    const double left = workers - r;
    const double beyond = at_least * std::max(0.0, left - sampled) / left;
    law.push_back(at_least - beyond);
    at_least = beyond;
  }
  return law;
}

std::vector<double> largest_count_cdf(std::span<const double> probabilities, int batch) {
  const auto size = static_cast<std::size_t>(batch);
  std::vector<double> cdf;
  for (std::size_t most = 0; most <= size; ++most) {
    // Coefficients are kept as probabilities of a partial multinomial times 1/k!, which neither under- nor overflow at
    // the batches of interest.
    std::vector<double> product(size + 1, 0.0);
    product[0] = 1;
    for (const double p : probabilities) {
      std::vector<double> next(size + 1, 0.0);
      double term = 1;  // p^j / j!
      for (std::size_t j = 0; j <= most; ++j) {
        for (std::size_t k = 0; k + j <= size; ++k) next[k + j] += product[k] * term;
        term *= p / static_cast<double>(j + 1);
      }
      product = std::move(next);
    }
    cdf.push_back(std::min(1.0, product[size] * std::exp(std::lgamma(batch + 1.0))));
  }
  return cdf;
}

LargestCount summary_of(std::span<const double> cdf) {
  LargestCount out;
  double second = 0;
  double before = 0;
  for (std::size_t m = 0; m < cdf.size(); ++m) {
    const double mass = cdf[m] - before;
    const auto value = static_cast<double>(m);
    out.mean += value * mass;
    second += value * value * mass;
    if (m >= 10) out.at_least_ten += mass;
    before = cdf[m];
  }
  out.sd = std::sqrt(std::max(0.0, second - out.mean * out.mean));
  return out;
}

}  // namespace evenkeel::simulation
