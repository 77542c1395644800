#pragma once

#include <cstddef>
#include <span>

#include "base/error.hpp"
#include "maths/interval.hpp"

namespace evenkeel::maths {

/// Throughput measured with `n` of what is scaled (routers, workers that report).
struct ScalePoint {
  double n = 0;
  double throughput = 0;  ///< in one unit for all points
};

/// The universal scalability law (Gunther 2007), C(N) = N / (1 + a (N - 1) + b N (N - 1)).
struct Scalability {
  double single = 0;             ///< throughput at 1, which C counts in
  double contention = 0;         ///< a: the share that is done one after the other
  double coherency = 0;          ///< b: what each two of the N cost each other
  Interval contention_interval;  ///< 95 %, Student's t
  Interval coherency_interval;
  double peak = 0;  ///< N* = sqrt((1 - a) / b), infinite where b is not over 0
  /// 95 %: the N whose line a + b N^2 - 1 is not told from 0 (Fieller 1954); the upper end is infinite where b is not
  /// told from 0.
  Interval peak_interval;
  std::size_t points = 0;   ///< those at N > 1
  double worst_misfit = 0;  ///< largest of |C / C fitted - 1|

  /// C(n) of the fitted law.
  [[nodiscard]] double capacity(double n) const;
};

/// Least squares on (N / C - 1) / (N - 1) = a + b N over the points with N > 1. Throughputs at N = 1 are averaged, and
/// what they are off is in no interval. Refused: no point at 1, values not finite or out of bounds (n from 1,
/// throughput over 0), under 4 points over 1 or under 3 different N among them.
[[nodiscard]] Result<Scalability> fit_scalability(std::span<const ScalePoint> points);

}  // namespace evenkeel::maths
