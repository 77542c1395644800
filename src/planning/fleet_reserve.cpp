#include "planning/fleet_reserve.hpp"

#include <cmath>

#include <fmt/format.h>

namespace evenkeel::planning {

namespace {

constexpr std::string_view series = "Polyulya 2026, part 5";

Reserve sum_of(const std::vector<Reserve>& reserves) {
  Reserve sum = reserves.front();
  double variance = sum.sd * sum.sd;
  for (std::size_t i = 1; i < reserves.size(); ++i) {
    const Reserve& other = reserves[i];
    sum.nodes += other.nodes;
    sum.capacity += other.capacity;
    sum.arrivals += other.arrivals;
    sum.mean += other.mean;
    sum.pooled += other.pooled;
    sum.siloed += other.siloed;
    variance += other.sd * other.sd;
  }
  sum.sd = std::sqrt(variance);
  return sum;
}

std::string way_of(const Reserve& reserve) {
  const std::string_view name = name_of(reserve.evaluator);
  if (reserve.evaluator == Evaluator::expansion) return fmt::format("by {}, no bound on its error", name);
  return fmt::format("by {} on a lattice of {:g}", name, reserve.step);
}

}  // namespace

Result<FleetReserve> fleet_reserve(const FleetPlan& plan, std::size_t resource, Evaluator evaluator) {
  FleetReserve result;
  result.resource = plan.resources[resource];
  result.pools = pools_of(plan);
  for (const auto& groups : result.pools) {
    const auto reserve = reserve_of(plan, resource, groups, evaluator);
    if (!reserve) return tl::unexpected(reserve.error());
    result.by_pool.push_back(*reserve);
  }
  result.total = sum_of(result.by_pool);
  return result;
}

std::vector<std::pair<std::string, std::string>> FleetReserve::provenance(const FleetPlan& plan) const {
  const std::string law = plan.correlation == 0
                              ? "compound Poisson"
                              : fmt::format("compound negative binomial (correlation {:g})", plan.correlation);
  const std::string window = fmt::format("{} demand of the arrivals of {:g} s", law, plan.scale_time_s);
  const std::string q = fmt::format("quantile at level {:.9g} of the {}", plan.level, window);
  return {
      {"pooled", fmt::format("{}, all workers of a pool together ({}, Proposition 6); {}", q, series, way_of(total))},
      {"siloed",
       fmt::format("sum over the workers of each one's own {} (part 3, memory margin); {}", q, way_of(total))},
      {"saving", "siloed - pooled"},
      {"share", "pooled / capacity"},
      {"mean", fmt::format("Lambda E[M] of the {}; closed form up to the lattice", window)},
      {"sd", plan.correlation == 0 ? fmt::format("sqrt(Lambda E[M^2]) ({})", series)
                                   : std::string("sqrt(m Var M + v E[M]^2), count of mean m and variance v")},
      {"excess_sd", fmt::format("(pooled - mean) / sd ({})", series)},
      {"floor_share", fmt::format("mean / capacity, the share that no fleet size goes under ({})", series)},
      {"capacity", "sum of the workers' capacities, as given"},
  };
}

}  // namespace evenkeel::planning
