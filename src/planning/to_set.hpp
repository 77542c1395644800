#pragma once

#include <cstddef>
#include <span>

#include "base/error.hpp"
#include "planning/fleet_plan.hpp"

namespace evenkeel::planning {

/// What a router is to keep free of one resource, in its unit, from the plan's level, staleness D, scale time T and
/// correlated share q.
struct ToSet {
  /// Quantile of (1 - q) F_D + q F_(T+D): F_w is the law of what the arrivals of w seconds hold. Pressure on single
  /// workers is gone once the router sees it, after D; pressure on all is there until new capacity is. With q = 1 and
  /// D = 0 this is the pooled reserve.
  double arrivals = 0;
  /// What the tasks that are there grow by, on average, while nobody looks: growth * D * resident tasks.
  double resident_growth = 0;

  [[nodiscard]] double total() const { return arrivals + resident_growth; }
};

[[nodiscard]] Result<ToSet> reserve_to_set(const FleetPlan& plan, std::size_t resource,
                                           std::span<const std::size_t> groups);

/// What one worker must keep to itself, because no other can help.
struct LocalFloor {
  /// What its resident tasks grow by until relief comes after the scale time, if none of them ends: a bound on the
  /// mean.
  double growth = 0;
  /// Arrivals that are on their way when it says no: quantile 0.999 of one worker's arrivals over the staleness.
  double on_the_wire = 0;
  /// The reserve of a worker that stands alone, at the plan's level: instead of on_the_wire while no router reaches it.
  double siloed = 0;
};

[[nodiscard]] Result<LocalFloor> local_floor(const FleetPlan& plan, std::size_t resource, std::size_t group);

}  // namespace evenkeel::planning
