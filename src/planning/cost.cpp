#include "planning/cost.hpp"

#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "maths/spectrum.hpp"
#include "planning/demand.hpp"
#include "planning/reserve.hpp"

namespace evenkeel::planning {

Result<void> CostModel::check() const {
  const auto within = [](std::string_view field, double value, double low, double high) -> Result<void> {
    if (value >= low && value <= high) return {};
    return failure(fmt::format("{} is {}: allowed are {} to {}", field, value, low, high));
  };
  if (auto ok = within("the cost of a unit short", under, 0, 1e12); !ok) return ok;
  if (auto ok = within("the cost of a unit idle", over, 1e-12, 1e12); !ok) return ok;
  if (auto ok = within("the cost of a freeze", freeze, 0, 1e12); !ok) return ok;
  return within("the simultaneity", simultaneity, 0, 4);
}

Result<CheapestReserve> cheapest_reserve(const FleetPlan& plan, std::size_t resource,
                                         std::span<const std::size_t> groups, const CostModel& costs) {
  if (auto ok = costs.check(); !ok) return tl::unexpected(ok.error());
  double nodes = 0;
  for (const std::size_t g : groups) nodes += static_cast<double>(plan.groups[g].nodes);
  const double lump = costs.freeze * std::pow(nodes, costs.simultaneity);
  const Demand demand = window_demand(plan, resource, rates_of(plan, groups), plan.scale_time_s);
  const maths::Lattice law = compound_by_transform(demand.count, demand.severity, 0, demand.upper());
  // E[(D - H)+] falls by P(D > H) a unit, E[(H - D)+] grows by P(D <= H).
  double below = 0;
  double shorter = law.moment(1);
  double idle = 0;
  CheapestReserve best{.cost = INFINITY};
  for (std::size_t i = 0; i < law.mass.size(); ++i) {
    if (i > 0) {
      shorter -= law.step * (1 - below);
      idle += law.step * below;
    }
    below = std::fmin(1, below + law.mass[i]);
    const double cost = costs.under * std::fmax(0, shorter) + costs.over * idle + lump * (1 - below);
    if (cost < best.cost) best = {law.point(i), below, cost};
  }
  return best;
}

}  // namespace evenkeel::planning
