#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "base/random.hpp"
#include "maths/interval.hpp"

namespace evenkeel::maths {

/// Variance over mean of counts in windows of one length: 1 for Poisson arrivals.
struct Dispersion {
  double index = 0;
  Interval interval;     ///< 95 %: chi-square, its degrees of freedom cut by the kurtosis seen (Shoemaker 2003)
  double p_poisson = 1;  ///< chance that Poisson arrivals give an index at least so far from 1 (Fisher 1950)
  double mean = 0;       ///< of a window
  std::size_t windows = 0;
};

inline constexpr std::size_t least_windows = 20;

/// The index over all windows: a rate that drifts counts as dispersion. Refused: under least_windows counts, one that
/// is not finite or under 0, no arrival at all. O(n).
[[nodiscard]] Result<Dispersion> dispersion(std::span<const double> counts);
/// The same about a rate that may drift, as long as it does so little from one window to the next: from the differences
/// of windows 0 and 1, 2 and 3, ...: mean of (a - b)^2 over mean of a + b, which is 1 for Poisson. Pairs without an
/// arrival say nothing and are left out; refused under twice least_windows counts or least_windows
/// other pairs.
[[nodiscard]] Result<Dispersion> dispersion_about_drift(std::span<const double> counts);

/// The correlation that one shared cause gives each two of `nodes` nodes whose sum has this index of dispersion:
/// index = 1 + nodes c / (1 - c). 0 for an index at or under 1. nodes at least 1.
[[nodiscard]] double correlation_of_dispersion(double index, double nodes);

struct Correlation {
  double mean = 0;        ///< of Pearson's over all pairs of nodes
  Interval interval;      ///< 95 %, percentiles of a bootstrap over windows
  std::size_t nodes = 0;  ///< whose counts vary; others have no correlation and are left out
  std::size_t windows = 0;
};

/// Counts of nodes (columns, all of equal length) in common windows (rows). Rows must be independent: where the rate
/// drifts, hand over differences of adjacent windows. Refused: under least_windows rows, rows of unequal length, values
/// not finite, under two nodes whose counts vary. O(resamples * windows * nodes), 400 resamples.
[[nodiscard]] Result<Correlation> pairwise_correlation(const std::vector<std::vector<double>>& rows, Random& random);

}  // namespace evenkeel::maths
