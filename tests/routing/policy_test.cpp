// What holds for every policy of the registry.
#include "routing/policy.hpp"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

#include "routing/support/views.hpp"

namespace evenkeel::routing {
namespace {

using namespace testing;

TEST(Registry, MakesEachPolicyUnderItsName) {
  const auto names = policy_names();
  EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size());
  EXPECT_NE(std::find(names.begin(), names.end(), default_policy), names.end());
  for (const std::string_view name : names) {
    auto policy = make_policy(name);
    ASSERT_TRUE(policy.has_value()) << name;
    EXPECT_EQ((*policy)->name(), name);
  }
}

TEST(Registry, NamesTheNearestToAnUnknownName) {
  const auto wrong = make_policy("least_wiat");
  ASSERT_FALSE(wrong.has_value());
  EXPECT_NE(wrong.error().message.find("\"least_wiat\""), std::string::npos) << wrong.error().message;
  EXPECT_NE(wrong.error().message.find("did you mean \"least_wait\""), std::string::npos) << wrong.error().message;
}

TEST(Registry, ListsWhatIsAllowedWhenNothingIsNear) {
  for (const std::string_view name : {"", "xxxxxxxxxxxx", "Least_Wait_But_Better"}) {
    const auto wrong = make_policy(name);
    ASSERT_FALSE(wrong.has_value()) << name;
    for (const std::string_view allowed : policy_names()) {
      EXPECT_NE(wrong.error().message.find(allowed), std::string::npos) << allowed;
    }
  }
}

class EveryPolicy : public ::testing::TestWithParam<std::string_view> {};

TEST_P(EveryPolicy, PlacesEachRequestOnceOnACandidateWithASlotAndNoneBeyond) {
  Random random(11);
  auto policy = std::move(*make_policy(GetParam()));
  for (int round = 0; round < 1000; ++round) {
    Fleet fleet(1 + random.below(5), 6);
    fill_randomly(fleet, random);
    std::vector<std::vector<std::uint32_t>> allowed(1 + random.below(12));
    std::vector<fleet::WaitingView> waiting;
    for (auto& candidates : allowed) {
      for (const std::uint32_t index : fleet.all()) {
        if (fleet.workers[index].free_slots() > 0 && random.below(4) > 0) candidates.push_back(index);
      }
      if (!candidates.empty()) waiting.push_back(request_for(candidates, 100, random.below(3)));
    }
    if (waiting.empty()) continue;
    std::vector<fleet::Placement> placements;
    policy->plan(waiting, fleet.view(), Time{}, random, placements);
    std::vector<std::int64_t> taken(fleet.workers.size());
    std::vector<int> placed(waiting.size());
    for (const auto& placement : placements) {
      ASSERT_LT(placement.request, waiting.size());
      const auto& candidates = waiting[placement.request].candidates;
      ASSERT_NE(std::find(candidates.begin(), candidates.end(), placement.worker), candidates.end());
      ++taken[placement.worker];
      ++placed[placement.request];
    }
    for (std::size_t i = 0; i < taken.size(); ++i) ASSERT_LE(taken[i], fleet.workers[i].free_slots());
    for (std::size_t r = 0; r < waiting.size(); ++r) {
      ASSERT_LE(placed[r], 1);
      if (GetParam() == "late_tail") continue;  // may leave a slow slot open to a faster one
      if (placed[r] == 1) continue;  // one that holds must have found all its candidates filled by those before
      for (const std::uint32_t index : waiting[r].candidates)
        ASSERT_EQ(taken[index], fleet.workers[index].free_slots());
    }
  }
}

TEST_P(EveryPolicy, GivesTheSamePlacementsForTheSameSeed) {
  const auto run = [&](std::uint64_t seed) {
    Random random(seed);
    auto policy = std::move(*make_policy(GetParam()));
    std::vector<std::uint32_t> workers;
    for (int i = 0; i < 500; ++i) {
      Fleet fleet(6);
      fill_randomly(fleet, random);
      const auto all = fleet.all();
      workers.push_back(place(*policy, fleet, request_for(all, 100, random.below(4)), random).worker);
    }
    return workers;
  };
  EXPECT_EQ(run(1), run(1));
  // Another seed makes other fleets and draws; only round_robin looks at neither.
  EXPECT_EQ(run(1) == run(2), GetParam() == "round_robin");
}

/// An idle fleet of equals, one call at a time: nobody may be everybody's first choice.
TEST_P(EveryPolicy, SpreadsCallsToAnIdleFleetOneAtATime) {
  const Fleet fleet(3);
  Random random(12);
  auto policy = std::move(*make_policy(GetParam()));
  const auto all = fleet.all();
  std::vector<int> seen(3);
  for (int i = 0; i < 300; ++i) ++seen[place(*policy, fleet, request_for(all), random).worker];
  for (const int count : seen) EXPECT_NEAR(count, 100, 40);
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryPolicy, ::testing::ValuesIn(policy_names().begin(), policy_names().end()),
                         [](const auto& tested) { return std::string(tested.param); });

}  // namespace
}  // namespace evenkeel::routing
