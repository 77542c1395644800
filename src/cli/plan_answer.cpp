#include "cli/plan_answer.hpp"

#include <utility>

namespace evenkeel::cli {

namespace {

using planning::FleetPlan;

bool serve_the_same(const FleetPlan& plan, const std::vector<std::size_t>& groups) {
  for (const std::size_t g : groups) {
    for (std::size_t m = 0; m < plan.models.size(); ++m) {
      const bool here = plan.groups[g].rate_per_node_s[m] > 0;
      if (here != (plan.groups[groups.front()].rate_per_node_s[m] > 0)) return false;
    }
  }
  return true;
}

Result<PoolAnswer> pool_answer(const FleetPlan& plan, std::size_t resource, const std::vector<std::size_t>& groups,
                               const planning::Reserve& reserve, const ReserveQuestions& questions) {
  PoolAnswer result;
  if (questions.published) {
    result.to_set.arrivals = reserve.pooled;
  } else {
    const auto set = planning::reserve_to_set(plan, resource, groups);
    if (!set) return tl::unexpected(set.error());
    result.to_set = *set;
  }
  if (!serve_the_same(plan, groups)) {
    auto overlap = planning::overlap_conditions(plan, resource, groups);
    if (!overlap) return tl::unexpected(overlap.error());
    result.overlap = std::move(*overlap);
  }
  if (resource > 0) return result;
  if (questions.windows) result.windows = planning::window_readings(plan, resource, groups);
  if (questions.standing) result.net_change = planning::net_change(plan, resource, planning::rates_of(plan, groups));
  if (questions.costs) {
    const auto cheapest = planning::cheapest_reserve(plan, resource, groups, *questions.costs);
    if (!cheapest) return tl::unexpected(cheapest.error());
    result.cheapest = *cheapest;
  }
  return result;
}

Result<WorkerAnswer> worker_answer(const FleetPlan& plan, std::size_t resource, std::size_t group,
                                   const ReserveQuestions& questions) {
  WorkerAnswer result;
  const auto floor = planning::local_floor(plan, resource, group);
  if (!floor) return tl::unexpected(floor.error());
  result.floor = *floor;
  if (questions.published) result.floor.growth = result.floor.on_the_wire = 0;
  if (resource > 0) return result;
  const std::vector<double>& rates = plan.groups[group].rate_per_node_s;
  if (questions.standing) {
    result.net_change = planning::net_change(plan, resource, rates);
    result.standing = planning::standing(plan, resource, group, floor->siloed);
  }
  if (questions.maximum) {
    const auto maximum =
        planning::running_maximum(plan, resource, rates, floor->siloed, questions.paths, questions.seed);
    if (!maximum) return tl::unexpected(maximum.error());
    result.maximum = *maximum;
  }
  if (questions.loss) result.loss = planning::loss_reading(plan, resource, group);
  return result;
}

Result<ResourceAnswer> resource_answer(const FleetPlan& plan, std::size_t resource, const ReserveQuestions& questions) {
  ResourceAnswer result;
  auto reserve = planning::fleet_reserve(plan, resource, questions.evaluator);
  if (!reserve) return tl::unexpected(reserve.error());
  result.reserve = std::move(*reserve);
  for (std::size_t p = 0; p < result.reserve.pools.size(); ++p) {
    auto pool = pool_answer(plan, resource, result.reserve.pools[p], result.reserve.by_pool[p], questions);
    if (!pool) return tl::unexpected(pool.error());
    result.pools.push_back(std::move(*pool));
  }
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    auto worker = worker_answer(plan, resource, g, questions);
    if (!worker) return tl::unexpected(worker.error());
    result.workers.push_back(std::move(*worker));
  }
  return result;
}

}  // namespace

Result<ReserveAnswer> answer(planning::FleetPlan plan, const ReserveQuestions& questions) {
  ReserveAnswer result{std::move(plan), questions, {}};
  for (std::size_t r = 0; r < result.plan.resources.size(); ++r) {
    auto resource = resource_answer(result.plan, r, questions);
    if (!resource) return tl::unexpected(resource.error());
    result.resources.push_back(std::move(*resource));
  }
  return result;
}

}  // namespace evenkeel::cli
