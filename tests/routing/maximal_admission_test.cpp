// What every policy promises that fills all slots: whoever waits and may use an open slot does not go on waiting.
#include <gtest/gtest.h>

#include "routing/support/running_fleet.hpp"

namespace evenkeel::routing {
namespace {

using namespace testing;

class MaximalAdmission : public ::testing::TestWithParam<std::string_view> {};

TEST_P(MaximalAdmission, LeavesNoSlotThatSomebodyMayUseAndBreaksNoLimitOrBar) {
  Random random(23);
  const auto told = std::make_shared<ToldForecast>(scattered);
  auto policy = std::move(*make_policy(GetParam(), parts_with(told)));
  for (int round = 0; round < 500; ++round) {
    RunningFleet fleet(1 + random.below(5));
    run_randomly(fleet, random, 4, 1000);
    fleet.step = 1000 * round + static_cast<std::int64_t>(random.below(200));  // forecasts are not those of before
    WaitingPool pool(fleet, random, random.below(12), 1000, random.below(2) == 0 ? 0 : 0.5);
    std::vector<std::int64_t> free;
    std::int64_t open = 0;
    for (const auto& worker : fleet.workers) {
      free.push_back(worker.free_slots());
      open += worker.free_slots();
    }
    std::vector<bool> entered(pool.waiting.size());
    const auto placements = plan(*policy, fleet, pool.waiting, static_cast<std::uint64_t>(round));
    ASSERT_LE(static_cast<std::int64_t>(placements.size()), open);
    for (const auto& placement : placements) {
      const auto& candidates = pool.waiting[placement.request].candidates;
      ASSERT_NE(std::find(candidates.begin(), candidates.end(), placement.worker), candidates.end());
      ASSERT_FALSE(entered[placement.request]);
      entered[placement.request] = true;
      ASSERT_GE(--free[placement.worker], 0);
      ASSERT_FALSE(placement.reason.empty());
    }
    for (std::size_t i = 0; i < entered.size(); ++i) {
      if (entered[i]) continue;
      for (const std::uint32_t worker : pool.waiting[i].candidates) ASSERT_EQ(free[worker], 0);
    }
    if (GetParam() == "round_robin" || GetParam() == "balance[hold=off]") continue;  // remember what was
    const auto again = std::move(*make_policy(GetParam(), parts_with(told)));
    const auto same = plan(*again, fleet, pool.waiting, static_cast<std::uint64_t>(round));
    ASSERT_EQ(same.size(), placements.size());  // nothing but views, seed and forecasts decides
    for (std::size_t i = 0; i < same.size(); ++i) {
      ASSERT_EQ(same[i].request, placements[i].request);
      ASSERT_EQ(same[i].worker, placements[i].worker);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Policies, MaximalAdmission,
                         ::testing::Values("random", "round_robin", "power_of_two", "least_requests", "least_tokens",
                                           "br0", "br0[window=all]", "br0[greedy=0]", "br0[window=1]", "brh",
                                           "brh[window=all,horizon=20,refresh=5]", "brh[subset=reachable,greedy=64]",
                                           "balance[hold=off]", "io0", "io0[window=3]", "ioh[window=4,horizon=10]",
                                           "ioh[window=1]"));

}  // namespace
}  // namespace evenkeel::routing
