#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "base/random.hpp"
#include "maths/compound_moments.hpp"
#include "planning/cost.hpp"
#include "planning/demand.hpp"
#include "planning/open_windows.hpp"
#include "planning/overlap.hpp"
#include "planning/readings.hpp"
#include "planning/reserve.hpp"
#include "planning/standing.hpp"
#include "planning/to_set.hpp"

namespace evenkeel::planning {
namespace {

const std::vector<std::size_t> whole{0};

FleetPlan specimen(std::int64_t nodes) { return splitwise_70b(nodes, 0.334); }

double pooled(const FleetPlan& plan) { return reserve_of(plan, 0, whole)->pooled; }

TEST(ToSet, TwoClocksHaveThePublishedTable) {
  struct Row {
    double q, reserve;
  };
  for (const Row& row : {Row{0.05, 38.21}, Row{0.1, 42.01}, Row{0.2, 44.57}, Row{0.3, 45.81}, Row{0.5, 47.21},
                         Row{0.7, 48.06}, Row{1, 48.90}}) {
    FleetPlan plan = specimen(32);
    plan.correlated_share = row.q;
    EXPECT_NEAR(reserve_to_set(plan, 0, whole)->total(), row.reserve, 6e-3) << row.q;
  }
}

TEST(ToSet, RareFleetWidePressureLeavesTheRoutersOwnClock) {
  FleetPlan plan = specimen(32);
  plan.correlated_share = 0.01;
  plan.staleness_s = 0.3;
  // One arrival in 0.3 s of 32 nodes has probability 0.21; the level is reached with one or two prompts.
  const double arrivals = reserve_to_set(plan, 0, whole)->arrivals;
  EXPECT_GT(arrivals, 0.33);
  EXPECT_LT(arrivals, 0.68);
}

TEST(ToSet, StalenessHasThePublishedTable) {
  struct Row {
    double staleness, arrivals, growth;
  };
  for (const Row& row : {Row{0.1, 0.07, 0.12}, Row{0.3, 0.21, 0.35}, Row{1, 0.71, 1.18}, Row{3, 2.15, 3.53},
                         Row{10, 7.32, 11.76}, Row{15, 11.14, 17.64}}) {
    FleetPlan plan = specimen(32);
    plan.staleness_s = row.staleness;
    const ToSet set = *reserve_to_set(plan, 0, whole);
    EXPECT_NEAR(set.arrivals - pooled(plan), row.arrivals, 6e-3) << row.staleness;
    EXPECT_NEAR(set.resident_growth, row.growth, 6e-3) << row.staleness;
  }
}

TEST(ToSet, LocalFloorIsThePublishedBound) {
  FleetPlan plan = specimen(32);
  plan.staleness_s = 0.3;
  const LocalFloor floor = *local_floor(plan, 0, 0);
  EXPECT_NEAR(floor.growth, 3.3, 0.05);
  EXPECT_NEAR(floor.on_the_wire, 0.34, 0.006);
  EXPECT_NEAR(floor.siloed, 3.0735, 5e-4);
  plan.staleness_s = 3;
  EXPECT_NEAR(local_floor(plan, 0, 0)->on_the_wire, 0.69, 0.01);
}

TEST(OpenWindows, ReadingsHaveThePublishedTable) {
  const auto readings = window_readings(specimen(32), 0, whole);
  const double means[] = {39.60, 35.3, 21.5, 11.8};
  const double reserves[] = {48.90, 45.0, 29.5, 18.4};
  const double open[] = {32, 28.5, 28.5, 22.1};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(readings[i].mean, means[i], 0.06) << readings[i].name;
    EXPECT_NEAR(readings[i].reserve, reserves[i], 0.06) << readings[i].name;
    EXPECT_NEAR(readings[i].open_nodes, open[i], 0.06) << readings[i].name;
  }
  EXPECT_NEAR(readings[0].reserve, pooled(specimen(32)), 1e-5);
}

/// The change over one window, drawn without a lattice.
double drawn_change(Random& random, const FleetPlan& plan, double nodes) {
  const DurationLaw& law = plan.models[0].duration;
  const Footprint& foot = plan.models[0].footprints[0];
  const double rate = nodes * plan.groups[0].rate_per_node_s[0];
  double change = 0;
  for (double at = random.exponential(1); at < rate * law.mean(); at += random.exponential(1)) {
    const Resident resident = law.draw_resident(random);
    change += resident.left_s >= 90 ? 90 * foot.growth_per_s : -foot.at(resident.age_s);
  }
  for (double at = random.exponential(1 / rate); at < 90; at += random.exponential(1 / rate)) {
    if (law.draw(random) >= 90 - at) change += foot.at(90 - at);
  }
  return change;
}

// The published net changes (4.79 and 34.23 GB; 7.54 and 161.08 without departures) are drawn from some thousand
// windows.
TEST(Standing, NetChangeIsWhereDrawnWindowsHaveTheirQuantile) {
  Random random(3);
  for (const auto& [nodes, paths, off_published] : {std::tuple{1, 40'000, 0.03}, {32, 20'000, 0.35}}) {
    const FleetPlan plan = specimen(nodes);
    const double at_close = net_change(plan, 0, rates_of(plan, whole)).at_close;
    int below = 0;
    for (int i = 0; i < paths; ++i) below += drawn_change(random, plan, nodes) <= at_close ? 1 : 0;
    EXPECT_NEAR(below / static_cast<double>(paths), 32.0 / 33, 3.5 * std::sqrt(32.0 / 33 / 33 / paths)) << nodes;
    EXPECT_NEAR(at_close, nodes == 1 ? 4.79 : 34.23, off_published);
  }
}

TEST(Standing, GrowthWithoutDeparturesIsTheExpansionOfTwoPoissonSums) {
  const FleetPlan plan = specimen(32);
  const double gain = 90 * plan.models[0].footprints[0].growth_per_s;
  const double stay = 32 * 7.4;
  const maths::Shape arrivals =
      maths::compound_shape(maths::CountLaw::poisson(71.04), maths::uniform_moments(0.334, 0.334 + gain));
  maths::Shape sum;
  sum.mean = arrivals.mean + stay * gain;
  sum.sd = std::sqrt(arrivals.sd * arrivals.sd + stay * gain * gain);
  sum.skewness = (arrivals.skewness * std::pow(arrivals.sd, 3) + stay * std::pow(gain, 3)) / std::pow(sum.sd, 3);
  sum.kurtosis = (arrivals.kurtosis * std::pow(arrivals.sd, 4) + stay * std::pow(gain, 4)) / std::pow(sum.sd, 4);
  EXPECT_NEAR(net_change(plan, 0, rates_of(plan, whole)).no_departures, sum.cornish_fisher(32.0 / 33), 1e-3);
  EXPECT_NEAR(net_change(plan, 0, rates_of(plan, whole)).no_departures, 161.08, 0.35);
  EXPECT_NEAR(net_change(specimen(1), 0, rates_of(specimen(1), whole)).no_departures, 7.54, 0.03);
}

TEST(Standing, RunningMaximumHasThePublishedFigureInItsInterval) {
  const FleetPlan plan = specimen(1);
  const RunningMaximum drawn = *running_maximum(plan, 0, rates_of(plan, whole), 3.0735, 40'000, 5);
  EXPECT_LT(drawn.all.low, 5.07 + 0.01);
  EXPECT_GT(drawn.all.high, 5.07 - 0.01);
  EXPECT_LT(drawn.all.high - drawn.all.low, 0.15);
  EXPECT_LT(drawn.no_arrivals.low, 3.57 + 0.01);
  EXPECT_GT(drawn.no_arrivals.high, 3.57 - 0.01);
  EXPECT_NEAR(drawn.covered, 0.778, 0.01);
  EXPECT_FALSE(running_maximum(plan, 0, std::vector<double>{1e9}, 3, 1000, 1));
  // At the close the change is known exactly, and a maximum is at least that.
  EXPECT_GT(drawn.all.high, net_change(plan, 0, rates_of(plan, whole)).at_close);
}

TEST(Standing, OccupancyHasThePublishedTable) {
  FleetPlan plan = specimen(1);
  plan.level = 0.97;
  const Standing free = standing(plan, 0, 0, 3.0735);
  EXPECT_NEAR(free.mean, 20.55, 0.05);
  EXPECT_NEAR(free.median, 10.9, 0.06);
  EXPECT_NEAR(free.at_level, 55.6, 1.5);  // published from 200,000 samples of a law without variance
  EXPECT_NEAR(free.over_capacity, 0.077, 0.002);
  EXPECT_NEAR(free.short_of, 0.093, 0.002);
  struct Row {
    double tokens, mean, median, at_level;
  };
  for (const Row& row : {Row{16'384, 8.99, 8.53, 17.8}, Row{4'096, 3.94, 3.77, 7.9}}) {
    plan.models[0].duration.cap_s = (row.tokens - 1020) / (500.0 / 33);
    const Standing capped = standing(plan, 0, 0, 3.0735);
    EXPECT_NEAR(capped.mean, row.mean, 0.02) << row.tokens;
    EXPECT_NEAR(capped.median, row.median, 0.02) << row.tokens;
    EXPECT_NEAR(capped.at_level, row.at_level, 0.06) << row.tokens;
    EXPECT_LT(capped.short_of, 3e-4) << row.tokens;
  }
}

TEST(Readings, FootprintsAreTheFivePublished) {
  const auto readings = footprint_readings(specimen(1), 0, 0);
  const double published[] = {0.334, 0.557, 0.781, 1.824, 2.77};
  for (std::size_t i = 0; i < 5; ++i) EXPECT_NEAR(readings[i].held, published[i], 8e-3) << readings[i].name;
}

TEST(Readings, LossIsThePublishedOne) {
  FleetPlan plan = specimen(1);
  plan.resources.emplace_back("slots");
  plan.models[0].footprints.push_back({1, 0});
  plan.groups[0].capacity.push_back(32);
  const LossReading bytes = loss_reading(plan, 0, 0);
  EXPECT_EQ(bytes.tasks_that_fit, 11);
  EXPECT_NEAR(bytes.blocked, 0.06, 0.005);
  EXPECT_EQ(bytes.occupied_free, 13);
  EXPECT_EQ(bytes.occupied, 11);
  // The same places in thousandths of the capacity: one class, so nearly Erlang B.
  EXPECT_NEAR(bytes.blocked_by_model[0], bytes.blocked, 0.002);
  const LossReading slots = loss_reading(plan, 1, 0);
  EXPECT_EQ(slots.tasks_that_fit, 32);
  EXPECT_NEAR(slots.blocked, 1.5e-11, 1e-12);
}

TEST(Cost, IntegerBufferHasThePublishedCosts) {
  FleetPlan plan = specimen(1);
  plan.resources.emplace_back("slots");
  plan.models[0].footprints.push_back({1, 0});
  plan.groups[0].capacity.push_back(32);
  const CheapestReserve linear = *cheapest_reserve(plan, 1, whole, {});
  EXPECT_EQ(linear.reserve, 5);
  EXPECT_NEAR(linear.cost, 3.98, 0.005);
  plan.correlation = 0.5;
  EXPECT_EQ(cheapest_reserve(plan, 1, whole, {})->reserve, 7);
  EXPECT_NEAR(cheapest_reserve(plan, 1, whole, {})->cost, 6.66, 0.006);
}

TEST(Cost, AFreezeThatCostsRaisesTheLevelAndIsTheConditionOfTheFirstOrder) {
  const FleetPlan plan = specimen(32);
  const double without = cheapest_reserve(plan, 0, whole, {})->reserve;
  EXPECT_NEAR(without, pooled(plan), 0.0011);
  double before = without;
  for (const double simultaneity : {1.0, 1.5, 2.0}) {
    const CostModel costs{32, 1, 5, simultaneity};
    const CheapestReserve best = *cheapest_reserve(plan, 0, whole, costs);
    EXPECT_GT(best.reserve, before);
    before = best.reserve;
    // (under + over) F(H) - under = freeze N^simultaneity f(H), the density by a difference of the other evaluator's
    // law.
    const Demand demand = window_demand(plan, 0, rates_of(plan, whole), 90);
    const double density = (*coverage(demand, best.reserve + 0.05) - *coverage(demand, best.reserve - 0.05)) / 0.1;
    EXPECT_NEAR(33 * best.level - 32, 5 * std::pow(32, simultaneity) * density, 0.02);
  }
  EXPECT_FALSE(cheapest_reserve(plan, 0, whole, {.freeze = -1}));
  EXPECT_FALSE(cheapest_reserve(plan, 0, whole, {.under = std::nan("")}));
}

TEST(Overlap, EverySetOfModelsMustFindRoom) {
  FleetPlan plan = specimen(4);
  plan.models.assign(3, plan.models[0]);
  const Group group = plan.groups[0];
  plan.groups = {group, group, group};
  plan.groups[0].rate_per_node_s = {0.02, 0, 0};
  plan.groups[1].rate_per_node_s = {0.02, 0.02, 0};
  plan.groups[2].rate_per_node_s = {0, 0.02, 0.01};
  const auto conditions = *overlap_conditions(plan, 0, std::vector<std::size_t>{0, 1, 2});
  // By hand: {0} on groups 0 1; {1} on 1 2; {2} on 2; {1,2} on 1 2 too; any with 0 and another, all three.
  ASSERT_EQ(conditions.size(), 4U);
  for (const auto& condition : conditions) {
    if (condition.groups == std::vector<std::size_t>{1, 2}) {
      EXPECT_EQ(condition.models, (std::vector<std::size_t>{1, 2}));
      EXPECT_NEAR(condition.capacity, 8 * 31.8, 1e-9);
      // Alike models: the demand of so many arrivals of one.
      FleetPlan one = specimen(1);
      one.groups[0].rate_per_node_s = {4 * 0.02 + 4 * (0.02 + 0.01)};
      EXPECT_NEAR(condition.reserve, pooled(one), 1e-6);
    }
  }
  EXPECT_TRUE(std::ranges::is_sorted(conditions, std::ranges::greater{}, &OverlapCondition::share));
}

TEST(Overlap, RefusesMoreModelsThanSetsCanBeChecked) {
  FleetPlan plan = specimen(1);
  plan.models.assign(13, plan.models[0]);
  plan.groups[0].rate_per_node_s.assign(13, 0.01);
  EXPECT_NE(overlap_conditions(plan, 0, whole).error().message.find("13 models"), std::string::npos);
}

}  // namespace
}  // namespace evenkeel::planning
