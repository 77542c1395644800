// Routers that are cut off from each other and from workers.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "planning/reserve.hpp"
#include "report/chart.hpp"
#include "report/numbers.hpp"
#include "simulation/fleet_experiment.hpp"
#include "simulation/fleet_run.hpp"
#include "simulation/push_router.hpp"

namespace evenkeel::simulation {

namespace {

constexpr int workers = 32;
constexpr double cut_s = 300;
constexpr double healed_s = 900;
constexpr double end_s = 1500;
constexpr double lease_s = 3;
constexpr double settle_s = 12;

enum class Cut : std::uint8_t { halves, one_router, reports };
struct CutKind {
  Cut kind;
  std::string_view name;
};
constexpr std::array cuts = {CutKind{Cut::halves, "split in halves"}, CutKind{Cut::one_router, "one router gone"},
                             CutKind{Cut::reports, "reports lost, offers pass"}};

struct Phase {
  double arrivals = 0;
  double placed = 0;
  [[nodiscard]] double refused_share() const { return arrivals > 0 ? 1 - placed / arrivals : 0; }
};

struct Outcome {
  std::array<Phase, 3> phases;             ///< before, during, after
  std::array<double, 2> placed_by_side{};  ///< while cut, on the first and second half of the workers
  double slowest_signal_s = 0;
  double siloed = 0;  ///< workers that said so, a run
  double lowest_gb = 1e300;
  double over = 0;          ///< workers over capacity, all runs
  double most_lowered = 0;  ///< floors lowered within one report period after the return, largest of a run
  double most_after = 0;    ///< placements on one worker within 15 s of the return, mean
  double most_before = 0;   ///< the same in 15 s before the cut
};

/// Heavy tasks of at most 16,384 tokens at twice the baseline rate: what is resident takes 18 of 31.8 GB.
planning::FleetPlan plan_of() {
  planning::FleetPlan plan = planning::splitwise_70b(workers, 0.334);
  plan.models[0].duration.cap_s = (16'384 - 1020) * 33 / 500.0;
  plan.groups[0].rate_per_node_s[0] *= 2;
  return plan;
}

RouterLinks links_of(Cut cut, std::uint32_t router, const double& now) {
  const auto is_cut = [&now] { return now >= cut_s && now < healed_s; };
  const auto same_side = [router](std::size_t node) { return (node < workers / 2) == (router == 0); };
  switch (cut) {
    case Cut::halves: {
      const auto passes = [=](std::size_t node) { return !is_cut() || same_side(node); };
      return {passes, passes};
    }
    case Cut::one_router: {
      const auto passes = [=](std::size_t) { return !is_cut() || router == 1; };
      return {passes, passes};
    }
    case Cut::reports: break;
  }
  return {{}, [=](std::size_t) { return !is_cut(); }};
}

std::size_t most_within(std::vector<double> times, double span) {
  std::sort(times.begin(), times.end());
  std::size_t most = 0;
  for (std::size_t from = 0, to = 0; to < times.size(); ++to) {
    while (times[to] - times[from] > span) ++from;
    most = std::max(most, to - from + 1);
  }
  return most;
}

void run_once(Cut cut, redline::WhenCutOff when, double settle, Random random, Outcome& sum, double trials) {
  NodeRules rules;
  rules.lease_s = lease_s;
  rules.settle_s = settle;
  rules.when_cut_off = when;
  FleetWorld world(plan_of(), rules, {12, 1e300}, 1, random);  // as a redline leaves it
  double now = 0;
  std::vector<std::unique_ptr<PushRouter>> routers;
  for (const std::uint32_t r : {0U, 1U}) {
    PushOptions options;
    options.debits = true;
    options.trigger = true;
    options.retries = Retries::budget;
    options.answers_inform = true;
    options.skips_short = false;  // a worker that is not heard of decides by itself
    options.router = r;
    options.routers = 2;
    routers.push_back(std::make_unique<PushRouter>(world, options, random.split(), links_of(cut, r, now)));
  }
  std::array<std::vector<int>, 2> close(
      {std::vector<int>(workers, 0), std::vector<int>(workers, 0)});  // before the cut, after the return
  FleetSchedule schedule;
  schedule.horizon_s = end_s;
  schedule.turn_s = 0.3;
  schedule.each_turn = [&](double t) { now = t; };
  schedule.answered = [&](const HeavyTask&, const PlacementAnswer& answer, double t) {
    const std::size_t phase = t < cut_s ? 0 : t < healed_s ? 1 : 2;
    sum.phases[phase].arrivals += 1 / trials;
    if (answer.what != PlacementAnswer::What::placed) return;
    sum.phases[phase].placed += 1 / trials;
    if (phase == 1) sum.placed_by_side[answer.node < workers / 2 ? 0 : 1] += 1 / trials;
    if (t >= cut_s - 15 && t < cut_s) ++close[0][answer.node];
    if (t >= healed_s && t < healed_s + 15) ++close[1][answer.node];
  };
  FleetRun run(world, {routers[0].get(), routers[1].get()}, schedule, random);
  run.play();
  for (const double at : world.books().siloed_at_s) {
    sum.slowest_signal_s = std::max(sum.slowest_signal_s, at - cut_s);
  }
  sum.siloed += static_cast<double>(world.books().siloed_at_s.size()) / trials;
  sum.lowest_gb = std::min(sum.lowest_gb, world.lowest_headroom_gb());
  sum.over += static_cast<double>(world.nodes_over());
  sum.most_lowered = std::max(sum.most_lowered, static_cast<double>(most_within(world.books().pooled_at_s, 0.31)));
  sum.most_before += *std::max_element(close[0].begin(), close[0].end()) / trials;
  sum.most_after += *std::max_element(close[1].begin(), close[1].end()) / trials;
}

/// Reserve of `nodes` workers together, GB, by the planner.
double pooled_gb(double nodes) {
  planning::FleetPlan plan = plan_of();
  plan.groups[0].nodes = static_cast<std::int64_t>(nodes);
  return planning::reserve_of(plan, 0, std::array<std::size_t, 1>{0}).value().pooled;
}

/// What the fleet reserves more while so many workers are alone and the rest pooled in `groups` equal parts.
double lost_saving_gb(double mean_siloed, double groups) {
  const double siloed = std::round(mean_siloed);
  const double rest = workers - siloed;
  return siloed * pooled_gb(1) + (rest > 0 ? groups * pooled_gb(rest / groups) : 0) - pooled_gb(workers);
}

struct Variant {
  CutKind cut;
  redline::WhenCutOff when;
  double settle;
  Outcome outcome;
  double lost_gb;
};

std::vector<Variant> run_all(const ExperimentRun& run) {
  std::vector<Variant> all;
  for (const CutKind& cut : cuts) {
    for (const auto when : {redline::WhenCutOff::admit, redline::WhenCutOff::block}) {
      all.push_back({cut, when, settle_s, {}, 0});
    }
  }
  all.push_back({cuts[0], redline::WhenCutOff::admit, 0, {}, 0});
  double done = 0;
  for (Variant& each : all) {
    for (std::int64_t k = 0; k < run.trials; ++k) {
      run_once(each.cut.kind, each.when, each.settle, Random(mix64(run.seed) + static_cast<std::uint64_t>(k)),
               each.outcome, static_cast<double>(run.trials));
      run.tell(++done, static_cast<double>(all.size()) * static_cast<double>(run.trials));
    }
    each.lost_gb = lost_saving_gb(each.outcome.siloed, each.cut.kind == Cut::halves ? 2 : 1);
  }
  return all;
}

ExperimentTable table_of(const std::vector<Variant>& all) {
  ExperimentTable table{"By cut and by what a worker does whose lease has run out",
                        "Refused before, while and after being cut, % / saving that is lost, GB, by the planner.",
                        {"cut", "workers cut off", "settling s", "refused before", "while", "after", "siloed workers",
                         "slowest signal s", "lost saving GB", "lowest headroom GB", "floors lowered at once",
                         "most on one in 15 s before", "after the return"},
                        {}};
  for (const Variant& each : all) {
    const Outcome& o = each.outcome;
    table.rows.push_back({words(std::string(each.cut.name)), words(std::string(redline::to_string(each.when))),
                          number(each.settle, 0), number(100 * o.phases[0].refused_share(), 1),
                          number(100 * o.phases[1].refused_share(), 1), number(100 * o.phases[2].refused_share(), 1),
                          number(o.siloed, 0), number(o.slowest_signal_s, 1), number(each.lost_gb, 2),
                          number(o.lowest_gb, 1), number(o.most_lowered, 0), number(o.most_before, 1),
                          number(o.most_after, 1)});
  }
  return table;
}

std::vector<Finding> findings_of(const std::vector<Variant>& all) {
  const Outcome& halves = all[0].outcome;
  const Outcome& blocked = all[1].outcome;
  const Outcome& reports = all[4].outcome;
  const Outcome& at_once = all[6].outcome;
  double over = 0;
  double slowest = 0;
  for (const Variant& each : all) {
    over += each.outcome.over;
    slowest = std::max(slowest, each.outcome.slowest_signal_s);
  }
  return {
      {fmt::format("Split in halves, both sides keep admitting: {} and {} tasks in ten minutes, {} refused.",
                   report::fixed(halves.placed_by_side[0], 0), report::fixed(halves.placed_by_side[1], 0),
                   report::percent(halves.phases[1].refused_share())),
       halves.placed_by_side[0] > 0.35 * halves.phases[1].arrivals &&
           halves.placed_by_side[1] > 0.35 * halves.phases[1].arrivals},
      {fmt::format("Where workers block when cut off, the half of them that has lost its router takes nothing, and {} "
                   "is refused; with all reports lost nothing is admitted but in the time of the leases ({} refused).",
                   report::percent(blocked.phases[1].refused_share()),
                   report::percent(all[5].outcome.phases[1].refused_share())),
       blocked.phases[1].refused_share() >= halves.phases[1].refused_share() &&
           all[5].outcome.phases[1].refused_share() > 0.95},
      {fmt::format("No worker is over its capacity in any run; the least headroom is {} GB.",
                   report::fixed(std::min_element(all.begin(), all.end(),
                                                  [](const Variant& a, const Variant& b) {
                                                    return a.outcome.lowest_gb < b.outcome.lowest_gb;
                                                  })
                                     ->outcome.lowest_gb,
                                 1)),
       over == 0},
      {fmt::format("Every worker says that it is alone within two lease times: the slowest after {} s of {}.",
                   report::fixed(slowest, 1), report::fixed(2 * lease_s, 0)),
       slowest > 0 && slowest <= 2 * lease_s},
      {fmt::format(
           "Split in halves the fleet must keep {} GB more ({} workers alone, two pools of 8); with all reports "
           "lost {} GB more, all of what pooling saved.",
           report::fixed(all[0].lost_gb, 2), report::fixed(halves.siloed, 0), report::fixed(all[4].lost_gb, 2)),
       std::round(reports.siloed) == workers && all[4].lost_gb > all[0].lost_gb && all[0].lost_gb > 0},
      {fmt::format(
           "Return without a herd: at most {} floors are lowered within one report period if leases settle within "
           "{} s, {} if they do not; on one worker come {} tasks in the 15 s after the return, {} in the 15 s "
           "before the cut.",
           report::fixed(halves.most_lowered, 0), report::fixed(settle_s, 0), report::fixed(at_once.most_lowered, 0),
           report::fixed(halves.most_after, 1), report::fixed(halves.most_before, 1)),
       halves.most_lowered <= at_once.most_lowered / 2 && halves.most_after < halves.most_before + 2},
  };
}

std::string picture(const std::vector<Variant>& all) {
  report::BarChart chart;
  chart.title = "Refused before, while and after being cut off";
  chart.y = {"%"};
  chart.series = {"before", "while", "after"};
  chart.values.resize(3);
  for (std::size_t i = 0; i < 6; ++i) {
    chart.groups.push_back(fmt::format("{}: {}", all[i].cut.name, redline::to_string(all[i].when)));
    for (std::size_t phase = 0; phase < 3; ++phase) {
      chart.values[phase].push_back(100 * all[i].outcome.phases[phase].refused_share());
    }
  }
  return report::to_svg(chart);
}

ExperimentResult partition(const ExperimentRun& run) {
  const std::vector<Variant> all = run_all(run);
  ExperimentResult result;
  result.tables = {table_of(all)};
  result.findings = findings_of(all);
  result.figures = {{"halves_lost_saving_gb", all[0].lost_gb},
                    {"reports_lost_saving_gb", all[4].lost_gb},
                    {"slowest_signal_s", all[0].outcome.slowest_signal_s},
                    {"halves_refused_while_cut", all[0].outcome.phases[1].refused_share()},
                    {"halves_blocking_refused_while_cut", all[1].outcome.phases[1].refused_share()},
                    {"floors_lowered_at_once", all[0].outcome.most_lowered},
                    {"floors_lowered_at_once_without_settling", all[6].outcome.most_lowered}};
  result.picture = picture(all);
  return result;
}

}  // namespace

FleetExperiment partition_experiment() {
  return {
      "partition",
      "Cut off: available or consistent",
      "Two routers share 32 workers of 31.80 GB; each renews the leases of every second worker by its reports. Heavy "
      "tasks of at most 16,384 tokens come at twice the baseline rate. From 300 to 900 s messages are lost: the "
      "routers see one half of the workers each; or one router sees none; or no reports come, though offers pass. A "
      "worker whose lease of 3 s has run out keeps the reserve that it needs alone and admits what reaches it "
      "(available), or blocks (consistent). After the return leases are pooled again within 12 s, at random.",
      "runs of 25 minutes a row",
      10,
      partition};
}

}  // namespace evenkeel::simulation
