#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/random.hpp"

namespace evenkeel::simulation {

/// The rule of Definition 6 of the fleet redline, bare: of `sampled` distinct places, uniformly drawn, the one with the
/// largest score; equal ones are drawn fairly. What the policies `headroom` and `headroom_argmax` are held against.
class HeadroomChoice {
 public:
  explicit HeadroomChoice(std::size_t sampled) : sampled_(sampled) {}
  /// `scores` is not empty. Samples all if there are fewer.
  [[nodiscard]] std::size_t choose(std::span<const double> scores, Random& random);

 private:
  std::size_t sampled_;
  std::vector<std::uint32_t> order_;
};

}  // namespace evenkeel::simulation
