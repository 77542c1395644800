// All mechanisms of the redline together, and each subset of them.
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

constexpr int workers = 8;
constexpr double end_s = 1000;
constexpr double surge_from_s = 200;
constexpr double surge_to_s = 600;
constexpr double cut_from_s = 350;
constexpr double cut_to_s = 450;
constexpr double lease_s = 3;

enum Mechanism : unsigned { debits, two_part_floors, trigger, retries, population, emergency, local_leases };
constexpr std::array<std::string_view, 7> names = {"debits",
                                                   "two-part floors (off: one line)",
                                                   "aggregate trigger",
                                                   "retry budget",
                                                   "population rule",
                                                   "emergency channel",
                                                   "leases run out (off: never)"};
constexpr unsigned subsets = 1U << names.size();

[[nodiscard]] bool on(unsigned subset, Mechanism which) { return (subset >> which & 1U) != 0; }

struct Outcome {
  double arrivals = 0;
  double placed = 0;
  double attempts = 0;
  double over = 0;  ///< workers over capacity at any time
  double lowest_gb = 0;
  double moved = 0;
  double frozen_s = 0;
  double immortals_moved = 0;
  double on_two_nodes = 0;
  double waves_that_won = 0;
  double wrong_floors = 0;  ///< looks at which a worker's floor did not fit its lease

  [[nodiscard]] double refused_share() const { return arrivals > 0 ? 1 - placed / arrivals : 0; }
};

/// Tasks of at most 8,192 tokens: what is resident takes a fifth of memory, and in a surge of eight times all of it.
planning::FleetPlan plan_of() {
  planning::FleetPlan plan = planning::splitwise_70b(workers, 0.334);
  plan.models[0].duration.cap_s = (8192 - 1020) * 33 / 500.0;
  return plan;
}

PushOptions options_of(unsigned subset) {
  PushOptions options;
  options.debits = on(subset, debits);
  options.trigger = on(subset, trigger);
  options.retries = on(subset, retries) ? Retries::budget : Retries::none;
  options.population = on(subset, population) ? redline::PopulationRule::asymmetric : redline::PopulationRule::none;
  options.telemetry_s = 0.5;
  return options;
}

NodeRules rules_of(unsigned subset) {
  NodeRules rules;
  rules.floors = on(subset, two_part_floors) ? Floors::two_part : Floors::published;
  rules.emergency = on(subset, emergency);
  rules.lease_s = on(subset, local_leases) ? lease_s : 1e6;
  return rules;
}

/// Leases by what the experiment itself has cut, against what the workers keep free: one that was cut off for longer
/// than its lease must be alone, one that was not must be pooled.
double wrong_floors(const FleetWorld& world, bool leases, double t) {
  const bool alone = leases && t > cut_from_s + lease_s + 0.6 && t < cut_to_s;
  const bool unsure = t > cut_from_s && t < cut_to_s + 0.6 && !alone;  // reports come every half second
  if (unsure && leases) return 0;
  double wrong = 0;
  for (std::size_t i = 0; i < world.size(); ++i) {
    const bool cut = alone && i < workers / 4;
    if ((world.mode(i, t) == redline::LeaseMode::siloed) != cut) ++wrong;
  }
  return wrong;
}

Outcome run_subset(unsigned subset, bool probes, Random random) {
  FleetWorld world(plan_of(), rules_of(subset), {}, 0.5, random);
  double now = 0;
  // A quarter of the workers are cut off in the middle of the surge.
  const auto passes = [&](std::size_t node) { return now < cut_from_s || now >= cut_to_s || node >= workers / 4; };
  PushOptions options = options_of(subset);
  options.probes = probes;
  PushRouter router(world, options, random.split(), {passes, passes});
  Outcome out;
  FleetSchedule schedule;
  schedule.horizon_s = end_s;
  schedule.turn_s = 0.25;
  schedule.immortal_probability = 0.5;
  schedule.profile = {{0, 1}, {surge_from_s, 8}, {surge_to_s, 1}};
  schedule.each_turn = [&](double t) {
    now = t;
    out.wrong_floors += wrong_floors(world, on(subset, local_leases), t);
  };
  const FleetTally tally = FleetRun(world, {&router}, schedule, random).play();
  out.arrivals = static_cast<double>(tally.arrivals);
  out.placed = static_cast<double>(tally.placed);
  out.attempts = static_cast<double>(router.accounts().attempts);
  out.over = static_cast<double>(world.nodes_over());
  out.lowest_gb = world.lowest_headroom_gb();
  out.moved = static_cast<double>(world.books().moved);
  out.frozen_s = router.frozen_s();
  out.immortals_moved = static_cast<double>(world.books().immortals_moved);
  out.on_two_nodes = static_cast<double>(world.books().on_two_nodes);
  out.waves_that_won = static_cast<double>(router.waves_that_won());
  return out;
}

