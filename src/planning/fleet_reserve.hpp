#pragma once

#include <string>
#include <utility>
#include <vector>

#include "planning/reserve.hpp"

namespace evenkeel::planning {

/// The reserves of a whole plan for one resource: one a pool, and their sum.
struct FleetReserve {
  std::string resource;
  std::vector<std::vector<std::size_t>> pools;  ///< groups
  std::vector<Reserve> by_pool;
  Reserve total;  ///< evaluator and step of the first pool

  /// Of each number: formula, its source, how it was evaluated.
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> provenance(const FleetPlan& plan) const;
};

/// The plan must pass check().
[[nodiscard]] Result<FleetReserve> fleet_reserve(const FleetPlan& plan, std::size_t resource,
                                                 Evaluator evaluator = Evaluator::automatic);

}  // namespace evenkeel::planning
