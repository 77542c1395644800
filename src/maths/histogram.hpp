#pragma once

#include <cstdint>
#include <vector>

namespace evenkeel::maths {

/// A streaming histogram with buckets of equal relative width, whose quantiles are off by at most
/// `relative_error` of their value (DDSketch: Masson, Rim and Lee, VLDB 2019, section 2.1; here with a fixed
/// range instead of collapsing buckets). Memory is fixed at construction: about
/// ln(highest / lowest) / (2 * relative_error) counters of 8 bytes. add() is one logarithm and no allocation.
/// Values at or below `lowest` (also 0) share one bucket and are answered by the smallest value seen; values
/// over `highest` share another, answered by the largest seen. Not thread-safe; merge() joins shards.
class Histogram {
 public:
  /// 0 < relative_error < 1 and 0 < lowest < highest, else std::invalid_argument.
  explicit Histogram(double relative_error = 0.01, double lowest = 1e-6, double highest = 1e6);

  /// NaN and negative values count as 0.
  void add(double value, std::uint64_t times = 1);
  /// Adds the counts of a histogram made with the same parameters, else std::invalid_argument.
  void merge(const Histogram& other);
  void clear();

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] double sum() const { return sum_; }
  [[nodiscard]] double mean() const { return count_ == 0 ? 0 : sum_ / static_cast<double>(count_); }
  [[nodiscard]] double min() const { return count_ == 0 ? 0 : min_; }
  [[nodiscard]] double max() const { return max_; }
  /// The value at rank floor((n - 1) * p / 100), p in [0, 100]. 0 while empty. Cost: one walk over the
  /// buckets.
  [[nodiscard]] double percentile(double p) const;
  /// How many values are at most `value`, within the relative error of `value`.
  [[nodiscard]] std::uint64_t count_at_most(double value) const;
  [[nodiscard]] std::size_t bucket_count() const { return buckets_.size(); }

 private:
  [[nodiscard]] std::size_t bucket_of(double value) const;

  double relative_error_;
  double lowest_;
  double highest_;
  double growth_;  ///< upper edge of a bucket over its lower edge
  double log_growth_;
  std::vector<std::uint64_t> buckets_;  ///< first: at most lowest; last: over highest
  std::uint64_t count_ = 0;
  double sum_ = 0;
  double min_ = 0;
  double max_ = 0;
};

}  // namespace evenkeel::maths