using All = std::vector<std::vector<Outcome>>;  ///< [subset][trial]

/// Mean over all runs of the subsets that `wanted` accepts.
template <class Wanted, class Value>
double mean_of(const All& all, Wanted wanted, Value value) {
  Moments moments;
  for (unsigned subset = 0; subset < subsets; ++subset) {
    if (!wanted(subset)) continue;
    for (const Outcome& each : all[subset]) moments.add(value(each));
  }
  return moments.mean();
}

ExperimentTable effects_table(const All& all) {
  ExperimentTable table{"What each mechanism changes",
                        "Means over all subsets of the others, without and with it.",
                        {"mechanism", "workers over capacity, without", "with", "refused %, without", "with",
                         "attempts a task, without", "with", "lowest headroom GB, without", "with"},
                        {}};
  for (unsigned m = 0; m < names.size(); ++m) {
    const auto mechanism = static_cast<Mechanism>(m);
    std::vector<Cell> row = {words(std::string(names[m]))};
    const auto add = [&](auto value, int decimals) {
      for (const bool with : {false, true}) {
        row.push_back(number(mean_of(
                                 all, [&](unsigned s) { return on(s, mechanism) == with; }, value),
                             decimals));
      }
    };
    add([](const Outcome& o) { return o.over; }, 2);
    add([](const Outcome& o) { return 100 * o.refused_share(); }, 1);
    add([](const Outcome& o) { return o.attempts / o.arrivals; }, 3);
    add([](const Outcome& o) { return o.lowest_gb; }, 2);
    table.rows.push_back(std::move(row));
  }
  return table;
}

ExperimentTable subsets_table(const All& all) {
  ExperimentTable table{"Some subsets",
                        "",
                        {"mechanisms", "workers over capacity", "lowest headroom GB", "refused %", "attempts a task",
                         "frozen s", "moved"},
                        {}};
  const auto add = [&](std::string name, unsigned subset) {
    const auto mean = [&](auto value) {
      return mean_of(
          all, [&](unsigned s) { return s == subset; }, value);
    };
    table.rows.push_back({words(std::move(name)), number(mean([](const Outcome& o) { return o.over; }), 2),
                          number(mean([](const Outcome& o) { return o.lowest_gb; }), 2),
                          number(mean([](const Outcome& o) { return 100 * o.refused_share(); }), 1),
                          number(mean([](const Outcome& o) { return o.attempts / o.arrivals; }), 3),
                          number(mean([](const Outcome& o) { return o.frozen_s; }), 0),
                          number(mean([](const Outcome& o) { return o.moved; }), 1)});
  };
  add("none", 0);
  for (unsigned m = 0; m < names.size(); ++m) add(fmt::format("only: {}", names[m]), 1U << m);
  for (unsigned m = 0; m < names.size(); ++m) add(fmt::format("all but: {}", names[m]), (subsets - 1) ^ (1U << m));
  add("all", subsets - 1);
  return table;
}

double sum_of(const All& all, double Outcome::*value) {
  double sum = 0;
  for (const auto& runs : all) {
    for (const Outcome& each : runs) sum += each.*value;
  }
  return sum;
}

/// The most that a run's attempts are over 1.1 times its first ones; the bucket holds three tokens at most.
double worst_amplification(const All& all) {
  double worst = 0;
  for (const auto& runs : all) {
    for (const Outcome& each : runs) worst = std::max(worst, (each.attempts - 3) / each.arrivals);
  }
  return worst;
}

/// How often a worker in an eviction wave won a comparison that it should have lost: on reports, and where each of the
/// sampled is asked anew, without and with the population rule.
struct Waves {
  double probed = 0;
  double probed_with_population = 0;
};

Waves count_waves(const ExperimentRun& run) {
  Waves waves;
  for (unsigned subset = 0; subset < subsets; ++subset) {
    if (!on(subset, emergency)) continue;
    const Outcome one = run_subset(subset, true, Random(mix64(run.seed)));
    (on(subset, population) ? waves.probed_with_population : waves.probed) += one.waves_that_won;
  }
  return waves;
}

