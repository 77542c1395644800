#include "maths/loss.hpp"

#include <algorithm>

#include "maths/count_law.hpp"

namespace evenkeel::maths {

double erlang_b(double offered, std::int64_t servers) {
  double blocked = 1;
  for (std::int64_t k = 1; k <= servers; ++k)
    blocked = offered * blocked / (static_cast<double>(k) + offered * blocked);
  return blocked;
}

std::int64_t occupancy_quantile(double offered, std::int64_t servers, double level) {
  const CountLaw free = CountLaw::poisson(offered);
  double total = 0;
  for (std::int64_t k = 0; k <= servers; ++k) total += free.pmf(k);
  double below = 0;
  for (std::int64_t k = 0; k < servers; ++k) {
    below += free.pmf(k);
    if (below >= level * total * (1 - 1e-14)) return k;
  }
  return servers;
}

SharedLoss kaufman_roberts(std::span<const LossClass> classes, std::int64_t capacity) {
  const auto cells = static_cast<std::size_t>(std::max<std::int64_t>(capacity, 0)) + 1;
  SharedLoss loss;
  std::vector<double>& q = loss.occupied;
  q.assign(cells, 0.0);
  q[0] = 1;
  double total = 1;
  for (std::size_t x = 1; x < cells; ++x) {
    double sum = 0;
    for (const LossClass& c : classes) {
      const auto size = static_cast<std::size_t>(c.size);
      if (size <= x) sum += c.offered * static_cast<double>(size) * q[x - size];
    }
    q[x] = sum / static_cast<double>(x);
    total += q[x];
    if (total > 1e200) {  // only ratios matter
      for (std::size_t k = 0; k <= x; ++k) q[k] *= 1e-200;
      total *= 1e-200;
    }
  }
  for (double& mass : q) mass /= total;
  for (const LossClass& c : classes) {
    const auto room = std::min(cells, static_cast<std::size_t>(c.size));
    double blocked = 0;
    for (std::size_t x = cells - room; x < cells; ++x) blocked += q[x];
    loss.blocked.push_back(blocked);
  }
  return loss;
}

}  // namespace evenkeel::maths
