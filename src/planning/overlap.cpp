#include "planning/overlap.hpp"

#include <algorithm>
#include <cstdint>
#include <map>

#include <fmt/format.h>

#include "planning/demand.hpp"
#include "planning/reserve.hpp"

namespace evenkeel::planning {

namespace {

constexpr std::size_t most_models = 12;

std::vector<std::size_t> models_of(const FleetPlan& plan, std::span<const std::size_t> pool) {
  const std::vector<double> rates = rates_of(plan, pool);
  std::vector<std::size_t> models;
  for (std::size_t m = 0; m < rates.size(); ++m) {
    if (rates[m] > 0) models.push_back(m);
  }
  return models;
}

/// The groups of the pool that serve one of the models.
std::vector<std::size_t> serving(const FleetPlan& plan, std::span<const std::size_t> pool,
                                 const std::vector<std::size_t>& models) {
  std::vector<std::size_t> groups;
  for (const std::size_t g : pool) {
    const auto& rates = plan.groups[g].rate_per_node_s;
    if (std::ranges::any_of(models, [&](std::size_t m) { return rates[m] > 0; })) groups.push_back(g);
  }
  return groups;
}

Result<OverlapCondition> condition_of(const FleetPlan& plan, std::size_t resource, std::span<const std::size_t> pool,
                                      std::vector<std::size_t> models, std::vector<std::size_t> groups) {
  OverlapCondition condition{std::move(models), std::move(groups)};
  const std::vector<double> all = rates_of(plan, pool);
  std::vector<double> rates(all.size(), 0.0);
  for (const std::size_t m : condition.models) rates[m] = all[m];
  const auto reserve = quantile(window_demand(plan, resource, rates, plan.scale_time_s), plan.level);
  if (!reserve) return tl::unexpected(reserve.error());
  condition.reserve = *reserve;
  for (const std::size_t g : condition.groups) {
    condition.capacity += static_cast<double>(plan.groups[g].nodes) * plan.groups[g].capacity[resource];
  }
  return condition;
}

}  // namespace

Result<std::vector<OverlapCondition>> overlap_conditions(const FleetPlan& plan, std::size_t resource,
                                                         std::span<const std::size_t> pool) {
  const std::vector<std::size_t> models = models_of(plan, pool);
  if (models.size() > most_models) {
    return failure(
        fmt::format("a pool has {} models that overlap: allowed are up to {}, as every set of them is checked",
                    models.size(), most_models));
  }
  // More models on the same groups demand more of the same room: the largest set speaks for the others.
  std::map<std::vector<std::size_t>, std::vector<std::size_t>> largest;
  for (std::uint32_t set = 1; set < std::uint32_t{1} << models.size(); ++set) {
    std::vector<std::size_t> chosen;
    for (std::size_t i = 0; i < models.size(); ++i) {
      if ((set >> i & 1U) != 0) chosen.push_back(models[i]);
    }
    auto& kept = largest[serving(plan, pool, chosen)];
    if (chosen.size() > kept.size()) kept = std::move(chosen);
  }
  std::vector<OverlapCondition> conditions;
  for (auto& [groups, chosen] : largest) {
    auto condition = condition_of(plan, resource, pool, chosen, groups);
    if (!condition) return tl::unexpected(condition.error());
    conditions.push_back(std::move(*condition));
  }
  std::ranges::stable_sort(conditions, std::ranges::greater{}, &OverlapCondition::share);
  return conditions;
}

}  // namespace evenkeel::planning
