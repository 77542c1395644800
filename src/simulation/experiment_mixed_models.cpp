// Three models on workers of two sizes.
#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "planning/overlap.hpp"
#include "report/chart.hpp"
#include "report/numbers.hpp"
#include "simulation/fleet_experiment.hpp"
#include "simulation/fleet_run.hpp"
#include "simulation/push_router.hpp"

namespace evenkeel::simulation {

namespace {

constexpr std::array<std::string_view, 3> models = {"chat", "code", "long"};

/// 16 workers of 31.80 GB serve the short models, 8 of 63.60 GB all three; tasks of at most 600 s.
planning::FleetPlan plan_of() {
  planning::FleetPlan plan = planning::splitwise_70b(16, 0.334);
  plan.models[0].duration.cap_s = 600;
  for (std::size_t m = 1; m < models.size(); ++m) plan.models.push_back(plan.models[0]);
  for (std::size_t m = 0; m < models.size(); ++m) plan.models[m].name = models[m];
  plan.models[1].footprints[0] = {0.496, 0.00496};
  plan.models[2].footprints[0] = {2.62, 0.00993};  // 8,000 tokens, at twice the pace
  plan.groups = {{"small", 16, {31.80}, {0.02, 0.01, 0}}, {"large", 8, {63.60}, {0.02, 0.01, 0.02}}};
  return plan;
}

struct Outcome {
  std::array<double, 3> arrivals{};
  std::array<double, 3> refused{};
  double over = 0;
  Moments lowest_share;  ///< least headroom of a worker over its capacity, at the end of the surge
  [[nodiscard]] double refused_share() const {
    return (refused[0] + refused[1] + refused[2]) / (arrivals[0] + arrivals[1] + arrivals[2]);
  }
  [[nodiscard]] double refused_of(std::size_t model) const { return refused[model] / arrivals[model]; }
};

void run_once(Compare compare, Random random, Outcome& out) {
  FleetWorld world(plan_of(), {}, {16, 1e300}, 1, random);
  PushOptions options;
  options.debits = true;
  options.compare = compare;
  options.skips_short = false;
  PushRouter router(world, options, random.split());
  FleetSchedule schedule;
  schedule.horizon_s = 600;
  schedule.turn_s = 0.3;
  schedule.profile = {{0, 1}, {60, 3}, {360, 1}};
  schedule.answered = [&](const HeavyTask& task, const PlacementAnswer& answer, double) {
    out.arrivals[task.model] += 1;
    if (answer.what == PlacementAnswer::What::refused) out.refused[task.model] += 1;
  };
  schedule.each_turn = [&](double t) {
    if (t < 360 || t >= 360.3) return;
    double least = 1;
    for (std::size_t i = 0; i < world.size(); ++i) {
      least = std::min(least, world.node(i).headroom_gb() / world.node(i).capacity_gb());
    }
    out.lowest_share.add(least);
  };
  FleetRun(world, {&router}, schedule, random).play();
  out.over += static_cast<double>(world.nodes_over());
}

ExperimentResult mixed_models(const ExperimentRun& run) {
  constexpr std::array comparisons = {Compare::bytes, Compare::fraction, Compare::projected};
  constexpr std::array<std::string_view, 3> names = {"headroom in GB", "headroom fraction",
                                                     "fraction after the task's own model"};
  std::array<Outcome, 3> all;
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    for (std::int64_t k = 0; k < run.trials; ++k) {
      run_once(comparisons[i], Random(mix64(run.seed) + static_cast<std::uint64_t>(k)), all[i]);
      run.tell(static_cast<double>(i) + static_cast<double>(k + 1) / static_cast<double>(run.trials), 3);
    }
  }
  ExperimentResult result;
  ExperimentTable table{"By what workers are compared",
                        "",
                        {"compared by", "refused %", "chat", "code", "long", "least headroom at the surge's end %",
                         "workers over capacity"},
                        {}};
  report::BarChart chart;
  chart.title = "Refused by model";
  chart.y = {"%"};
  for (const auto model : models) chart.groups.emplace_back(model);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Outcome& o = all[i];
    table.rows.push_back({words(std::string(names[i])), number(100 * o.refused_share(), 2),
                          number(100 * o.refused_of(0), 2), number(100 * o.refused_of(1), 2),
                          number(100 * o.refused_of(2), 2), number(100 * o.lowest_share.mean(), 1),
                          number(o.over / static_cast<double>(run.trials), 2)});
    chart.series.emplace_back(names[i]);
    chart.values.push_back({100 * o.refused_of(0), 100 * o.refused_of(1), 100 * o.refused_of(2)});
    result.figures.push_back({fmt::format("refused_{}", i), o.refused_share()});
  }
  result.tables.push_back(std::move(table));

  ExperimentTable conditions{"Sets of models and the workers that serve them",
                             "What must be free for the arrivals of 90 s at the level 32/33, by the planner.",
                             {"models", "reserve GB", "capacity GB", "share %"},
                             {}};
  const planning::FleetPlan plan = plan_of();
  const auto sets = planning::overlap_conditions(plan, 0, std::array<std::size_t, 2>{0, 1}).value();
  for (const auto& each : sets) {
    std::string name;
    for (const std::size_t m : each.models) name += fmt::format("{}{}", name.empty() ? "" : ", ", plan.models[m].name);
    conditions.rows.push_back(
        {words(name), number(each.reserve, 2), number(each.capacity, 1), number(100 * each.share(), 2)});
  }
  result.tables.push_back(std::move(conditions));
  const bool long_binds =
      std::find(sets.front().models.begin(), sets.front().models.end(), 2U) != sets.front().models.end() &&
      sets.front().groups.size() == 1;
  const Outcome& projected = all[2];
  result.findings = {
      {fmt::format(
           "The planner's most pressed set has `long`, which only the large workers serve, and it is the model that "
           "is refused most: {} against {} and {}.",
           report::percent(projected.refused_of(2)), report::percent(projected.refused_of(0)),
           report::percent(projected.refused_of(1))),
       long_binds && projected.refused_of(2) > projected.refused_of(0) &&
           projected.refused_of(2) > projected.refused_of(1)},
      {fmt::format(
           "Compared by gigabytes the large workers fill with what the small ones could have taken: {} of `long` is "
           "refused against {} by fractions, with {} and {} of all. The task's own footprint in place of one for all "
           "changes little ({} of `long`).",
           report::percent(all[0].refused_of(2)), report::percent(all[1].refused_of(2)),
           report::percent(all[0].refused_share()), report::percent(all[1].refused_share()),
           report::percent(projected.refused_of(2))),
       all[0].refused_of(2) > all[1].refused_of(2) && all[0].refused_of(2) > projected.refused_of(2)},
      {fmt::format("By fractions no worker is over its capacity, by gigabytes {} a run.",
                   report::fixed(all[0].over / static_cast<double>(run.trials), 2)),
       all[1].over + all[2].over == 0}};
  result.picture = report::to_svg(chart);
  return result;
}

}  // namespace

FleetExperiment mixed_models_experiment() {
  return {
      "mixed-models",
      "Three models on workers of two sizes",
      "16 workers of 31.80 GB serve `chat` and `code`, 8 of 63.60 GB also `long`, of which a task holds 2.62 GB and "
      "grows twice as fast. Three times as much comes from 60 to 360 s. Workers keep floors in two parts; the router "
      "samples two, with debits.",
      "runs of 10 minutes a row",
      10,
      mixed_models};
}

}  // namespace evenkeel::simulation
