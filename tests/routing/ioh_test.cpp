// The exact lookahead program against every placement there is.
#include "routing/ioh.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "routing/support/every_placement.hpp"

namespace evenkeel::routing {
namespace {

using namespace testing;

std::unique_ptr<Policy> ioh(std::string_view parameters) {
  const auto told = std::make_shared<ToldForecast>(scattered);
  return std::move(*make_policy(fmt::format("ioh[{}]", parameters), parts_with(told)));
}

TEST(Ioh, EqualsTheBestOfEveryPlacement) {
  Random random(51);
  for (int round = 0; round < 600; ++round) {
    RunningFleet fleet(1 + random.below(4));
    if (random.below(2) == 0)
      run_randomly(fleet, random, 4, 1000);  // else all alike
    else
      fleet.settle();
    for (auto& worker : fleet.workers) worker.max_in_flight = std::min<std::int64_t>(worker.max_in_flight, 4);
    fleet.step = static_cast<std::int64_t>(random.below(100));
    WaitingPool pool(fleet, random, random.below(6), 800, random.below(2) == 0 ? 0 : 0.4);
    const auto horizon = static_cast<std::int64_t>(random.below(20));
    const double gamma = random.below(2) == 0 ? 1 : 0.86;
    const Outlook outlook(fleet, horizon, [&](const auto& request) { return scattered(request, horizon); });
    const auto cost = [&](const std::vector<int>& place) { return outlook.cost(pool.waiting, place, gamma); };
    const BestPlacement best = best_of_every_placement(fleet, pool.waiting, cost);
    auto policy = ioh(fmt::format("horizon={},gamma={}", horizon, gamma));
    const auto placements = plan(*policy, fleet, pool.waiting);
    ASSERT_EQ(placements.size(), static_cast<std::size_t>(best.entered)) << round;
    ASSERT_NEAR(cost(places(placements, pool.waiting.size())), best.cost, 1e-6 * (1 + best.cost)) << round;
    for (const auto& placement : placements) {
      ASSERT_EQ(placement.reason, "exact");
      ASSERT_NEAR(placement.score, best.cost, 1e-6 * (1 + best.cost));
    }
  }
}

TEST(Ioh, WithoutAHorizonIsIo0) {
  Random random(52);
  auto with = ioh("horizon=0,window=10");
  auto without = std::move(*make_policy("io0"));
  EXPECT_FALSE(with->wants_running());
  for (int round = 0; round < 200; ++round) {
    RunningFleet fleet(2 + random.below(5));
    run_randomly(fleet, random, 3, 5000);
    WaitingPool pool(fleet, random, 1 + random.below(10), 4000, 0.2);
    const Outlook outlook(fleet, 0, [](const auto&) { return 1.0; });
    const auto cost = [&](Policy& policy) {
      return outlook.cost(pool.waiting, places(plan(policy, fleet, pool.waiting), pool.waiting.size()), 1);
    };
    ASSERT_EQ(cost(*with), cost(*without)) << round;
  }
}

TEST(Ioh, IsNeverBeatenByIo0OrBrhOnItsOwnObjective) {
  Random random(53);
  auto exact = ioh("horizon=10,gamma=0.86,window=8");
  for (int round = 0; round < 200; ++round) {
    RunningFleet fleet(2 + random.below(3));
    run_randomly(fleet, random, 4, 5000);
    WaitingPool pool(fleet, random, 1 + random.below(8), 4000, 0);
    const Outlook outlook(fleet, 10, [](const auto& request) { return scattered(request, 10); });
    const auto cost = [&](Policy& policy) {
      return outlook.cost(pool.waiting, places(plan(policy, fleet, pool.waiting), pool.waiting.size()), 0.86);
    };
    const double least = cost(*exact);
    const auto told = std::make_shared<ToldForecast>(scattered);
    for (const std::string_view rival : {"io0", "br0", "brh[horizon=10]"}) {
      ASSERT_LE(least, cost(*std::move(*make_policy(rival, parts_with(told)))) * (1 + 1e-9)) << rival;
    }
  }
}

TEST(Ioh, EndsWithTheBestFoundWhenThereIsTooMuchToLookAt) {
  Random random(54);
  RunningFleet fleet(40, 30);
  run_randomly(fleet, random, 30, 5000);
  const auto all = fleet.all();
  WaitingPool pool(fleet, random, 1000, 9000, 0);
  std::int64_t open = 0;
  for (const auto& worker : fleet.workers) open += worker.free_slots();
  auto policy = ioh("horizon=80,window=14");
  const auto placements = plan(*policy, fleet, pool.waiting);
  EXPECT_EQ(static_cast<std::int64_t>(placements.size()), open);
  EXPECT_TRUE(std::any_of(placements.begin(), placements.end(),
                          [](const auto& placement) { return placement.reason == "best_found"; }));
}

}  // namespace
}  // namespace evenkeel::routing
