#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fleet/rate_curve.hpp"

namespace evenkeel::peers {

/// What a peer says it does at each level of concurrency, as far as it can be.
struct PublishedRates {
  std::vector<fleet::RatePoint> points;  ///< by level; none: it says nothing, or nothing that can be
  std::string note;                      ///< if what it said was refused
};

inline constexpr std::size_t most_rate_points = 64;
inline constexpr double most_rate = 1e9;  ///< tokens a second

/// The points must ascend in level, from 1 to `clamp`, each with a rate over 0 and up to most_rate; else all are
/// refused. Whether they are true is for whoever sees the peer at work to say.
[[nodiscard]] PublishedRates read_rates(std::span<const fleet::RatePoint> said, std::int64_t clamp);

}  // namespace evenkeel::peers
