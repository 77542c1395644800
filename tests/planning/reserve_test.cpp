#include "planning/reserve.hpp"

#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "planning/fleet_reserve.hpp"
#include "planning/level.hpp"

namespace evenkeel::planning {
namespace {

Reserve specimen(std::int64_t nodes, double prompt_gb = 0.334, double correlation = 0) {
  FleetPlan plan = splitwise_70b(nodes, prompt_gb);
  plan.correlation = correlation;
  EXPECT_TRUE(plan.check()) << plan.check().error().message;
  return fleet_reserve(plan, 0)->total;
}

// The tables below are those of a published series on capacity under heavy tails (Polyulya 2026, part 5), computed anew
// by others with rational arithmetic.

TEST(Reserve, SpecimenHasThePublishedTable) {
  struct Row {
    std::int64_t nodes;
    double published, tolerance, exact, exact_of_tokens, excess, percent;
  };
  for (const Row& row :
       {Row{1, 3.08, 0.01, 3.0735, 3.0747, 2.154, 9.665}, Row{4, 8.39, 0.01, 8.3943, 8.3978, 2.020, 6.599},
        Row{8, 14.67, 0.01, 14.6727, 14.6788, 1.980, 5.768}, Row{16, 26.45, 0.01, 26.4490, 26.4600, 1.950, 5.198},
        Row{32, 48.90, 0.03, 48.9007, 48.9209, 1.929, 4.805}, Row{128, 176.76, 0.1, 176.7485, 176.8221, 1.903, 4.342},
        Row{200, 270.35, 0.1, 270.3709, 270.4837, 1.898, 4.251}}) {
    const Reserve reserve = specimen(row.nodes);
    EXPECT_NEAR(reserve.pooled, row.published, row.tolerance) << row.nodes;
    EXPECT_NEAR(reserve.pooled, row.exact, 5e-4) << row.nodes;
    EXPECT_NEAR(specimen(row.nodes, 1020 * splitwise_70b_bytes_per_token / 1e9).pooled, row.exact_of_tokens, 5e-4);
    EXPECT_NEAR(reserve.excess_sd(), row.excess, 6e-4) << row.nodes;
    EXPECT_NEAR(100 * reserve.share(), row.percent, 6e-4) << row.nodes;
  }
}

TEST(Reserve, SpecimenOf32SavesWhatIsPublished) {
  const Reserve reserve = specimen(32);
  EXPECT_NEAR(reserve.capacity, 1017.6, 1e-9);
  EXPECT_NEAR(reserve.mean, 39.599, 5e-4);
  EXPECT_NEAR(reserve.sd * reserve.sd, 23.255, 1e-3);
  EXPECT_NEAR(reserve.siloed, 98.35, 5e-3);
  EXPECT_NEAR(reserve.saving(), 49.45, 5e-3);
  EXPECT_NEAR(100 * reserve.floor_share(), 3.891, 6e-4);
}

TEST(Reserve, ShareFallsWithEveryNodeUpTo300) {
  double before = 1;
  for (std::int64_t nodes = 1; nodes <= 300; ++nodes) {
    const Reserve reserve = specimen(nodes);
    EXPECT_LT(reserve.share(), before) << nodes;
    before = reserve.share();
  }
}

TEST(Reserve, CorrelationHasThePublishedTable) {
  struct Row {
    double c, pooled, percent, siloed_percent;
  };
  for (const Row& row :
       {Row{0.01, 50.34, 4.95, 9.70}, Row{1.0 / 33, 52.931, 5.202, 9.78}, Row{0.10, 60.34, 5.93, 10.05},
        Row{0.25, 74.54, 7.32, 10.80}, Row{0.50, 102.95, 10.12, 12.78}}) {
    const Reserve reserve = specimen(32, 0.334, row.c);
    EXPECT_NEAR(reserve.pooled, row.pooled, 6e-3) << row.c;
    EXPECT_NEAR(100 * reserve.share(), row.percent, 6e-3) << row.c;
    EXPECT_NEAR(100 * reserve.siloed / reserve.capacity, row.siloed_percent, 6e-3) << row.c;
  }
  EXPECT_NEAR(specimen(32, 0.334, 1.0 / 33).pooled, 52.931, 5e-4);
  EXPECT_NEAR(specimen(32, 1020 * splitwise_70b_bytes_per_token / 1e9, 1.0 / 33).pooled, 52.953, 5e-4);
}

TEST(Reserve, SurgeHasThePublishedTableAndTheBaselineDoesNotCoverIt) {
  struct Row {
    double factor, pooled, percent;
  };
  for (const Row& row : {Row{1.5, 70.73, 6.95}, Row{2, 92.25, 9.07}, Row{3, 134.72, 13.24}, Row{6, 260.01, 25.55}}) {
    FleetPlan plan = splitwise_70b(32, 0.334);
    plan.profile = {{0, row.factor}};
    const Reserve reserve = fleet_reserve(plan, 0)->total;
    EXPECT_NEAR(reserve.pooled, row.pooled, 6e-3) << row.factor;
    EXPECT_NEAR(100 * reserve.share(), row.percent, 6e-3) << row.factor;
    if (row.factor != 1.5) continue;
    const Demand demand = window_demand(plan, 0, rates_of(plan, std::vector<std::size_t>{0}), 90);
    EXPECT_NEAR(100 * *coverage(demand, 48.9007), 3.45, 6e-3);
  }
}

TEST(Reserve, LevelsHaveThePublishedTable) {
  struct Row {
    double level, pooled, a_day;
  };
  for (const Row& row : {Row{32.0 / 33, 48.90, 29.1}, Row{0.99, 51.26, 9.6}, Row{0.999, 55.35, 0.96},
                         Row{0.9999, 58.80, 0.096}, Row{0.99999, 61.86, 0.0096}}) {
    FleetPlan plan = splitwise_70b(32, 0.334);
    plan.level = row.level;
    EXPECT_NEAR(fleet_reserve(plan, 0)->total.pooled, row.pooled, 6e-3) << row.level;
    EXPECT_NEAR(breaches_per_month(row.level, 90) * 12 / 365.25, row.a_day, row.a_day * 0.005) << row.level;
  }
}

TEST(Reserve, EvaluatorsAgreeOnEveryShapeOfPlan) {
  std::vector<FleetPlan> plans{splitwise_70b(5, 0.334), splitwise_70b(40, 0.334), splitwise_70b(24, 0.334)};
  plans[1].profile = {{0, 1}, {30, 4}, {60, 0.5}};
  plans[2].models[0].duration = DurationLaw::pareto(40, 1.4, 70);  // tasks end within the window
  plans[2].correlation = 0.1;
  for (const FleetPlan& plan : plans) {
    ASSERT_TRUE(plan.check()) << plan.check().error().message;
    const double recursion = fleet_reserve(plan, 0, Evaluator::recursion)->total.pooled;
    EXPECT_NEAR(recursion, fleet_reserve(plan, 0, Evaluator::transform)->total.pooled, 1e-5);
    EXPECT_NEAR(recursion, fleet_reserve(plan, 0, Evaluator::expansion)->total.pooled, 0.15);
  }
}

TEST(Reserve, LargestFleetsAndCommonestCausesStayOnTheirLattice) {
  FleetPlan large = splitwise_70b(18'000, 0.334);
  ASSERT_TRUE(large.check());
  const Reserve reserve = fleet_reserve(large, 0)->total;
  const Demand demand = window_demand(large, 0, rates_of(large, std::vector<std::size_t>{0}), 90);
  EXPECT_NEAR(reserve.pooled, *quantile(demand, large.level, Evaluator::expansion), 1e-5 * reserve.pooled);
  FleetPlan bursty = splitwise_70b(40, 0.334);
  bursty.correlation = 0.9;
  bursty.level = 0.999;
  EXPECT_NEAR(fleet_reserve(bursty, 0, Evaluator::recursion)->total.pooled,
              fleet_reserve(bursty, 0, Evaluator::transform)->total.pooled, 1e-4);
}

TEST(Reserve, TasksThatEndInTheWindowAreNotCounted) {
  // By hand: ages uniform over the window, survival weighted; count and mean by the midpoint rule.
  FleetPlan plan = splitwise_70b(3, 0.2);
  plan.models[0].duration = DurationLaw::pareto(30, 1.7, 80);
  plan.profile = {{0, 2}, {45, 1}};
  const double rate = 3 * plan.groups[0].rate_per_node_s[0];
  double tasks = 0;
  double held = 0;
  constexpr int cells = 90'000;
  for (int i = 0; i < cells; ++i) {
    const double age = 90.0 * (i + 0.5) / cells;
    const double survival = age >= 80 ? 0 : age < 30 ? 1 : std::pow(30 / age, 1.7);
    const double here = rate * (age > 45 ? 2 : 1) * survival * 90 / cells;
    tasks += here;
    held += here * (0.2 + plan.models[0].footprints[0].growth_per_s * age);
  }
  const Reserve reserve = fleet_reserve(plan, 0)->total;
  EXPECT_NEAR(reserve.arrivals, tasks, 1e-4 * tasks);
  EXPECT_NEAR(reserve.mean, held, 1e-4 * held);
}

TEST(Reserve, SlotsAreWholeAndThoseOfThePublishedBuffer) {
  FleetPlan plan = splitwise_70b(1, 0.334);
  plan.resources.emplace_back("slots");
  plan.models[0].footprints.push_back({1, 0});
  plan.groups[0].capacity.push_back(32);
  ASSERT_TRUE(plan.check());
  EXPECT_EQ(fleet_reserve(plan, 1)->total.pooled, 5);
  plan.correlation = 0.5;  // a node's variance is twice its mean
  EXPECT_EQ(fleet_reserve(plan, 1)->total.pooled, 7);
}

TEST(Reserve, PoolsAreGroupsThatShareModels) {
  FleetPlan plan = splitwise_70b(4, 0.334);
  plan.models.assign(3, plan.models[0]);
  const Group group = plan.groups[0];
  plan.groups = {group, group, group, group};
  plan.groups[0].rate_per_node_s = {0.01, 0, 0};
  plan.groups[1].rate_per_node_s = {0, 0, 0.02};
  plan.groups[2].rate_per_node_s = {0, 0.01, 0.01};
  plan.groups[3].rate_per_node_s = {0.02, 0, 0};
  ASSERT_TRUE(plan.check());
  EXPECT_EQ(pools_of(plan), (std::vector<std::vector<std::size_t>>{{0, 3}, {1, 2}}));
  const FleetReserve reserve = *fleet_reserve(plan, 0);
  EXPECT_NEAR(reserve.by_pool[0].arrivals, 4 * 90 * 0.03, 1e-9);
  EXPECT_NEAR(reserve.total.pooled, reserve.by_pool[0].pooled + reserve.by_pool[1].pooled, 1e-12);
}

TEST(Plan, RefusesWithTheReason) {
  const auto fault = [](auto change) {
    FleetPlan plan = splitwise_70b(2, 0.334);
    change(plan);
    const auto ok = plan.check();
    return ok ? std::string("fine") : ok.error().message;
  };
  const double nan = std::nan("");
  EXPECT_EQ(fault([](FleetPlan&) {}), "fine");
  EXPECT_NE(fault([&](FleetPlan& p) { p.level = nan; }).find("level is nan"), std::string::npos);
  EXPECT_NE(fault([](FleetPlan& p) { p.level = 1; }).find("under 1"), std::string::npos);
  EXPECT_NE(fault([&](FleetPlan& p) { p.models[0].footprints[0].fixed = nan; }).find("at admission"),
            std::string::npos);
  EXPECT_NE(fault([](FleetPlan& p) { p.groups[0].rate_per_node_s[0] = -1; }).find("rate of"), std::string::npos);
  EXPECT_NE(fault([](FleetPlan& p) { p.groups[0].capacity[0] = 0.5; }).find("is under the 0.7808"), std::string::npos);
  EXPECT_NE(fault([](FleetPlan& p) { p.models[0].duration.parts[0].tail_index = 2; }).find("cap"), std::string::npos);
  EXPECT_NE(fault([](FleetPlan& p) { p.models[0].duration.parts[0].tail_index = 1; }).find("infinite"),
            std::string::npos);
  EXPECT_NE(fault([](FleetPlan& p) { p.profile = {{0, 0}}; }).find("nothing would arrive"), std::string::npos);
  EXPECT_NE(fault([](FleetPlan& p) { p.groups[0].nodes = 0; }).find("nodes is 0"), std::string::npos);
  EXPECT_NE(fault([](FleetPlan& p) { p.correlation = 1; }).find("under 1"), std::string::npos);
  EXPECT_NE(fault([](FleetPlan& p) { p.correlation = 0.999; }).find("allowed are up to 0.9955"), std::string::npos);
  EXPECT_NE(fault([](FleetPlan& p) { p.groups[0].nodes = 20'000; }).find("44400 heavy tasks"), std::string::npos);
  EXPECT_NE(fault([](FleetPlan& p) { p.level = 1 - 1e-12; }).find("1 - 1e-9"), std::string::npos);
  EXPECT_NE(fault([](FleetPlan& p) { p.groups.clear(); }).find("0 groups"), std::string::npos);
}

TEST(Level, IsReadInThreeWays) {
  EXPECT_NEAR(*level_of_text("32/33"), 32.0 / 33, 1e-15);
  EXPECT_NEAR(*level_of_text("0.9"), 0.9, 1e-15);
  EXPECT_NEAR(*level_of_cost_ratio("32:1"), 32.0 / 33, 1e-15);
  EXPECT_NEAR(breaches_per_month(*level_of_breaches_per_month(3, 90), 90), 3, 1e-6);
  for (const char* const bad : {"", "1", "0", "-0.5", "nan", "33/32", "1/0", "a/b", "0.5/"})
    EXPECT_FALSE(level_of_text(bad)) << bad;
  for (const char* const bad : {"", "32", "32:0", "-1:2", "1:2:3"}) EXPECT_FALSE(level_of_cost_ratio(bad)) << bad;
  EXPECT_FALSE(level_of_breaches_per_month(0, 90));
  EXPECT_FALSE(level_of_breaches_per_month(1e9, 90));
}

}  // namespace
}  // namespace evenkeel::planning
