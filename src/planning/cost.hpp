#pragma once

#include <cstddef>
#include <span>

#include "base/error.hpp"
#include "planning/fleet_plan.hpp"

namespace evenkeel::planning {

/// What it costs to be wrong, in any one currency; D the demand, H the reserve, N the nodes:
/// under * E[(D - H)+] + over * E[(H - D)+] + freeze * N^simultaneity * P(D > H).
/// The last is a lump sum for a fleet that stops admitting: with simultaneity 1 as much as if each node had stopped by
/// itself, with more what it costs that they all stop at once.
struct CostModel {
  double under = 32;  ///< per unit short
  double over = 1;    ///< per unit idle
  double freeze = 0;  ///< of one node that stops admitting
  double simultaneity = 1;

  [[nodiscard]] Result<void> check() const;
};

struct CheapestReserve {
  double reserve = 0;
  double level = 0;  ///< P(D <= reserve)
  double cost = 0;
};

/// The reserve of least expected cost among the points of the lattice. Without a freeze cost it is the quantile at
/// under / (under + over); with one it is greater. Cost of the search: one transform.
[[nodiscard]] Result<CheapestReserve> cheapest_reserve(const FleetPlan& plan, std::size_t resource,
                                                       std::span<const std::size_t> groups, const CostModel& costs);

}  // namespace evenkeel::planning
