#include "maths/percentile.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace evenkeel::maths {

double percentile(std::span<const double> sorted, double p) {
  if (sorted.empty()) return 0;
  const double rank = static_cast<double>(sorted.size() - 1) * std::clamp(p, 0.0, 100.0) / 100;
  const auto below = static_cast<std::size_t>(rank);
  if (below + 1 >= sorted.size()) return sorted.back();
  const double part = rank - static_cast<double>(below);
  return sorted[below] + part * (sorted[below + 1] - sorted[below]);
}

Summary summarize(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  Summary s;
  s.count = values.size();
  s.mean = std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
  s.min = values.front();
  s.p50 = percentile(values, 50);
  s.p90 = percentile(values, 90);
  s.p95 = percentile(values, 95);
  s.p99 = percentile(values, 99);
  s.max = values.back();
  return s;
}

double coefficient_of_variation(std::span<const double> values) {
  if (values.size() < 2) return 0;
  const auto n = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  if (mean == 0) return 0;
  double squares = 0;
  for (const double v : values) squares += (v - mean) * (v - mean);
  return std::sqrt(squares / (n - 1)) / mean;
}

}  // namespace evenkeel::maths
