#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "planning/demand.hpp"
#include "planning/fleet_plan.hpp"

namespace evenkeel::planning {

/// The reserve of some groups for one resource, in its unit: what their arrivals in one window take of it with the
/// plan's level, if every worker keeps its own (siloed) and if the fleet keeps it together (pooled).
struct Reserve {
  std::int64_t nodes = 0;
  double capacity = 0;
  double arrivals = 0;  ///< expected in a window, those that ended in it not counted
  double mean = 0;      ///< of the demand
  double sd = 0;
  double pooled = 0;
  double siloed = 0;                           ///< sum over the nodes of each one's own quantile
  Evaluator evaluator = Evaluator::automatic;  ///< of the pooled value
  double step = 0;                             ///< of the lattice of the pooled value

  [[nodiscard]] double saving() const { return siloed - pooled; }
  [[nodiscard]] double share() const { return pooled / capacity; }
  /// What no fleet size can go under: mean demand over capacity.
  [[nodiscard]] double floor_share() const { return mean / capacity; }
  /// What lies over the mean, in standard deviations.
  [[nodiscard]] double excess_sd() const { return sd > 0 ? (pooled - mean) / sd : 0; }
};

/// Groups that share models, directly or through others: reserves can be pooled within one, not between two.
[[nodiscard]] std::vector<std::vector<std::size_t>> pools_of(const FleetPlan& plan);

/// Arrivals per second and model of whole groups.
[[nodiscard]] std::vector<double> rates_of(const FleetPlan& plan, std::span<const std::size_t> groups);

[[nodiscard]] Result<Reserve> reserve_of(const FleetPlan& plan, std::size_t resource,
                                         std::span<const std::size_t> groups,
                                         Evaluator evaluator = Evaluator::automatic);

}  // namespace evenkeel::planning