Finding wave_finding(const All& all, const Waves& waves) {
  return {fmt::format(
              "A worker in an eviction wave that tells its current headroom never wins against a sampled one with "
              "more, if the sampled are asked anew ({} times). On reports of up to half a second it did so {} times "
              "in {} choices, and with the population rule {} times even asked anew: a bias is stronger than "
              "little headroom.",
              report::fixed(waves.probed, 0), report::fixed(sum_of(all, &Outcome::waves_that_won), 0),
              report::short_number(sum_of(all, &Outcome::attempts)), report::fixed(waves.probed_with_population, 0)),
          waves.probed == 0};
}

std::vector<Finding> findings_of(const All& all, const Waves& waves) {
  const auto floors = [](unsigned s) { return on(s, two_part_floors); };
  const auto value = [](const Outcome& o) { return o.over; };
  const double with = mean_of(all, floors, value);
  const double without = mean_of(
      all, [&](unsigned s) { return !floors(s); }, value);
  const auto violations = [&](double Outcome::*what) { return report::fixed(sum_of(all, what), 0); };
  return {
      {fmt::format(
           "In all {} subsets no immortal task was moved ({}), no task stood on two workers ({}), no lease said "
           "other than what was cut ({}).",
           subsets, violations(&Outcome::immortals_moved), violations(&Outcome::on_two_nodes),
           violations(&Outcome::wrong_floors)),
       sum_of(all, &Outcome::immortals_moved) + sum_of(all, &Outcome::on_two_nodes) +
               sum_of(all, &Outcome::wrong_floors) ==
           0},
      {fmt::format("Attempts stay under 1.1 times the first ones in every subset: at most {}.",
                   report::fixed(worst_amplification(all), 3)),
       worst_amplification(all) <= 1.1},
      {fmt::format(
           "With the two-part floors no worker was over its capacity in any run ({} a run); with one line of 3.08 "
           "GB {} a run were.",
           report::fixed(with, 2), report::fixed(without, 2)),
       with == 0 && without > 0},
      wave_finding(all, waves),
      {fmt::format(
           "All together refuse {} in a surge of eight times, with the floors alone it is {}, with none of the "
           "mechanisms {}.",
           report::percent(mean_of(
               all, [](unsigned s) { return s == subsets - 1; }, [](const Outcome& o) { return o.refused_share(); })),
           report::percent(mean_of(
               all, [](unsigned s) { return s == 1U << two_part_floors; },
               [](const Outcome& o) { return o.refused_share(); })),
           report::percent(mean_of(
               all, [](unsigned s) { return s == 0; }, [](const Outcome& o) { return o.refused_share(); }))),
       true},
  };
}

ExperimentResult composition(const ExperimentRun& run) {
  All all(subsets);
  for (unsigned subset = 0; subset < subsets; ++subset) {
    for (std::int64_t k = 0; k < run.trials; ++k) {
      all[subset].push_back(run_subset(subset, false, Random(mix64(run.seed) + static_cast<std::uint64_t>(k))));
      run.tell(static_cast<double>(subset) + static_cast<double>(k + 1) / static_cast<double>(run.trials), subsets);
    }
  }
  ExperimentResult result;
  const Waves waves = count_waves(run);
  result.findings = findings_of(all, waves);
  result.tables = {effects_table(all), subsets_table(all)};
  result.figures = {{"subsets", subsets},
                    {"immortals_moved", sum_of(all, &Outcome::immortals_moved)},
                    {"on_two_nodes", sum_of(all, &Outcome::on_two_nodes)},
                    {"wrong_floors", sum_of(all, &Outcome::wrong_floors)},
                    {"waves_that_won", sum_of(all, &Outcome::waves_that_won)},
                    {"waves_that_won_probed", waves.probed},
                    {"waves_that_won_probed_with_population", waves.probed_with_population},
                    {"worst_amplification", worst_amplification(all)}};
  return result;
}

}  // namespace

FleetExperiment composition_experiment() {
  return {
      "composition",
      "All mechanisms at once, and every subset",
      "8 workers of 31.80 GB, heavy tasks of at most 8,192 tokens, half of which cannot be moved; from 200 to 600 s "
      "they come eight times as fast, and from 350 to 450 s a quarter of the workers is cut off. Seven mechanisms are "
      "switched on and off in all 128 ways, with the same arrivals, and what must never happen is counted.",
      "runs of 1,000 s a subset",
      2,
      composition};
}

}  // namespace evenkeel::simulation
