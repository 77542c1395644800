#include "planning/reserve.hpp"

#include <algorithm>

namespace evenkeel::planning {

std::vector<std::vector<std::size_t>> pools_of(const FleetPlan& plan) {
  std::vector<std::size_t> pool(plan.groups.size());
  for (std::size_t g = 0; g < pool.size(); ++g) pool[g] = g;
  for (std::size_t m = 0; m < plan.models.size(); ++m) {
    std::size_t first = pool.size();
    for (std::size_t g = 0; g < pool.size(); ++g) {
      if (plan.groups[g].rate_per_node_s[m] == 0) continue;
      if (first == pool.size()) first = g;
      std::ranges::replace(pool, std::size_t{pool[g]}, std::size_t{pool[first]});
    }
  }
  std::vector<std::vector<std::size_t>> pools;
  for (std::size_t id = 0; id < pool.size(); ++id) {
    std::vector<std::size_t> members;
    for (std::size_t g = 0; g < pool.size(); ++g) {
      if (pool[g] == id) members.push_back(g);
    }
    if (!members.empty()) pools.push_back(std::move(members));
  }
  return pools;
}

std::vector<double> rates_of(const FleetPlan& plan, std::span<const std::size_t> groups) {
  std::vector<double> rates(plan.models.size(), 0.0);
  for (const std::size_t g : groups) {
    const Group& group = plan.groups[g];
    for (std::size_t m = 0; m < rates.size(); ++m)
      rates[m] += static_cast<double>(group.nodes) * group.rate_per_node_s[m];
  }
  return rates;
}

Result<Reserve> reserve_of(const FleetPlan& plan, std::size_t resource, std::span<const std::size_t> groups,
                           Evaluator evaluator) {
  Reserve result;
  for (const std::size_t g : groups) {
    const Group& group = plan.groups[g];
    const auto nodes = static_cast<double>(group.nodes);
    const auto one =
        quantile(window_demand(plan, resource, group.rate_per_node_s, plan.scale_time_s), plan.level, evaluator);
    if (!one) return tl::unexpected(one.error());
    result.nodes += group.nodes;
    result.capacity += nodes * group.capacity[resource];
    result.siloed += nodes * *one;
  }
  const Demand demand = window_demand(plan, resource, rates_of(plan, groups), plan.scale_time_s);
  const auto pooled = quantile(demand, plan.level, evaluator);
  if (!pooled) return tl::unexpected(pooled.error());
  const maths::Shape shape = demand.shape();
  result.arrivals = demand.count.mean();
  result.mean = shape.mean;
  result.sd = shape.sd;
  result.pooled = *pooled;
  result.evaluator = evaluator_for(demand, evaluator);
  result.step = demand.severity.step;
  return result;
}

}  // namespace evenkeel::planning
