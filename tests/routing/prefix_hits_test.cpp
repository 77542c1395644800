// Policies that are told what prefix caches hold.
#include <gtest/gtest.h>

#include "routing/least_wait.hpp"
#include "routing/simple.hpp"
#include "routing/support/views.hpp"

namespace evenkeel::routing {
namespace {

using namespace testing;

std::vector<Tokens> random_hits(std::size_t workers, std::int64_t prompt, Random& random) {
  std::vector<Tokens> hits(workers);
  for (Tokens& each : hits) {
    if (random.below(2) == 0) each = Tokens(static_cast<std::int64_t>(random.below(4)) * prompt / 4);
  }
  return hits;
}

TEST(LeastWaitWithHits, CostsAsMuchAsWithoutThemForAPromptThatIsShorterByTheHit) {
  Random random(31);
  LeastWait policy;
  for (int i = 0; i < 2000; ++i) {
    Fleet fleet(2 + random.below(6));
    fill_randomly(fleet, random);
    const auto all = fleet.all();
    const auto prompt = static_cast<std::int64_t>(4 + random.below(9000));
    const auto hits = random_hits(all.size(), prompt, random);
    fleet::WaitingView request = request_for(all, prompt);
    request.hits = hits;
    const auto chosen = place(policy, fleet, request, random);
    std::vector<double> costs;
    for (const std::uint32_t index : all) {
      // The cost at one worker, asked for by itself; the others lend it their rates where it has none.
      Fleet others(all.size());
      others.workers = fleet.workers;
      for (const std::uint32_t other : all) {
        if (other != index) others.workers[other].foreign_requests += 1e9;
      }
      costs.push_back(place(policy, others, request_for(all, (prompt - hits[index].value())), random).score);
    }
    EXPECT_NEAR(chosen.score, *std::min_element(costs.begin(), costs.end()), 1e-8 * chosen.score);
    EXPECT_NEAR(costs[chosen.worker], chosen.score, 1e-8 * chosen.score);
  }
}

TEST(LeastWaitWithHits, AHitIsWorthSoManyRequestsAndNoMore) {
  // Own work 100 + 0.1 * (10000 - 9000) = 200 at the one that holds the prefix, 1100 at the empty one: with n requests
  // of 100 before it, n 100 + (n + 1) 200 against 1100 at equal rates. So it is taken up to n = 2 and left at 4.
  Random random(32);
  for (const auto& [open, expected] : {std::pair{0, 0U}, {2, 0U}, {4, 1U}}) {
    Fleet fleet(2);
    fleet.workers[0].mean_output = fleet.workers[1].mean_output = 100;
    fleet.workers[0].load.in_flight = open;
    const auto all = fleet.all();
    const std::vector<Tokens> hits = {Tokens(9000), Tokens(0)};
    fleet::WaitingView request = request_for(all, 10'000);
    request.hits = hits;
    LeastWait policy;
    EXPECT_EQ(place(policy, fleet, request, random).worker, expected) << open << " open";
  }
}

TEST(LeastWaitWithHits, InAPlanOfSeveralAWorkerOwesOnlyWhatItMustCompute) {
  Random random(33);
  Fleet fleet(1);
  const auto all = fleet.all();
  const std::vector<Tokens> hits = {Tokens(900)};
  std::vector<fleet::WaitingView> waiting(2, request_for(all, 1000));
  for (auto& each : waiting) each.hits = hits;
  LeastWait policy;
  std::vector<fleet::Placement> placements;
  policy.plan(waiting, fleet.view(), Time{}, random, placements);
  ASSERT_EQ(placements.size(), 2U);
  EXPECT_NEAR(placements[0].score, 256 + 10, 1e-9);
  EXPECT_NEAR(placements[1].score, (256 + 10) + 2 * (256 + 10), 1e-9);
}

TEST(LeastWaitWithHits, AsksForThemUnlessTheyAreOff) {
  EXPECT_TRUE((*make_policy("least_wait"))->wants_hits());
  EXPECT_TRUE((*make_policy("auto"))->wants_hits());
  EXPECT_FALSE((*make_policy("least_wait[hits=off]"))->wants_hits());
  EXPECT_FALSE((*make_policy("least_requests"))->wants_hits());
}

TEST(LongestPrefix, TakesTheLongestAndOfEqualsTheOneWithFewestRequests) {
  Random random(34);
  LongestPrefix policy;
  Fleet fleet(4);
  for (std::size_t i = 0; i < 4; ++i) fleet.workers[i].load.in_flight = static_cast<std::int64_t>(10 - i);
  const auto all = fleet.all();
  fleet::WaitingView request = request_for(all, 100);
  std::vector<Tokens> hits = {Tokens(50), Tokens(80), Tokens(80), Tokens(10)};
  request.hits = hits;
  EXPECT_EQ(place(policy, fleet, request, random).worker, 2U);
  EXPECT_EQ(place(policy, fleet, request, random).reason, "prefix");
  hits.assign(4, Tokens());
  EXPECT_EQ(place(policy, fleet, request, random).worker, 3U);
  EXPECT_EQ(place(policy, fleet, request, random).reason, "no_prefix");
  request.hits = {};
  EXPECT_EQ(place(policy, fleet, request, random).worker, 3U);
}

}  // namespace
}  // namespace evenkeel::routing
