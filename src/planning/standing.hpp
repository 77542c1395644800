#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/error.hpp"
#include "planning/fleet_plan.hpp"

namespace evenkeel::planning {

/// What the reserve of arrivals does not look at: tasks that were there before grow, and some of them leave. Long after
/// the start they are a Poisson number of ages with density survival / mean (Mirasol 1963; Eick, Massey and Whitt
/// 1993), whatever the duration's law, if nobody is refused. Rates are taken as constant and arrivals as independent.

/// The change of what is held over one window, at the plan's level. Exact up to the lattice, by Fourier transform.
struct NetChange {
  double at_close = 0;       ///< arrivals + growth - departures
  double no_departures = 0;  ///< arrivals + growth of all that were there
  double step = 0;
};
[[nodiscard]] NetChange net_change(const FleetPlan& plan, std::size_t resource, std::span<const double> rates);

/// What is held at an instant by one worker.
struct Standing {
  double mean = 0;
  double median = 0;
  double at_level = 0;       ///< quantile at the plan's level
  double over_capacity = 0;  ///< probability
  double short_of = 0;       ///< probability that less than `reserve` is free
  double step = 0;
};
[[nodiscard]] Standing standing(const FleetPlan& plan, std::size_t resource, std::size_t group, double reserve);

/// A quantile out of drawn values, with an interval of 95 % by order statistics.
struct Drawn {
  double value = 0;
  double low = 0;
  double high = 0;
};

/// The greatest change within one window, which no closed form gives: drawn, `paths` times from `seed`.
struct RunningMaximum {
  Drawn all;           ///< arrivals + growth - departures
  Drawn no_arrivals;   ///< of a worker that refuses everything for the whole window
  double covered = 0;  ///< share of the paths whose maximum is at most `reserve`
};
/// Cost: about 1 us a window and task; refuses more than 1e8 of them.
[[nodiscard]] Result<RunningMaximum> running_maximum(const FleetPlan& plan, std::size_t resource,
                                                     std::span<const double> rates, double reserve, std::size_t paths,
                                                     std::uint64_t seed);

}  // namespace evenkeel::planning
