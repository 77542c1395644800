#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "planning/fleet_plan.hpp"

namespace evenkeel::planning {

/// "The footprint" of a task has been called five different things; each is the right one somewhere.
struct FootprintReading {
  std::string_view name;
  double held = 0;
};

/// At admission; mean at the window's close of one that arrived in it; at the close of one that arrived at its start;
/// at the mean age of its end; at a random instant of its stay (weighted by time, E[integral of held] / E[S]).
[[nodiscard]] std::array<FootprintReading, 5> footprint_readings(const FleetPlan& plan, std::size_t resource,
                                                                 std::size_t model);

/// One worker as a loss system: who finds no room is refused. Tasks are taken to hold what they hold at a random
/// instant.
struct LossReading {
  std::int64_t tasks_that_fit = 0;  ///< of the mean task
  double offered = 0;               ///< Erlang, all models
  double blocked = 0;               ///< Erlang B with that many places
  std::int64_t occupied_free = 0;   ///< quantile of the tasks in service at the plan's level, if nobody were refused
  std::int64_t occupied = 0;        ///< the same with refusals
  std::vector<double> blocked_by_model;  ///< Kaufman and Roberts, on 1/1000 of the capacity
};

[[nodiscard]] LossReading loss_reading(const FleetPlan& plan, std::size_t resource, std::size_t group);

}  // namespace evenkeel::planning
