#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/clock.hpp"

namespace evenkeel::dispatch {

/// A histogram of how long a lock was held.
class HeldTimes {
 public:
  static constexpr std::array<std::int64_t, 11> bounds_us = {1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000};

  void note(Duration held) {
    std::size_t at = 0;
    while (at < bounds_us.size() && held > std::chrono::microseconds(bounds_us[at])) ++at;
    ++counts_[at];
    sum_ += held;
  }
  /// How many took up to bounds_us[at] and more than the bound before; the last: longer than all.
  [[nodiscard]] std::uint64_t count(std::size_t at) const { return counts_[at]; }
  [[nodiscard]] Duration sum() const { return sum_; }

 private:
  std::array<std::uint64_t, bounds_us.size() + 1> counts_{};
  Duration sum_{};
};

}  // namespace evenkeel::dispatch
