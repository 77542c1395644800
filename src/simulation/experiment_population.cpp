// Tasks that can be moved and tasks that cannot, and where they gather.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "report/chart.hpp"
#include "report/numbers.hpp"
#include "simulation/fleet_experiment.hpp"
#include "simulation/fleet_run.hpp"
#include "simulation/push_router.hpp"

namespace evenkeel::simulation {

namespace {

constexpr int workers = 32;
constexpr double hour_s = 3600;

struct Rule {
  std::string_view name;
  redline::PopulationRule rule;
  double on;
  double off;
};
constexpr std::array rules = {
    Rule{"none", redline::PopulationRule::none, 0.6, 0.3},
    Rule{"symmetric, band 0.30 to 0.60", redline::PopulationRule::symmetric, 0.6, 0.3},
    Rule{"asymmetric, band 0.30 to 0.60", redline::PopulationRule::asymmetric, 0.6, 0.3},
    Rule{"asymmetric, band 0.55 to 0.60", redline::PopulationRule::asymmetric, 0.6, 0.55},
};

struct Outcome {
  Moments share;               ///< immortal share of a worker, looked at every 10 s
  Moments movable_gb;          ///< what could be moved, of a worker
  Moments movable_if_full_gb;  ///< the same of workers with an immortal share of 0.6 and more
  Moments headroom_sd_gb;      ///< over the workers at one instant
  double stuck = 0;            ///< share of looks at which a worker has nothing that could be moved
  double heavy = 0;            ///< share of looks with an immortal share of 0.6 and more
  double looks = 0;
  double flips_per_hour = 0;  ///< of all workers
  double refused = 0;
  double arrivals = 0;
};

/// Tasks of at most 16,384 tokens at twice the baseline rate, half of them immortal.
planning::FleetPlan plan_of() {
  planning::FleetPlan plan = planning::splitwise_70b(workers, 0.334);
  plan.models[0].duration.cap_s = (16'384 - 1020) * 33 / 500.0;
  plan.groups[0].rate_per_node_s[0] *= 2;
  return plan;
}

void look(const FleetWorld& world, Outcome& out) {
  Moments headroom;
  for (std::size_t i = 0; i < world.size(); ++i) {
    const MemoryNode& node = world.node(i);
    const double share = node.immortal_share();
    const double movable = node.used_gb() * (1 - share);
    out.share.add(share);
    out.movable_gb.add(movable);
    headroom.add(node.headroom_gb());
    out.looks += 1;
    if (movable <= 0) out.stuck += 1;
    if (share >= 0.6) {
      out.heavy += 1;
      out.movable_if_full_gb.add(movable);
    }
  }
  out.headroom_sd_gb.add(headroom.sd());
}

Outcome run_rule(const Rule& rule, const ExperimentRun& run, double done) {
  Random random(run.seed);
  NodeRules node_rules;
  node_rules.floors = Floors::published;
  FleetWorld world(plan_of(), node_rules, {}, 0.5, random);
  PushOptions options;
  options.telemetry_s = 1;
  options.debits = true;
  options.population = rule.rule;
  options.population_on = rule.on;
  options.population_off = rule.off;
  PushRouter router(world, options, random.split());
  Outcome out;
  FleetSchedule schedule;
  schedule.horizon_s = static_cast<double>(run.trials) * hour_s;
  schedule.turn_s = 1;
  schedule.immortal_probability = 0.5;
  std::int64_t turns = 0;
  schedule.each_turn = [&](double t) {
    if (++turns % 10 == 0) look(world, out);
    if (turns % 600 == 0) run.tell(done + t / schedule.horizon_s, static_cast<double>(rules.size()));
  };
  const FleetTally tally = FleetRun(world, {&router}, schedule, random).play();
  out.flips_per_hour = static_cast<double>(router.population_flips()) / static_cast<double>(run.trials);
  out.refused = static_cast<double>(tally.refused);
  out.arrivals = static_cast<double>(tally.arrivals);
  return out;
}

ExperimentTable table_of(const std::vector<Outcome>& all) {
  ExperimentTable table{
      "Where the immortal gather",
      "Shares of memory; looked at every 10 s. A worker is stuck while it holds nothing that could be "
      "moved.",
      {"rule", "immortal share, mean", "SD", "at 0.6 and more, % of the time", "movable there, GB",
       "stuck, % of the time", "flips an hour", "SD of headroom, GB", "refused %"},
      {}};
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const Outcome& o = all[i];
    table.rows.push_back({words(std::string(rules[i].name)), number(o.share.mean(), 3), number(o.share.sd(), 3),
                          number(100 * o.heavy / o.looks, 1), number(o.movable_if_full_gb.mean(), 2),
                          number(100 * o.stuck / o.looks, 3), number(o.flips_per_hour, 1),
                          number(o.headroom_sd_gb.mean(), 2), number(100 * o.refused / o.arrivals, 2)});
  }
  return table;
}

ExperimentResult population(const ExperimentRun& run) {
  std::vector<Outcome> all;
  for (const Rule& rule : rules) all.push_back(run_rule(rule, run, static_cast<double>(all.size())));
  ExperimentResult result;
  const auto& [none, symmetric, wide, narrow] = std::tie(all[0], all[1], all[2], all[3]);
  const auto heavy = [](const Outcome& o) { return o.heavy / o.looks; };
  result.findings = {
      {fmt::format(
           "Without a rule workers stand at an immortal share of 0.6 and more for {} of the time; the asymmetric "
           "rule makes that {}.",
           report::percent(heavy(none)), report::percent(heavy(wide))),
       heavy(wide) < heavy(none)},
      {fmt::format(
           "The asymmetric rule keeps more there that could be moved than the symmetric one: {} against {} GB; it "
           "spreads the shares less (SD {} against {}).",
           report::fixed(wide.movable_if_full_gb.mean(), 2), report::fixed(symmetric.movable_if_full_gb.mean(), 2),
           report::fixed(wide.share.sd(), 3), report::fixed(symmetric.share.sd(), 3)),
       wide.movable_if_full_gb.mean() > symmetric.movable_if_full_gb.mean() && wide.share.sd() < symmetric.share.sd()},
      {fmt::format("A band as narrow as a departure's jump flips {} times an hour in the fleet, one of 0.30 {} times.",
                   report::fixed(narrow.flips_per_hour, 1), report::fixed(wide.flips_per_hour, 1)),
       narrow.flips_per_hour > 1.5 * wide.flips_per_hour},
      {fmt::format("The symmetric rule starves whom it avoids: headroom differs by {} GB between workers, {} without a "
                   "rule, {} with the asymmetric one.",
                   report::fixed(symmetric.headroom_sd_gb.mean(), 2), report::fixed(none.headroom_sd_gb.mean(), 2),
                   report::fixed(wide.headroom_sd_gb.mean(), 2)),
       symmetric.headroom_sd_gb.mean() > none.headroom_sd_gb.mean()},
  };
  for (std::size_t i = 0; i < rules.size(); ++i) {
    result.figures.push_back({fmt::format("rule_{}_flips_per_hour", i), all[i].flips_per_hour});
    result.figures.push_back({fmt::format("rule_{}_time_at_high_share", i), heavy(all[i])});
  }
  result.tables = {table_of(all)};
  report::BarChart chart;
  chart.title = "Workers at an immortal share of 0.6 and more";
  chart.y = {"% of the time"};
  chart.groups = {""};
  for (std::size_t i = 0; i < rules.size(); ++i) {
    chart.series.emplace_back(rules[i].name);
    chart.values.push_back({100 * heavy(all[i])});
  }
  result.picture = report::to_svg(chart);
  return result;
}

}  // namespace

FleetExperiment population_experiment() {
  return {
      "population",
      "Tasks that cannot be moved, and where they gather",
      "32 workers of 31.80 GB; heavy tasks of at most 16,384 tokens come at twice the baseline rate, and half of them "
      "can neither be moved nor repeated. The router samples two and takes the larger headroom fraction after the "
      "admission. The symmetric rule takes 0.1 times the immortal share off a worker of which the share has reached "
      "0.6, for all who come; the asymmetric one only for those that cannot be moved, and adds 0.02 for the others. A "
      "worker's switch stays on until its share has fallen to the lower end of the band.",
      "hours a rule",
      24,
      population};
}

}  // namespace evenkeel::simulation
