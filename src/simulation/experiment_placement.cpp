// Ways to get a heavy task to a worker, behind one interface: what is refused, how long it takes, what it costs.
#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "maths/percentile.hpp"
#include "report/chart.hpp"
#include "report/numbers.hpp"
#include "simulation/fleet_experiment.hpp"
#include "simulation/fleet_run.hpp"
#include "simulation/placement_designs.hpp"
#include "simulation/push_router.hpp"

namespace evenkeel::simulation {

namespace {

constexpr int workers = 32;
constexpr double horizon_s = 90;
constexpr double patience_s = 30;  ///< of what may wait

struct Case {
  std::string_view name;
  StartRange start;
  double factor;
  double stale_s;  ///< age that telemetry, synchronised state and reports may reach
};
constexpr std::array cases = {
    Case{"ordinary, rate x 4, state of 0.3 s", {3.08, 1e300}, 4, 0.3},
    Case{"3.08 to 8 GB left, state of 0.3 s", {3.08, 8}, 1, 0.3},
    Case{"3.08 to 8 GB left, state of 15 s", {3.08, 8}, 1, 15},
    Case{"3.08 to 8 GB left, rate x 4, state of 15 s", {3.08, 8}, 4, 15},
};

using Make = std::function<std::unique_ptr<PlacementDesign>(FleetWorld&, double stale_s, Random)>;
struct Design {
  std::string name;
  Make make;
};

std::unique_ptr<PlacementDesign> push(FleetWorld& world, double stale_s, bool debits, Retries retries, Random random) {
  PushOptions options;
  options.telemetry_s = stale_s;
  options.debits = debits;
  options.retries = retries;
  options.skips_short = false;  // the bare rule: the node refuses
  return std::make_unique<PushRouter>(world, options, random);
}

std::vector<Design> designs() {
  return {
      {"push", [](FleetWorld& w, double s, Random r) { return push(w, s, false, Retries::none, r); }},
      {"push, debits", [](FleetWorld& w, double s, Random r) { return push(w, s, true, Retries::none, r); }},
      {"push, debits, retries", [](FleetWorld& w, double s, Random r) { return push(w, s, true, Retries::budget, r); }},
      {"late_probe", [](FleetWorld& w, double, Random r) { return std::make_unique<LateProbe>(w, 2, patience_s, r); }},
      {"pull", [](FleetWorld& w, double, Random r) { return std::make_unique<LazyPull>(w, 1, 0.5, patience_s, r); }},
      {"pull, 4 shards",
       [](FleetWorld& w, double, Random r) { return std::make_unique<LazyPull>(w, 4, 0.5, patience_s, r); }},
      {"shared state, 4 schedulers",
       [](FleetWorld& w, double s, Random r) { return std::make_unique<SharedState>(w, 4, s, r); }},
      {"serial decider, 5 ms",
       [](FleetWorld& w, double s, Random) { return std::make_unique<SerialDecider>(w, 0.005, s); }},
  };
}

struct Totals {
  Moments most_on_one;
  Moments lowest_gb;
  double arrivals = 0;
  double refused = 0;
  double placed = 0;
  double conflicts = 0;
  double attempts = 0;
  double messages = 0;
  double background = 0;
  double windows = 0;
  std::vector<double> latencies_s;

