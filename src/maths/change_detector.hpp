#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace evenkeel::maths {

/// A rate smoothed exponentially over windows: rate += weight (count - rate), from the first count on.
class SmoothedRate {
 public:
  /// weight in (0, 1], else std::invalid_argument.
  explicit SmoothedRate(double weight);
  void add(double count);
  [[nodiscard]] double value() const { return value_; }
  [[nodiscard]] std::size_t windows() const { return windows_; }
  /// Windows until a change of the rate is followed to 1 - 1/e: -1 / ln(1 - weight); 0 at weight 1.
  [[nodiscard]] double settling_windows() const;

 private:
  double weight_;
  double value_ = 0;
  std::size_t windows_ = 0;
};

/// Page's cumulative sum for Poisson counts whose mean may become `factor` times what it was: the log-likelihood ratio
/// of the two, never under 0; alarm at ln(apart), which puts at least `apart` windows on average between false alarms
/// (Lorden 1971, theorem 2) while the mean it is told is right. One object watches one direction.
class PoissonCusum {
 public:
  /// factor over 0 and not 1; apart over 1. Counts whose variance is `dispersion` (at least 1) times their mean weigh
  /// so much less. Else std::invalid_argument.
  PoissonCusum(double factor, double apart, double dispersion = 1);

  /// `mean`: of a window without a change. True: alarm; what follows is added all the same.
  bool add(double count, double mean);
  [[nodiscard]] double sum() const { return sum_; }
  /// Windows since the sum last was 0: if there was a change, it was probably so long ago.
  [[nodiscard]] std::size_t since() const { return since_; }

 private:
  double factor_;
  double threshold_;
  double dispersion_;
  double sum_ = 0;
  std::size_t since_ = 0;
};

/// Windows [first, first + windows) of about one rate.
struct Stretch {
  std::size_t first = 0;
  std::size_t windows = 0;
  double mean = 0;  ///< arrivals a window
};

struct ChangeOptions {
  double factor = 1.5;       ///< over 1: rates that grow or fall by it are to be seen
  double apart = 1000;       ///< windows between false alarms, over 1
  double dispersion = 1;     ///< of counts about their rate, at least 1
  double least_known = 100;  ///< arrivals that tell a rate, before changes of it are looked for
};

/// Cuts counts (finite, not negative) where their rate changed: two cumulative sums, up and down, against the mean so
/// far of the stretch; at an alarm a new stretch begins where the sum that rose last was 0. O(n), and once more for the
/// windows between a change and its alarm. Options out of bounds: std::invalid_argument.
[[nodiscard]] std::vector<Stretch> stretches_of_rate(std::span<const double> counts, const ChangeOptions& options);

}  // namespace evenkeel::maths
