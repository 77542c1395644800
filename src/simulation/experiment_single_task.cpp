// Whether a single task is worse off where the reserve is pooled.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <unordered_set>
#include <vector>

#include <fmt/format.h>

#include "report/numbers.hpp"
#include "simulation/fleet_experiment.hpp"
#include "simulation/fleet_run.hpp"
#include "simulation/push_router.hpp"
#include "simulation/window_draws.hpp"

namespace evenkeel::simulation {

namespace {

constexpr int workers = 16;

struct Outcome {
  double arrivals = 0;
  double admitted = 0;
  std::array<Share, 2> exposed;  ///< movable, immortal: moved, or on a worker over its capacity
  Share moved;                   ///< of the movable
  double immortals_moved = 0;
  Moments by_run;  ///< share exposed of a run, all kinds
};

planning::FleetPlan plan_of() {
  planning::FleetPlan plan = planning::splitwise_70b(workers, 0.334);
  plan.models[0].duration.cap_s = (8192 - 1020) * 33 / 500.0;
  return plan;
}

void run_once(bool pooled, double growth_level, double factor, Random random, Outcome& out) {
  NodeRules rules;
  rules.growth_level = growth_level;
  rules.emergency = true;
  rules.emergency_gb = 1;
  if (!pooled) rules.lease_s = 0;
  FleetWorld world(plan_of(), rules, {12, 1e300}, 0.5, random);
  PushOptions options;
  options.debits = true;
  options.skips_short = false;
  PushRouter router(world, options, random.split());
  FleetSchedule schedule;
  schedule.horizon_s = 900;
  schedule.turn_s = 0.3;
  schedule.immortal_probability = 0.5;
  schedule.profile = {{0, factor}};
  std::unordered_map<std::uint64_t, bool> admitted;  // immortal
  std::unordered_set<std::uint64_t> exposed;
  schedule.answered = [&](const HeavyTask& task, const PlacementAnswer& answer, double) {
    if (task.served_s > 0) exposed.insert(task.id);  // it was moved
    if (answer.what == PlacementAnswer::What::placed) admitted[task.id] = task.immortal;
  };
  schedule.each_turn = [&](double) {
    for (std::size_t i = 0; i < world.size(); ++i) {
      if (world.node(i).headroom_gb() >= 0) continue;
      for (const HeavyTask& each : world.node(i).residents()) exposed.insert(each.id);
    }
  };
  const FleetTally tally = FleetRun(world, {&router}, schedule, random).play();
  out.arrivals += static_cast<double>(tally.arrivals);
  out.admitted += static_cast<double>(admitted.size());
  double hit = 0;
  for (const auto& [id, immortal] : admitted) {
    out.exposed[immortal ? 1 : 0].add(exposed.contains(id));
    hit += exposed.contains(id) ? 1 : 0;
  }
  out.by_run.add(hit / std::max(1.0, static_cast<double>(admitted.size())));
  out.moved.hits += static_cast<double>(world.books().moved);
  out.moved.trials += static_cast<double>(admitted.size()) / 2;
  out.immortals_moved += static_cast<double>(world.books().immortals_moved);
}

Outcome run_all(bool pooled, double growth_level, double factor, const ExperimentRun& run, double done) {
  Outcome out;
  for (std::int64_t k = 0; k < run.trials; ++k) {
    run_once(pooled, growth_level, factor, Random(mix64(run.seed) + static_cast<std::uint64_t>(k)), out);
    run.tell(done + static_cast<double>(k + 1) / static_cast<double>(run.trials), 10);
  }
  return out;
}

constexpr double surge = 6;

struct Pair {
  double growth_level;
  Outcome siloed;
  Outcome pooled;
  Outcome equal;  ///< pooled, at the arrivals at which it admits as much as the siloed one did
  double factor = surge;

