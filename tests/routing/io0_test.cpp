// The exact one-step program against every placement there is, and as the judge of br0.
#include "routing/io0.hpp"

#include <gtest/gtest.h>

#include "routing/support/every_placement.hpp"

namespace evenkeel::routing {
namespace {

using namespace testing;

Outlook now(const RunningFleet& fleet) {
  return {fleet, 0, [](const auto&) { return 1.0; }};
}

TEST(Io0, EqualsTheBestOfEveryPlacement) {
  Random random(41);
  auto policy = std::move(*make_policy("io0"));
  int several = 0;
  for (int round = 0; round < 1000; ++round) {
    RunningFleet fleet(1 + random.below(4));
    run_randomly(fleet, random, 4, 1000);
    WaitingPool pool(fleet, random, random.below(7), 800, random.below(2) == 0 ? 0 : 0.4);
    const Outlook outlook = now(fleet);
    const auto cost = [&](const std::vector<int>& place) { return outlook.cost(pool.waiting, place, 1); };
    const BestPlacement best = best_of_every_placement(fleet, pool.waiting, cost);
    const auto placements = plan(*policy, fleet, pool.waiting);
    ASSERT_EQ(placements.size(), static_cast<std::size_t>(best.entered)) << round;
    ASSERT_EQ(cost(places(placements, pool.waiting.size())), best.cost) << round;
    several += placements.size() > 1 ? 1 : 0;
    for (const auto& placement : placements) {
      ASSERT_EQ(placement.reason, "exact");
      ASSERT_EQ(placement.score, best.cost);
    }
  }
  EXPECT_GT(several, 500);
}

TEST(Io0, IsNeverBeatenByBr0OnOneStep) {
  Random random(42);
  auto exact = std::move(*make_policy("io0[window=14]"));
  double exact_sum = 0, br0_sum = 0;
  for (int round = 0; round < 500; ++round) {
    RunningFleet fleet(2 + random.below(5));
    run_randomly(fleet, random, 4, 5000);
    WaitingPool pool(fleet, random, 1 + random.below(10), 4000, 0);
    const Outlook outlook = now(fleet);
    const auto cost = [&](Policy& policy) {
      return outlook.cost(pool.waiting, places(plan(policy, fleet, pool.waiting), pool.waiting.size()), 1);
    };
    const double least = cost(*exact);
    for (const std::string_view rival : {"br0", "br0[window=all]", "br0[greedy=0]", "brh[horizon=0,beta=43]"}) {
      ASSERT_LE(least, cost(*std::move(*make_policy(rival)))) << rival;
    }
    exact_sum += least;
    br0_sum += cost(*std::move(*make_policy("br0")));
  }
  EXPECT_LT(exact_sum, br0_sum);
}

TEST(Io0, LooksAtTheWholePoolForASingleSlot) {
  RunningFleet fleet(2, 2);
  fleet.run(0, 600, 0);
  fleet.run(0, 400, 0);
  fleet.run(1, 100, 0);
  const std::vector<std::uint32_t> open = {1};
  std::vector<fleet::WaitingView> waiting(50, request_for(open, 5000));
  waiting[40].prompt_tokens = Tokens(900);
  auto policy = std::move(*make_policy("io0[window=2]"));
  const auto placements = plan(*policy, fleet, waiting);
  ASSERT_EQ(placements.size(), 1U);
  EXPECT_EQ(placements[0].request, 40U);
  EXPECT_EQ(placements[0].score, 0);
}

TEST(Io0, FillsManySlotsWindowByWindowWithBoundedWork) {
  Random random(43);
  RunningFleet fleet(80, 20);
  fleet.settle();
  const auto all = fleet.all();
  std::vector<fleet::WaitingView> waiting;
  for (int i = 0; i < 2000; ++i) waiting.push_back(request_for(all, 1 + static_cast<std::int64_t>(random.below(9000))));
  auto policy = std::move(*make_policy("io0[window=14]"));
  const auto placements = plan(*policy, fleet, waiting);
  ASSERT_EQ(placements.size(), 1600U);
  EXPECT_TRUE(std::any_of(placements.begin(), placements.end(),
                          [](const auto& placement) { return placement.reason == "one_by_one"; }));
  std::vector<int> taken(80);
  for (const auto& placement : placements) ++taken[placement.worker];
  EXPECT_EQ(*std::max_element(taken.begin(), taken.end()), 20);
}

}  // namespace
}  // namespace evenkeel::routing
