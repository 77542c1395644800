// The planner's reserve against windows that are drawn task by task: correlation, surges, open windows, two clocks, and
// the shape of failure.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "planning/cost.hpp"
#include "planning/demand.hpp"
#include "planning/open_windows.hpp"
#include "planning/reserve.hpp"
#include "report/chart.hpp"
#include "report/numbers.hpp"
#include "simulation/fleet_experiment.hpp"
#include "simulation/moments.hpp"
#include "simulation/window_draws.hpp"

namespace evenkeel::simulation {

namespace {

constexpr int workers = 32;
constexpr std::array<std::size_t, 1> only = {0};

planning::FleetPlan plan_of() { return planning::splitwise_70b(workers, 0.334); }

double sum_of(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

/// Coverage of the planner's quantile by windows drawn under the same plan.
Share coverage_of(const planning::FleetPlan& drawn, double reserve_gb, std::int64_t trials, Random& random) {
  Share covered;
  for (std::int64_t k = 0; k < trials; ++k) {
    covered.add(sum_of(draw_window(drawn, drawn.scale_time_s, random)) <= reserve_gb);
  }
  return covered;
}

constexpr double level = 32.0 / 33;

/// Within four standard errors, as it must be for a sound planner with a probability of 0.99994.
bool agrees(const Share& covered, double wanted) {
  return std::abs(covered.value() - wanted) <= 4 * covered.error(wanted);
}

void correlation(const ExperimentRun& run, Random& random, ExperimentResult& result) {
  ExperimentTable table{"Arrivals that are not independent",
                        "One gamma factor is shared by all workers; c is the correlation of two workers' counts.",
                        {"c", "pooled GB", "covered, simulated %", "with the reserve of c = 0, %", "siloed GB",
                         "siloed covers the fleet's sum, %"},
                        {}};
  const double independent = planning::reserve_of(plan_of(), 0, only).value().pooled;
  bool sound = true;
  double breaks_even = 0;
  double before_c = 0;
  double before_gap = 0;
  for (const double c : {0.0, 1.0 / 33, 0.1, 0.25, 0.5}) {
    planning::FleetPlan plan = plan_of();
    plan.correlation = c;
    const planning::Reserve reserve = planning::reserve_of(plan, 0, only).value();
    Share pooled;
    Share unaware;
    Share siloed;
    const double uncorrelated_siloed = workers * 3.0735;
    for (std::int64_t k = 0; k < run.trials; ++k) {
      const double demand = sum_of(draw_window(plan, plan.scale_time_s, random));
      pooled.add(demand <= reserve.pooled);
      unaware.add(demand <= independent);
      siloed.add(demand <= uncorrelated_siloed);
    }
    sound = sound && agrees(pooled, level);
    const double gap = reserve.pooled - uncorrelated_siloed;
    if (before_gap < 0 && gap >= 0) breaks_even = before_c + (c - before_c) * -before_gap / (gap - before_gap);
    before_c = c;
    before_gap = gap;
    table.rows.push_back(
        {number(c, 3), number(reserve.pooled, 2), number_with_error(100 * pooled.value(), 100 * pooled.error(level), 2),
         number(100 * unaware.value(), 1), number(reserve.siloed, 2), number(100 * siloed.value(), 2)});
  }
  result.tables.push_back(std::move(table));
  result.figures.push_back({"correlation_break_even", breaks_even});
  result.findings.push_back(
      {fmt::format("The planner's pooled reserve covers what is drawn with the level asked for at every "
                   "correlation from 0 to 0.5; it costs as much as the siloed reserve of independent "
                   "workers from c = {} on.",
                   report::fixed(breaks_even, 2)),
       sound && breaks_even > 0.3});
}

void surge(const ExperimentRun& run, Random& random, ExperimentResult& result) {
  ExperimentTable table{"A rate that changes inside the window",
                        "",
                        {"factor", "from s", "reserve of the profile GB", "covered, simulated %",
                         "covered by 48.90 GB, by the planner %", "simulated %"},
                        {}};
  const double baseline = planning::reserve_of(plan_of(), 0, only).value().pooled;
  bool sound = true;
  double at_half_more = 0;
  for (const auto& [factor, from] : {std::pair{1.5, 0.0}, {2.0, 0.0}, {6.0, 0.0}, {6.0, 45.0}, {6.0, 75.0}}) {
    planning::FleetPlan plan = plan_of();
    if (from > 0) plan.profile.push_back({0, 1});
    plan.profile.push_back({from, factor});
    const planning::Reserve reserve = planning::reserve_of(plan, 0, only).value();
    const auto demand = planning::window_demand(plan, 0, planning::rates_of(plan, only), plan.scale_time_s);
    const double predicted = planning::coverage(demand, baseline).value();
    const Share covered = coverage_of(plan, reserve.pooled, run.trials, random);
    const Share by_baseline = coverage_of(plan, baseline, run.trials, random);
    sound = sound && agrees(covered, level) && std::abs(by_baseline.value() - predicted) < 0.01;
    if (factor == 1.5) at_half_more = by_baseline.value();
    table.rows.push_back({number(factor, 1), number(from, 0), number(reserve.pooled, 2),
                          number_with_error(100 * covered.value(), 100 * covered.error(level), 2),
                          number(100 * predicted, 2), number(100 * by_baseline.value(), 2)});
  }
  result.tables.push_back(std::move(table));
  result.figures.push_back({"coverage_at_half_more", at_half_more});
  result.findings.push_back(
      {fmt::format("A rate half as high again leaves the reserve of 48.90 GB {} of windows; with the "
                   "profile known the planner's reserve covers what was asked for, within a point.",
                   report::percent(at_half_more)),
       sound && at_half_more < 0.06});
}

/// Demand at an instant of the fleet, under the four readings of which windows are open.
std::array<double, 4> draw_readings(const planning::FleetPlan& plan, Random& random) {
  const double window = plan.scale_time_s;
  const double rate = plan.groups[0].rate_per_node_s[0];
  const planning::Footprint& foot = plan.models[0].footprints[0];
  std::array<double, 4> demand{};
  for (int i = 0; i < workers; ++i) {
    // A history long enough that how windows follow one another has been forgotten, and one window ahead.
    const double now = 20 * window;
    const std::vector<double> times = draw_arrivals(rate, now + window, random);
    demand[0] += held_at(foot, times, now, now + window);
    double last = -1e300;
    double opened = -1e300;
    for (const double t : times) {
      if (t > now) break;
      last = t;
      if (t > opened + window) opened = t;
    }
    if (last > now - window) {
      demand[1] += held_at(foot, times, now, now + window);
      demand[2] += held_at(foot, times, now, last + window);
    }
    if (opened > now - window) demand[3] += held_at(foot, times, now, opened + window);
  }
  return demand;
}

void open_windows(const ExperimentRun& run, Random& random, ExperimentResult& result) {
  ExperimentTable table{
      "Which windows are open",
      "Detections at each worker open windows of 90 s; demand until each one's own close.",
      {"reading", "planner, mean GB", "simulated", "planner, 32/33 quantile GB", "covered, simulated %"},
      {}};
  const planning::FleetPlan plan = plan_of();
  const auto readings = planning::window_readings(plan, 0, only);
  std::array<Moments, 4> means;
  std::array<Share, 4> covered;
  for (std::int64_t k = 0; k < run.trials; ++k) {
    const auto demand = draw_readings(plan, random);
    for (std::size_t i = 0; i < 4; ++i) {
      means[i].add(demand[i]);
      covered[i].add(demand[i] <= readings[i].reserve);
    }
  }
  bool sound = true;
  for (std::size_t i = 0; i < 4; ++i) {
    sound = sound && agrees(covered[i], level) && std::abs(means[i].mean() - readings[i].mean) <= 4 * means[i].error();
    table.rows.push_back({words(std::string(readings[i].words)), number(readings[i].mean, 2),
                          number_with_error(means[i].mean(), means[i].error(), 2), number(readings[i].reserve, 2),
                          number_with_error(100 * covered[i].value(), 100 * covered[i].error(level), 2)});
  }
  result.tables.push_back(std::move(table));
  result.findings.push_back(
      {fmt::format("Windows that open by themselves need {} to {} GB instead of {}, by what an arrival "
                   "does to an open one; all four readings of the planner cover what is drawn.",
                   report::fixed(readings[3].reserve, 1), report::fixed(readings[1].reserve, 1),
                   report::fixed(readings[0].reserve, 1)),
       sound});
}

/// Reserve for a share q of windows that are pressed on the whole fleet, the others for the router's reaction alone.
double two_clock_reserve(const planning::FleetPlan& plan, double q) {
  if (q <= 1 - level) {
    return planning::quantile(planning::window_demand(plan, 0, planning::rates_of(plan, only), 0.3), level).value();
  }
  return planning::quantile(planning::window_demand(plan, 0, planning::rates_of(plan, only), plan.scale_time_s),
                            1 - (1 - level) / q)
      .value();
}

void two_clocks(const ExperimentRun& run, Random& random, ExperimentResult& result) {
  ExperimentTable table{
      "Two clocks",
      "A share q of windows is pressed on the whole fleet for 90 s, in the others the router reacts after "
      "0.3 s.",
      {"q", "reserve GB", "covered, simulated %"},
      {}};
  const planning::FleetPlan plan = plan_of();
  bool sound = true;
  double at_tenth = 0;
  for (const double q : {0.05, 0.1, 0.3, 1.0}) {
    const double reserve = two_clock_reserve(plan, q);
    if (q == 0.1) at_tenth = reserve;
    Share covered;
    for (std::int64_t k = 0; k < run.trials; ++k) {
      const double window = random.unit() < q ? plan.scale_time_s : 0.3;
      covered.add(sum_of(draw_window(plan, window, random)) <= reserve);
    }
    sound = sound && agrees(covered, level);
    table.rows.push_back(
        {number(q, 2), number(reserve, 2), number_with_error(100 * covered.value(), 100 * covered.error(level), 2)});
  }
  result.tables.push_back(std::move(table));
  result.figures.push_back({"two_clocks_at_a_tenth_gb", at_tenth});
  result.findings.push_back(
      {fmt::format("Even if only a tenth of the pressed windows are the whole fleet's, {} GB of 48.90 "
                   "remain: the split of clocks buys little.",
                   report::fixed(at_tenth, 2)),
       sound && at_tenth > 40});
}

void failure(const ExperimentRun& run, Random& random, ExperimentResult& result) {
  ExperimentTable table{
      "The shape of failure",
      "A silo that runs short freezes one worker, a pool all 32; staged: eight workers first, then all. "
      "GB short and workers frozen are means over windows.",
      {"reserve", "GB", "windows with a freeze %", "workers frozen", "largest freeze", "GB short"},
      {}};
  const planning::FleetPlan plan = plan_of();
  const planning::Reserve reserve = planning::reserve_of(plan, 0, only).value();
  const double silo = reserve.siloed / workers;
  Moments frozen_silo;
  Moments frozen_pool;
  Moments frozen_staged;
  Moments short_silo;
  Moments short_pool;
  Share any_silo;
  Share any_pool;
  double largest_silo = 0;
  for (std::int64_t k = 0; k < run.trials; ++k) {
    const std::vector<double> held = draw_window(plan, plan.scale_time_s, random);
    double frozen = 0;
    double missing = 0;
    for (const double each : held) {
      frozen += each > silo ? 1 : 0;
      missing += std::max(0.0, each - silo);
    }
    const double over = sum_of(held) - reserve.pooled;
    any_silo.add(frozen > 0);
    any_pool.add(over > 0);
    frozen_silo.add(frozen);
    frozen_pool.add(over > 0 ? workers : 0);
    // Eight that stop leave a quarter of what comes undone: enough if no more than that is over.
    frozen_staged.add(over <= 0 ? 0 : over < sum_of(held) / 4 ? workers / 4.0 : workers);
    short_silo.add(missing);
    short_pool.add(std::max(0.0, over));
    largest_silo = std::max(largest_silo, frozen);
  }
  const auto row = [&](const char* name, double gb, const Share& any, const Moments& frozen, double largest,
                       const Moments& missing) {
    table.rows.push_back({words(name), number(gb, 2), number(100 * any.value(), 2), number(frozen.mean(), 3),
                          number(largest, 0), number(missing.mean(), 3)});
  };
  row("siloed", reserve.siloed, any_silo, frozen_silo, largest_silo, short_silo);
  row("pooled", reserve.pooled, any_pool, frozen_pool, workers, short_pool);
  row("pooled, staged", reserve.pooled, any_pool, frozen_staged, workers, short_pool);
  result.tables.push_back(std::move(table));

  ExperimentTable costs{"The level of least cost, where all stop at once",
                        "32 for a GB short, 1 for one idle, and kappa * 32^gamma for a freeze of the fleet.",
                        {"kappa", "gamma", "reserve GB", "level"},
                        {}};
  bool never_lower = true;
  for (const double kappa : {0.0, 1.0, 10.0}) {
    for (const double gamma : {1.0, 1.5}) {
      planning::CostModel model;
      model.freeze = kappa;
      model.simultaneity = gamma;
      const auto best = planning::cheapest_reserve(plan, 0, only, model).value();
      never_lower = never_lower && best.level >= level - 1e-3;
      costs.rows.push_back({number(kappa, 0), number(gamma, 1), number(best.reserve, 2), number(best.level, 5)});
    }
  }
  result.tables.push_back(std::move(costs));
  result.findings.push_back(
      {fmt::format(
           "In a silo some worker freezes in {} of windows, {} at most; in the pool all freeze in {}: about as many "
           "workers in the mean ({} against {}), but all at once. Staged it is {}.",
           report::percent(any_silo.value()), report::fixed(largest_silo, 0), report::percent(any_pool.value()),
           report::fixed(frozen_pool.mean(), 2), report::fixed(frozen_silo.mean(), 2),
           report::fixed(frozen_staged.mean(), 2)),
       frozen_staged.mean() < frozen_pool.mean() && any_silo.value() > any_pool.value()});
  result.findings.push_back({"Whatever a freeze costs, the cheapest level is 32/33 or higher.", never_lower});
}

ExperimentResult reserve(const ExperimentRun& run) {
  ExperimentResult result;
  Random random(run.seed);
  constexpr std::array parts = {correlation, surge, open_windows, two_clocks, failure};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i](run, random, result);
    run.tell(static_cast<double>(i + 1), parts.size());
  }
  report::LineChart chart;
  chart.title = "Pooled reserve of 32 workers by correlation of their arrivals";
  chart.x = {"correlation of two workers' counts"};
  chart.y = {"GB"};
  report::Series pooled{"pooled, planner", {}, {}};
  report::Series siloed{"siloed, independent", {}, {}};
  for (const auto& row : result.tables.front().rows) {
    pooled.x.push_back(row[0].value.value_or(0));
    pooled.y.push_back(row[1].value.value_or(0));
    siloed.x.push_back(row[0].value.value_or(0));
    siloed.y.push_back(workers * 3.0735);
  }
  chart.series = {pooled, siloed};
  result.picture = report::to_svg(chart);
  return result;
}

}  // namespace

FleetExperiment reserve_experiment() {
  return {"reserve",
          "The planner's reserve, drawn task by task",
          "32 workers of 31.80 GB with 2.22 heavy arrivals each in a window of 90 s. What `evenkeel plan` computes "
          "exactly is "
          "drawn here: counts, ages, a common shock, a rate that changes, windows that open and close by themselves. ± "
          "is the "
          "standard error of a share that is 32/33.",
          "windows a row",
          20'000,
          reserve};
}

}  // namespace evenkeel::simulation
