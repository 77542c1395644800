// The simple rules against brute force over random views.
#include "routing/simple.hpp"

#include <algorithm>
#include <functional>
#include <set>

#include <gtest/gtest.h>

#include "routing/support/views.hpp"

namespace evenkeel::routing {
namespace {

using namespace testing;

TEST(RandomChoice, IsUniformOverTheCandidatesWhateverTheyCarry) {
  Fleet fleet(8);
  Random random(1);
  fill_randomly(fleet, random);
  const std::vector<std::uint32_t> candidates = {0, 2, 3, 5, 7};
  RandomChoice policy;
  std::vector<double> seen(candidates.size());
  constexpr int draws = 50000;
  for (int i = 0; i < draws; ++i) {
    const auto placement = place(policy, fleet, request_for(candidates), random);
    const auto at = std::find(candidates.begin(), candidates.end(), placement.worker);
    ASSERT_NE(at, candidates.end());
    ++seen[static_cast<std::size_t>(at - candidates.begin())];
  }
  const std::vector<double> expected(candidates.size(), draws / 5.0);
  EXPECT_LT(chi_squared(seen, expected), chi_squared_limit(4));
}

std::vector<std::uint32_t> rounds(Policy& policy, const Fleet& fleet, const std::vector<std::uint32_t>& candidates,
                                  int count, ModelId model = {}) {
  Random random(1);
  std::vector<std::uint32_t> ids;
  for (int i = 0; i < count; ++i) {
    const auto placement = place(policy, fleet, request_for(candidates, 100, 0, model), random);
    ids.push_back(fleet.workers[placement.worker].id.value);
  }
  return ids;
}

TEST(RoundRobin, GoesRoundInOrderOfId) {
  const Fleet fleet(4);
  RoundRobin policy;
  EXPECT_EQ(rounds(policy, fleet, fleet.all(), 9), (std::vector<std::uint32_t>{0, 1, 2, 3, 0, 1, 2, 3, 0}));
}

TEST(RoundRobin, PassesOverThoseThatAreNoCandidatesAndComesBackToThem) {
  const Fleet fleet(4);
  RoundRobin policy;
  EXPECT_EQ(rounds(policy, fleet, {0, 2, 3}, 4), (std::vector<std::uint32_t>{0, 2, 3, 0}));
  EXPECT_EQ(rounds(policy, fleet, fleet.all(), 3), (std::vector<std::uint32_t>{1, 2, 3}));
}

TEST(RoundRobin, KeepsItsPlaceWhileWorkersJoinAndLeave) {
  Fleet fleet(3);
  RoundRobin policy;
  EXPECT_EQ(rounds(policy, fleet, fleet.all(), 2), (std::vector<std::uint32_t>{0, 1}));
  fleet.workers.erase(fleet.workers.begin() + 1);  // the last one chosen leaves
  EXPECT_EQ(rounds(policy, fleet, fleet.all(), 2), (std::vector<std::uint32_t>{2, 0}));
  fleet.add(7);
  EXPECT_EQ(rounds(policy, fleet, fleet.all(), 4), (std::vector<std::uint32_t>{2, 7, 0, 2}));
}

TEST(RoundRobin, KeepsAPlaceForEachModel) {
  const Fleet fleet(4);
  RoundRobin policy;
  std::vector<std::uint32_t> first, second;
  for (int i = 0; i < 6; ++i) {  // two models on workers of their own, their requests interleaved
    first.push_back(rounds(policy, fleet, {0, 1}, 1, ModelId{1}).front());
    second.push_back(rounds(policy, fleet, {2, 3}, 1, ModelId{2}).front());
  }
  EXPECT_EQ(first, (std::vector<std::uint32_t>{0, 1, 0, 1, 0, 1}));
  EXPECT_EQ(second, (std::vector<std::uint32_t>{2, 3, 2, 3, 2, 3}));
}

TEST(PowerOfTwo, TakesEachRankAsOftenAsTheLesserOfARandomPairIsIt) {
  Fleet fleet(6);
  Random random(5);
  for (std::size_t i = 0; i < 6; ++i) {  // loads are a permutation; half of each is foreign
    fleet.workers[i].load.in_flight = static_cast<std::int64_t>(i * 5 % 6);
    fleet.workers[i].foreign_requests = static_cast<double>(i * 5 % 6) / 2;
  }
  PowerOfTwo policy;
  std::vector<double> seen(6);
  constexpr int draws = 60000;
  for (int i = 0; i < draws; ++i) {
    const auto all = fleet.all();
    ++seen[static_cast<std::size_t>(
        fleet.workers[place(policy, fleet, request_for(all), random).worker].load.in_flight)];
  }
  EXPECT_EQ(seen[5], 0) << "the most loaded loses against every other";
  std::vector<double> expected;  // of 15 pairs, rank r is the lesser in 5 - r
  for (int rank = 0; rank < 5; ++rank) expected.push_back(draws * (5.0 - rank) / 15);
  seen.pop_back();
  EXPECT_LT(chi_squared(seen, expected), chi_squared_limit(4));
}

TEST(PowerOfTwo, TakesTheLessLoadedOfTwoAndTheOnlyOneOfOne) {
  Fleet fleet(5);
  Random random(6);
  PowerOfTwo policy;
  for (int i = 0; i < 2000; ++i) {
    fill_randomly(fleet, random);
    const std::vector<std::uint32_t> pair = {1, 4};
    const auto load = [&](std::uint32_t w) {
      return static_cast<double>(fleet.workers[w].load.in_flight) + fleet.workers[w].foreign_requests;
    };
    const auto chosen = place(policy, fleet, request_for(pair), random).worker;
    ASSERT_LE(load(chosen), load(chosen == 1 ? 4 : 1));
    const std::vector<std::uint32_t> only = {3};
    ASSERT_EQ(place(policy, fleet, request_for(only), random).worker, 3U);
  }
}

struct Rule {
  std::string_view policy;
  std::function<double(const fleet::WorkerView&)> cost;
};

class LeastRule : public ::testing::TestWithParam<Rule> {};

TEST_P(LeastRule, ChoosesASmallestByBruteForceAndKnowsNoFavourite) {
  Random random(7);
  auto policy = std::move(*make_policy(GetParam().policy));
  for (int i = 0; i < 5000; ++i) {
    Fleet fleet(1 + random.below(7));
    fill_randomly(fleet, random);
    std::vector<std::uint32_t> candidates;
    for (const std::uint32_t index : fleet.all()) {
      if (random.below(3) > 0) candidates.push_back(index);
    }
    if (candidates.empty()) continue;
    const auto placement = place(*policy, fleet, request_for(candidates), random);
    double least = GetParam().cost(fleet.workers[candidates.front()]);
    for (const std::uint32_t index : candidates) least = std::min(least, GetParam().cost(fleet.workers[index]));
    ASSERT_NE(std::find(candidates.begin(), candidates.end(), placement.worker), candidates.end());
    ASSERT_EQ(GetParam().cost(fleet.workers[placement.worker]), least);
    ASSERT_NEAR(placement.score, least, 1e-9 * (1 + least));
    ASSERT_EQ(placement.considered, candidates.size());
    ASSERT_FALSE(placement.reason.empty());
  }
}

TEST_P(LeastRule, DrawsTiesFairly) {
  Fleet fleet(7);
  Random random(8);
  for (const std::size_t i : {1U, 4U}) {
    fleet.workers[i].load.in_flight = 9;
    fleet.workers[i].load.prompt_tokens = Tokens(9);
  }
  auto policy = std::move(*make_policy(GetParam().policy));
  const auto all = fleet.all();
  std::vector<double> seen(7);
  constexpr int draws = 50000;
  for (int i = 0; i < draws; ++i) ++seen[place(*policy, fleet, request_for(all), random).worker];
  EXPECT_EQ(seen[1] + seen[4], 0);
  std::vector<double> tied;
  for (const std::size_t i : {0U, 2U, 3U, 5U, 6U}) tied.push_back(seen[i]);
  EXPECT_LT(chi_squared(tied, std::vector<double>(5, draws / 5.0)), chi_squared_limit(4));
}

TEST_P(LeastRule, SpreadsABurstThatIsPlannedAtOnce) {
  const Fleet fleet(4);
  Random random(9);
  auto policy = std::move(*make_policy(GetParam().policy));
  const auto all = fleet.all();
  const std::vector<fleet::WaitingView> burst(8, request_for(all));
  std::vector<fleet::Placement> placements;
  policy->plan(burst, fleet.view(), Time{}, random, placements);
  std::vector<int> seen(4);
  for (const auto& placement : placements) ++seen[placement.worker];
  EXPECT_EQ(seen, (std::vector<int>{2, 2, 2, 2}));
}

INSTANTIATE_TEST_SUITE_P(Simple, LeastRule,
                         ::testing::Values(Rule{"least_requests",
                                                [](const fleet::WorkerView& w) {
                                                  return static_cast<double>(w.load.in_flight) + w.foreign_requests;
                                                }},
                                           Rule{"least_tokens",
                                                [](const fleet::WorkerView& w) {  // held, and owed once more
                                                  return (w.load.prompt_tokens + w.load.generated_tokens +
                                                          w.load.queued_prompt + w.foreign_tokens)
                                                      .as_double();
                                                }}),
                         [](const auto& tested) { return std::string(tested.param.policy); });

TEST(LeastTokens, SeesAnImbalanceThatEqualRequestCountsHide) {
  Fleet fleet(2);
  Random random(10);
  fleet.workers[0].load = {3, Tokens(24000), Tokens(0), Tokens(300)};
  fleet.workers[1].load = {3, Tokens(3000), Tokens(0), Tokens(300)};
  LeastTokens policy;
  const auto all = fleet.all();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(place(policy, fleet, request_for(all), random).worker, 1U);
}

}  // namespace
}  // namespace evenkeel::routing