  [[nodiscard]] double errors_apart() const {
    const double noise = std::hypot(equal.by_run.error(), siloed.by_run.error());
    return noise > 0 ? std::abs(equal.by_run.mean() - siloed.by_run.mean()) / noise : 0;
  }
};

Pair compare(double growth_level, const ExperimentRun& run, double done) {
  Pair pair{growth_level,
            run_all(false, growth_level, surge, run, done),
            run_all(true, growth_level, surge, run, done + 1),
            {},
            surge};
  pair.equal = pair.pooled;
  for (int step = 0; step < 3; ++step) {
    pair.factor *= pair.siloed.admitted / pair.equal.admitted;
    pair.equal = run_all(true, growth_level, pair.factor, run, done + 2 + step);
  }
  return pair;
}

ExperimentTable table_of(const std::vector<Pair>& pairs, const ExperimentRun& run) {
  ExperimentTable table{"What happens to single tasks",
                        "Hit: moved, or on a worker that was over its capacity. ± over runs.",
                        {"growth floor", "reserve", "rate x", "admitted a run", "hit, movable %", "immortal %", "all %",
                         "moved, of the movable %", "immortals moved"},
                        {}};
  for (const Pair& pair : pairs) {
    const auto row = [&](const char* name, double rate, const Outcome& o) {
      table.rows.push_back({number(pair.growth_level, 4), words(name), number(rate, 2),
                            number(o.admitted / static_cast<double>(run.trials), 1),
                            number(100 * o.exposed[0].value(), 2), number(100 * o.exposed[1].value(), 2),
                            number_with_error(100 * o.by_run.mean(), 100 * o.by_run.error(), 2),
                            number(100 * o.moved.value(), 2), number(o.immortals_moved, 0)});
    };
    row("siloed", surge, pair.siloed);
    row("pooled", surge, pair.pooled);
    row("pooled, as much admitted", pair.factor, pair.equal);
  }
  return table;
}

ExperimentResult single_task(const ExperimentRun& run) {
  const std::vector<Pair> pairs = {compare(0.9999, run, 0), compare(0.9, run, 5)};
  const Pair& covered = pairs[0];
  const Pair& bare = pairs[1];
  double immortals = 0;
  for (const Pair& pair : pairs) {
    immortals += pair.siloed.immortals_moved + pair.pooled.immortals_moved + pair.equal.immortals_moved;
  }
  ExperimentResult result;
  result.tables = {table_of(pairs, run)};
  result.findings = {
      {fmt::format("At the same arrivals the pooled fleet admits {} more, and none of the immortal tasks is moved.",
                   report::percent(covered.pooled.admitted / covered.siloed.admitted - 1)),
       covered.pooled.admitted > covered.siloed.admitted && immortals == 0},
      {fmt::format(
           "Where growth is covered at each worker with 0.9999, a single task is hit with {} pooled and {} siloed, as "
           "much admitted: pooling the arrival reserve does not touch it.",
           report::percent(covered.equal.by_run.mean()), report::percent(covered.siloed.by_run.mean())),
       covered.equal.by_run.mean() <= 0.01 && covered.siloed.by_run.mean() <= 0.01},
      {fmt::format(
           "Where it is covered with 0.9 only, the siloed reserve had covered growth, too, and pooling takes that "
           "away: {} are hit against {}, {} standard errors apart.",
           report::percent(bare.equal.by_run.mean()), report::percent(bare.siloed.by_run.mean()),
           report::fixed(bare.errors_apart(), 1)),
       bare.equal.by_run.mean() > bare.siloed.by_run.mean()}};
  result.figures = {{"hit_siloed", covered.siloed.by_run.mean()},
                    {"hit_pooled_equal_load", covered.equal.by_run.mean()},
                    {"hit_siloed_little_growth_floor", bare.siloed.by_run.mean()},
                    {"hit_pooled_equal_load_little_growth_floor", bare.equal.by_run.mean()}};
  return result;
}

}  // namespace

FleetExperiment single_task_experiment() {
  return {"single-task",
          "One task's risk, with the reserve pooled and siloed",
          "16 workers of 31.80 GB, heavy tasks of at most 8,192 tokens, half of which cannot be moved, six times as "
          "many as "
          "at the baseline for 15 minutes. Workers keep the growth of their residents, with 0.9999 or "
          "0.9, "
          "and an arrival reserve, of one worker alone or pooled; movable tasks are moved away when less than 1 GB is "
          "left.",
          "runs of 15 minutes a row",
          12,
          single_task};
}

}  // namespace evenkeel::simulation
