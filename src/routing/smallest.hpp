#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

#include "base/random.hpp"

namespace evenkeel::routing {

/// The place of the smallest value offered; equal values (to 1e-9 of their size) are drawn fairly, in one pass.
class Smallest {
 public:
  void offer(double value, std::uint32_t place, Random& random) {
    const double margin = 1e-9 * (1 + std::abs(value));
    if (!place_ || value < value_ - margin) {
      value_ = value;
      place_ = place;
      ties_ = 1;
    } else if (value <= value_ + margin && random.below(++ties_) == 0) {
      place_ = place;
    }
  }
  [[nodiscard]] std::optional<std::uint32_t> place() const { return place_; }
  /// Of the first of the equals; 0 if nothing was offered.
  [[nodiscard]] double value() const { return value_; }

 private:
  double value_ = 0;
  std::optional<std::uint32_t> place_;
  std::uint64_t ties_ = 1;
};

}  // namespace evenkeel::routing
