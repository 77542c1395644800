// Twenty admissions on one snapshot of 32 workers: what the fullest of them gets.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "report/chart.hpp"
#include "report/numbers.hpp"
#include "simulation/fleet_experiment.hpp"
#include "simulation/herding.hpp"
#include "simulation/memory_fleet.hpp"
#include "simulation/moments.hpp"
#include "simulation/snapshot_policy.hpp"

namespace evenkeel::simulation {

namespace {

constexpr int workers = 32;
constexpr int batch = 20;
constexpr std::array sampled_counts = {1, 2, 3, 4, 8, 16, 32};

struct Simulated {
  int sampled = 0;
  Moments largest;
  std::int64_t at_least_ten = 0;
  std::int64_t all_on_one = 0;
  Moments largest_with_debits;
};

/// Headroom of a fleet in its steady state, in GB, ascending, in which no two workers stand alike, by more than a
/// token.
std::vector<double> snapshot(const planning::FleetPlan& plan, Random& random) {
  constexpr double token_gb = planning::splitwise_70b_bytes_per_token / 1e9;
  while (true) {
    std::vector<double> left;
    for (const MemoryNode& node : stationary_nodes(plan, plan.groups.front(), {}, 1, random)) {
      left.push_back(node.headroom_gb());
    }
    std::sort(left.begin(), left.end());
    const auto alike = [](double a, double b) { return b - a <= 1.01 * token_gb; };
    if (std::adjacent_find(left.begin(), left.end(), alike) == left.end()) return left;
  }
}

/// The largest count of `batch` choices; each takes `debit_gb` off what is left there.
int largest_count(std::vector<double> left_gb, SnapshotPolicy& policy, double debit_gb, Random& random) {
  std::vector<int> counts(left_gb.size(), 0);
  for (int k = 0; k < batch; ++k) {
    const std::size_t chosen = policy.choose(left_gb, random);
    ++counts[chosen];
    left_gb[chosen] -= debit_gb;
  }
  return *std::max_element(counts.begin(), counts.end());
}

std::vector<Simulated> simulate(const ExperimentRun& run) {
  const planning::FleetPlan plan = planning::splitwise_70b(workers, 0.334);
  const double debit_gb = plan.models[0].footprints[0].at(plan.scale_time_s / 2);
  std::vector<Simulated> all;
  std::vector<std::unique_ptr<SnapshotPolicy>> policies;
  for (const int sampled : sampled_counts) {
    all.push_back({sampled, {}, 0, 0, {}});
    const std::string name = sampled == workers ? "headroom_argmax" : fmt::format("headroom[d={}]", sampled);
    policies.push_back(std::make_unique<SnapshotPolicy>(name, plan.groups[0].capacity[0], workers));
  }
  Random random(run.seed);
  for (std::int64_t trial = 0; trial < run.trials; ++trial) {
    const std::vector<double> left_gb = snapshot(plan, random);
    for (std::size_t i = 0; i < all.size(); ++i) {
      Simulated& each = all[i];
      const int largest = largest_count(left_gb, *policies[i], 0, random);
      each.largest.add(largest);
      each.at_least_ten += largest >= 10 ? 1 : 0;
      each.all_on_one += largest == batch ? 1 : 0;
      each.largest_with_debits.add(largest_count(left_gb, *policies[i], debit_gb, random));
    }
    if (trial % 256 == 0) run.tell(static_cast<double>(trial), static_cast<double>(run.trials));
  }
  return all;
}

std::string picture(const std::vector<Simulated>& all, const std::vector<LargestCount>& exact) {
  report::LineChart chart;
  chart.title = fmt::format("{} admissions on one snapshot of {} workers: what the fullest gets", batch, workers);
  chart.x = {"workers sampled", true};
  chart.y = {"placements, mean"};
  report::Series law{"exact", {}, {}};
  report::Series debits{"with debits, simulated", {}, {}};
  for (std::size_t i = 0; i < all.size(); ++i) {
    law.x.push_back(all[i].sampled);
    law.y.push_back(exact[i].mean);
    debits.x.push_back(all[i].sampled);
    debits.y.push_back(all[i].largest_with_debits.mean());
  }
  chart.series = {law, debits};
  return report::to_svg(chart);
}

ExperimentResult herding(const ExperimentRun& run) {
  const std::vector<Simulated> all = simulate(run);
  std::vector<LargestCount> exact;
  ExperimentTable table{"Placements on the fullest worker",
                        "",
                        {"sampled", "exact mean", "simulated", "exact SD", "simulated SD", "exact P(10 and more)",
                         "simulated", "mean with debits"},
                        {}};
  ExperimentResult result;
  bool agree = true;
  for (const Simulated& each : all) {
    const LargestCount law = summary_of(largest_count_cdf(rank_probabilities(workers, each.sampled), batch));
    exact.push_back(law);
    // Four standard errors by the exact SD: of seven values one is beyond with a probability of 0.0004.
    agree = agree && std::abs(each.largest.mean() - law.mean) <= 4 * law.sd / std::sqrt(each.largest.count()) + 1e-9;
    const double ten = static_cast<double>(each.at_least_ten) / each.largest.count();
    table.rows.push_back({number(each.sampled, 0),
                          number(law.mean, 3),
                          number_with_error(each.largest.mean(), each.largest.error(), 3),
                          number(law.sd, 3),
                          number(each.largest.sd(), 3),
                          {fmt::format("{:.2g}", law.at_least_ten), law.at_least_ten},
                          {fmt::format("{:.2g}", ten), ten},
                          number(each.largest_with_debits.mean(), 3)});
    result.figures.push_back({fmt::format("d{}_mean", each.sampled), each.largest.mean()});
    result.figures.push_back({fmt::format("d{}_exact_mean", each.sampled), law.mean});
  }
  const Simulated& two = all[1];
  const Simulated& argmax = all.back();
  result.figures.push_back({"argmax_all_on_one", static_cast<double>(argmax.all_on_one) / argmax.largest.count()});
  result.tables.push_back(std::move(table));
  result.findings = {
      {fmt::format("The argmax sends all {} to one worker in {} of {} trials.", batch,
                   report::grouped(argmax.all_on_one), report::grouped(run.trials)),
       argmax.all_on_one == run.trials},
      {fmt::format("The better of two sends {} ±{} to the fullest; the exact law says {}.",
                   report::fixed(two.largest.mean(), 3), report::fixed(two.largest.error(), 3),
                   report::fixed(exact[1].mean, 3)),
       std::abs(two.largest.mean() - exact[1].mean) <= 0.03},
      {"All means are within four standard errors of the exact law.", agree},
      {"On a frozen snapshot concentration grows with the number sampled: two earn their place only because what is "
       "seen moves.",
       std::is_sorted(exact.begin(), exact.end(),
                      [](const LargestCount& a, const LargestCount& b) { return a.mean < b.mean; })},
      {fmt::format("What each choice adds in memory is taken off before the next: then the argmax sends {} to the "
                   "fullest.",
                   report::fixed(argmax.largest_with_debits.mean(), 2)),
       argmax.largest_with_debits.mean() < batch / 2.0}};
  result.picture = picture(all, exact);
  return result;
}

}  // namespace

FleetExperiment herding_experiment() {
  return {"herding",
          "Herding: many admissions on one snapshot",
          "Twenty heavy tasks are placed on one snapshot of 32 workers, each by the policy `headroom[d=...]` or, "
          "d = 32, `headroom_argmax`: the worker with the most headroom of d that are sampled without replacement. The "
          "worker of rank r, 0 with the most headroom, "
          "wins with probability [C(N-r, d) - C(N-r-1, d)] / C(N, d), so that the counts are multinomial and the law "
          "of the largest is exact (no two workers stand alike): K! [x^K] of the product over r of sum over j <= m of "
          "(p_r x)^j / j!. The last "
          "column takes off, with each choice, what the task will hold in the middle of a window of 90 s.",
          "snapshots",
          20'000,
          herding};
}

}  // namespace evenkeel::simulation
