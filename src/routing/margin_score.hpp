#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "routing/projection.hpp"

namespace evenkeel::routing {

/// What it is worth to put `total` more tokens on one worker (arXiv 2605.06113, the score of BR-H):
///
///     F(b) = D b - beta sum_h w_h max(0, b - m_h),    w_h = gamma^h,  D = sum_h w_h,  h = 0 ... window
///
/// with m_h = peak - load at offset h, the worker's margin. Every token is a gain while the worker stays below the
/// peak and a loss beyond it. With one offset and beta = number of workers it is the exact fall of the imbalance
/// sum_g (max load - load_g) (BR-0), and gains of successive admissions add up to the whole fall. Concave, affine
/// between neighbouring margins. Sorted margins and prefix sums: O(H log H) to face a worker, O(log H) a question.
class MarginScore {
 public:
  /// gamma in (0, 1], beta >= 1.
  MarginScore(double gamma, double beta) : gamma_(gamma), beta_(beta) {}

  void set_beta(double beta) { beta_ = beta; }
  /// From now on the questions are about this worker, as the projection is now.
  void face(const Projection& projection, std::uint32_t worker);
  [[nodiscard]] double operator()(std::int64_t total) const;
  /// The margins of the worker faced, ascending, repeats included.
  [[nodiscard]] std::span<const std::int64_t> margins() const { return margins_; }

 private:
  double gamma_;
  double beta_;
  std::vector<double> weights_;  ///< gamma^h
  std::vector<std::pair<std::int64_t, std::size_t>> order_;
  std::vector<std::int64_t> margins_;
  std::vector<double> weight_below_;    ///< [t]: of the t smallest margins, the sum of weights
  std::vector<double> weighted_below_;  ///< and of weight times margin
};

/// Whether a score is really above another: more than rounding (1e-9 of its size) apart.
[[nodiscard]] inline bool clearly_above(double score, double other) {
  const double size = score < 0 ? -score : score;
  return score > other + 1e-9 * (size < 1 ? 1 : size);
}

}  // namespace evenkeel::routing
