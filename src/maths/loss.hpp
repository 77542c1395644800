#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace evenkeel::maths {

/// Loss systems: who finds no room is turned away and does not come back.

/// Share of Poisson arrivals turned away by `servers` places at an offered load in Erlang (Erlang 1917); for any law of
/// the holding time. Cost O(servers).
[[nodiscard]] double erlang_b(double offered, std::int64_t servers);

/// The smallest k with P(K <= k) >= level of the number K of occupied places: a Poisson law cut off at `servers`.
[[nodiscard]] std::int64_t occupancy_quantile(double offered, std::int64_t servers, double level);

/// One class of arrivals that share a capacity.
struct LossClass {
  double offered = 0;     ///< Erlang
  std::int64_t size = 1;  ///< units of capacity that one holds
};

struct SharedLoss {
  std::vector<double> occupied;  ///< P(k units are occupied), k = 0..capacity
  std::vector<double> blocked;   ///< of each class, the share turned away
};

/// Several classes on one capacity, by the recursion of Kaufman (1981, "Blocking in a shared resource environment") and
/// Roberts (1981): x q(x) = sum over classes of offered * size * q(x - size). Cost O(capacity * classes).
[[nodiscard]] SharedLoss kaufman_roberts(std::span<const LossClass> classes, std::int64_t capacity);

}  // namespace evenkeel::maths
