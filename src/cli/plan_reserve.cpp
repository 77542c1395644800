#include "cli/plan_reserve.hpp"

#include <cmath>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>
#include <boost/json.hpp>
#include <fmt/format.h>

#include "cli/plan_source.hpp"
#include "planning/fleet_reserve.hpp"
#include "planning/level.hpp"
#include "report/numbers.hpp"
#include "report/table.hpp"

namespace evenkeel::cli {

namespace {

namespace json = boost::json;

struct ReserveFlags : PlanSource {};

struct Answer {
  planning::FleetPlan plan;
  std::vector<planning::FleetReserve> resources;  ///< as the plan has them
};

Result<Answer> compute(const ReserveFlags& flags) {
  Answer answer;
  auto plan = flags.read();
  if (!plan) return tl::unexpected(plan.error());
  answer.plan = std::move(*plan);
  const auto evaluator = flags.read_evaluator();
  if (!evaluator) return tl::unexpected(evaluator.error());
  for (std::size_t r = 0; r < answer.plan.resources.size(); ++r) {
    auto reserve = planning::fleet_reserve(answer.plan, r, *evaluator);
    if (!reserve) return tl::unexpected(reserve.error());
    answer.resources.push_back(std::move(*reserve));
  }
  return answer;
}

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

json::object pool_json(const planning::FleetPlan& plan, const planning::FleetReserve& of, std::size_t pool,
                       const std::string& unit) {
  json::object out;
  json::array groups;
  for (const std::size_t g : of.pools[pool]) groups.emplace_back(plan.groups[g].name);
  out["groups"] = std::move(groups);
  add_numbers(out, of.by_pool[pool], unit);
  return out;
}

std::string to_json(const Answer& answer) {
  const planning::FleetReserve& memory = answer.resources.front();
  json::object out;
  add_numbers(out, memory.total, "_gb");
  out["level"] = answer.plan.level;
  out["scale_time_s"] = answer.plan.scale_time_s;
  out["correlation"] = answer.plan.correlation;
  if (answer.plan.sequence_gb > 0) out["sequences"] = memory.total.saving() / answer.plan.sequence_gb;
  json::object provenance;
  for (const auto& [number, words] : memory.provenance(answer.plan)) {
    const bool bare = number == "share" || number == "excess_sd" || number == "floor_share";
    provenance[bare ? number : number + "_gb"] = words;
  }
  out["provenance"] = std::move(provenance);
  json::array resources;
  for (std::size_t r = 0; r < answer.resources.size(); ++r) {
    json::array pools;
    const planning::FleetReserve& of = answer.resources[r];
    for (std::size_t p = 0; p < of.pools.size(); ++p)
      pools.emplace_back(pool_json(answer.plan, of, p, r == 0 ? "_gb" : ""));
    resources.emplace_back(json::object{{"resource", of.resource}, {"pools", std::move(pools)}});
  }
  out["resources"] = std::move(resources);
  return json::serialize(out) + "\n";
}

std::string gb(double value) {
  const double rounded = std::round(value * 100) / 100;
  const double whole = std::floor(rounded);
  return report::grouped(static_cast<std::int64_t>(whole)) + report::fixed(rounded - whole, 2).substr(1);
}

std::string share_of(double share) { return fmt::format("{:.2f} %", 100 * share); }

/// The line to act on.
std::string headline(const Answer& answer) {
  const planning::Reserve& memory = answer.resources.front().total;
  std::string line = fmt::format("reserve {} GB of {} GB = {}; siloed would be {} GB", gb(memory.pooled),
                                 gb(memory.capacity), share_of(memory.share()), gb(memory.siloed));
  if (answer.plan.sequence_gb > 0 && memory.nodes > 1) {
    const auto sequences = static_cast<std::int64_t>(memory.saving() / answer.plan.sequence_gb);
    line += fmt::format("; frees room for {} sequences", report::grouped(sequences));
  }
  return line + "\n";
}

std::string names_of(const planning::FleetPlan& plan, const std::vector<std::size_t>& groups) {
  std::string names;
  for (const std::size_t g : groups) names += (names.empty() ? "" : "+") + plan.groups[g].name;
  return names;
}

std::string table_of(const Answer& answer) {
  report::Table table({{"resource", report::Align::left},
                       {"pool", report::Align::left},
                       {"nodes"},
                       {"capacity"},
                       {"reserve"},
                       {"share"},
                       {"siloed"},
                       {"saving"},
                       {"mean"},
                       {"sd"},
                       {"excess/sd"},
                       {"floor"}});
  for (const auto& of : answer.resources) {
    for (std::size_t p = 0; p < of.pools.size(); ++p) {
      const planning::Reserve& reserve = of.by_pool[p];
      table.add_row({of.resource, names_of(answer.plan, of.pools[p]), report::grouped(reserve.nodes),
                     gb(reserve.capacity), gb(reserve.pooled), share_of(reserve.share()), gb(reserve.siloed),
                     gb(reserve.saving()), gb(reserve.mean), gb(reserve.sd), report::fixed(reserve.excess_sd(), 3),
                     share_of(reserve.floor_share())});
    }
  }
  return table.text();
}

std::string to_text(const Answer& answer) {
  std::string out = headline(answer) + "\n" + table_of(answer);
  const planning::FleetPlan& plan = answer.plan;
  out += fmt::format("\nlevel {:.6g}: with windows of {:g} s one after the other, {:.3g} a month exceed the reserve\n",
                     plan.level, plan.scale_time_s, planning::breaches_per_month(plan.level, plan.scale_time_s));
  for (const auto& [number, words] : answer.resources.front().provenance(plan)) {
    out += fmt::format("{}: {}\n", number, words);
  }
  return out;
}

int reserve(const ReserveFlags& flags) {
  const auto answer = compute(flags);
  if (!answer) {
    fmt::print(stderr, "evenkeel plan reserve: {}\n", answer.error().message);
    return 2;
  }
  fmt::print("{}", flags.json ? to_json(*answer) : to_text(*answer));
  return 0;
}

}  // namespace

void add_plan_reserve(CLI::App& plan, int& exit_code) {
  CLI::App* const command =
      plan.add_subcommand("reserve", "how much must stay free for what may arrive until new capacity is there");
  auto flags = std::make_shared<ReserveFlags>();
  flags->add_to(*command);
  command->footer("Exit codes: 0 fine, 2 usage or a plan that is refused.");
  command->callback([flags, &exit_code] { exit_code = reserve(*flags); });
}

}  // namespace evenkeel::cli
