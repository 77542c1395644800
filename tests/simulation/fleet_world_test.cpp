// Floors, leases, moves and books of the byte-level fleet, and the router that offers to it.
#include "simulation/fleet_world.hpp"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "simulation/fleet_run.hpp"
#include "simulation/placement_designs.hpp"
#include "simulation/push_router.hpp"

namespace evenkeel::simulation {
namespace {

constexpr StartRange empty_only{31.79, 1e300};

/// Nodes of 31.8 GB; tasks come so rarely that they start empty.
planning::FleetPlan plan_of(std::int64_t nodes) {
  planning::FleetPlan plan = planning::splitwise_70b(nodes, 0.334);
  plan.groups[0].rate_per_node_s = {1e-4};
  return plan;
}

HeavyTask task_of(std::uint64_t id, double t, double length = 500, bool immortal = true) {
  return {id, t, t + length, {0.334, 0.00496485}, immortal, 0};
}

TEST(FleetWorld, OneLineRefusesWhatWouldLeaveLess) {
  Random random(1);
  NodeRules rules;
  rules.floors = Floors::published;
  FleetWorld world(plan_of(1), rules, empty_only, 1, random);
  std::uint64_t admitted = 0;
  while (world.offer(task_of(1000 + admitted, 0), 0, 0).admitted) ++admitted;
  EXPECT_EQ(admitted, static_cast<std::uint64_t>((31.80 - 3.08) / 0.334));
  EXPECT_EQ(world.books().refused, 1U);
}

// With floors in two parts nobody is admitted whose growth would not fit, so that all may stay to the end.
TEST(FleetWorld, TwoPartFloorsLeaveRoomForGrowth) {
  Random random(1);
  NodeRules rules;
  FleetWorld world(plan_of(1), rules, empty_only, 1, random);
  std::uint64_t id = 1000;
  std::vector<HeavyTask> moved;
  for (double t = 0; t < 3000; t += 1) {
    for (int k = 0; k < 3; ++k) {
      Random draw(id);
      const HeavyTask drawn = draw_task(world.plan().models[0], 0, id++, t, 1, draw);
      static_cast<void>(world.offer(drawn, 0, t));
    }
    world.renew(0, t);
    world.turn(t, moved);
  }
  EXPECT_EQ(world.nodes_over(), 0U);
  EXPECT_GT(world.books().admitted, 30U);
  EXPECT_GT(world.books().refused, 1000U);
}

TEST(FleetWorld, AnOfferIsAnsweredTwiceAlike) {
  Random random(1);
  FleetWorld world(plan_of(2), {}, empty_only, 1, random);
  EXPECT_TRUE(world.offer(task_of(7, 0), 0, 0).admitted);
  EXPECT_TRUE(world.offer(task_of(7, 0), 0, 1).admitted);
  EXPECT_EQ(world.node(0).residents().size(), 1U);
  EXPECT_EQ(world.books().admitted, 1U);
  EXPECT_EQ(world.books().on_two_nodes, 0U);
  EXPECT_TRUE(world.offer(task_of(7, 0), 1, 1).admitted);  // what no router may do is seen in the books
  EXPECT_EQ(world.books().on_two_nodes, 1U);
}

// 88.8 an hour: one node alone keeps 3.07 GB for what arrives in 90 s, and next to nothing for 0.6 s.
TEST(FleetWorld, TheArrivalReserveFollowsTheLease) {
  Random random(1);
  planning::FleetPlan plan = planning::splitwise_70b(2, 0.334);
  NodeRules rules;
  rules.lease_s = 3;
  FleetWorld world(plan, rules, empty_only, 1, random);
  std::vector<HeavyTask> moved;
  const double pooled = world.report(0, 1).floor_gb;
  world.renew(1, 3);
  world.turn(4, moved);
  EXPECT_EQ(world.mode(0, 4), redline::LeaseMode::siloed);
  EXPECT_EQ(world.mode(1, 4), redline::LeaseMode::pooled);
  EXPECT_LT(pooled, 0.7);
  EXPECT_NEAR(world.report(0, 4).floor_gb, 3.07, 0.02);
  EXPECT_DOUBLE_EQ(world.report(1, 4).floor_gb, pooled);
  ASSERT_EQ(world.books().siloed_at_s.size(), 1U);
  world.renew(0, 5);
  world.turn(5, moved);
  EXPECT_EQ(world.books().pooled_at_s.size(), 1U);
}

TEST(FleetWorld, ABlockedNodeAdmitsNothing) {
  Random random(1);
  NodeRules rules;
  rules.lease_s = 3;
  rules.when_cut_off = redline::WhenCutOff::block;
  FleetWorld world(plan_of(1), rules, empty_only, 1, random);
  EXPECT_TRUE(world.offer(task_of(1000, 2), 0, 2).admitted);
  EXPECT_FALSE(world.offer(task_of(1001, 4), 0, 4).admitted);
  EXPECT_TRUE(world.report(0, 4).blocked);
}

// Four residents of 7.5 GB leave 1.8 GB; growth takes it to 1.5 at some time, and then the largest movable one goes,
// with all that it holds.
TEST(FleetWorld, TheEmergencyChannelMovesTheLargestMovable) {
  Random random(1);
  NodeRules rules;
  rules.floors = Floors::none;
  rules.emergency = true;
  FleetWorld world(plan_of(1), rules, empty_only, 1, random);
  for (std::uint64_t id = 1; id <= 4; ++id) {
    HeavyTask task = task_of(1000 + id, 0, 1e6, id != 4 && id != 2);
    task.footprint.fixed = id == 2 ? 7.6 : 7.4;
    ASSERT_TRUE(world.offer(task, 0, 0).admitted);
  }
  std::vector<HeavyTask> moved;
  for (double t = 0; t < 60 && moved.empty(); t += 0.1) world.turn(t, moved);
  ASSERT_EQ(moved.size(), 1U);
  EXPECT_EQ(moved[0].id, 1002U);
  EXPECT_NEAR(moved[0].footprint.fixed, 7.6 + 0.00496485 * moved[0].served_s, 1e-9);
  EXPECT_EQ(world.books().immortals_moved, 0U);
  EXPECT_EQ(world.nodes_over(), 0U);
}

FleetTally play(PushOptions options, PlacementAccounts& accounts, std::uint64_t& refused_by_nodes) {
  Random random(4);
  planning::FleetPlan plan = planning::splitwise_70b(8, 0.334);
  plan.models[0].duration.cap_s = 1000;
  FleetWorld world(plan, {}, {12, 1e300}, 1, random);
  PushRouter router(world, options, random.split());
  FleetSchedule schedule;
  schedule.horizon_s = 400;
  schedule.profile = {{0, 8}};
  FleetTally tally = FleetRun(world, {&router}, schedule, random).play();
  accounts = router.accounts();
  refused_by_nodes = world.books().refused;
  return tally;
}

TEST(PushRouter, AccountsForEveryTaskAndMessage) {
  PushOptions options;
  options.skips_short = false;
  PlacementAccounts accounts;
  std::uint64_t refused_by_nodes = 0;
  const FleetTally plain = play(options, accounts, refused_by_nodes);
  EXPECT_EQ(plain.placed + plain.refused, plain.arrivals);
  EXPECT_GT(plain.refused, 20U);
  EXPECT_EQ(accounts.attempts, plain.arrivals);
  EXPECT_EQ(accounts.messages, 2 * accounts.attempts);
  EXPECT_EQ(refused_by_nodes, plain.refused);
  EXPECT_NEAR(static_cast<double>(accounts.background), 8 * 400 / 0.3, 0.02 * 8 * 400 / 0.3);

  options.retries = Retries::budget;
  const FleetTally budget = play(options, accounts, refused_by_nodes);
  EXPECT_EQ(budget.placed + budget.refused + budget.waiting, budget.arrivals);
  EXPECT_GT(accounts.retries, 0U);
  EXPECT_LE(static_cast<double>(accounts.attempts), 1.1 * static_cast<double>(budget.arrivals) + 3);
}

TEST(PushRouter, AFrozenFleetIsOfferedNothing) {
  PushOptions options;
  options.trigger = true;
  options.level = 0.9999;
  PlacementAccounts accounts;
  std::uint64_t refused_by_nodes = 0;
  const FleetTally tally = play(options, accounts, refused_by_nodes);
  EXPECT_LT(accounts.attempts, tally.arrivals);
}

// Two empty nodes: one has room for 85 tasks under its line, the designs place them all, then make them wait or refuse.
template <class Design>
void fill(FleetWorld& world, Design& design, std::vector<PlacementAnswer>& answers) {
  double t = 0;
  for (std::uint64_t id = 1000; id < 1200; ++id) answers.push_back(design.submit(task_of(id, t, 1e6), t));
  for (t = 0.1; t < 3; t += 0.1) design.turn(t, answers);
  std::erase_if(answers, [](const PlacementAnswer& each) { return each.what != PlacementAnswer::What::placed; });
  EXPECT_EQ(world.books().admitted, answers.size());
  EXPECT_EQ(world.books().on_two_nodes, 0U);
}

TEST(PlacementDesigns, FillTheNodesAndNoFurther) {
  NodeRules rules;
  rules.floors = Floors::published;
  const auto world = [&] {
    Random random(1);
    return FleetWorld(plan_of(2), rules, empty_only, 1, random);
  };
  constexpr std::size_t most = 2 * 85;
  std::vector<PlacementAnswer> answers;
  FleetWorld for_late = world();
  LateProbe late(for_late, 2, 30, Random(1));
  fill(for_late, late, answers);
  EXPECT_EQ(answers.size(), most);
  answers.clear();
  FleetWorld for_serial = world();
  SerialDecider serial(for_serial, 0.001, 1);
  fill(for_serial, serial, answers);
  EXPECT_EQ(answers.size(), most);
  answers.clear();
  FleetWorld for_shared = world();
  SharedState shared(for_shared, 3, 1, Random(1));
  fill(for_shared, shared, answers);
  EXPECT_EQ(answers.size(), most);
  EXPECT_GT(shared.accounts().conflicts, 0U);
  answers.clear();
  // Two nodes look in every half second or so, and claim one each time.
  FleetWorld for_pull = world();
  LazyPull pull(for_pull, 1, 0.5, 30, Random(1));
  fill(for_pull, pull, answers);
  EXPECT_NEAR(static_cast<double>(answers.size()), 12, 3);
  for (const PlacementAnswer& each : answers) EXPECT_LT(each.latency_s, 3.1);
}

}  // namespace
}  // namespace evenkeel::simulation
