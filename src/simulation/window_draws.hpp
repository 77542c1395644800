#pragma once

#include <cstddef>
#include <vector>

#include "base/random.hpp"
#include "planning/fleet_plan.hpp"

namespace evenkeel::simulation {

/// What the arrivals of one window hold when it closes, GB by node of the first group, drawn task by task: the law that
/// room planning inverts, seen from the other side. With the plan's correlation c all nodes share one gamma factor of
/// mean 1 and shape L (1 - c) / c, where L arrivals a node are expected. The profile is the plan's.
[[nodiscard]] std::vector<double> draw_window(const planning::FleetPlan& plan, double window_s, Random& random);

/// The arrival times of one node in [0, length_s), Poisson of that rate.
[[nodiscard]] std::vector<double> draw_arrivals(double rate_per_s, double length_s, Random& random);

/// What arrivals at `times` in (from, to] hold at `to` if none has ended by then.
[[nodiscard]] double held_at(const planning::Footprint& foot, const std::vector<double>& times, double from, double to);

/// A share of trials with its standard error.
struct Share {
  double hits = 0;
  double trials = 0;
  void add(bool hit) {
    hits += hit ? 1 : 0;
    trials += 1;
  }
  [[nodiscard]] double value() const { return trials > 0 ? hits / trials : 0; }
  /// Of a share that should be `expected`.
  [[nodiscard]] double error(double expected) const;
};

}  // namespace evenkeel::simulation
