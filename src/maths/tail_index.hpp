#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "maths/interval.hpp"

namespace evenkeel::maths {

/// How long something lasted, or how long it had lasted when it was cut off (right-censored).
struct Lifetime {
  double value = 0;
  bool ended = true;  ///< false: it would have lasted at least so long
};

/// A power law fitted to the largest values: P(X > x | X > threshold) = (x / threshold)^-index.
struct TailFit {
  double index = 0;           ///< alpha
  double standard_error = 0;  ///< alpha / sqrt(ended)
  Interval interval;          ///< 95 %; exact for a pure power law and a k that was not chosen by the data
  double threshold = 0;       ///< the largest value that is not used
  std::size_t k = 0;          ///< values over the threshold
  std::size_t ended = 0;      ///< of these, not cut off
  std::size_t samples = 0;    ///< all values, used or not
  double distance = 0;        ///< largest distance of the two distribution functions over the threshold
  /// Likelihood ratio against an exponential law over the same threshold, standardised (Vuong 1989): over about 2 the
  /// power law fits better, under -2 the exponential does, and the index is then none of the law's.
  double against_exponential = 0;
};

inline constexpr std::size_t least_tail = 25;  ///< fewest values a tail is fitted to: error 0.2 of the index

/// A sample's tail under every choice of k. Hill's estimator (1975), with values that were cut off as Beirlant,
/// Guillou, Dierckx and Fils-Villetard (2007): those not cut off, over the sum of the log-excesses of all.
class TailSample {
 public:
  /// Sorts: O(n log n). Refused: under least_tail + 1 values, values not finite or not over 0, all equal.
  [[nodiscard]] static Result<TailSample> of(std::vector<Lifetime> values);

  /// The fit to the k largest. Where the k-th equals the next, k moves down to the nearest place between two values.
  /// Refused: k out of [least_tail, n - 1], no place between two values, under least_tail of them not cut off.
  [[nodiscard]] Result<TailFit> fit(std::size_t k) const;
  /// The k whose law is nearest to the sample over its threshold (Kolmogorov's distance: Clauset, Shalizi and Newman
  /// 2009, section 3.3; of a sample with values cut off, to Kaplan and Meier's estimate), out of k from least_tail to
  /// n - 1 in steps of a tenth. Choosing by the data narrows the interval's cover by some points. O(n).
  [[nodiscard]] Result<TailFit> fit() const;

  /// Largest first.
  [[nodiscard]] std::span<const Lifetime> values() const { return values_; }
  /// Kaplan and Meier's P(X > values()[i]).
  [[nodiscard]] double survival(std::size_t i) const { return survival_[i]; }

 private:
  explicit TailSample(std::vector<Lifetime> descending);
  [[nodiscard]] double distance(const TailFit& fit) const;
  [[nodiscard]] double against_exponential(const TailFit& fit) const;

  std::vector<Lifetime> values_;
  std::vector<double> survival_;
};

}  // namespace evenkeel::maths
