#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace evenkeel::maths {

/// The p-th percentile (p in [0, 100], clamped) of values in ascending order, by linear interpolation between
/// the two nearest ranks: rank (n - 1) * p / 100, counted from 0 (Hyndman and Fan 1996, definition 7, the
/// default of NumPy and R). 0 for an empty span. Cost O(1).
[[nodiscard]] double percentile(std::span<const double> sorted, double p);

/// What a table row says of a sample. All 0 for an empty one.
struct Summary {
  std::size_t count = 0;
  double mean = 0;
  double min = 0;
  double p50 = 0;
  double p90 = 0;
  double p95 = 0;
  double p99 = 0;
  double max = 0;
};

/// Sorts its own copy: O(n log n).
[[nodiscard]] Summary summarize(std::vector<double> values);

/// Sample standard deviation over mean; 0 with fewer than two values or a mean of 0. The "c.v." of gaps
/// between arrivals: 1 for Poisson, more is burstier.
[[nodiscard]] double coefficient_of_variation(std::span<const double> values);

}  // namespace evenkeel::maths
