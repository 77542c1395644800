// BR-H: BalanceRoute with lookahead, against the published pseudo-code with a forecast that is a fixed function.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "routing/support/published_br.hpp"

namespace evenkeel::routing {
namespace {

using namespace testing;

std::unique_ptr<Policy> brh(std::string_view parameters, std::shared_ptr<forecast::Forecast> forecast) {
  return std::move(*make_policy(fmt::format("brh[{}]", parameters), parts_with(std::move(forecast))));
}

TEST(Brh, FollowsThePublishedPseudoCodeAtARefresh) {
  Random random(31);
  const auto told = std::make_shared<ToldForecast>(scattered);
  for (int round = 0; round < 1000; ++round) {
    RunningFleet fleet(1 + random.below(6));
    run_randomly(fleet, random, 6, 100000);
    WaitingPool pool(fleet, random, random.below(12), 60000, 0);
    const auto horizon = static_cast<std::int64_t>(1 + random.below(80));
    PublishedBr reference{.window = static_cast<std::int64_t>(1 + random.below(5)),
                          .greedy = static_cast<std::int64_t>(random.below(10)),
                          .beta = 43,
                          .gamma = 0.86};
    auto policy = brh(fmt::format("horizon={},window={},greedy={}", horizon, reference.window, reference.greedy), told);
    reference.begin(fleet, pool.waiting, 1, horizon,
                    [&](const fleet::RunningView& request) { return scattered(request, horizon); });
    reference.run();
    std::sort(reference.admitted.begin(), reference.admitted.end());
    ASSERT_EQ(pairs(plan(*policy, fleet, pool.waiting)), reference.admitted) << round;
  }
}

TEST(Brh, BetweenRefreshesLooksAheadAsFarAsItsForecastsReach) {
  Random random(32);
  const auto told = std::make_shared<ToldForecast>(scattered);
  constexpr std::int64_t horizon = 40;
  for (int round = 0; round < 1000; ++round) {
    RunningFleet fleet(2 + random.below(4));
    run_randomly(fleet, random, 6, 100000);
    fleet.step = static_cast<std::int64_t>(random.below(1000));
    const std::int64_t since = fleet.step % horizon;
    WaitingPool pool(fleet, random, random.below(12), 60000, 0);
    PublishedBr reference{.beta = 43, .gamma = 0.86};
    reference.begin(fleet, pool.waiting, 1, horizon - since, [&](const fleet::RunningView& request) {
      if (request.generated < since) return 1e9;
      fleet::RunningView then = request;
      then.generated -= since;
      const double left = scattered(then, horizon) - static_cast<double>(since);
      return since > 0 && left < 1 ? 1e9 : left;
    });
    reference.run();
    std::sort(reference.admitted.begin(), reference.admitted.end());
    auto policy = brh("horizon=40", told);
    ASSERT_EQ(pairs(plan(*policy, fleet, pool.waiting)), reference.admitted) << round;
  }
}

TEST(Brh, WithoutAHorizonAndABetaOfAllWorkersIsBr0) {
  Random random(33);
  for (int round = 0; round < 500; ++round) {
    RunningFleet fleet(1 + random.below(6));
    run_randomly(fleet, random, 6, 1000);
    WaitingPool pool(fleet, random, random.below(12), 800, 0.2);
    auto with = std::move(*make_policy(fmt::format("brh[horizon=0,beta={}]", fleet.workers.size())));
    auto without = std::move(*make_policy("br0"));
    EXPECT_FALSE(with->wants_running());
    const auto seed = static_cast<std::uint64_t>(round);
    const auto one = plan(*with, fleet, pool.waiting, seed), other = plan(*without, fleet, pool.waiting, seed);
    ASSERT_EQ(pairs(one), pairs(other));
    for (std::size_t i = 0; i < one.size(); ++i) {
      ASSERT_EQ(one[i].reason, other[i].reason);
      ASSERT_EQ(one[i].score, other[i].score);
    }
  }
}

TEST(Brh, SeesThatAWorkerIsAboutToBecomeLight) {
  // Both hold 1000 tokens and have a slot. At worker 1, 900 leave in two steps.
  RunningFleet fleet(2, 3);
  fleet.run(0, 500, 0);
  fleet.run(0, 500, 0);
  fleet.run(1, 900, 0);
  fleet.run(1, 100, 0);
  const auto all = fleet.all();
  const std::vector<fleet::WaitingView> waiting = {request_for(all, 100), request_for(all, 700)};
  const auto told = std::make_shared<ToldForecast>([](const fleet::RunningView& request, std::int64_t horizon) {
    return request.prompt_tokens == Tokens(900) ? 2.0 : static_cast<double>(horizon);
  });
  // Margins of worker 1 over 0 ... 8: 0, 0, 902 ... 908. 700 scores 9 * 700 - 2 * (700 + 700) = 3500, 100 scores 500.
  // Worker 0 has no margin anywhere: the 100 is forced upon it, whether it chooses first or last.
  auto policy = brh("horizon=8,beta=2,gamma=1,window=2", told);
  EXPECT_TRUE(policy->wants_running());
  auto blind = std::move(*make_policy("br0"));
  int crossed = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    ASSERT_EQ(pairs(plan(*policy, fleet, waiting, seed)), (Pairs{{0, 0}, {1, 1}}));
    crossed += pairs(plan(*blind, fleet, waiting, seed)) == Pairs{{0, 1}, {1, 0}} ? 1 : 0;
  }
  EXPECT_GT(crossed, 5);  // to one who sees only now, both are alike
  EXPECT_LT(crossed, 35);
}

TEST(Brh, NamesWhatIsWrongWithItsParameters) {
  const auto message = [](std::string_view text) {
    const auto made = make_policy(text);
    return made ? std::string() : made.error().message;
  };
  EXPECT_EQ(message("brh[forecast=exact_match,horizon=50,refresh=10,beta=14.67,gamma=0.64,window=32]"), "");
  EXPECT_NE(message("brh[forecast=tarot]").find("tarot"), std::string::npos);
  EXPECT_NE(message("brh[horizon=1025]").find("whole numbers 0 to 1024"), std::string::npos);
  EXPECT_NE(message("brh[horizon=50,refresh=51]").find("whole numbers 1 to 50"), std::string::npos);
  EXPECT_NE(message("brh[gamma=0]").find("gamma"), std::string::npos);
  EXPECT_NE(message("brh[gamma=1.1]").find("gamma"), std::string::npos);
  EXPECT_NE(message("brh[beta=0]").find("beta"), std::string::npos);
  EXPECT_NE(message("brh[horizn=4]").find("did you mean horizon?"), std::string::npos);
}

}  // namespace
}  // namespace evenkeel::routing
