// Every experiment at small size: what it writes, that it is the same twice, and that its claims hold where they must
// whatever the size.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <string>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "effort.hpp"
#include "redline/arrival_reserve.hpp"
#include "simulation/fleet_experiment.hpp"
#include "simulation/fleet_experiment_page.hpp"
#include "simulation/moments.hpp"
#include "simulation/window_draws.hpp"

namespace evenkeel::simulation {
namespace {

ExperimentResult run_small(const FleetExperiment& experiment, std::uint64_t seed = 1) {
  ExperimentRun run;
  run.trials = experiment.trials >= 1000 ? 300 : experiment.trials <= 3 ? 1 : 2;
  run.seed = seed;
  return run_fleet_experiment(experiment, run).value();
}

class FleetExperiments : public ::testing::TestWithParam<std::string_view> {};

TEST_P(FleetExperiments, WritesItsPageAndTheSameTwice) {
  const FleetExperiment experiment = *find_fleet_experiment(GetParam());
  const ExperimentResult result = run_small(experiment);
  EXPECT_GE(result.findings.size(), 2U);
  ASSERT_FALSE(result.tables.empty());
  for (const ExperimentTable& table : result.tables) {
    EXPECT_FALSE(table.rows.empty());
    for (const auto& row : table.rows) EXPECT_EQ(row.size(), table.columns.size()) << table.heading;
  }
  const auto folder = std::filesystem::path(::testing::TempDir()) / "evenkeel-experiments" / std::string(GetParam());
  const auto files = write_experiment(folder.string(), experiment, {}, result);
  ASSERT_TRUE(files.has_value()) << files.error().message;
  EXPECT_EQ(files->size(), result.picture.empty() ? 1U : 2U);
  for (const std::string& file : *files) EXPECT_GT(std::filesystem::file_size(file), 500U) << file;
  std::filesystem::remove_all(folder);
  const auto json = boost::json::parse(experiment_json(experiment, {}, result, *files)).as_object();
  EXPECT_EQ(json.at("experiment").as_string(), GetParam());
  EXPECT_EQ(json.at("findings").as_array().size(), result.findings.size());
  if (sanitized || GetParam() == "composition") return;  // 192 runs, which the next test makes, too
  EXPECT_EQ(experiment_json(experiment, {}, run_small(experiment), *files),
            experiment_json(experiment, {}, result, *files));
}

INSTANTIATE_TEST_SUITE_P(All, FleetExperiments,
                         ::testing::ValuesIn(fleet_experiment_names().begin(), fleet_experiment_names().end()),
                         [](const auto& each) {
                           std::string name(each.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(FleetExperiment, TrialsOutOfBoundsAreRefused) {
  ExperimentRun run;
  run.trials = -1;
  const auto refused = run_fleet_experiment(herding_experiment(), run);
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("--trials is -1"), std::string::npos);
  EXPECT_FALSE(find_fleet_experiment("herd").has_value());
}

// What a fleet cut in two must do, in both modes, in every run.
TEST(Partition, BothSidesAdmitWithinTheirFloorsOrStop) {
  const ExperimentResult result = run_small(partition_experiment(), 3);
  for (const Finding& each : result.findings) EXPECT_TRUE(each.holds) << each.text;
  EXPECT_LE(result.figure("slowest_signal_s").value(), 6);
  EXPECT_GT(result.figure("slowest_signal_s").value(), 2);
}

// By the planner's recursion there, by Cornish and Fisher's expansion here: 4.44 arrivals a worker and window.
TEST(Partition, TheLostSavingIsThatOfTheExpansion) {
  const ExperimentResult result = run_small(partition_experiment(), 4);
  const auto reserve = [](double nodes) {
    const double most = 0.334 + 90 * 327'680 * (500.0 / 33) / 1e9;
    return redline::arrival_reserve({nodes * 4.44, 0.334, most}, 32.0 / 33);
  };
  EXPECT_NEAR(result.figure("reports_lost_saving_gb").value(), 32 * reserve(1) - reserve(32), 0.4);
  EXPECT_NEAR(result.figure("halves_lost_saving_gb").value(), 16 * reserve(1) + 2 * reserve(8) - reserve(32), 0.4);
}

// The invariants of the soak hold in each of the 128 subsets.
TEST(Composition, WhatMustNeverHappenDoesNot) {
  ExperimentRun run;
  run.trials = 1;
  run.seed = 5;
  const ExperimentResult result = run_fleet_experiment(composition_experiment(), run).value();
  EXPECT_EQ(result.figure("subsets"), 128.0);
  EXPECT_EQ(result.figure("immortals_moved"), 0.0);
  EXPECT_EQ(result.figure("on_two_nodes"), 0.0);
  EXPECT_EQ(result.figure("wrong_floors"), 0.0);
  EXPECT_EQ(result.figure("waves_that_won_probed"), 0.0);
  EXPECT_LE(result.figure("worst_amplification").value(), 1.1);
  EXPECT_TRUE(result.all_hold());
}

// A band narrower than what one departure moves flips more often than one that is wider.
TEST(Population, TheNarrowBandFlipsMore) {
  const ExperimentResult result = run_small(population_experiment(), 2);
  EXPECT_GT(result.figure("rule_3_flips_per_hour").value(), 1.5 * result.figure("rule_2_flips_per_hour").value());
}

// Counts and memory of a window by their closed forms: L arrivals a node, M uniform over [P, P + 90 sigma], and with a
// shared gamma factor the variance of the fleet's count is 1 + N c / (1 - c) times its mean.
TEST(WindowDraws, HaveTheMomentsOfTheLaw) {
  planning::FleetPlan plan = planning::splitwise_70b(32, 0.334);
  plan.models[0].footprints[0] = {1, 0};  // every task counts one
  Random random(6);
  Moments independent;
  Moments shared;
  for (int k = 0; k < 20'000; ++k) {
    plan.correlation = 0;
    const auto alone = draw_window(plan, 90, random);
    independent.add(std::accumulate(alone.begin(), alone.end(), 0.0));
    plan.correlation = 1.0 / 33;
    const auto common = draw_window(plan, 90, random);
    shared.add(std::accumulate(common.begin(), common.end(), 0.0));
  }
  EXPECT_NEAR(independent.mean(), 71.04, 4 * std::sqrt(71.04 / 20'000));
  EXPECT_NEAR(independent.variance() / 71.04, 1, 0.05);
  EXPECT_NEAR(shared.mean(), 71.04, 0.4);
  EXPECT_NEAR(shared.variance() / 71.04, 2, 0.1);
}

TEST(Reserve, ThePlannersNumbersCoverWhatIsDrawn) {
  ExperimentRun run;
  run.trials = 3000;
  run.seed = 2;
  const ExperimentResult result = run_fleet_experiment(reserve_experiment(), run).value();
  for (const Finding& each : result.findings) EXPECT_TRUE(each.holds) << each.text;
  EXPECT_NEAR(result.figure("coverage_at_half_more").value(), 0.0345, 0.014);    // published: 3.45 %
  EXPECT_NEAR(result.figure("two_clocks_at_a_tenth_gb").value(), 42.01, 0.005);  // published
}

TEST(SingleTask, PoolingDoesNotTouchItWhereGrowthIsCovered) {
  const ExperimentResult result = run_small(single_task_experiment(), 3);
  EXPECT_LE(result.figure("hit_pooled_equal_load").value(), 0.01);
  EXPECT_GT(result.figure("hit_pooled_equal_load_little_growth_floor").value(),
            result.figure("hit_siloed_little_growth_floor").value());
}

}  // namespace
}  // namespace evenkeel::simulation
