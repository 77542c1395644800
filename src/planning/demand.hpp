#pragma once

#include <cstddef>
#include <span>
#include <string_view>

#include "base/error.hpp"
#include "maths/compound_moments.hpp"
#include "maths/count_law.hpp"
#include "maths/lattice.hpp"
#include "planning/fleet_plan.hpp"

namespace evenkeel::planning {

/// What the arrivals of a window hold of one resource when it closes: a sum of `severity` over `count` tasks, those
/// that have not ended by then (Polyulya 2026, part 5, Proposition 6; ages weighted by the survival of the duration).
struct Demand {
  maths::CountLaw count;
  maths::Lattice severity;  ///< total 1
  bool on_lattice = false;  ///< nothing grows: every value is a point of the lattice

  [[nodiscard]] maths::Shape shape() const;
  /// A value that the sum exceeds with a probability of about 1e-11 or less.
  [[nodiscard]] double upper() const;
};

/// Which way to a quantile. The recursion and the transform are exact up to the lattice; the expansion is neither exact
/// nor bounded.
enum class Evaluator { automatic, recursion, transform, expansion };
[[nodiscard]] std::string_view name_of(Evaluator evaluator);
[[nodiscard]] Result<Evaluator> evaluator_of(std::string_view name);

/// The demand of arrivals that come at rates[m] (per second, of model m of the plan) times the plan's profile over a
/// window of `window_s`. The plan's correlation over-disperses the count by one gamma factor that all arrivals share.
/// The plan must pass check(), and some rate be over 0.
[[nodiscard]] Demand window_demand(const FleetPlan& plan, std::size_t resource, std::span<const double> rates,
                                   double window_s);

/// The same on a lattice of a given step, which must be a small part of what a task holds.
[[nodiscard]] Demand window_demand_on(const FleetPlan& plan, std::size_t resource, std::span<const double> rates,
                                      double window_s, double step);

/// Shape of that gamma factor: with Lambda arrivals a node and window, counts of two nodes correlate by
/// c = (Lambda / shape) / (1 + Lambda / shape). +inf without correlation. Lambda is the mean over the fleet's nodes.
[[nodiscard]] double common_shape(const FleetPlan& plan);

/// The evaluator that `automatic` becomes.
[[nodiscard]] Evaluator evaluator_for(const Demand& demand, Evaluator wanted);

/// The smallest reserve that suffices with probability `level`.
[[nodiscard]] Result<double> quantile(const Demand& demand, double level, Evaluator evaluator = Evaluator::automatic);
/// P(demand <= reserve).
[[nodiscard]] Result<double> coverage(const Demand& demand, double reserve);

}  // namespace evenkeel::planning
