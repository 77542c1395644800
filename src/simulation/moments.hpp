#pragma once

#include <cmath>

namespace evenkeel::simulation {

/// Running mean and variance of what trials give (Welford 1962).
class Moments {
 public:
  void add(double value) {
    ++count_;
    const double delta = value - mean_;
    mean_ += delta / count_;
    squares_ += delta * (value - mean_);
  }
  [[nodiscard]] double count() const { return count_; }
  [[nodiscard]] double mean() const { return mean_; }
  [[nodiscard]] double variance() const { return count_ > 1 ? squares_ / (count_ - 1) : 0; }
  [[nodiscard]] double sd() const { return std::sqrt(variance()); }
  /// Standard error of the mean.
  [[nodiscard]] double error() const { return count_ > 1 ? std::sqrt(variance() / count_) : 0; }

 private:
  double count_ = 0;
  double mean_ = 0;
  double squares_ = 0;
};

}  // namespace evenkeel::simulation
