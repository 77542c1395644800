// BalanceRoute against the published pseudo-code, written out slowly, and by hand.
#include "routing/br.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "routing/support/published_br.hpp"

namespace evenkeel::routing {
namespace {

using namespace testing;

/// What the pseudo-code admits, in pool order.
Pairs published(PublishedBr reference, const RunningFleet& fleet, const WaitingPool& pool, std::uint64_t seed) {
  reference.begin(fleet, pool.waiting, seed, 0, [](const auto&) { return 1.0; });
  reference.run();
  std::sort(reference.admitted.begin(), reference.admitted.end());
  return reference.admitted;
}

TEST(Br0, PlacesAsTheHandComputedExample) {
  // Loads 1000, 700, 400; one slot open at worker 1, two at worker 2. M = 1000.
  RunningFleet fleet(3);
  fleet.run(0, 1000, 0);
  fleet.run(1, 600, 100);
  fleet.run(2, 350, 50);
  fleet.workers[0].max_in_flight = 1;
  fleet.workers[1].max_in_flight = 2;
  fleet.workers[2].max_in_flight = 3;
  const std::vector<std::uint32_t> open = {1, 2};
  std::vector<fleet::WaitingView> waiting;
  for (const std::int64_t prompt : {500, 900, 200, 250, 290}) waiting.push_back(request_for(open, prompt));
  auto policy = std::move(*make_policy("br0"));
  const auto placements = plan(*policy, fleet, waiting);
  // Worker 2 is the freest, margin 600. Of {500, 900, 200, 250} the pair 200 + 250 scores 450, 500 alone 500, 500 +
  // 200 = 700 scores 700 - 3 * 100 = 400, 500 + 250 scores 750 - 450 = 300: 500 enters, worker 2 holds 900.
  // Both have one slot; margins 300 (worker 1) and 100. Worker 1 looks at {900, 200, 250, 290}: 290 enters.
  // Worker 2, margin 100, {900, 200, 250}: 200 - 300 = -100 is the best, not positive: forced.
  ASSERT_EQ(pairs(placements), (Pairs{{0, 2}, {2, 2}, {4, 1}}));
  EXPECT_EQ(placements[0].reason, "subset");
  EXPECT_EQ(placements[0].score, 500);
  EXPECT_EQ(placements[1].reason, "forced");
  EXPECT_EQ(placements[1].score, -100);
  EXPECT_EQ(placements[2].score, 290);
  EXPECT_EQ(placements[2].considered, 2U);
}

TEST(Br0, FillsPlentyOfSlotsOneByOneFromTheWholePool) {
  RunningFleet fleet(2, 10);
  fleet.run(0, 1000, 0);
  std::vector<fleet::WaitingView> waiting;
  const auto all = fleet.all();
  for (const std::int64_t prompt : {10, 20, 30, 40, 50, 600}) waiting.push_back(request_for(all, prompt));
  auto policy = std::move(*make_policy("br0"));
  const auto placements = plan(*policy, fleet, waiting);
  ASSERT_EQ(placements.size(), 6U);
  EXPECT_EQ(placements[5].worker, 1U);  // freest first; the best of the whole pool fits its margin of 1000
  EXPECT_EQ(placements[5].reason, "greedy");
  EXPECT_EQ(placements[5].score, 600);
}

TEST(Br0, FollowsThePublishedPseudoCode) {
  Random random(21);
  int scarce = 0, plenty = 0;
  for (int round = 0; round < 2000; ++round) {
    RunningFleet fleet(1 + random.below(6));
    run_randomly(fleet, random, 5, 100000);
    WaitingPool pool(fleet, random, random.below(14), 60000, 0);
    const auto window = static_cast<std::int64_t>(1 + random.below(6));
    const auto greedy = static_cast<std::int64_t>(random.below(10));
    auto policy = std::move(*make_policy(fmt::format("br0[window={},greedy={}]", window, greedy)));
    const auto beta = static_cast<double>(fleet.workers.size());
    const auto seed = static_cast<std::uint64_t>(round);
    const Pairs expected = published({.window = window, .greedy = greedy, .beta = beta}, fleet, pool, seed);
    const auto placements = plan(*policy, fleet, pool.waiting, seed);
    ASSERT_EQ(pairs(placements), expected) << round;
    for (const auto& placement : placements) ++(placement.reason == "greedy" ? plenty : scarce);
  }
  EXPECT_GT(scarce, 1000);
  EXPECT_GT(plenty, 1000);
}

TEST(Br0, FindsThePairThatFitsAnywhereInTheWholePool) {
  RunningFleet fleet(2, 2);
  fleet.run(0, 600, 0);
  fleet.run(0, 400, 0);
  const std::vector<std::uint32_t> open = {1};
  std::vector<fleet::WaitingView> waiting(20, request_for(open, 700));
  waiting[15].prompt_tokens = Tokens(410);
  waiting[18].prompt_tokens = Tokens(590);
  auto whole = std::move(*make_policy("br0[window=all]"));
  EXPECT_EQ(pairs(plan(*whole, fleet, waiting)), (Pairs{{15, 1}, {18, 1}}));
  auto oldest = std::move(*make_policy("br0"));
  EXPECT_EQ(pairs(plan(*oldest, fleet, waiting)), (Pairs{{0, 1}, {1, 1}}));
}

TEST(Br0, CountsOnAWorkerWithoutALimitWithoutOverflow) {
  RunningFleet fleet(3, std::numeric_limits<std::int64_t>::max());
  const auto all = fleet.all();
  const std::vector<fleet::WaitingView> waiting(5, request_for(all, 100));
  auto policy = std::move(*make_policy("br0"));
  EXPECT_EQ(plan(*policy, fleet, waiting).size(), 5U);
}

TEST(Br0, NamesWhatIsWrongWithItsParameters) {
  const auto message = [](std::string_view text) {
    const auto made = make_policy(text);
    return made ? std::string() : made.error().message;
  };
  EXPECT_EQ(message("br0[window=all,subset=reachable,greedy=0,beta=14.67]"), "");
  EXPECT_EQ(message("br0[window=4096]"), "");
  EXPECT_NE(message("br0[window=0]").find("window is \"0\" (allowed: whole numbers 1 to 4096, all)"),
            std::string::npos);
  EXPECT_NE(message("br0[window=4097]").find("window"), std::string::npos);
  EXPECT_NE(message("br0[window=13,subset=enumerate]").find("windows up to 12"), std::string::npos);
  EXPECT_NE(message("br0[subset=best]").find("allowed: enumerate, reachable"), std::string::npos);
  EXPECT_NE(message("br0[beta=0.5]").find("allowed: 1 to 1000000"), std::string::npos);
  EXPECT_NE(message("br0[gamma=0.5]").find("no parameter gamma"), std::string::npos);
}

}  // namespace
}  // namespace evenkeel::routing
