// The published cells of sustained staleness, by windows of the same set-up, and the findings read off them.
#include "simulation/stale_window.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "simulation/fleet_experiment.hpp"

namespace evenkeel::simulation {
namespace {

// Fewer draws meet no published cell, and the same experiment runs small elsewhere: a sanitizer would see nothing new.
#ifndef EVENKEEL_SANITIZED

struct PublishedCell {
  double worst;
  double refused_percent;
  double lowest_gb;
};
struct PublishedRow {
  const char* setting;
  std::array<PublishedCell, 5> cells;  ///< d = 1, 2, 2 with debits, argmax, argmax with debits
};
constexpr std::array published = {
    PublishedRow{"ordinary_x1_0.3s", {{{5.7, 0.5, 5.5}, {6.8, 0, 6.7}, {6.8, 0, 6.6}, {11.5, 0, 6.7}, {11.5, 0, 6.7}}}},
    PublishedRow{"ordinary_x1_90s",
                 {{{5.7, 0.5, 5.5}, {7.3, 0, 6.6}, {6.9, 0, 6.6}, {52.8, 25.1, -3.1}, {11.9, 0, 6.7}}}},
    PublishedRow{"ordinary_x4_0.3s",
                 {{{15.6, 1.6, 2.6}, {19.4, 0, 6.4}, {19.4, 0, 6.3}, {21.8, 0, 6.6}, {21.6, 0, 6.6}}}},
    PublishedRow{"ordinary_x4_15s",
                 {{{15.6, 1.6, 2.6}, {19.8, 0, 6.3}, {19.5, 0, 6.3}, {56.0, 0, -7.9}, {22.2, 0, 6.6}}}},
    PublishedRow{"ordinary_x4_90s",
                 {{{15.6, 1.6, 2.6}, {22.3, 0, 6.1}, {19.6, 0, 6.2}, {68.2, 76.0, -20.3}, {22.8, 0, 6.5}}}},
    PublishedRow{"tight_x1_0.3s",
                 {{{5.3, 13.4, 0.4}, {6.6, 1.5, 0.7}, {6.6, 1.7, 0.6}, {21.5, 0, 0.9}, {21.5, 0, 0.9}}}},
    PublishedRow{"tight_x1_15s",
                 {{{5.3, 13.4, 0.4}, {6.5, 2.0, 0.6}, {6.5, 2.1, 0.6}, {23.8, 1.4, -0.8}, {21.6, 0, 0.9}}}},
    PublishedRow{"tight_x1_90s",
                 {{{5.3, 13.4, 0.4}, {6.8, 6.8, 0.5}, {5.7, 6.6, 0.5}, {17.2, 75.6, -2.0}, {5.0, 21.2, 0.7}}}},
};
constexpr std::array rules = {"d1", "d2", "d2_debits", "d32", "d32_debits"};

void expect_near(const ExperimentResult& result, const std::string& key, double wanted) {
  const auto found = result.figure(key);
  ASSERT_TRUE(found.has_value()) << key;
  EXPECT_NEAR(*found, wanted, std::max(0.3, 0.1 * std::abs(wanted))) << key;
}

// The published table says fleet, law, window and starts. Its refusal test (headroom at or under the line, before the
// task), and that the lowest headroom is that at the close, are what reproduces it.
TEST(HeadroomStaleness, EveryPublishedCellIsMetWithinATenthOrThreeTenths) {
  ExperimentRun run;
  run.trials = 600;
  const auto result = run_fleet_experiment(headroom_staleness_experiment(), run);
  ASSERT_TRUE(result.has_value()) << result.error().message;
  for (const PublishedRow& row : published) {
    for (std::size_t k = 0; k < rules.size(); ++k) {
      const std::string key = fmt::format("{}_{}", row.setting, rules[k]);
      expect_near(*result, key + "_worst", row.cells[k].worst);
      expect_near(*result, key + "_refused_percent", row.cells[k].refused_percent);
      expect_near(*result, key + "_lowest_gb", row.cells[k].lowest_gb);
    }
  }
  for (const Finding& each : result->findings) EXPECT_TRUE(each.holds) << each.text;
}

#endif

planning::FleetPlan small_plan(double rate_per_node) {
  planning::FleetPlan plan = planning::splitwise_70b(2, 1);
  plan.models[0].footprints[0].growth_per_s = 0;
  plan.models[0].duration = planning::DurationLaw::pareto(1000, 3);
  plan.groups[0].capacity = {10};
  plan.groups[0].rate_per_node_s = {rate_per_node};
  return plan;
}

// Two empty nodes of 10 GB, tasks of 1 GB that outlast the window, refused at 3 GB and under: each takes 7.
TEST(StaleWindow, NodesFillToTheLineAndRefuseTheRest) {
  const planning::FleetPlan plan = small_plan(1);
  StaleWindow window;
  window.refuse_at_gb = 3;
  window.refresh_s = 1e9;
  window.sampled = 2;
  window.debits = true;
  window.debit_gb = 1;
  const auto tally = run_stale_window(plan, window, {MemoryNode(10), MemoryNode(10)}, Random(1), Random(2));
  EXPECT_EQ(tally.most_on_one, 7);
  EXPECT_EQ(tally.refused, tally.arrivals - 14);
  EXPECT_DOUBLE_EQ(tally.lowest_at_close_gb, 3);
  EXPECT_GT(tally.arrivals, 100);
}

// Without debits nor a second look the argmax knows one worker only, here the one that began with more room.
TEST(StaleWindow, WithoutDebitsTheArgmaxKnowsOneWorker) {
  const planning::FleetPlan plan = small_plan(1);
  StaleWindow window;
  window.refuse_at_gb = 3;
  window.refresh_s = 1e9;
  window.sampled = 2;
  MemoryNode fuller(10);
  fuller.admit({1, 0, 1e6, {2, 0}, true, 0});
  const auto tally = run_stale_window(plan, window, {fuller, MemoryNode(10)}, Random(1), Random(2));
  EXPECT_EQ(tally.most_on_one, 7);
  EXPECT_EQ(tally.refused, tally.arrivals - 7);
}

}  // namespace
}  // namespace evenkeel::simulation
