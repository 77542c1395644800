#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/plan_answer.hpp"

namespace evenkeel::cli {

namespace {

namespace json = boost::json;
using planning::FleetPlan;

/// The numbers of one reserve; `unit` ends the names of those that have one.
void add_numbers(json::object& out, const planning::Reserve& reserve, const std::string& unit) {
  out["nodes"] = reserve.nodes;
  out["pooled" + unit] = reserve.pooled;
  out["siloed" + unit] = reserve.siloed;
  out["saving" + unit] = reserve.saving();
  out["share"] = reserve.share();
  out["mean" + unit] = reserve.mean;
  out["sd" + unit] = reserve.sd;
  out["excess_sd"] = reserve.excess_sd();
  out["floor_share"] = reserve.floor_share();
  out["capacity" + unit] = reserve.capacity;
  out["arrivals"] = reserve.arrivals;
  out["evaluator"] = planning::name_of(reserve.evaluator);
  out["lattice_step"] = reserve.step;
}

json::array names_of(const FleetPlan& plan, const std::vector<std::size_t>& groups) {
  json::array names;
  for (const std::size_t g : groups) names.emplace_back(plan.groups[g].name);
  return names;
}

json::object to_set_json(const planning::ToSet& set, const std::string& unit) {
  return {{"reserve" + unit, set.total()},
          {"arrivals" + unit, set.arrivals},
          {"resident_growth" + unit, set.resident_growth}};
}

json::array overlap_json(const FleetPlan& plan, const std::vector<planning::OverlapCondition>& conditions,
                         const std::string& unit) {
  json::array out;
  for (const auto& condition : conditions) {
    json::array models;
    for (const std::size_t m : condition.models) models.emplace_back(plan.models[m].name);
    out.emplace_back(json::object{{"models", std::move(models)},
                                  {"groups", names_of(plan, condition.groups)},
                                  {"reserve" + unit, condition.reserve},
                                  {"capacity" + unit, condition.capacity},
                                  {"share", condition.share()}});
  }
  return out;
}

json::object net_change_json(const planning::NetChange& change) {
  return {{"at_close_gb", change.at_close}, {"no_departures_gb", change.no_departures}, {"lattice_step", change.step}};
}

json::object drawn_json(const planning::Drawn& drawn) {
  return {{"value_gb", drawn.value}, {"low_gb", drawn.low}, {"high_gb", drawn.high}};
}

json::object pool_json(const ReserveAnswer& answer, const ResourceAnswer& of, std::size_t p, const std::string& unit) {
  const FleetPlan& plan = answer.plan;
  const PoolAnswer& pool = of.pools[p];
  json::object out{{"groups", names_of(plan, of.reserve.pools[p])}};
  add_numbers(out, of.reserve.by_pool[p], unit);
  out["to_set"] = to_set_json(pool.to_set, unit);
  if (!pool.overlap.empty()) out["overlap"] = overlap_json(plan, pool.overlap, unit);
  if (pool.windows) {
    json::array windows;
    for (const auto& reading : *pool.windows) {
      windows.emplace_back(json::object{{"reading", reading.name},
                                        {"open_nodes", reading.open_nodes},
                                        {"mean_gb", reading.mean},
                                        {"reserve_gb", reading.reserve}});
    }
    out["windows"] = std::move(windows);
  }
  if (pool.net_change) out["net_change"] = net_change_json(*pool.net_change);
  if (pool.cheapest) {
    out["cheapest"] = {
        {"reserve_gb", pool.cheapest->reserve}, {"level", pool.cheapest->level}, {"cost", pool.cheapest->cost}};
  }
  return out;
}

json::object loss_json(const FleetPlan& plan, std::size_t group, const planning::LossReading& loss) {
  json::object by_model;
  for (std::size_t m = 0; m < plan.models.size(); ++m) {
    if (plan.groups[group].rate_per_node_s[m] > 0) by_model[plan.models[m].name] = loss.blocked_by_model[m];
  }
  return {{"tasks_that_fit", loss.tasks_that_fit},
          {"offered_erlang", loss.offered},
          {"blocked", loss.blocked},
          {"occupied_without_loss", loss.occupied_free},
          {"occupied", loss.occupied},
          {"blocked_by_model", std::move(by_model)}};
}

json::object worker_json(const ReserveAnswer& answer, const ResourceAnswer& of, std::size_t g,
                         const std::string& unit) {
  const WorkerAnswer& worker = of.workers[g];
  json::object out{{"group", answer.plan.groups[g].name}};
  out["floor"] = {{"growth" + unit, worker.floor.growth},
                  {"on_the_wire" + unit, worker.floor.on_the_wire},
                  {"siloed" + unit, worker.floor.siloed}};
  if (worker.net_change) out["net_change"] = net_change_json(*worker.net_change);
  if (worker.standing) {
    out["standing"] = {{"mean_gb", worker.standing->mean},
                       {"median_gb", worker.standing->median},
                       {"at_level_gb", worker.standing->at_level},
                       {"over_capacity", worker.standing->over_capacity},
                       {"short_of_siloed", worker.standing->short_of}};
  }
  if (worker.maximum) {
    out["running_maximum"] = {{"all", drawn_json(worker.maximum->all)},
                              {"no_arrivals", drawn_json(worker.maximum->no_arrivals)},
                              {"covered_by_siloed", worker.maximum->covered},
                              {"paths", answer.questions.paths},
                              {"seed", answer.questions.seed}};
  }
  if (worker.loss) out["loss"] = loss_json(answer.plan, g, *worker.loss);
  return out;
}

json::object resource_json(const ReserveAnswer& answer, std::size_t r) {
  const ResourceAnswer& of = answer.resources[r];
  const std::string unit = r == 0 ? "_gb" : "";
  json::array pools;
  for (std::size_t p = 0; p < of.pools.size(); ++p) pools.emplace_back(pool_json(answer, of, p, unit));
  json::array workers;
  for (std::size_t g = 0; g < of.workers.size(); ++g) workers.emplace_back(worker_json(answer, of, g, unit));
  return {{"resource", of.reserve.resource}, {"pools", std::move(pools)}, {"workers", std::move(workers)}};
}

json::array footprints_json(const FleetPlan& plan) {
  json::array out;
  for (std::size_t m = 0; m < plan.models.size(); ++m) {
    json::object readings{{"model", plan.models[m].name}};
    for (const auto& reading : planning::footprint_readings(plan, 0, m)) {
      readings[std::string(reading.name) + "_gb"] = reading.held;
    }
    out.emplace_back(std::move(readings));
  }
  return out;
}

/// Names of the provenance are those of the keys.
json::object provenance_json(const ReserveAnswer& answer) {
  json::object out;
  for (const auto& [number, words] : answer.resources.front().reserve.provenance(answer.plan)) {
    const bool bare = number == "share" || number == "excess_sd" || number == "floor_share";
    out[bare ? number : number + "_gb"] = words;
  }
  for (const auto& [name, words] : details_provenance(answer)) out[name] = words;
  return out;
}

}  // namespace

std::string to_json(const ReserveAnswer& answer) {
  const ResourceAnswer& memory = answer.resources.front();
  json::object out;
  add_numbers(out, memory.reserve.total, "_gb");
  out["level"] = answer.plan.level;
  out["scale_time_s"] = answer.plan.scale_time_s;
  out["correlation"] = answer.plan.correlation;
  out["staleness_s"] = answer.plan.staleness_s;
  out["correlated_share"] = answer.plan.correlated_share;
  out["form"] = answer.questions.published ? "published" : "corrected";
  if (answer.plan.sequence_gb > 0) out["sequences"] = memory.reserve.total.saving() / answer.plan.sequence_gb;
  planning::ToSet set;
  for (const auto& pool : memory.pools) {
    set.arrivals += pool.to_set.arrivals;
    set.resident_growth += pool.to_set.resident_growth;
  }
  out["to_set"] = to_set_json(set, "_gb");
  out["provenance"] = provenance_json(answer);
  if (answer.questions.footprints) out["footprints"] = footprints_json(answer.plan);
  json::array resources;
  for (std::size_t r = 0; r < answer.resources.size(); ++r) resources.emplace_back(resource_json(answer, r));
  out["resources"] = std::move(resources);
  return json::serialize(out) + "\n";
}

}  // namespace evenkeel::cli
