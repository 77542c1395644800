#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/error.hpp"
#include "planning/fleet_plan.hpp"

namespace evenkeel::planning {

/// Where groups serve overlapping sets of models, one number for the pool is not enough: the arrivals of any set of
/// models must find room on the workers that serve at least one of them (Hall's condition on the quantiles).
struct OverlapCondition {
  std::vector<std::size_t> models;
  std::vector<std::size_t> groups;  ///< that serve at least one of the models
  double reserve = 0;               ///< what must be free on them together, at the plan's level
  double capacity = 0;              ///< of them together

  [[nodiscard]] double share() const { return reserve / capacity; }
};

/// All sets of the pool's models, the most demanding first (by share of capacity). Sets that differ in models but not
/// in groups are represented by the largest. Refuses more than 12 models: 2^n laws.
[[nodiscard]] Result<std::vector<OverlapCondition>> overlap_conditions(const FleetPlan& plan, std::size_t resource,
                                                                       std::span<const std::size_t> pool);

}  // namespace evenkeel::planning
