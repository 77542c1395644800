#include "planning/to_set.hpp"

#include <cmath>
#include <vector>

#include "maths/spectrum.hpp"
#include "planning/demand.hpp"
#include "planning/reserve.hpp"

namespace evenkeel::planning {

namespace {

maths::Lattice law_of(const Demand& demand) {
  return compound_by_transform(demand.count, demand.severity, 0, demand.upper());
}

/// What resident tasks gain in a second, on average: growth times their number, rate times mean stay (Little's law).
double growth_per_s(const FleetPlan& plan, std::size_t resource, std::span<const double> rates) {
  double sum = 0;
  for (std::size_t m = 0; m < rates.size(); ++m) {
    if (rates[m] > 0)
      sum += plan.models[m].footprints[resource].growth_per_s * rates[m] * plan.models[m].duration.mean();
  }
  return sum;
}

/// The smallest x with (1 - q) near(x) + q far(x) >= level. Laws on a lattice of their own take only its points.
double mixed_quantile(const maths::Lattice& near, const maths::Lattice& far, double q, double level, bool points) {
  const double step = far.step;
  const double spread = points ? step / 2 : 0;  // half a step further, all of a point's mass is in
  const auto reached = [&](double x) { return (1 - q) * near.cdf(x + spread) + q * far.cdf(x + spread) >= level; };
  if (reached(0)) return 0;
  double low = 0;
  double high = step;
  while (!reached(high) && high < far.point(far.mass.size() - 1)) {
    low = high;
    high *= 2;
  }
  while (high - low > (points ? 1.5 : 1e-6) * step) {
    const double middle = points ? step * std::floor((low + high) / 2 / step) : (low + high) / 2;
    (reached(middle) ? high : low) = middle;
  }
  return high;
}

}  // namespace

Result<ToSet> reserve_to_set(const FleetPlan& plan, std::size_t resource, std::span<const std::size_t> groups) {
  const std::vector<double> rates = rates_of(plan, groups);
  ToSet result;
  result.resident_growth = plan.staleness_s * growth_per_s(plan, resource, rates);
  const Demand far = window_demand(plan, resource, rates, plan.scale_time_s + plan.staleness_s);
  if (plan.correlated_share == 1) {
    const auto arrivals = quantile(far, plan.level);
    if (!arrivals) return tl::unexpected(arrivals.error());
    result.arrivals = *arrivals;
    return result;
  }
  maths::Lattice at_once(far.severity.step);
  at_once.add_atom(0, 1);
  const bool sees_late = plan.staleness_s > 0;
  const Demand near = window_demand(plan, resource, rates, sees_late ? plan.staleness_s : plan.scale_time_s);
  result.arrivals = mixed_quantile(sees_late ? law_of(near) : at_once, law_of(far), plan.correlated_share, plan.level,
                                   far.on_lattice);
  return result;
}

Result<LocalFloor> local_floor(const FleetPlan& plan, std::size_t resource, std::size_t group) {
  LocalFloor floor;
  const std::vector<double>& rates = plan.groups[group].rate_per_node_s;
  floor.growth = plan.scale_time_s * growth_per_s(plan, resource, rates);
  const auto siloed = quantile(window_demand(plan, resource, rates, plan.scale_time_s), plan.level);
  if (!siloed) return tl::unexpected(siloed.error());
  floor.siloed = *siloed;
  if (plan.staleness_s == 0) return floor;
  const auto wire = quantile(window_demand(plan, resource, rates, plan.staleness_s), 0.999);
  if (!wire) return tl::unexpected(wire.error());
  floor.on_the_wire = *wire;
  return floor;
}

}  // namespace evenkeel::planning
