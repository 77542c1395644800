// What follows a refusal: retries with and without a budget, under one line and under floors in two parts.
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "report/chart.hpp"
#include "report/numbers.hpp"
#include "simulation/fleet_experiment.hpp"
#include "simulation/fleet_run.hpp"
#include "simulation/placement_designs.hpp"
#include "simulation/push_router.hpp"

namespace evenkeel::simulation {

namespace {

constexpr int workers = 32;
constexpr double end_s = 900;

struct Variant {
  std::string_view name;
  Floors floors;
  Retries retries;
  bool trigger;
  bool pull = false;
  bool published_trigger = false;
  double band_gb = 0.5574;
};
constexpr std::array variants = {
    Variant{"one line, no retries", Floors::published, Retries::none, false},
    Variant{"one line, no retries, trigger on the sum", Floors::published, Retries::none, true, false, true},
    Variant{"one line, unbounded retries", Floors::published, Retries::unbounded, false},
    Variant{"one line, retry budget", Floors::published, Retries::budget, false},
    Variant{"two parts, no retries", Floors::two_part, Retries::none, false},
    Variant{"two parts, unbounded retries", Floors::two_part, Retries::unbounded, false},
    Variant{"two parts, retry budget", Floors::two_part, Retries::budget, false},
    Variant{"two parts, retry budget, trigger, band 0.56 GB", Floors::two_part, Retries::budget, true},
    Variant{"two parts, retry budget, trigger, band 25 GB", Floors::two_part, Retries::budget, true, false, false, 25},
    Variant{"two parts, pull", Floors::two_part, Retries::none, false, true},
};

struct Outcome {
  double arrivals = 0;
  double placed = 0;
  double attempts = 0;
  double over = 0;
  Moments lowest_gb;
  double freezes = 0;
  double releases = 0;
  double refused_frozen = 0;
};

/// Tasks of at most 16,384 tokens; six times as many from 100 to 500 s.
planning::FleetPlan plan_of() {
  planning::FleetPlan plan = planning::splitwise_70b(workers, 0.334);
  plan.models[0].duration.cap_s = (16'384 - 1020) * 33 / 500.0;
  return plan;
}

void run_once(const Variant& variant, Random random, Outcome& out) {
  NodeRules rules;
  rules.floors = variant.floors;
  FleetWorld world(plan_of(), rules, {12, 1e300}, 1, random);
  FleetSchedule schedule;
  schedule.horizon_s = end_s;
  schedule.turn_s = 0.25;
  schedule.profile = {{0, 1}, {100, 6}, {500, 1}};
  std::unique_ptr<PlacementDesign> design;
  PushRouter* router = nullptr;
  if (variant.pull) {
    design = std::make_unique<LazyPull>(world, 1, 0.5, 30, random.split());
  } else {
    PushOptions options;
    options.debits = true;
    options.retries = variant.retries;
    options.trigger = variant.trigger;
    options.band_gb = variant.band_gb;
    options.published_trigger = variant.published_trigger;
    options.skips_short = false;  // every refusal is the node's, and costs an attempt
    auto push = std::make_unique<PushRouter>(world, options, random.split());
    router = push.get();
    design = std::move(push);
  }
  // Pulling workers are heard with every look into the backlog.
  if (variant.pull)
    schedule.each_turn = [&](double t) {
      for (std::size_t i = 0; i < world.size(); ++i) world.renew(i, t);
    };
  const FleetTally tally = FleetRun(world, {design.get()}, schedule, random).play();
  out.arrivals += static_cast<double>(tally.placed + tally.refused);
  out.placed += static_cast<double>(tally.placed);
  out.attempts += static_cast<double>(design->accounts().attempts);
  out.over += static_cast<double>(world.nodes_over());
  out.lowest_gb.add(world.lowest_headroom_gb());
  if (router == nullptr) return;
  out.freezes += static_cast<double>(router->trigger().freezes());
  out.releases += static_cast<double>(router->trigger().releases());
  out.refused_frozen += static_cast<double>(router->refused_frozen());
}

/// Places in `variants`.
enum Place : std::size_t {
  line,
  line_trigger,
  line_storm,
  line_budget,
  parts,
  parts_storm,
  parts_budget,
  parts_trigger,
  parts_wide_trigger,
  parts_pull
};

std::vector<Finding> findings_of(const std::vector<Outcome>& all, double trials) {
  const auto factor = [&](Place place) { return all[place].attempts / all[place].arrivals; };
  double most_over = 0;
  for (std::size_t place = parts; place < all.size(); ++place) most_over = std::max(most_over, all[place].over);
  const auto refused = [&](Place place) { return 1 - all[place].placed / all[place].arrivals; };
  return {
      {fmt::format(
           "Retries without end turn each task into {} attempts under one line and {} under floors in two parts; "
           "within the budget it is {} and {}.",
           report::fixed(factor(line_storm), 1), report::fixed(factor(parts_storm), 1),
           report::fixed(factor(line_budget), 3), report::fixed(factor(parts_budget), 3)),
       factor(line_storm) > 1.5 && factor(parts_storm) > 1.5 &&
           factor(line_budget) <= 1.1 + 3 * trials / all[line_budget].arrivals &&
           factor(parts_budget) <= 1.1 + 3 * trials / all[parts_budget].arrivals},
      {fmt::format("Under the one line {} of 32 workers a run go over their capacity, as what was admitted grows; with "
                   "floors in two parts, asked for 0.9999 at every admission, at most {} do.",
                   report::fixed(all[line].over / trials, 1), report::fixed(most_over / trials, 1)),
       most_over < 0.02 * all[line].over},
      {fmt::format(
           "Where each worker keeps 3.08 GB by itself, 98.56 GB in all, refusing alone cannot take the sum under the "
           "reserve of 48.90 GB: the published trigger on the raw sum fires only when what was admitted has grown "
           "into the lines ({} a run), with {} workers over their capacity by then or later.",
           report::fixed(all[line_trigger].freezes / trials, 1), report::fixed(all[line_trigger].over / trials, 1)),
       all[line_trigger].over > 0},
      {fmt::format(
           "The trigger on usable headroom turns {} of all tasks away before an attempt is made: {} attempts a task "
           "instead of {}. A band of one footprint flaps ({} freezes a run); one of 25 GB, half the reserve, "
           "freezes {} times.",
           report::percent(all[parts_trigger].refused_frozen / all[parts_trigger].arrivals),
           report::fixed(factor(parts_trigger), 3), report::fixed(factor(parts_budget), 3),
           report::fixed(all[parts_trigger].freezes / trials, 1),
           report::fixed(all[parts_wide_trigger].freezes / trials, 1)),
       factor(parts_trigger) < factor(parts_budget) &&
           all[parts_wide_trigger].freezes < all[parts_trigger].freezes / 2},
      {fmt::format(
           "Pulling makes {} attempts a task and needs no retries; it refuses {}, retries within the budget {}.",
           report::fixed(factor(parts_pull), 3), report::percent(refused(parts_pull)),
           report::percent(refused(parts_budget))),
       factor(parts_pull) <= 1},
  };
}

ExperimentResult refusals(const ExperimentRun& run) {
  std::vector<Outcome> all(variants.size());
  for (std::size_t i = 0; i < variants.size(); ++i) {
    for (std::int64_t k = 0; k < run.trials; ++k) {
      run_once(variants[i], Random(mix64(run.seed) + static_cast<std::uint64_t>(k)), all[i]);
      run.tell(static_cast<double>(i) + static_cast<double>(k + 1) / static_cast<double>(run.trials), variants.size());
    }
  }
  const auto trials = static_cast<double>(run.trials);
  ExperimentResult result;
  ExperimentTable table{"A surge of six times for 400 s",
                        "",
                        {"floors and retries", "attempts a task", "refused %", "workers over capacity",
                         "lowest headroom GB", "freezes", "releases", "refused frozen %"},
                        {}};
  report::BarChart chart;
  chart.title = "Attempts a task";
  chart.y = {""};
  chart.groups = {""};
  for (std::size_t i = 0; i < variants.size(); ++i) {
    const Outcome& o = all[i];
    table.rows.push_back({words(std::string(variants[i].name)), number(o.attempts / o.arrivals, 3),
                          number(100 * (1 - o.placed / o.arrivals), 1), number(o.over / trials, 1),
                          number(o.lowest_gb.mean(), 1), number(o.freezes / trials, 1), number(o.releases / trials, 1),
                          number(100 * o.refused_frozen / o.arrivals, 1)});
    result.figures.push_back({fmt::format("attempts_per_task_{}", i), o.attempts / o.arrivals});
    chart.series.emplace_back(variants[i].name);
    chart.values.push_back({o.attempts / o.arrivals});
  }
  result.tables = {std::move(table)};
  result.findings = findings_of(all, trials);
  result.picture = report::to_svg(chart);
  return result;
}

}  // namespace

FleetExperiment refusals_experiment() {
  return {
      "refusals",
      "Refusals, retries and the line of each worker",
      "32 workers of 31.80 GB, heavy tasks of at most 16,384 tokens that cannot be moved, six times as many from 100 "
      "to "
      "500 s. `One line`: a worker refuses what would leave it less than 3.08 GB. `Two parts`: it keeps what its own "
      "residents will still grow, with 0.9999, and what may be on the wire. The router samples two, with debits, and "
      "offers; a refusal brings the worker's state with it.",
      "runs of 15 minutes a row",
      3,
      refusals};
}

}  // namespace evenkeel::simulation
