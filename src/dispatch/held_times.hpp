#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/clock.hpp"

namespace evenkeel::dispatch {

/// A histogram of how long a lock was held: up to 1, 2, 4, ... 2048 us, and longer.
class HeldTimes {
 public:
  static constexpr std::size_t bounds = 12;
  [[nodiscard]] static constexpr double bound_us(std::size_t at) { return static_cast<double>(std::uint64_t{1} << at); }

  void note(Duration held) {
    const auto ns = static_cast<std::uint64_t>(held.count() > 0 ? held.count() : 0);
    const auto at = static_cast<std::size_t>(std::bit_width(ns == 0 ? 0 : (ns - 1) / 1000));
    ++counts_[at < bounds ? at : bounds];
    sum_ += Duration(static_cast<std::int64_t>(ns));
  }
  /// How many took up to bound_us(at) and more than the bound before; at `bounds`: longer than all.
  [[nodiscard]] std::uint64_t count(std::size_t at) const { return counts_[at]; }
  [[nodiscard]] Duration sum() const { return sum_; }

 private:
  std::array<std::uint64_t, bounds + 1> counts_{};
  Duration sum_{};
};

}  // namespace evenkeel::dispatch
