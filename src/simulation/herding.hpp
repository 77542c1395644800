#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace evenkeel::simulation {

/// `batch` admissions decided against one snapshot of a fleet whose workers all stand differently: what the fullest of
/// them gets. Rank 0 is the worker with the most headroom.

/// By rank: how probable it is that the best of `sampled` distinct workers out of `workers` is that one,
/// [C(N-r,d) - C(N-r-1,d)] / C(N,d). 1 <= sampled <= workers.
[[nodiscard]] std::vector<double> rank_probabilities(int workers, int sampled);

/// The law of the largest count of a multinomial: element m is P(largest <= m), m = 0 to batch. Exact:
/// batch! [x^batch] prod_r sum_{j<=m} (p_r x)^j / j!, O(ranks * batch^3).
[[nodiscard]] std::vector<double> largest_count_cdf(std::span<const double> probabilities, int batch);

struct LargestCount {
  double mean = 0;
  double sd = 0;
  double at_least_ten = 0;  ///< probability
};
/// Moments of a law given by its distribution function over 0, 1, 2, ...
[[nodiscard]] LargestCount summary_of(std::span<const double> cdf);

}  // namespace evenkeel::simulation