  void add(const FleetTally& tally, const PlacementAccounts& accounts, const FleetWorld& world) {
    most_on_one.add(tally.most_on_one());
    lowest_gb.add(world.lowest_headroom_gb());
    arrivals += static_cast<double>(tally.arrivals);
    refused += static_cast<double>(tally.refused);
    placed += static_cast<double>(tally.placed);
    conflicts += static_cast<double>(accounts.conflicts);
    attempts += static_cast<double>(accounts.attempts);
    messages += static_cast<double>(accounts.messages);
    background += static_cast<double>(accounts.background);
    windows += 1;
    latencies_s.insert(latencies_s.end(), tally.latencies_s.begin(), tally.latencies_s.end());
  }
  [[nodiscard]] double refused_share() const {
    return refused / std::max(1.0, refused + placed);
  }  ///< of those answered
  [[nodiscard]] double latency_s(double level) const {
    std::vector<double> sorted = latencies_s;
    std::sort(sorted.begin(), sorted.end());
    return sorted.empty() ? 0 : maths::percentile(sorted, level);
  }
  [[nodiscard]] double messages_each() const { return messages / std::max(1.0, arrivals); }
};

Totals run_cell(const Case& one, const Design& design, const ExperimentRun& run, double done, double whole) {
  const planning::FleetPlan plan = planning::splitwise_70b(workers, 0.334);
  NodeRules rules;
  rules.floors = Floors::published;
  Totals totals;
  for (std::int64_t k = 0; k < run.trials; ++k) {
    Random random(mix64(run.seed) + static_cast<std::uint64_t>(k));
    FleetWorld world(plan, rules, one.start, 1, random);
    Random arrivals = random.split();
    const auto made = design.make(world, one.stale_s, random.split());
    FleetSchedule schedule;
    schedule.horizon_s = horizon_s;
    schedule.profile = {{0, one.factor}};
    FleetRun fleet(world, {made.get()}, schedule, arrivals);
    const FleetTally tally = fleet.play();
    totals.add(tally, made->accounts(), world);
    run.tell(done * static_cast<double>(run.trials) + static_cast<double>(k + 1),
             whole * static_cast<double>(run.trials));
  }
  return totals;
}

ExperimentTable table_of(const Case& one, const std::vector<Design>& all, const std::vector<Totals>& totals) {
  ExperimentTable table{std::string(one.name),
                        "",
                        {"design", "refused %", "most on one", "lowest headroom GB", "latency P50", "P99",
                         "messages a task", "conflicts a task", "background messages/s"},
                        {}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Totals& each = totals[i];
    const auto time = [](double s) { return Cell{report::short_duration(from_seconds(s)), s}; };
    table.rows.push_back({words(all[i].name), number(100 * each.refused_share(), 1), number(each.most_on_one.mean(), 1),
                          number(each.lowest_gb.mean(), 1), time(each.latency_s(50)), time(each.latency_s(99)),
                          number(each.messages_each(), 2), number(each.conflicts / std::max(1.0, each.arrivals), 3),
                          number(each.background / (each.windows * horizon_s), 0)});
  }
  return table;
}

/// Places in designs().
enum Place : std::size_t { push_plain, push_debits, push_retries, late, pull, pull_shards, shared, serial };

std::vector<Finding> findings_of(const std::vector<std::vector<Totals>>& all) {
  const auto& fresh = all[1];
  const auto& stale = all[2];
  const auto& pressed = all[3];
  const auto refused = [](const Totals& each) { return report::percent(each.refused_share()); };
  return {
      {fmt::format(
           "Where the state is 15 s old and room scarce, push refuses {}; binding late {} and pulling {}, as room "
           "is seen where it is.",
           refused(stale[push_plain]), refused(stale[late]), refused(stale[pull])),
       stale[late].refused_share() < stale[push_plain].refused_share() &&
           stale[pull].refused_share() < stale[push_plain].refused_share()},
      {fmt::format("Binding late does not know how old the state is: {} refused at 0.3 s, {} at 15 s.",
                   refused(fresh[late]), refused(stale[late])),
       std::abs(fresh[late].refused_share() - stale[late].refused_share()) < 1e-9},
      {fmt::format("Pulling pays with time: half of the tasks wait {} and more for a poll, where push takes {}.",
                   report::short_duration(from_seconds(stale[pull].latency_s(50))),
                   report::short_duration(from_seconds(stale[push_plain].latency_s(50)))),
       stale[pull].latency_s(50) > 5 * stale[push_plain].latency_s(50)},
      {fmt::format("Shared state pays with conflicts: {} a task at 0.3 s, {} at 15 s, {} under four times the rate.",
                   report::fixed(fresh[shared].conflicts / fresh[shared].arrivals, 2),
                   report::fixed(stale[shared].conflicts / stale[shared].arrivals, 2),
                   report::fixed(pressed[shared].conflicts / pressed[shared].arrivals, 2)),
       stale[shared].conflicts > fresh[shared].conflicts},
      {fmt::format("Retries within the budget stay under 1.1 attempts a task: {} under four times the rate near the "
                   "redline.",
                   report::fixed(pressed[push_retries].attempts / pressed[push_retries].arrivals, 3)),
       pressed[push_retries].attempts <= 1.1 * pressed[push_retries].arrivals + 3 * pressed[push_retries].windows},
      {fmt::format(
           "Whatever places, it is the growth of residents that takes the headroom: near the redline the fullest "
           "worker falls to {} to {} GB, and refusing more does not prevent it.",
           report::fixed(std::min_element(
                             stale.begin(), stale.end(),
                             [](const Totals& a, const Totals& b) { return a.lowest_gb.mean() < b.lowest_gb.mean(); })
                             ->lowest_gb.mean(),
                         1),
           report::fixed(std::max_element(
                             stale.begin(), stale.end(),
                             [](const Totals& a, const Totals& b) { return a.lowest_gb.mean() < b.lowest_gb.mean(); })
                             ->lowest_gb.mean(),
                         1)),
       std::all_of(stale.begin(), stale.end(), [](const Totals& each) { return each.lowest_gb.mean() < 3.08; })}};
}

std::string picture(const std::vector<Design>& all, const std::vector<std::vector<Totals>>& totals) {
  report::BarChart chart;
  chart.title = "Refused, by design";
  chart.y = {"%"};
  for (const Case& one : cases) chart.groups.emplace_back(one.name);
  for (std::size_t i = 0; i < all.size(); ++i) {
    chart.series.push_back(all[i].name);
    std::vector<double> values;
    for (const auto& in_case : totals) values.push_back(100 * in_case[i].refused_share());
    chart.values.push_back(std::move(values));
  }
  return report::to_svg(chart);
}

ExperimentResult placement(const ExperimentRun& run) {
  const std::vector<Design> all = designs();
  std::vector<std::vector<Totals>> totals;
  ExperimentResult result;
  const auto whole = static_cast<double>(cases.size() * all.size());
  double done = 0;
  for (const Case& one : cases) {
    std::vector<Totals> in_case;
    for (const Design& design : all) in_case.push_back(run_cell(one, design, run, done++, whole));
    result.tables.push_back(table_of(one, all, in_case));
    totals.push_back(std::move(in_case));
  }
  result.findings = findings_of(totals);
  for (std::size_t i = 0; i < all.size(); ++i) {
    result.figures.push_back({fmt::format("messages_per_task_{}", i), totals[1][i].messages_each()});
  }
  // Heavy tasks alone probe, not all admissions: d probes and d answers for each.
  const planning::FleetPlan plan = planning::splitwise_70b(workers, 0.334);
  result.figures.push_back({"heavy_probes_per_s", 2 * workers * plan.groups[0].rate_per_node_s[0]});
  result.picture = picture(all, totals);
  return result;
}

}  // namespace

FleetExperiment placement_experiment() {
  return {
      "placement",
      "Ways to place a heavy task",
      "32 workers of 31.80 GB, one window of 90 s of heavy tasks, the same under every design. A worker refuses what "
      "would leave it less than 3.08 GB. Push samples two and sends to the better; late binding queues a reservation "
      "at two and gives the task to the first that has room and asks (Ousterhout et al. 2013); workers that pull look "
      "into a backlog every half second while they have room; four schedulers share state and commit optimistically "
      "(Schwarzkopf et al. 2013); one serial decider knows all that it placed. What may wait does so for up to 30 s. "
      "A message takes half a millisecond. Latency is from submission to the node's word.",
      "windows a cell",
      60,
      placement};
}

}  // namespace evenkeel::simulation
